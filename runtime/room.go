package tandem

import (
	"context"
	"errors"
	"fmt"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/kernels"
	"github.com/tandemrun/tandem/transfer"
)

// Room for replicas. When a device is full, replicas that other tasks used
// longest ago make room: those that nothing uses go first, after what is valid
// nowhere else has been written back. Session.mu is never held while waiting for
// an operation: one that fails needs it to be tried again.

// settleOn decides which device runs a part and makes the replicas it needs
// there: the planned device, or another one if that was lost meanwhile. s.mu is
// held, and given up while waiting for room.
func (r *Run) settleOn(o *op, task task) error {
	s := r.session
	waited := false
	for {
		if !o.agent.usable() && o.cohort != nil {
			return fmt.Errorf("%s is out of use, and tasks that run together do not move to another device: %w", o.agent.info.ID, devices.ErrDeviceLost)
		}
		if !o.agent.usable() {
			if err := r.moveOn(o, task); err != nil {
				return err
			}
		}
		wait, err := s.replicas(task, o.agent, o.cut)
		if err == nil && wait == nil && o.cut != nil {
			wait, err = s.makeWindows(o, task)
		}
		switch {
		case errors.Is(err, devices.ErrDeviceLost):
			s.lose(o, o.agent, err)
			continue
		case err != nil || wait == nil:
			return err
		}
		s.clock.change(0, -1, 0) // lowering stands still
		s.mu.Unlock()
		if !waited { // one at a time, or two could take turns taking the room from each other
			waited = true
			s.making.Lock()
			defer s.making.Unlock()
		}
		wait.waitEnd()
		s.mu.Lock()
		s.clock.change(0, 1, 0)
		if _, err := wait.state(); err != nil && wait.home && wait.run == nil {
			return fmt.Errorf("writing back to make room: %w", rootCause(err))
		}
	}
}

// moveOn gives o another device than the one that is out of use.
func (r *Run) moveOn(o *op, task task) error {
	s := r.session
	a, v, err := s.standIn(task)
	if err != nil {
		return fmt.Errorf("%s is out of use: %w", o.agent.info.ID, err)
	}
	k, err := s.programs.kernel(context.Background(), a, v)
	if errors.Is(err, devices.ErrDeviceLost) {
		s.lose(o, a, err)
		return r.moveOn(o, task)
	}
	if err != nil {
		return err
	}
	if o.planned == nil {
		o.planned = o.agent
	}
	o.agent, o.variant, o.launch.Kernel, o.cut, o.hosted = a, v, k, nil, false
	return nil
}

// standIns are the devices in the order in which they are to be tried for a task
// whose device was lost: those that it asks for first, and where it asks for
// none that is left, any.
func (s *Session) standIns(task task) []*agent {
	text := task.wish().selector
	if text == "" {
		return s.agents
	}
	sel, err := ParseSelector(text)
	if err != nil {
		return s.agents // it was understood when the task was planned
	}
	asked, err := sel.Select(s.Devices())
	if err != nil {
		return s.agents
	}
	var first, rest []*agent
	for _, a := range s.agents {
		if hasID(asked, a.info.ID) {
			first = append(first, a)
		} else {
			rest = append(rest, a)
		}
	}
	return append(first, rest...)
}

// standIn finds a device that could run the task instead of a lost one.
func (s *Session) standIn(task task) (*agent, *kernels.Variant, error) {
	errs := []error{devices.ErrUnavailable}
	for _, a := range s.standIns(task) {
		v, why := candidate(task, a, nil)
		if why == "" {
			return a, v, nil
		}
		errs = append(errs, errors.New(why))
	}
	return nil, nil, fmt.Errorf("no device is left that could do it: %w", errors.Join(errs...))
}

// lose takes a device out of use, once.
func (s *Session) lose(o *op, a *agent, err error) {
	if a.lost.CompareAndSwap(false, true) {
		s.faulted(o, a, err, "took the device out of use; its work goes elsewhere")
	}
}

// replicas finds or makes the memory of all buffers that a task needs on a, but
// for those of which it gets windows. Where the device is full, wait is an
// operation after whose end there may be room. s.mu is held throughout.
func (s *Session) replicas(task task, a *agent, cut *cutting) (wait *op, err error) {
	for i, b := range task.needs() {
		if b.bytes == 0 || cut.has(i) {
			continue
		}
		for {
			err := s.replica(b, a)
			if err == nil {
				break
			}
			if !errors.Is(err, devices.ErrOutOfMemory) {
				return nil, err
			}
			if wait, err := s.evict(task, a, cut, err); wait != nil || err != nil {
				return wait, err
			}
		}
	}
	return nil, nil
}

// evict gives back the memory on a that was used longest ago, for a task that
// needs some. wait is an operation after whose end to try again; without
// anything that could go the result is full, which says what did not fit.
func (s *Session) evict(task task, a *agent, cut *cutting, full error) (wait *op, err error) {
	victim := a.oldest(task, nil, cut)
	if victim == nil {
		if earlier := a.streaming(); earlier != nil {
			return earlier, nil
		}
		return nil, full
	}
	other := victim.Owner.(*Buffer)
	if busy := other.busy(); busy != nil {
		return busy, nil
	}
	if wait := s.writeBack(other, a); wait != nil {
		return wait, nil
	}
	return nil, s.drop(victim, a)
}

// replica finds or makes b's memory on a.
func (s *Session) replica(b *Buffer, a *agent) error {
	if b.freed {
		return b.closed()
	}
	if r := b.replicas[a.index]; r != nil {
		a.memory.Touch(r)
		return nil
	}
	r, err := a.memory.Make(b.host, b.bytes, b)
	if err != nil {
		return fmt.Errorf("buffer %q: %w", b.array.Name, err)
	}
	b.replicas[a.index] = r
	return nil
}

// oldest is the replica that was used longest ago and that neither the task nor
// the copy of a buffer needs: one that nothing uses, if there is one.
func (a *agent) oldest(task task, copied *Buffer, cut *cutting) *transfer.Replica {
	needed := func(b *Buffer) bool {
		if b == copied {
			return true
		}
		for i, n := range task.needs() {
			if n == b && !cut.has(i) {
				return true
			}
		}
		return false
	}
	idle := a.memory.Oldest(func(r *transfer.Replica) bool {
		b := r.Owner.(*Buffer)
		return needed(b) || b.busy() != nil
	})
	if idle != nil {
		return idle
	}
	return a.memory.Oldest(func(r *transfer.Replica) bool { return needed(r.Owner.(*Buffer)) })
}

// busy is an operation on b that is not over, nil if there is none.
func (b *Buffer) busy() *op {
	var busy *op
	b.tracker.Pending(func(o *op) {
		if busy != nil {
			return
		}
		if done, _ := o.state(); !done {
			busy = o
		}
	})
	return busy
}

// writeBack copies to the host what is valid on a alone; the result is over
// when that is. nil: there is nothing. Nothing may be using b.
func (s *Session) writeBack(b *Buffer, a *agent) *op {
	b.tracker.Settle((*op).state)
	sole := b.tracker.Sole(a.node)
	if len(sole) == 0 {
		return nil
	}
	o := &op{kind: opHost, home: true}
	s.initOp(o)
	for _, r := range sole {
		// Undefined contents count as the host's: this cannot meet any.
		_ = s.lowerRead(b, transfer.Host, r[0], r[1], o)
	}
	o.release()
	return o
}

// drop gives a replica's memory back. Nothing may be using it, and nothing may
// be valid in it alone.
func (s *Session) drop(r *transfer.Replica, a *agent) error {
	b := r.Owner.(*Buffer)
	b.tracker.Settle((*op).state)
	b.tracker.Drop(a.node)
	b.replicas[a.index] = nil
	if err := a.memory.Free(r); err != nil && !a.lost.Load() {
		return fmt.Errorf("buffer %q: %w", b.array.Name, err)
	}
	return nil
}
