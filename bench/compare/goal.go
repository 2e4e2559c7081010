package main

import (
	"fmt"
	"path"
)

// A goal is what a figure should reach: a bound of the figure itself, or of its
// ratio to a peer's.
type goal struct {
	figure string // a pattern of path.Match, in which * does not match a slash
	system string // "": the figure itself
	least  bool   // the bound is the least that is wanted, else the most
	bound  float64
}

func (g goal) String() string {
	sign := "≤"
	if g.least {
		sign = "≥"
	}
	if g.system == "" {
		return fmt.Sprintf("%s %g", sign, g.bound)
	}
	return fmt.Sprintf("%s %g x %s", sign, g.bound, g.system)
}

// met says whether a value reaches the goal.
func (g goal) met(v float64) bool {
	if g.least {
		return v >= g.bound
	}
	return v <= g.bound
}

// goals are those of the project, the first that fits a figure counts.
func goals() []goal {
	return []goal{
		{"overhead.rw2.100k.us_per_task", "starpu", false, 0.1},
		{"overhead.rw2.100k.bytes_per_task", "starpu", false, 0.1},
		{"overhead.independent.100k.us_per_task", "starpu", false, 0.1},
		{"overhead.chain.100k.us_per_task", "starpu", false, 0.1},
		{"overhead.rw2.100k.us_per_task", "tbb", false, 1},
		{"overhead.independent.100k.us_per_task", "tbb", false, 1.5},
		{"overhead.chain.100k.us_per_task", "tbb", false, 1.5},
		{"overhead.*.growth", "", false, 1.2},
		{"replay.*.over_first", "", false, 0.5},
		{"idle.core_share", "", false, 0.01},
		{"grain.independent.4us.efficiency", "", true, 0.85},
		{"grain.independent.16us.efficiency", "", true, 0.95},
		{"grain.independent.64us.efficiency", "", true, 0.98},
		{"grain.metg50_us", "", false, 1},
		{"cholesky.3840.best.gflops", "starpu", true, 1.2},
		{"cholesky.3840.best.gflops", "openblas", true, 1},
		{"gemm.3840.best.gflops", "openblas", true, 0.97},
		{"gemm.3840.64.gflops", "starpu", true, 1.3},
		{"gemm.coexec.efficiency", "", true, 0.9},
		{"launch.chain.us", "hand", false, 1.1},
		{"launch.chains4.us", "hand", false, 1.1},
		{"stream.triad.gbps", "openmp", true, 0.95},
		{"library.*.us", "openmp", false, 1},
		{"cold.exec.median_ms", "", false, 50},
		{"tracing.over_without", "", false, 1.1},
		{"launch.sycl.over_native", "", false, 1.1},
		{"stream.sycl.over_native", "", true, 0.95},
		{"coexec.regular.efficiency", "", true, 0.95},
		{"coexec.irregular.efficiency", "", true, 0.9},
		{"coexec.cold_over_best", "", false, 1.2},
		{"predict.seen.median_error", "", false, 0.1},
		{"predict.unseen.median_error", "", false, 0.25},
		{"predict.makespan_error", "", false, 0.1},
		{"schedule.mean_over_heft", "", false, 0.93},
		{"schedule.max_over_heft", "", false, 1},
		{"schedule.plan_seconds", "", false, 1},
		{"fpga.bulk.over_bare", "", true, 0.8},
		{"overlap.makespan_over_bound", "", false, 1.05},
		{"overlap.hidden_ratio", "", true, 0.95},
	}
}

// goalFor is the goal of a figure against a system. Figures of one device have
// none: the planner may choose another.
func goalFor(figure, system string) (goal, bool) {
	if withoutDevice(figure) != figure {
		return goal{}, false
	}
	for _, g := range goals() {
		if ok, err := path.Match(g.figure, figure); err == nil && ok && g.system == system {
			return g, true
		}
	}
	return goal{}, false
}
