package partitioner

import "math"

// optimistic is the optimistic cost table of PEFT (Arabnejad and Barbosa, IEEE
// TPDS 25(3), 2014): for each task and device, the least time from the task's
// end there to the end of the graph, if every later task had its best device
// for itself. In ns, [task·devices + device].
func (s *setup) optimistic() []float64 {
	oct := make([]float64, len(s.Tasks)*s.nd)
	// Devices on one node differ in nothing that a successor pays for.
	nodeBest := make([]float64, s.nn)
	for i := len(s.order) - 1; i >= 0; i-- {
		t := s.order[i]
		row := oct[t*s.nd : (t+1)*s.nd]
		for d := range row {
			row[d] = s.homeFrom(t, s.node[d])
		}
		for _, e := range s.succ[t] {
			for n := range nodeBest {
				nodeBest[n] = math.Inf(1)
			}
			for w := range s.nd {
				if run := s.wholeRun(e.to, w); run >= 0 {
					n := s.node[w]
					nodeBest[n] = min(nodeBest[n], oct[e.to*s.nd+w]+float64(run))
				}
			}
			for d := range row {
				least := math.Inf(1)
				for n, b := range nodeBest {
					if !math.IsInf(b, 1) {
						least = min(least, b+float64(s.move(s.node[d], n, e.bytes)))
					}
				}
				row[d] = max(row[d], least)
			}
		}
	}
	return oct
}

// homeFrom is the longest way home of a task's outputs from a node, in ns.
func (s *setup) homeFrom(t, node int) float64 {
	longest := 0.0
	for _, w := range s.Tasks[t].Writes {
		if s.Data[w].Return {
			longest = max(longest, float64(s.move(node, 0, s.Data[w].Bytes)))
		}
	}
	return longest
}

// ranking is a way to weigh a task's run times for its upward rank.
type ranking struct {
	run  func(s *setup, t int) float64
	move float64 // factor on mean moves
}

func leastRank(s *setup, t int) float64 { return float64(s.cheapest[t]) }

func worstRank(s *setup, t int) float64 {
	worst := 0.0
	for d := range s.nd {
		worst = max(worst, float64(s.wholeRun(t, d)))
	}
	return worst
}

// harmonicRank is the run time at the devices' mean speed, which a few slow
// devices do not dominate.
func harmonicRank(s *setup, t int) float64 {
	rate, n := 0.0, 0
	for d := range s.nd {
		if r := s.wholeRun(t, d); r >= 0 {
			rate += 1 / max(float64(r), 1)
			n++
		}
	}
	return float64(n) / rate
}

// rankings are the upward ranks that a search starts from, HEFT's first.
func rankings() []ranking {
	return []ranking{
		{(*setup).meanRun, 1}, {leastRank, 1}, {harmonicRank, 0.5}, {worstRank, 1}, {(*setup).meanRun, 0}, {leastRank, 0.2},
	}
}

func (s *setup) upward(k ranking) []float64 {
	rank := make([]float64, len(s.Tasks))
	for i := len(s.order) - 1; i >= 0; i-- {
		t := s.order[i]
		longest := k.move * s.meanHome(t)
		for _, e := range s.succ[t] {
			longest = max(longest, k.move*s.meanMove(e.bytes)+rank[e.to])
		}
		rank[t] = k.run(s, t) + longest
	}
	return rank
}

// octRank is PEFT's priority: the mean of a task's optimistic costs.
func (s *setup) octRank(oct []float64) []float64 {
	rank := make([]float64, len(s.Tasks))
	for t := range rank {
		n := 0.0
		for d := range s.nd {
			if r := s.wholeRun(t, d); r >= 0 {
				rank[t] += oct[t*s.nd+d]
				n++
			}
		}
		rank[t] /= n
	}
	return rank
}
