package partitioner

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"
)

// Choices of a search that are not a device's index.
const (
	anyDevice = -1 // where it finishes first
	divided   = -2 // over all devices that help
)

// Improve searches for a plan with a smaller makespan, starting from plan (nil:
// HEFT's). It never returns a worse one: if the search finds nothing it returns
// plan itself. effort bounds the search, as the number of single placements it
// may try; a plan of n tasks takes n, and a second is enough for about a million.
// The same seed gives the same plan.
//
// The search builds plans with several priorities (upward ranks over mean,
// least, harmonic and worst run times; PEFT's table) and looks ahead with the
// table while placing; then it changes the best one step by step, moving tasks
// of the critical chain to other devices, to other places in the order, or
// letting them choose anew. Worse steps are taken for a while too (late
// acceptance hill climbing, Burke and Bykov, EJOR 258(1), 2017).
func Improve(p *Problem, plan *Plan, seed uint64, effort int) (*Plan, error) {
	g, err := gather(p)
	if err != nil {
		return nil, err
	}
	if g != nil {
		return g.improve(plan, seed, effort)
	}
	s, err := prepare(p)
	if err != nil {
		return nil, err
	}
	if plan == nil {
		if plan, err = s.heft(); err != nil {
			return nil, err
		}
	}
	if len(plan.Order) != len(s.Tasks) || len(plan.Tasks) != len(s.Tasks) {
		return nil, invalid("plan: %d placements in an order of %d, there are %d tasks", len(plan.Tasks), len(plan.Order), len(s.Tasks))
	}
	if len(s.Tasks) == 0 || plan.Makespan <= plan.LowerBound {
		return plan, nil
	}
	f := &search{state: newState(s), rng: rand.New(rand.NewPCG(seed, 0)), left: effort}
	f.start(plan)
	f.construct()
	f.climb()
	if f.best.makespan >= plan.Makespan {
		return plan, nil
	}
	better := f.result(plan)
	if better == nil || better.Makespan >= plan.Makespan {
		return plan, nil
	}
	return better, nil
}

// improve is Improve of a problem with tasks that run together.
func (g *gangs) improve(plan *Plan, seed uint64, effort int) (*Plan, error) {
	var before *Plan
	if plan != nil {
		var err error
		if before, err = g.fold(plan); err != nil {
			return nil, err
		}
	}
	after, err := Improve(g.merged, before, seed, effort)
	if err != nil {
		return nil, err
	}
	if plan != nil && after == before {
		return plan, nil
	}
	return g.spread(after), nil
}

// solution is what a plan is decoded from.
type solution struct {
	order    []int
	choice   []int
	makespan time.Duration
}

func (a *solution) set(b *solution) {
	a.order = append(a.order[:0], b.order...)
	a.choice = append(a.choice[:0], b.choice...)
	a.makespan = b.makespan
}

// search is a search in progress.
type search struct {
	*state
	rng       *rand.Rand
	left      int // placements that may still be tried
	now, best solution
	trial     solution
	chosen    []int           // by task, what decode chose
	begin     []time.Duration // by task, of the last decoded solution
	position  []int           // by task, in the order
	bound     time.Duration
	oct       []float64
	chain     []int
}

// start takes a plan over as the first solution.
func (f *search) start(plan *Plan) {
	n := len(f.Tasks)
	f.chosen, f.begin, f.position = make([]int, n), make([]time.Duration, n), make([]int, n)
	f.bound = plan.LowerBound
	choice := make([]int, n)
	for t, pm := range plan.Tasks {
		choice[t] = pm.Shares[0].Device
		if len(pm.Shares) > 1 {
			choice[t] = divided
		}
	}
	f.now = solution{slices.Clone(plan.Order), choice, plan.Makespan}
	f.best.set(&f.now)
}

// decode places all tasks as a solution says and returns the makespan; never if
// a choice cannot be kept. Placing stops early where the plan is later than
// limit in any case.
func (f *search) decode(sol *solution, oct []float64, limit time.Duration) time.Duration {
	f.reset()
	for i, t := range sol.order {
		c := sol.choice[t]
		if sp := f.Tasks[t].Split; sp != nil && sp.Shares != nil {
			c = divided // as asked for, however much sooner one device would be done
		}
		ready := f.ready(t)
		if c == anyDevice {
			c = f.choose(t, ready, oct)
		}
		if c == divided {
			shares, ok := f.divide(t, ready, never)
			if !ok {
				if c = f.earliest(t, ready, nil); c < 0 {
					f.left -= i
					return never
				}
			} else {
				f.putShares(t, shares, ready)
				f.begin[t], _ = bounds(shares)
			}
		}
		if c >= 0 {
			if f.run[t*f.nd+c] < 0 {
				f.left -= i
				return never
			}
			f.begin[t] = f.put(t, c, ready).Start
		}
		f.chosen[t] = c
		if f.makespan > limit {
			f.left -= i
			return never
		}
	}
	f.close()
	f.left -= len(sol.order)
	return f.makespan
}

// earliest is the device on which a whole task finishes first, counting with
// oct what comes after it; -1: none can take all of it.
func (f *search) earliest(t int, ready time.Duration, oct []float64) int {
	best, at := -1, 0.0
	for d := range f.nd {
		finish := f.eft(t, d, ready)
		if finish == never || f.shy[t*f.nd+d] {
			continue
		}
		cost := float64(finish)
		if oct != nil {
			cost += oct[t*f.nd+d]
		} else {
			cost += float64(f.home(t, f.node[d]))
		}
		if best < 0 || cost < at {
			best, at = d, cost
		}
	}
	return best
}

// choose is earliest, or divided where that is done sooner.
func (f *search) choose(t int, ready time.Duration, oct []float64) int {
	d := f.earliest(t, ready, oct)
	if !f.divisible(t) {
		return d
	}
	single := never
	if d >= 0 {
		single = f.eft(t, d, ready) + f.home(t, f.node[d])
	}
	if _, ok := f.divide(t, ready, single); ok {
		return divided
	}
	return d
}

// construct builds plans from several priorities, with and without looking
// ahead, and keeps the best.
func (f *search) construct() {
	f.oct = f.optimistic()
	free := make([]int, len(f.Tasks))
	for t := range free {
		free[t] = anyDevice
	}
	try := func(priority, oct []float64) {
		if f.left <= 0 {
			return
		}
		f.trial.order, f.trial.choice = f.byPriority(priority), append(f.trial.choice[:0], free...)
		// Choosing looks at every device.
		f.left -= (f.nd - 1) * len(f.Tasks) / 2
		f.consider(f.decode(&f.trial, oct, never))
	}
	for _, k := range rankings() {
		rank := f.upward(k)
		try(rank, f.oct)
		try(rank, nil)
	}
	try(f.octRank(f.oct), f.oct)
}

// consider makes the trial solution, as it was decoded, the current one if it
// is better.
func (f *search) consider(makespan time.Duration) {
	if makespan >= f.now.makespan {
		return
	}
	f.trial.choice = append(f.trial.choice[:0], f.chosen...)
	f.trial.makespan = makespan
	f.now.set(&f.trial)
	f.best.set(&f.trial)
}

// history is the length of the late acceptance list: a step is taken if it is
// no worse than the solution so many steps ago.
const history = 60

func (f *search) climb() {
	if f.left <= 0 || f.best.makespan <= f.bound {
		return
	}
	f.decode(&f.now, nil, never)
	f.trace()
	past := make([]time.Duration, history)
	for i := range past {
		past[i] = f.now.makespan
	}
	for step := 0; f.left > 0 && f.best.makespan > f.bound; step++ {
		f.trial.set(&f.now)
		if !f.change(&f.trial) {
			f.left-- // a change that is none must not go on for ever
			continue
		}
		limit := max(past[step%history], f.now.makespan)
		if got := f.decode(&f.trial, nil, limit); got <= limit {
			f.trial.choice = append(f.trial.choice[:0], f.chosen...)
			f.trial.makespan = got
			f.now.set(&f.trial)
			f.trace()
			if got < f.best.makespan {
				f.best.set(&f.trial)
			}
		}
		past[step%history] = f.now.makespan
	}
}

// result makes a plan of the best solution, with candidates and reasons; nil if
// it cannot be decoded again.
func (f *search) result(before *Plan) *Plan {
	f.reset()
	pl := &Plan{Tasks: make([]Placement, len(f.Tasks)), Order: slices.Clone(f.best.order), LowerBound: before.LowerBound}
	f.plan = pl
	for _, t := range pl.Order {
		if pl.Tasks[t] = f.placeAs(t, f.best.choice[t]); len(pl.Tasks[t].Shares) == 0 {
			return nil
		}
	}
	f.close()
	pl.Makespan = f.makespan
	return pl
}

// placeAs places a task as chosen and says how the others looked.
func (f *search) placeAs(t, choice int) Placement {
	ready := f.ready(t)
	pm := Placement{Candidates: make([]Candidate, f.nd)}
	first := -1
	for d := range f.nd {
		pm.Candidates[d] = f.look(t, d, ready)
		if c := pm.Candidates[d]; c.Refused == "" && (first < 0 || c.Finish < pm.Candidates[first].Finish) {
			first = d
		}
	}
	if choice == divided {
		if shares, ok := f.divide(t, ready, never); ok {
			f.putShares(t, shares, ready)
			pm.Shares = shares
			pm.Reason = fmt.Sprintf("divided over %d devices: done at %s", len(shares), show(f.finish[t]))
		} else {
			choice = f.earliest(t, ready, nil)
		}
	}
	if choice >= 0 {
		pm.Shares = []Share{f.put(t, choice, ready)}
		id, at := f.Devices[choice].ID, f.finish[t]
		pm.Reason = fmt.Sprintf("%s finishes first: at %s", id, show(at))
		if first >= 0 && pm.Candidates[first].Finish < at {
			pm.Reason = fmt.Sprintf("%s: done at %s; on %s it would be at %s, but everything together later", id, show(at), f.Devices[first].ID, show(pm.Candidates[first].Finish))
		}
	}
	pm.Start, pm.Finish = bounds(pm.Shares)
	return pm
}
