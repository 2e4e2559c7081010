/* Short OpenMP tasks with depend clauses. */
#include <omp.h>

#include "grain.h"

static int x[HANDLES];

static void work(int rounds)
{
	uint32_t v = peer_work(1, rounds);

	__asm__ volatile("" : : "r"(v));
}

static void create_all(enum shape s, int n, int rounds)
{
	for (int i = 0; i < n; i++) {
		struct cell c = cell_of(s, i);
		int to = handle_of(c.row, c.column), from[MOST_READ];

		for (int j = 0; j < c.reads; j++)
			from[j] = handle_of(c.row + 1, c.from[j]);
		if (s == FREE) {
#pragma omp task
			work(rounds);
			continue;
		}
		switch (c.reads) {
		case 0:
#pragma omp task depend(out : x[to])
			work(rounds);
			break;
		case 2:
#pragma omp task depend(out : x[to]) depend(in : x[from[0]], x[from[1]])
			work(rounds);
			break;
		default:
#pragma omp task depend(out : x[to]) depend(in : x[from[0]], x[from[1]], x[from[2]])
			work(rounds);
		}
	}
}

static double run(enum shape s, int n, int rounds)
{
	double start = peer_now();

#pragma omp parallel num_threads(peer_workers)
#pragma omp single
	create_all(s, n, rounds);
	return peer_now() - start;
}

int main(int argc, char **argv)
{
	peer_init(argc, argv);
	grain_all(run);
	return 0;
}
