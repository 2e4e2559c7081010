package tandem

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/partitioner"
)

// Re-planning: when a launch takes a time that the prediction's spread does not
// cover, what has not been put in order yet is planned again, from what the
// cost model has learnt meanwhile and from what the devices still have to do.
// To have something left to plan, a run on several devices is lowered only so
// far ahead.

const (
	// horizon is the predicted work that is lowered ahead, over all devices.
	horizon = 200 * time.Millisecond
	// aheadEach is how many operations of each device are lowered ahead in any
	// case, however long they take.
	aheadEach = 8
	// driftFloor is a difference that is never worth a new plan.
	driftFloor = time.Millisecond
	// maxReplanned bounds the tasks of a graph that is planned again: planning
	// takes tens of microseconds for each.
	maxReplanned = 5000
)

// drift watches how far reality leaves the predictions of one run.
type drift struct {
	ahead   []atomic.Int64 // by agent: predicted ns of what is lowered and not over
	total   atomic.Int64
	strayed atomic.Pointer[string] // a launch outside its spread, in words
	next    time.Duration          // no new plan before; lowering only
}

// lowered counts a launch that has been put in order, over one that has ended.
func (d *drift) lowered(o *op) {
	d.ahead[o.share.agent].Add(int64(o.predicted))
	d.total.Add(int64(o.predicted))
}

func (d *drift) over(o *op) {
	d.ahead[o.share.agent].Add(-int64(o.predicted))
	d.total.Add(-int64(o.predicted))
}

// saw compares a launch with its prediction: three standard deviations are too
// far, and so is three times the prediction, of which a mere guess has no idea.
func (d *drift) saw(o *op, t devices.Times) {
	took := t.Cost()
	off := (took - o.predicted).Abs()
	if off > max(min(3*o.share.spread, 2*o.predicted), o.predicted/2, driftFloor) && d.strayed.Load() == nil {
		words := fmt.Sprintf("%s took %v where %v was predicted", o.agent.info.ID, took, o.predicted)
		d.strayed.Store(&words)
	}
}

// far reports whether enough has been lowered for now.
func (r *Run) far() bool {
	n := r.pending.Load()
	if n >= maxPending {
		return true
	}
	agents := len(r.session.agents)
	return agents > 1 && n >= int64(aheadEach*agents) && r.drift.total.Load() > int64(horizon)
}

// replan plans the tasks that todo names again, if reality has left the plan.
// A new plan that cannot be made or compiled leaves the old one in force.
func (r *Run) replan(todo []int) {
	why := r.drift.strayed.Load()
	s := r.session
	if why == nil || len(todo) < 2 || len(s.agents) < 2 || r.graph.Len() > maxReplanned || devices.Now() < r.drift.next {
		return
	}
	r.drift.strayed.Store(nil)
	begun := devices.Now()
	p, err := r.current.again(todo, &r.drift)
	// Planning must not eat what it gains.
	r.drift.next = devices.Now() + 20*(devices.Now()-begun)
	if err != nil || p.compile(context.Background()) != nil {
		return
	}
	old := r.current
	r.current = p
	for _, i := range todo {
		if old.placed[i].later == p.placed[i].later && slices.EqualFunc(old.placed[i].shares, p.placed[i].shares, func(a, b placedShare) bool { return a.agent == b.agent && a.nd == b.nd }) {
			continue
		}
		r.partsLeft[i].Store(int32(p.placed[i].parts() * r.graph.task(i).times()))
		p.placed[i].reason = "planned again, " + *why + ": " + p.placed[i].reason
		if f := s.observer.Decided; f != nil {
			f(p.decision(r.id, i))
		}
	}
}

// again plans the tasks of todo once more; the others stay where they are and
// count as done, but for the time that their devices still need for them.
func (p *Plan) again(todo []int, d *drift) (*Plan, error) {
	s := p.session
	np := &Plan{session: s, graph: p.graph, order: p.order, placed: slices.Clone(p.placed)}
	pl := newPlanner(np, np.placed)
	pl.fixed = make([]bool, len(p.placed))
	for i := range pl.fixed {
		pl.fixed[i] = true
	}
	for _, i := range todo {
		pl.fixed[i] = false
	}
	if err := pl.build(); err != nil {
		return nil, err
	}
	for j := range pl.problem.Devices {
		pl.problem.Devices[j].Ready = time.Duration(max(d.ahead[j].Load(), 0))
	}
	var err error
	if np.schedule, err = partitioner.HEFT(pl.problem); err != nil {
		return nil, err
	}
	np.Predicted = p.Predicted // of the run as a whole, as first planned
	order := p.order
	pl.place()
	np.order = order // what is done is done; the rest keeps its order
	return np, nil
}
