// Empty tasks in oneTBB: a task group where none depends on another, else a
// flow graph.
#include <memory>

#include <tbb/global_control.h>
#include <tbb/task_group.h>

#include "dataflow.hpp"
#include "pattern.h"

static std::unique_ptr<dataflow> build(const measurement *m) {
	auto g = std::make_unique<dataflow>(HANDLES);
	uint64_t state = 1;
	for (int i = 0; i < m->tasks; i++) {
		touch a = touch_of(m->pattern, i, &state);
		g->add(a.handles, a.handle, a.writes, [](const tbb::flow::continue_msg &) {});
	}
	return g;
}

// run is the time to build and run the graph; taking it down is not counted.
static double run(const measurement *m) {
	double start = peer_now();
	if (m->pattern == INDEPENDENT) {
		tbb::task_group g;
		for (int i = 0; i < m->tasks; i++)
			g.run([] {});
		g.wait();
		return peer_now() - start;
	}
	auto g = build(m);
	g->run();
	return peer_now() - start;
}

static void measure(void *arg) {
	auto *m = static_cast<const measurement *>(arg);
	tbb::global_control threads(tbb::global_control::max_allowed_parallelism, m->workers);
	if (m->pending) {
		double before = peer_resident();
		auto g = build(m);
		measured(m, (peer_resident() - before) / m->tasks);
		return;
	}
	double best = 1e9;
	for (int i = 0; i < times(m->tasks); i++)
		best = std::min(best, run(m));
	measured(m, best * 1e6 / m->tasks);
}

int main(int argc, char **argv) {
	peer_init(argc, argv);
	measure_all(measure);
	return 0;
}
