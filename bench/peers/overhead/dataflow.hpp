// A flow graph of oneTBB whose edges follow from who reads and writes what:
// what a user of an explicit graph writes by hand.
#ifndef DATAFLOW_HPP
#define DATAFLOW_HPP

#include <algorithm>
#include <deque>
#include <vector>

#include <tbb/flow_graph.h>

class dataflow {
  public:
	using node = tbb::flow::continue_node<tbb::flow::continue_msg>;

	explicit dataflow(int handles) : last_writer_(handles, nullptr), readers_(handles) {}

	// add makes a node that runs body after what it depends on: the last writer
	// of each handle, and for a written one the readers since.
	template <typename Body> void add(int handles, const int *handle, const int *writes, Body body) {
		nodes_.emplace_back(graph_, body);
		node *n = &nodes_.back();
		before_.clear();
		for (int i = 0; i < handles; i++) {
			int h = handle[i];
			if (last_writer_[h] != nullptr)
				before_.push_back(last_writer_[h]);
			if (writes[i])
				before_.insert(before_.end(), readers_[h].begin(), readers_[h].end());
		}
		std::sort(before_.begin(), before_.end());
		before_.erase(std::unique(before_.begin(), before_.end()), before_.end());
		for (node *b : before_)
			tbb::flow::make_edge(*b, *n);
		if (before_.empty())
			roots_.push_back(n);
		for (int i = 0; i < handles; i++) {
			int h = handle[i];
			if (writes[i]) {
				last_writer_[h] = n;
				readers_[h].clear();
			} else {
				readers_[h].push_back(n);
			}
		}
	}

	// run runs all nodes once; it may be called again.
	void run() {
		for (node *n : roots_)
			n->try_put(tbb::flow::continue_msg());
		graph_.wait_for_all();
	}

  private:
	tbb::flow::graph graph_;
	std::deque<node> nodes_;
	std::vector<node *> roots_, before_;
	std::vector<node *> last_writer_;
	std::vector<std::vector<node *>> readers_;
};

#endif
