/* Empty OpenMP tasks with depend clauses. */
#include <omp.h>

#include "pattern.h"

static int x[HANDLES];

static void create(const struct touch *a)
{
	int p = a->handle[0], q = a->handle[1], r = a->handle[2], set = 0;

	for (int i = 0; i < a->handles; i++)
		set |= a->writes[i] << i;
	switch (a->handles << 3 | set) {
	case 0:
#pragma omp task
	{}
	break;
	case 1 << 3 | 0:
#pragma omp task depend(in : x[p])
	{}
	break;
	case 1 << 3 | 1:
#pragma omp task depend(inout : x[p])
	{}
	break;
	case 2 << 3 | 0:
#pragma omp task depend(in : x[p], x[q])
	{}
	break;
	case 2 << 3 | 1:
#pragma omp task depend(inout : x[p]) depend(in : x[q])
	{}
	break;
	case 2 << 3 | 2:
#pragma omp task depend(in : x[p]) depend(inout : x[q])
	{}
	break;
	case 2 << 3 | 3:
#pragma omp task depend(inout : x[p], x[q])
	{}
	break;
	case 3 << 3 | 0:
#pragma omp task depend(in : x[p], x[q], x[r])
	{}
	break;
	case 3 << 3 | 1:
#pragma omp task depend(inout : x[p]) depend(in : x[q], x[r])
	{}
	break;
	case 3 << 3 | 2:
#pragma omp task depend(inout : x[q]) depend(in : x[p], x[r])
	{}
	break;
	case 3 << 3 | 3:
#pragma omp task depend(inout : x[p], x[q]) depend(in : x[r])
	{}
	break;
	case 3 << 3 | 4:
#pragma omp task depend(inout : x[r]) depend(in : x[p], x[q])
	{}
	break;
	case 3 << 3 | 5:
#pragma omp task depend(inout : x[p], x[r]) depend(in : x[q])
	{}
	break;
	case 3 << 3 | 6:
#pragma omp task depend(inout : x[q], x[r]) depend(in : x[p])
	{}
	break;
	case 3 << 3 | 7:
#pragma omp task depend(inout : x[p], x[q], x[r])
	{}
	break;
	default:
		peer_die("no task with %d handles", a->handles);
	}
}

static void create_all(const struct measurement *m)
{
	uint64_t state = 1;

	for (int i = 0; i < m->tasks; i++) {
		struct touch a = touch_of(m->pattern, i, &state);

		create(&a);
	}
}

static double run(const struct measurement *m)
{
	double start = peer_now();

#pragma omp parallel num_threads(m->workers)
#pragma omp single
	create_all(m);
	return peer_now() - start;
}

static void measure(void *arg)
{
	const struct measurement *m = arg;
	const double limit = 1;
	double best = 1e9;
	struct measurement tenth = *m;

	/* libgomp keeps no more than 64 tasks for each thread: beyond that the
	 * creating thread waits, so there is no memory of many waiting tasks. */
	if (m->pending)
		return;
	/* libgomp looks through the tasks that use an address, so the time may
	 * grow with the square of the number of tasks. */
	tenth.tasks = m->tasks / 10;
	if (tenth.tasks >= 10000 && run(&tenth) * 20 > limit) {
		fprintf(stderr, "openmp: overhead.%s of %d tasks is left out: more than %.0f s\n", pattern_name[m->pattern], m->tasks, limit);
		return;
	}
	for (int i = 0; i < times(m->tasks); i++) {
		double took = run(m);

		if (took < best)
			best = took;
		if (took > limit)
			break;
	}
	measured(m, best * 1e6 / m->tasks);
}

int main(int argc, char **argv)
{
	peer_init(argc, argv);
	measure_all(measure);
	return 0;
}
