package tandem

import (
	"slices"
	"time"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/kernels"
	"github.com/tandemrun/tandem/transfer"
)

// Work stealing is the last corrector of a plan: a device that has run out of
// work takes launches that wait behind others on a device that works in the
// same memory, so that nothing has to move. To leave something to take, a device
// is not given more than a few milliseconds of predicted work at once.

// maxAhead is the predicted work that a queue holds where others could steal.
const maxAhead = 2 * time.Millisecond

// offer tells idle agents that a has launches waiting.
func (s *Session) offer(a *agent) {
	if !s.stealing {
		return
	}
	for _, b := range s.agents {
		if s.relieves(b, a) && b.launches.Load() == 0 && b.usable() {
			b.retry()
		}
	}
}

// relieves reports whether b may take launches from a: both work in the host's
// memory, and they are not faces of one processor that take turns.
//
// An emulated device takes part in plans with the times of what it emulates and
// needs longer: it is neither relieved nor does it take what others could do.
func (s *Session) relieves(b, a *agent) bool {
	return b != a && !a.info.Emulated && !b.info.Emulated && b.info.HostCoherent && a.info.HostCoherent && (!s.exclusive || b.info.PhysicalID != a.info.PhysicalID)
}

// steal takes one launch from another agent, if there is one that this device
// can run where it is. It runs on the agent's goroutine and never waits: while
// something is being lowered it takes nothing.
func (a *agent) steal() {
	s := a.session
	if !s.stealing || !a.info.HostCoherent || !a.usable() || !s.mu.TryLock() {
		return
	}
	defer s.mu.Unlock()
	for _, victim := range s.agents {
		if !s.relieves(a, victim) {
			continue
		}
		victim.mu.Lock()
		for i := len(victim.held) - 1; i >= 0; i-- { // what it would come to last
			o := victim.held[i]
			if v, k := a.couldRun(o); k != nil {
				victim.held = slices.Delete(victim.held, i, i+1)
				victim.mu.Unlock()
				if !a.adopt(o, v, k) {
					victim.push(o)
					return
				}
				a.push(o)
				return
			}
		}
		victim.mu.Unlock()
	}
}

// couldRun finds the compiled kernel with which the agent could run o as it
// stands: in the host's memory, with nothing left to wait for. s.mu is held.
func (a *agent) couldRun(o *op) (*kernels.Variant, devices.Kernel) {
	if o.kind != opLaunch || o.division != nil || o.fault != nil || o.cohort != nil || o.cut != nil {
		return nil, nil
	}
	o.mu.Lock()
	blocked := o.poison != nil
	for _, e := range o.native {
		done, err := e.op.state()
		blocked = blocked || !done || err != nil
	}
	from := o.agent
	o.mu.Unlock()
	task := o.run.graph.task(o.task)
	if blocked || task.wish().selector != "" {
		return nil, nil
	}
	for _, b := range task.buffers() {
		if b.bytes > 0 && a.session.nodeOf(from, b.replicas[from.index]) != transfer.Host {
			return nil, nil
		}
	}
	v, why := candidate(task, a, nil)
	if why != "" {
		return nil, nil
	}
	return v, a.session.programs.compiled(a, v)
}

// adopt makes o a launch of this agent; false: it stays as it was.
func (a *agent) adopt(o *op, v *kernels.Variant, k devices.Kernel) bool {
	task := o.run.graph.task(o.task)
	buffers := make([]devices.Buffer, len(task.call.Args))
	for i, b := range task.buffers() {
		if b.bytes == 0 {
			continue
		}
		if a.session.replica(b, a) != nil {
			return false
		}
		r := b.replicas[a.index]
		if a.session.nodeOf(a, r) != transfer.Host {
			return false
		}
		buffers[i] = r.Buffer
	}
	for i, b := range buffers {
		if b != nil {
			o.launch.Args[i].Buffer = b
		}
	}
	o.launch.Kernel = k
	o.variant = v
	o.mu.Lock()
	if o.planned == nil {
		o.planned = o.agent
	}
	o.agent = a
	o.mu.Unlock()
	return true
}

// compiled finds a kernel that has been compiled already.
func (p *programs) compiled(a *agent, v *kernels.Variant) devices.Kernel {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.kernels[a.index][v]
}
