/*
 * What every peer program shares: the clock, the command line, how a figure is
 * printed, and a process of its own for each measurement.
 *
 * A peer prints one figure a line: name, value, unit, and which way is better.
 * The names are those of tandem's own figures; whoever runs the peer puts its
 * name in front. The environment variable PEER_WORKERS says how many threads
 * may compute (default 2), the argument --quick asks for less work.
 */
#ifndef PEER_H
#define PEER_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int peer_quick;
static int peer_workers = 2;

static inline void peer_init(int argc, char **argv)
{
	const char *w = getenv("PEER_WORKERS");

	if (w != NULL)
		peer_workers = atoi(w);
	if (peer_workers < 1 || peer_workers > 4096) {
		fprintf(stderr, "PEER_WORKERS=%s: want 1 to 4096\n", w);
		exit(2);
	}
	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--quick") != 0) {
			fprintf(stderr, "%s: unknown argument %s; there is --quick\n", argv[0], argv[i]);
			exit(2);
		}
		peer_quick = 1;
	}
}

/* peer_now is a time in seconds. */
static inline double peer_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* peer_report prints a figure; better is "lower" or "higher". */
static inline void __attribute__((format(printf, 4, 5)))
peer_report(double value, const char *unit, const char *better, const char *name, ...)
{
	va_list args;

	va_start(args, name);
	vprintf(name, args);
	va_end(args);
	printf(" %.9g %s %s\n", value, unit, better);
	fflush(stdout);
}

static inline void __attribute__((noreturn, format(printf, 1, 2))) peer_die(const char *text, ...)
{
	va_list args;

	va_start(args, text);
	vfprintf(stderr, text, args);
	va_end(args);
	fputc('\n', stderr);
	exit(1);
}

/* peer_apart runs f in a process of its own: runtimes keep what they learnt
 * and the memory that they got. It ends the program where f fails. */
static inline void peer_apart(void (*f)(void *), void *arg)
{
	int status;
	pid_t child = fork();

	if (child < 0)
		peer_die("fork failed");
	if (child == 0) {
		f(arg);
		fflush(stdout);
		_exit(0);
	}
	if (waitpid(child, &status, 0) != child || status != 0)
		peer_die("a measurement ended with status %d", status);
}

/* peer_resident is the memory that the process has now, in bytes. */
static inline double peer_resident(void)
{
	long pages = 0;
	FILE *f = fopen("/proc/self/statm", "r");

	if (f == NULL || fscanf(f, "%*s %ld", &pages) != 1)
		peer_die("/proc/self/statm cannot be read");
	fclose(f);
	return (double)pages * (double)sysconf(_SC_PAGESIZE);
}

/* peer_random is a number below n, from splitmix64 (Steele, Lea and Flood, "Fast
 * splittable pseudorandom number generators", 2014). */
static inline int peer_random(uint64_t *state, int n)
{
	uint64_t z = (*state += 0x9e3779b97f4a7c15u);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	z ^= z >> 31;
	return (int)((z >> 33) % (uint64_t)n);
}

/* peer_size writes 10000 as "10k" and 1000000 as "1M". */
static inline const char *peer_size(int n, char text[16])
{
	if (n % 1000000 == 0)
		snprintf(text, 16, "%dM", n / 1000000);
	else
		snprintf(text, 16, "%dk", n / 1000);
	return text;
}

/* peer_work keeps a core busy for a number of rounds. */
static inline uint32_t peer_work(uint32_t v, int rounds)
{
	for (int i = 0; i < rounds; i++) {
		v = v * 1664525u + 1013904223u;
		__asm__ volatile("" : "+r"(v));
	}
	return v;
}

/* peer_rounds is how many rounds of peer_work take a microsecond. */
static inline double peer_rounds(void)
{
	const int rounds = 2000000;
	double best = 1e9;
	uint32_t v = 1;

	for (int i = 0; i < 7; i++) {
		double start = peer_now(), took;

		v = peer_work(v, rounds);
		took = peer_now() - start;
		if (took < best)
			best = took;
	}
	return rounds / (best * 1e6);
}

#endif
