package partitioner

import "time"

// trace finds a chain of tasks that the makespan of the decoded solution hangs
// on: each starts when the one before it in the chain, a predecessor or the
// task before it on its resource, lets it.
func (f *search) trace() {
	for i, t := range f.now.order {
		f.position[t] = i
	}
	last := 0
	for t := range f.finish {
		if f.finish[t] > f.finish[last] {
			last = t
		}
	}
	f.chain = append(f.chain[:0], last)
	for t := last; len(f.chain) < 200; {
		next := -1
		// What ends on the same resource when it begins holds it up.
		if c := f.chosen[t]; c >= 0 {
			for _, q := range f.neighbours(t) {
				if q != t && f.finish[q] == f.begin[t] && f.chosen[q] >= 0 && f.resource[f.chosen[q]] == f.resource[c] {
					next = q
					break
				}
			}
		}
		if next < 0 {
			at := time.Duration(-1)
			for _, q := range f.pred[t] {
				if f.finish[q] > at {
					next, at = q, f.finish[q]
				}
			}
		}
		if next < 0 {
			return
		}
		f.chain = append(f.chain, next)
		t = next
	}
}

// neighbours are the tasks decided shortly before t: those that may hold it up
// on its resource.
func (f *search) neighbours(t int) []int {
	at := f.position[t]
	return f.now.order[max(0, at-64):min(len(f.now.order), at+32)]
}

// change makes a random step. false: it could not.
func (f *search) change(sol *solution) bool {
	t := f.chain[f.rng.IntN(len(f.chain))]
	if f.rng.IntN(5) == 0 {
		t = f.rng.IntN(len(f.Tasks))
	}
	switch k := f.rng.IntN(10); {
	case k < 4:
		return f.moveDevice(sol, t)
	case k < 7:
		return f.moveOrder(sol, t)
	case k < 9:
		// The task and those around it choose anew.
		f.free(sol, t)
		return true
	default:
		ok := f.moveDevice(sol, t)
		for _, q := range f.pred[t] {
			if sol.choice[t] >= 0 && f.run[q*f.nd+sol.choice[t]] >= 0 && !f.shy[q*f.nd+sol.choice[t]] && f.rng.IntN(2) == 0 {
				sol.choice[q] = sol.choice[t]
			}
		}
		return ok
	}
}

func (f *search) moveDevice(sol *solution, t int) bool {
	if f.divisible(t) && sol.choice[t] != divided && f.rng.IntN(3) == 0 {
		sol.choice[t] = divided
		return true
	}
	for range 4 {
		d := f.rng.IntN(f.nd)
		if d != sol.choice[t] && f.run[t*f.nd+d] >= 0 && !f.shy[t*f.nd+d] {
			sol.choice[t] = d
			return true
		}
	}
	return false
}

// moveOrder decides t earlier or later, between the tasks that it waits for and
// those that wait for it.
func (f *search) moveOrder(sol *solution, t int) bool {
	at := f.position[t]
	lo, hi := 0, len(sol.order)-1
	for _, q := range f.pred[t] {
		lo = max(lo, f.position[q]+1)
	}
	for _, e := range f.succ[t] {
		hi = min(hi, f.position[e.to]-1)
	}
	if lo >= hi {
		return false
	}
	to := lo + f.rng.IntN(hi-lo+1)
	if to > at && f.rng.IntN(3) > 0 && lo < at {
		to = lo + f.rng.IntN(at-lo) // earlier is what mostly helps
	}
	switch {
	case to < at:
		copy(sol.order[to+1:at+1], sol.order[to:at])
	case to > at:
		copy(sol.order[at:to], sol.order[at+1:to+1])
	default:
		return false
	}
	sol.order[to] = t
	return true
}

// free lets t and some of its neighbours in the graph choose their devices.
func (f *search) free(sol *solution, t int) {
	sol.choice[t] = anyDevice
	for _, q := range f.pred[t] {
		if f.rng.IntN(2) == 0 {
			sol.choice[q] = anyDevice
		}
	}
	for _, e := range f.succ[t] {
		if f.rng.IntN(2) == 0 {
			sol.choice[e.to] = anyDevice
		}
	}
}
