// Short tasks in oneTBB: a task group or a flow graph.
#include <tbb/global_control.h>
#include <tbb/task_group.h>

#include "../overhead/dataflow.hpp"
#include "grain.h"

static void work(int rounds) {
	uint32_t v = peer_work(1, rounds);
	__asm__ volatile("" : : "r"(v));
}

static double run(shape s, int n, int rounds) {
	double start = peer_now();
	if (s == FREE) {
		tbb::task_group g;
		for (int i = 0; i < n; i++)
			g.run([=] { work(rounds); });
		g.wait();
		return peer_now() - start;
	}
	dataflow g(HANDLES);
	for (int i = 0; i < n; i++) {
		cell c = cell_of(s, i);
		int handle[MOST_READ + 1] = {handle_of(c.row, c.column)}, writes[MOST_READ + 1] = {1};
		for (int j = 0; j < c.reads; j++)
			handle[j + 1] = handle_of(c.row + 1, c.from[j]);
		g.add(c.reads + 1, handle, writes, [=](const tbb::flow::continue_msg &) { work(rounds); });
	}
	g.run();
	return peer_now() - start;
}

int main(int argc, char **argv) {
	peer_init(argc, argv);
	tbb::global_control threads(tbb::global_control::max_allowed_parallelism, peer_workers);
	grain_all(run);
	return 0;
}
