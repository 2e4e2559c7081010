package partitioner

import (
	"container/heap"
	"fmt"
	"math"
	"time"
)

// HEFT plans by heterogeneous earliest finish time (Topcuoglu, Hariri and Wu,
// IEEE TPDS 13(3), 2002): tasks in the order of their upward rank, each on the
// device, or divided over the devices, where it finishes first, counting
// transfers, what is queued, and gaps between what is placed already.
//
// A task that no device can run is a *PlanError, a ring of tasks a
// *CycleError; what contradicts itself is devices.ErrInvalid. The cost is
// about tasks·log(tasks) + (tasks + reads)·devices.
func HEFT(p *Problem) (*Plan, error) {
	g, err := gather(p)
	if err != nil {
		return nil, err
	}
	if g != nil {
		merged, err := HEFT(g.merged)
		if err != nil {
			return nil, err
		}
		return g.spread(merged), nil
	}
	s, err := prepare(p)
	if err != nil {
		return nil, err
	}
	return s.heft()
}

func (s *setup) heft() (*Plan, error) {
	st := newState(s)
	st.reset()
	pl := &Plan{Tasks: make([]Placement, len(s.Tasks)), Order: s.byPriority(s.upwardRanks())}
	st.plan, st.explain = pl, true
	var err error
	for _, t := range pl.Order {
		if pl.Tasks[t], err = st.place(t); err != nil {
			return nil, err
		}
	}
	st.close()
	pl.Makespan = st.makespan
	pl.LowerBound = s.lowerBound()
	return pl, nil
}

// upwardRanks is, for each task, the mean time from its start to the end of
// the graph, in ns.
func (s *setup) upwardRanks() []float64 {
	rank := make([]float64, len(s.Tasks))
	for i := len(s.order) - 1; i >= 0; i-- {
		t := s.order[i]
		longest := s.meanHome(t)
		for _, e := range s.succ[t] {
			longest = max(longest, s.meanMove(e.bytes)+rank[e.to])
		}
		rank[t] = s.meanRun(t) + longest
	}
	return rank
}

func (s *setup) meanRun(t int) float64 {
	sum, n := 0.0, 0
	for d := range s.nd {
		if r := s.wholeRun(t, d); r >= 0 {
			sum += float64(r)
			n++
		}
	}
	return sum / float64(n)
}

// meanHome is what bringing a task's outputs to the host takes on average over
// the devices that can run it.
func (s *setup) meanHome(t int) float64 {
	sum, n := 0.0, 0
	for d := range s.nd {
		if s.wholeRun(t, d) < 0 {
			continue
		}
		n++
		var longest time.Duration
		for _, w := range s.Tasks[t].Writes {
			if s.Data[w].Return {
				longest = max(longest, s.move(s.node[d], 0, s.Data[w].Bytes))
			}
		}
		sum += float64(longest)
	}
	return sum / float64(n)
}

// byPriority orders the tasks by decreasing priority, none before one that it
// waits for; equals go by number.
func (s *setup) byPriority(priority []float64) []int {
	wait := make([]int, len(s.Tasks))
	ready := &readyTasks{priority: priority}
	for i := range s.pred {
		if wait[i] = len(s.pred[i]); wait[i] == 0 {
			ready.tasks = append(ready.tasks, i)
		}
	}
	heap.Init(ready)
	order := make([]int, 0, len(s.Tasks))
	for len(ready.tasks) > 0 {
		t := heap.Pop(ready).(int)
		order = append(order, t)
		for _, e := range s.succ[t] {
			if wait[e.to]--; wait[e.to] == 0 {
				heap.Push(ready, e.to)
			}
		}
	}
	return order
}

// readyTasks is a heap of the tasks that may be decided next.
type readyTasks struct {
	tasks    []int
	priority []float64
}

func (r *readyTasks) Len() int { return len(r.tasks) }
func (r *readyTasks) Less(i, j int) bool {
	a, b := r.tasks[i], r.tasks[j]
	if r.priority[a] != r.priority[b] {
		return r.priority[a] > r.priority[b]
	}
	return a < b
}
func (r *readyTasks) Swap(i, j int) { r.tasks[i], r.tasks[j] = r.tasks[j], r.tasks[i] }
func (r *readyTasks) Push(x any)    { r.tasks = append(r.tasks, x.(int)) }
func (r *readyTasks) Pop() any {
	n := len(r.tasks) - 1
	t := r.tasks[n]
	r.tasks = r.tasks[:n]
	return t
}

// place puts a task where it finishes first and says why.
func (st *state) place(t int) (Placement, error) {
	ready := st.ready(t)
	best, bestAt := -1, never
	second := never
	var pl Placement
	if st.explain {
		pl.Candidates = make([]Candidate, st.nd)
	}
	for d := range st.Devices {
		var finish time.Duration
		if st.explain {
			c := st.look(t, d, ready)
			pl.Candidates[d] = c
			if c.Refused != "" {
				continue
			}
			finish = c.Finish
		} else if finish = st.eft(t, d, ready); finish == never {
			continue
		}
		if st.shy[t*st.nd+d] {
			continue
		}
		finish += st.home(t, st.node[d])
		switch {
		case finish < bestAt || best < 0:
			best, bestAt, second = d, finish, bestAt
		case finish < second:
			second = finish
		}
	}
	if shares, ok := st.divide(t, ready, bestAt); ok {
		st.putShares(t, shares, ready)
		pl.Shares = shares
		if st.explain {
			pl.Reason = fmt.Sprintf("divided over %d devices: done at %s", len(shares), show(st.finish[t]))
			if best >= 0 {
				pl.Reason += fmt.Sprintf(", on %s alone at %s", st.Devices[best].ID, show(bestAt))
			}
		}
	} else if best < 0 {
		return pl, st.noDevice(t)
	} else {
		pl.Shares = []Share{st.put(t, best, ready)}
		if st.explain {
			pl.Reason = reason(st.Devices[best].ID, bestAt, second) + st.doubted(t)
		}
	}
	pl.Start, pl.Finish = bounds(pl.Shares)
	return pl, nil
}

func reason(id string, at, second time.Duration) string {
	if second == never {
		return id + " is the only device that can run it"
	}
	return fmt.Sprintf("%s finishes first: at %s, the next one at %s", id, show(at), show(second))
}

// show writes a time with three significant digits.
func show(d time.Duration) string {
	if d <= 0 {
		return d.String()
	}
	unit := time.Duration(math.Pow10(max(int(math.Log10(float64(d)))-2, 0)))
	return d.Round(unit).String()
}

func bounds(shares []Share) (start, finish time.Duration) {
	start = never
	for _, sh := range shares {
		start, finish = min(start, sh.Start), max(finish, sh.Finish)
	}
	return start, finish
}
