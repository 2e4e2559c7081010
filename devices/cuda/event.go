package cuda

import (
	"fmt"
	goruntime "runtime"
	"sync/atomic"
	"time"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/devices/internal/dl"
	"github.com/tandemrun/tandem/devices/internal/ragged"
)

// The states of an event.
const (
	pending  int32 = iota
	settling       // one goroutine works the outcome out
	succeeded
	broke
)

var errClosedDevice = fmt.Errorf("the device was closed: %w", devices.ErrClosed)

// event is one enqueued command. Events are pooled by their device; refs'
// holders are the owner and a pending completion.
//
// A command that the driver has accepted can only fail by the loss of the
// whole context, so an event keeps nothing of what it waits for: streams and
// CUDA events see to the order.
type event struct {
	d          *device
	start, end [1]uintptr // CUevent, as the list of arguments of cuEventQuery

	state atomic.Int32
	refs  atomic.Int32
	err   error // once state is broke

	q     *queue
	seq   uint64 // position in q; 0: the command was not enqueued
	timed bool   // start and end were recorded

	cmd       command
	queued    time.Duration // host time before it was enqueued
	submitted time.Duration // and after
	seen      time.Duration // host time at which it was known to be finished
	times     atomic.Pointer[devices.Times]
	waiter    devices.Completion
}

// command says what an event stands for, for error messages.
type command struct {
	kernel string // "": a copy or a marker
	nd     devices.NDRange
	copy   devices.CopyKind
	size   int64
	replay int // launches of a recorded sequence
}

func (c *command) String() string {
	switch {
	case c.kernel != "":
		return fmt.Sprintf("kernel %q over %s", c.kernel, ragged.Extent(c.nd))
	case c.replay > 0:
		return fmt.Sprintf("replay of %d launches", c.replay)
	}
	return fmt.Sprintf("copy %v of %d bytes", c.copy, c.size)
}

// Done implements devices.Event.
func (e *event) Done() (bool, error) {
	if e.state.Load() == pending {
		e.ask()
	}
	switch e.state.Load() {
	case succeeded:
		return true, nil
	case broke:
		return true, e.err
	}
	return false, nil
}

// ask finds out whether the command has finished.
func (e *event) ask() {
	if e.q.done.Load() >= e.seq {
		e.settle(nil) // a later one of the same queue has finished
		return
	}
	if err := e.d.lostErr(); err != nil {
		e.settle(e.brokenBy(err))
		return
	}
	if e.d.enter() != nil {
		e.settle(e.brokenBy(e.d.lostErr()))
		return
	}
	code := int32(dl.CallArgs(e.d.api.eventQuery, e.end[:]))
	e.d.leave()
	switch code {
	case success:
		e.settle(nil)
	case codeNotReady:
	default:
		e.settle(e.brokenBy(e.d.fail(code, "cuEventQuery")))
	}
}

// brokenBy is the error of a command that was in flight when err happened.
func (e *event) brokenBy(err error) error {
	if err == nil {
		err = fmt.Errorf("the context cannot be made current: %w", devices.ErrDeviceLost)
	}
	return fmt.Errorf("%s: %s: %w", e.d.info.ID, e.cmd.String(), err)
}

// settle notes the outcome of a command that has finished. When it returns,
// the outcome is known, this one or an earlier one.
func (e *event) settle(err error) {
	if !e.state.CompareAndSwap(pending, settling) {
		for e.state.Load() == settling {
			goruntime.Gosched()
		}
		return
	}
	e.seen = devices.Now()
	if err != nil {
		e.err = err
		e.state.Store(broke)
		return
	}
	for {
		done := e.q.done.Load()
		if done >= e.seq || e.q.done.CompareAndSwap(done, e.seq) {
			break
		}
	}
	e.state.Store(succeeded)
}

// deliver tells who asked for it.
func (e *event) deliver() {
	w, d := e.waiter, e.d
	e.waiter = nil
	w.Complete(e.err)
	e.unref()
	d.came()
}

// Notify implements devices.Event.
func (e *event) Notify(c devices.Completion) {
	if done, err := e.Done(); done {
		c.Complete(err)
		return
	}
	if e.state.Load() == settling {
		e.settle(nil) // waits for the other goroutine
		c.Complete(e.err)
		return
	}
	e.waiter = c
	e.refs.Add(1)
	e.d.expect()
	if err := e.q.tell(e); err != nil {
		if e.d.lostErr() != nil {
			e.settle(e.brokenBy(err))
			e.deliver()
			return
		}
		go e.waitFor()
	}
}

// waitFor stands in for a callback that could not be enqueued.
func (e *event) waitFor() {
	err := e.d.enter()
	if err == nil {
		if code := e.d.api.call(e.d.api.eventSync, e.end[0]); code != success {
			err = e.d.fail(code, "cuEventSynchronize")
		}
		e.d.leave()
	}
	if err != nil {
		err = e.brokenBy(err)
	}
	e.settle(err)
	e.deliver()
}

// Times implements devices.Event. A command that failed, and one that was
// never enqueued, has the times at which the host saw it.
func (e *event) Times() (devices.Times, error) {
	done, err := e.Done()
	if !done {
		return devices.Times{}, fmt.Errorf("%s: times of %s, which has not finished: %w", e.d.info.ID, e.cmd.String(), devices.ErrInvalid)
	}
	if t := e.times.Load(); t != nil {
		return *t, nil
	}
	t := devices.Times{Queued: e.queued, Submitted: e.submitted, Start: e.seen, End: e.seen}
	if err == nil && e.timed {
		if start, end, ok := e.d.profile(e); ok {
			t = hostTimes(e.queued, e.submitted, start, end, e.seen)
		}
	}
	e.times.CompareAndSwap(nil, &t)
	return *e.times.Load(), nil
}

// Release implements devices.Event.
func (e *event) Release() {
	e.d.open[kindEvent].Add(-1)
	e.unref()
}

func (e *event) unref() {
	if e.refs.Add(-1) > 0 {
		return
	}
	e.err, e.q, e.timed = nil, nil, false
	e.times.Store(nil)
	e.d.pool.put(e)
}
