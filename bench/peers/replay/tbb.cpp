// The same flow graph of oneTBB run again, without building it anew.
#include <tbb/global_control.h>

#include "../overhead/dataflow.hpp"
#include "../overhead/pattern.h"

int main(int argc, char **argv) {
	peer_init(argc, argv);
	tbb::global_control threads(tbb::global_control::max_allowed_parallelism, peer_workers);
	for (pattern p : {CHAIN, RRCHAIN, RW2, RW3, FORKJOIN}) {
		int n = peer_quick ? 2000 : 100000;
		char size[16];
		dataflow g(HANDLES);
		uint64_t state = 1;
		for (int i = 0; i < n; i++) {
			touch a = touch_of(p, i, &state);
			g.add(a.handles, a.handle, a.writes, [](const tbb::flow::continue_msg &) {});
		}
		g.run();
		double best = 1e9;
		for (int i = 0; i < 5; i++) {
			double start = peer_now();
			g.run();
			best = std::min(best, peer_now() - start);
		}
		peer_report(best * 1e6 / n, "us", "lower", "replay.%s.%s.us_per_task", pattern_name[p], peer_size(n, size));
	}
	return 0;
}
