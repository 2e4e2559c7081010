package tandem

import (
	"fmt"
	"slices"

	"github.com/tandemrun/tandem/devices"
)

// A cohort is the operations of tasks that run together, one launch of each.
// Its fields are the agent's once all have been lowered.
type cohort struct {
	ops     []*op
	waiting int   // ops that are not issuable yet
	tried   bool  // it has been handed to the device
	off     error // it does not run, or only the part that the device has
}

// cohortKey names what must not run twice at the same time: the kernels of a
// program have one set of channels on a device.
type cohortKey struct {
	agent  int
	source *devices.Source
}

// lowerTogether lowers the tasks of a group. Their buffers are all made before
// any of them is put in order: none can make room for another, which would wait
// for it.
func (r *Run) lowerTogether(members []int) {
	s := r.session
	s.mu.Lock()
	defer s.mu.Unlock()
	c := &cohort{waiting: len(members)}
	var fault error
	for _, t := range members {
		o := r.newOp()
		o.cohort = c
		c.ops = append(c.ops, o)
		if o.fault = r.lowerShare(o, t, 0); o.fault != nil && fault == nil {
			fault = fmt.Errorf("task %q, which is to run together with it: %w", r.graph.nameOf(t), rootCause(o.fault))
		}
	}
	key := cohortKey{c.ops[0].agent.index, c.ops[0].variant.Source}
	for _, o := range c.ops {
		if fault != nil && o.fault == nil {
			o.fault = &skipped{fault}
		}
		if before := s.cohorts[key]; before != nil {
			for _, p := range before.ops {
				o.waitFor(p, false)
			}
		}
	}
	s.cohorts[key] = c
	for _, o := range c.ops {
		o.release()
	}
}

// forgetCohorts lets go of what a run has left behind. s.mu is held.
func (s *Session) forgetCohorts(r *Run) {
	for key, c := range s.cohorts {
		if c.ops[0].run == r {
			delete(s.cohorts, key)
		}
	}
}

// issueTogether issues an op with the others of its cohort, as soon as all are
// issuable; false: not yet.
func (a *agent) issueTogether(o *op) bool {
	c := o.cohort
	if !o.here {
		o.here = true
		c.waiting--
	}
	if c.off == nil && !c.tried && c.waiting == 0 {
		if c.off = c.barred(a); c.off == nil && !a.launchTogether(c) {
			return false
		}
	}
	switch {
	case o.event != nil || o.over: // issued with the first of them
		return true
	case c.off != nil:
		err := c.off
		if o.fault != nil {
			err = o.fault
		}
		return a.pass(o, err)
	}
	return false
}

// barred is why a cohort is not to run, nil if it is.
func (c *cohort) barred(a *agent) error {
	for _, o := range c.ops {
		if err := o.run.cancelled(); err != nil {
			return &skipped{err}
		}
		if o.fault != nil {
			return &skipped{rootCause(o.fault)}
		}
		if err := o.inheritedFailure(); err != nil {
			return err
		}
	}
	if !a.usable() {
		return fmt.Errorf("%s: out of use, and tasks that run together do not move to another device: %w", a.info.ID, devices.ErrDeviceLost)
	}
	return nil
}

// launchTogether puts each op of a cohort on a queue of its own, behind a gate
// that is opened when all are in their queues; false: not yet. Where one is
// refused none runs.
func (a *agent) launchTogether(c *cohort) bool {
	queues := a.freeQueues(len(c.ops))
	if queues == nil {
		return false
	}
	a.wait = a.wait[:0]
	var waited []edge
	for _, o := range c.ops {
		o.mu.Lock()
		native := o.native
		o.mu.Unlock()
		for _, e := range native {
			e.op.mu.Lock()
			finished, event := e.op.finished, e.op.event
			e.op.mu.Unlock()
			switch {
			case finished:
			case event == nil: // it failed and will be issued again
				return false
			case !slices.Contains(waited, e):
				a.wait = append(a.wait, event)
				waited = append(waited, e)
			}
		}
	}
	gate, err := newGate(a.device)
	if err != nil {
		c.off = err
		return true
	}
	defer gate.Release()
	a.wait = append(a.wait, gate.Event())
	c.tried = true
	for i, o := range c.ops {
		o.mu.Lock()
		o.begun = true
		o.native = slices.Clone(waited)
		o.mu.Unlock()
		ev, err := queues[i].queue.Launch(&o.launch, a.wait)
		if err != nil {
			o.fault = err
			c.off = &skipped{fmt.Errorf("task %q, which is to run together with it: %w", o.run.graph.nameOf(o.task), err)}
			break
		}
		o.event, o.where = ev, queues[i]
	}
	gate.Open(c.off)
	for _, o := range c.ops {
		if o.event != nil {
			a.issued(o)
		}
	}
	return true
}

// newGate makes a gate of a device that runs kernels together.
func newGate(d devices.Device) (devices.Gate, error) {
	g, ok := devices.As[devices.Gater](d)
	if !ok {
		return nil, fmt.Errorf("%s has no gates, which launches that run together need: %w", d.Info().ID, devices.ErrUnsupported)
	}
	return g.NewGate()
}

// freeQueues are the n compute queues with the least on them, nil if not so many
// have room.
func (a *agent) freeQueues(n int) []*agentQueue {
	queues := slices.Clone(a.compute)
	slices.SortStableFunc(queues, func(x, y *agentQueue) int { return x.inFlight() - y.inFlight() })
	if len(queues) < n || queues[n-1].inFlight() >= maxInFlight {
		return nil
	}
	return queues[:n]
}
