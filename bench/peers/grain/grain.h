/*
 * Tasks of a known length in three shapes of graphs, and the shortest length at
 * which half of the processor's time is work: METG(50 %) of Slaughter et al.,
 * "Task Bench: A Parameterized Benchmark for Evaluating Parallel Runtime
 * Performance", SC 2020. The grids are 16 columns wide; a row is a time step.
 */
#ifndef GRAIN_H
#define GRAIN_H

#include "../peer.h"

#define WIDTH 16
#define MOST_READ 3

enum shape { FREE, STENCIL, FFT, SHAPES };

static const char *const shape_name[SHAPES] = {"independent", "stencil", "fft"};

/* A step writes cell (row & 1, column) and reads cells of the row before. */
struct cell {
	int row, column;
	int reads;
	int from[MOST_READ]; /* columns of the row before */
};

static inline struct cell cell_of(enum shape s, int i)
{
	struct cell c;

	memset(&c, 0, sizeof c);
	c.row = i / WIDTH;
	c.column = i % WIDTH;
	if (s == FREE || c.row == 0)
		return c;
	c.from[c.reads++] = c.column;
	if (s == STENCIL) { /* the neighbours, where there are any */
		if (c.column > 0)
			c.from[c.reads++] = c.column - 1;
		if (c.column < WIDTH - 1)
			c.from[c.reads++] = c.column + 1;
	} else { /* a butterfly whose span doubles from row to row */
		c.from[c.reads++] = c.column ^ (1 << (c.row - 1) % 4);
	}
	return c;
}

/* handle_of numbers the cells of two rows that take turns. */
static inline int handle_of(int row, int column)
{
	return (row & 1) * WIDTH + column;
}

#define HANDLES (2 * WIDTH)

/* grain_tasks is how many tasks of a length in microseconds make a run. */
static inline int grain_tasks(double us)
{
	int n = (int)((peer_quick ? 2e4 : 1e5) * peer_workers / us);
	int most = peer_quick ? 2000 : 20000;

	if (n > most)
		n = most;
	return n / WIDTH * WIDTH;
}

/* A runner runs n tasks of that shape, each of rounds of work, and returns how
 * many seconds that took. */
typedef double (*grain_runner)(enum shape s, int n, int rounds);

/* efficiency is the best share of the workers' time that is work. */
static inline double efficiency(grain_runner run, enum shape s, double us, double rounds_per_us)
{
	int n = grain_tasks(us), rounds = (int)(us * rounds_per_us);
	double best = 0;

	for (int i = 0; i < (peer_quick ? 1 : 3); i++) {
		double took = run(s, n, rounds);
		double e = n * us * 1e-6 / (took * peer_workers);

		if (e > best)
			best = e;
	}
	return best;
}

/* grain_all prints the figures of all shapes. */
static inline void grain_all(grain_runner run)
{
	const double lengths[] = {128, 64, 32, 16, 8, 4, 2, 1, 0.5, 0.25};
	const int n = sizeof lengths / sizeof lengths[0];
	double rounds = peer_rounds(), worst = 0;

	for (int s = 0; s < SHAPES; s++) {
		double e = 1, before = 1, metg = lengths[0];

		for (int i = 0; i < n && e >= 0.5; i++) {
			before = e;
			e = efficiency(run, (enum shape)s, lengths[i], rounds);
			metg = lengths[i];
			/* Half lies between two lengths: as if the share were linear. */
			if (e < 0.5 && i > 0)
				metg += (0.5 - e) / (before - e) * (lengths[i - 1] - lengths[i]);
		}
		for (double us = 4; us <= 64; us *= 4)
			peer_report(efficiency(run, (enum shape)s, us, rounds), "ratio", "higher", "grain.%s.%.0fus.efficiency", shape_name[s], us);
		peer_report(metg, "us", "lower", "grain.%s.metg50_us", shape_name[s]);
		if (s != FREE && metg > worst)
			worst = metg;
	}
	peer_report(worst, "us", "lower", "grain.metg50_us");
}

#endif
