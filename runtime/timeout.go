package tandem

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/tandemrun/tandem/devices"
)

// Time limits of launches. A kernel that runs cannot be stopped: when it exceeds
// its limit, its device counts as hung and is not used again, and everything
// that could only go on after it is given up.

// sleep parks the goroutine until there is a note, or until the op that has
// been running longest exceeds its time limit.
func (a *agent) sleep() {
	limit, first := a.deadline()
	if first == nil {
		<-a.wake
		return
	}
	a.timer.Reset(time.Duration(limit - devices.Now()))
	select {
	case <-a.wake:
		a.timer.Stop()
	case <-a.timer.C:
		a.retire() // what is ahead of it may be over without a word
		if limit, first = a.deadline(); first != nil && limit <= devices.Now() {
			a.overdue(first)
		}
	}
}

// deadline finds the op whose time limit ends first, if any has one.
func (a *agent) deadline() (at time.Duration, first *op) {
	if a.hung.Load() {
		return 0, nil
	}
	for _, q := range a.compute {
		if q.inFlight() == 0 {
			continue
		}
		o := q.issued[q.head]
		if o.run == nil || o.task < 0 {
			continue
		}
		limit := o.run.graph.task(o.task).wish().timeout
		if limit <= 0 {
			continue
		}
		if o.waits() {
			q.since = devices.Now()
		}
		if end := q.since + limit; first == nil || end < at {
			at, first = end, o
		}
	}
	return at, first
}

// waits reports whether an issued op has not begun because one on another queue
// of its device is not over.
func (o *op) waits() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, e := range o.native {
		if done, _ := e.op.state(); done || e.op.event == nil {
			continue
		}
		if done, _ := e.op.event.Done(); !done {
			return true
		}
	}
	return false
}

// overdue gives up on a launch that runs longer than its task allows. Its op
// retires when and if the driver reports it.
func (a *agent) overdue(o *op) {
	a.hung.Store(true)
	behind := map[*Run]bool{o.run: true}
	for _, q := range a.queues() {
		for _, other := range q.issued[q.head:] {
			if other.run != nil {
				behind[other.run] = true
			}
		}
	}
	for other := range a.aboard {
		if other.run != nil {
			behind[other.run] = true
		}
	}
	a.session.live.Add(1) // o's run is in it until o is over
	go a.session.strand(o, a.info.ID, behind)
	a.retry() // what has not been issued moves elsewhere
}

// strand gives up the runs that cannot end before o does: those behind it on its
// device, and later ones that share buffers with any of them.
func (s *Session) strand(o *op, device string, stuck map[*Run]bool) {
	defer s.live.Done()
	task := o.run.graph.task(o.task)
	s.mu.Lock()
	later := slices.SortedFunc(maps.Keys(s.runs), func(a, b *Run) int { return cmp.Compare(a.id, b.id) })
	for _, r := range later {
		for before := range stuck {
			if before.id < r.id && shareBuffers(before.graph, r.graph) {
				stuck[r] = true
				break
			}
		}
	}
	for r := range stuck {
		s.stuck[r] = struct{}{}
	}
	s.mu.Unlock()
	late := &TaskError{Task: o.run.graph.nameOf(o.task), Device: device, Attempt: 1, Err: fmt.Errorf("still running after %v: %w", task.wish().timeout, devices.ErrTimeout)}
	for r := range stuck {
		if r == o.run {
			r.giveUp(o.task, device, late)
		} else {
			r.giveUp(-1, device, fmt.Errorf("waits for another run: %w", late))
		}
	}
}

// giveUp ends the run while some of it is still on a device.
func (r *Run) giveUp(task int, device string, err error) {
	r.mu.Lock()
	if r.over {
		r.mu.Unlock()
		return
	}
	if task >= 0 {
		r.failed[task] = true
		r.errs = append(r.errs, err)
	}
	r.mu.Unlock()
	r.Cancel(err)
	if f := r.session.observer.Faulted; f != nil {
		f(FaultEvent{r.id, task, device, err, "gave the run up; the device is not used again", true, r.session.clock.now()})
	}
	r.end()
}

// stuckOn is why b cannot be waited for: a run that was given up may still be
// using it. s.mu is held.
func (s *Session) stuckOn(b *Buffer) error {
	for r := range s.stuck {
		if _, uses := r.graph.use[b]; uses {
			return fmt.Errorf("buffer %q: a task that exceeded its time limit may still be using it: %w", b.array.Name, devices.ErrTimeout)
		}
	}
	return nil
}
