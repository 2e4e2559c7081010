/*
 * The shapes of graphs whose empty tasks are measured, the same as in
 * tandem's own problem: which of 64 handles task i touches, and how.
 */
#ifndef PATTERN_H
#define PATTERN_H

#include "../peer.h"

#define HANDLES 64
#define MOST 3

struct touch {
	int handles;       /* how many of handle are used */
	int handle[MOST];
	int writes[MOST];  /* 1: read and written, 0: read */
};

enum pattern { INDEPENDENT, CHAIN, RRCHAIN, RW2, RW3, FORKJOIN, PATTERNS };

static const char *const pattern_name[PATTERNS] = {"independent", "chain", "rrchain", "rw2", "rw3", "forkjoin"};

static inline void touch_add(struct touch *a, int handle, int writes)
{
	a->handle[a->handles] = handle;
	a->writes[a->handles++] = writes;
}

/* touch_random adds n different handles, each read or written with
 * probability 1/2. */
static inline void touch_random(struct touch *a, int n, uint64_t *state)
{
	while (a->handles < n) {
		int h = peer_random(state, HANDLES), seen = 0;

		for (int i = 0; i < a->handles; i++)
			seen |= a->handle[i] == h;
		if (!seen)
			touch_add(a, h, peer_random(state, 2));
	}
}

/* touch_of is what task i does. */
static inline struct touch touch_of(enum pattern p, int i, uint64_t *state)
{
	struct touch a;

	memset(&a, 0, sizeof a);

	switch (p) {
	case INDEPENDENT:
		break;
	case CHAIN:
		touch_add(&a, 0, 1);
		break;
	case RRCHAIN:
		touch_add(&a, i % HANDLES, 1);
		break;
	case RW2:
		touch_random(&a, 2, state);
		break;
	case RW3:
		touch_random(&a, 3, state);
		break;
	case FORKJOIN: /* 63 tasks between single ones, which write what all read */
		if (i % HANDLES < HANDLES - 1) {
			touch_add(&a, 0, 0);
			touch_add(&a, 1 + i % HANDLES, 1);
		} else {
			touch_add(&a, 0, 1);
			touch_add(&a, 1, 1);
		}
		break;
	case PATTERNS:
		break;
	}
	return a;
}

/* A measurement is one line of the table. */
struct measurement {
	enum pattern pattern;
	int tasks, workers;
	int pending; /* 1: bytes per waiting task, 0: time per task */
};

/* measure_all makes every measurement in a process of its own. slowest bounds
 * the time of one run in seconds, from what the smaller graph took: a peer
 * whose tasks get slower the more there are would take hours. */
static inline void measure_all(void (*f)(void *))
{
	const int full[] = {10000, 100000, 1000000}, quick[] = {1000, 10000};
	const int *sizes = peer_quick ? quick : full;
	const int n = peer_quick ? 2 : 3;

	for (int p = 0; p < PATTERNS; p++) {
		struct measurement m = {(enum pattern)p, 0, peer_workers, 0};

		for (int i = 0; i < n; i++) {
			m.tasks = sizes[i];
			peer_apart(f, &m);
		}
		m.tasks = sizes[1];
		m.workers = 1;
		if (peer_workers > 1)
			peer_apart(f, &m);
		m.workers = peer_workers;
		m.pending = 1;
		peer_apart(f, &m);
	}
}

static inline void measured(const struct measurement *m, double value)
{
	char size[16];

	if (m->pending)
		peer_report(value, "B", "lower", "overhead.%s.%s.bytes_per_task", pattern_name[m->pattern], peer_size(m->tasks, size));
	else if (m->workers == 1 && peer_workers > 1)
		peer_report(value, "us", "lower", "overhead.%s.%s.1w.us_per_task", pattern_name[m->pattern], peer_size(m->tasks, size));
	else
		peer_report(value, "us", "lower", "overhead.%s.%s.us_per_task", pattern_name[m->pattern], peer_size(m->tasks, size));
}

/* times is how often a graph of so many tasks is run; the best counts. */
static inline int times(int tasks)
{
	return peer_quick ? 1 : tasks > 100000 ? 2 : 7;
}

#endif
