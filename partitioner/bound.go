package partitioner

import (
	"math"
	"time"
)

// lowerBound is a time that no plan can beat, the larger of two bounds:
//
// Path: the longest chain of tasks, each at its least possible run time, moves
// left out. A task that may be divided runs no shorter than 1/Σ(1/run) over the
// resources.
//
// Area: for any weights wᵣ ≥ 0 with sum 1, Σ over tasks of minᵣ(wᵣ·run on r) is
// a bound, since the resources together work off no task for less (weak duality
// of the assignment's linear relaxation). The weights are improved by a fixed
// number of multiplicative updates; every one of them gives a valid bound, the
// best is kept.
func (s *setup) lowerBound() time.Duration {
	return max(s.pathBound(), s.areaBound())
}

// leastRun is the shortest run of t on each resource; +Inf: it cannot run there.
func (s *setup) leastRun(t int, out []float64) {
	for r := range out {
		out[r] = math.Inf(1)
	}
	for d := range s.nd {
		if run := s.wholeRun(t, d); run >= 0 {
			out[s.resource[d]] = min(out[s.resource[d]], float64(run))
		}
	}
}

func (s *setup) divisible(t int) bool {
	sp := s.Tasks[t].Split
	return sp != nil && sp.Items > 1
}

func (s *setup) pathBound() time.Duration {
	end := make([]time.Duration, len(s.Tasks))
	least := make([]float64, s.resources)
	var bound time.Duration
	for _, t := range s.order {
		run := s.cheapest[t]
		if s.divisible(t) {
			s.leastRun(t, least)
			rate := 0.0
			for _, l := range least {
				rate += 1 / l // 1/Inf is 0; 1/0 makes the bound 0
			}
			run = time.Duration(1 / rate * (1 - 1e-9))
		}
		var start time.Duration
		for _, p := range s.pred[t] {
			start = max(start, end[p])
		}
		end[t] = start + run
		bound = max(bound, end[t])
	}
	return bound
}

func (s *setup) areaBound() time.Duration {
	if len(s.Tasks) == 0 {
		return 0
	}
	nr := s.resources
	least := make([]float64, len(s.Tasks)*nr)
	for t := range s.Tasks {
		s.leastRun(t, least[t*nr:(t+1)*nr])
	}
	w := make([]float64, nr)
	load := make([]float64, nr)
	for r := range w {
		w[r] = 1 / float64(nr)
	}
	best := 0.0
	const rounds = 40
	for round := range rounds {
		clear(load)
		sum := 0.0
		for t := range s.Tasks {
			row := least[t*nr : (t+1)*nr]
			at, cost := 0, math.Inf(1)
			for r, run := range row {
				if c := w[r] * run; c < cost {
					at, cost = r, c
				}
			}
			if math.IsInf(cost, 1) {
				continue
			}
			load[at] += row[at]
			sum += cost
		}
		best = max(best, sum)
		// A resource that this pricing overloads becomes dearer.
		mean, total := 0.0, 0.0
		for _, l := range load {
			mean += l / float64(nr)
		}
		if mean == 0 {
			break
		}
		step := 0.5 / math.Sqrt(float64(round+1))
		for r := range w {
			w[r] *= math.Exp(step * min(max((load[r]-mean)/mean, -3), 3))
			total += w[r]
		}
		for r := range w {
			w[r] /= total
		}
	}
	return time.Duration(best * (1 - 1e-9))
}
