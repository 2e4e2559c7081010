package sycl

import (
	"fmt"
	goruntime "runtime"
	"sync/atomic"
	"time"
	"unsafe"

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

// event is one enqueued command. Events are pooled by their device; all of
// refs' holders hold the event itself: its owner, its queue's list, events
// that wait for it, a pending completion.
//
// No lock is held around a call into the shim that may complete an event: the
// outcome is worked out by whoever moves state from pending to settling.
type event struct {
	d *device
	// handle holds the shim's handle, as the list of arguments of the calls
	// that take it alone. 0: there is no command in the shim.
	handle     [1]uintptr
	notifyArgs [3]uintptr

	state atomic.Int32
	refs  atomic.Int32
	err   error // once state is broke

	q     *queue
	seq   uint64   // position in q
	next  *event   // in q's list of events in flight
	deps  []*event // those of its wait list that were not done when it was enqueued
	first *event   // the first part of a command that took several launches

	cmd    command
	queued time.Duration // host time at which it was enqueued
	seen   time.Duration // host time at which it was known to be finished
	waiter devices.Completion
}

// command says what an event stands for, for error messages.
type command struct {
	kernel string // "": a copy or a marker
	nd     devices.NDRange
	copy   devices.CopyKind
	size   int64
}

func (c *command) String() string {
	if c.kernel != "" {
		return fmt.Sprintf("kernel %q over %s", c.kernel, ragged.Extent(c.nd))
	}
	return fmt.Sprintf("copy %v of %d bytes", c.copy, c.size)
}

// native reports whether the event has a command in the shim.
func (e *event) native() bool { return e.handle[0] != 0 }

// Done implements devices.Event.
func (e *event) Done() (bool, error) {
	state := e.state.Load()
	if state == pending {
		if status := int32(dl.CallArgs(e.d.api.eventStatus, e.handle[:])); status <= 0 {
			e.settle(status)
		}
		state = e.state.Load()
	}
	switch state {
	case succeeded:
		return true, nil
	case broke:
		return true, e.err
	}
	return false, nil
}

// settle works out the outcome of a command that has finished with the given
// status. When it returns, the outcome is known.
func (e *event) settle(status int32) {
	if !e.state.CompareAndSwap(pending, settling) {
		for e.state.Load() == settling {
			goruntime.Gosched()
		}
		return
	}
	e.seen = devices.Now()
	var err error
	for _, dep := range e.deps {
		// A runtime need not tell why a command in a wait list failed, and may
		// even have run this one all the same.
		if _, derr := dep.Done(); derr != nil {
			err = derr
			break
		}
	}
	if err == nil && status < 0 {
		err = fmt.Errorf("%s: %w", e.d.info.ID, aborted(status, e.cmd.String()))
	}
	e.dropDeps()
	e.err = err
	if err != nil {
		e.state.Store(broke)
	} else {
		e.state.Store(succeeded)
	}
}

func (e *event) dropDeps() {
	for i, dep := range e.deps {
		dep.unref()
		e.deps[i] = nil
	}
	e.deps = e.deps[:0]
}

func (e *event) deliver() {
	w, d := e.waiter, e.d
	e.waiter = nil
	w.Complete(e.err)
	e.unref()
	d.callbacks.Done()
}

// Notify implements devices.Event.
func (e *event) Notify(c devices.Completion) {
	if done, err := e.Done(); done {
		c.Complete(err)
		return
	}
	if e.state.Load() == settling {
		e.settle(0) // waits for the other goroutine
		c.Complete(e.err)
		return
	}
	e.waiter = c
	e.refs.Add(1)
	e.d.callbacks.Add(1)
	e.q.flushTo(e.seq)
	e.notifyArgs = [3]uintptr{e.handle[0], uintptr(unsafe.Pointer(e)), 0}
	if code := int32(dl.CallArgs(e.d.api.eventNotify, e.notifyArgs[:])); code != statusOK {
		go e.waitFor()
	}
}

// waitFor stands in for a completion that could not be asked for.
func (e *event) waitFor() {
	dl.Call(e.d.api.eventWait, e.handle[0], 0)
	if done, _ := e.Done(); !done {
		e.settle(0)
	}
	e.deliver()
}

// Times implements devices.Event. A command that failed, and one whose device
// does not keep time, has the times at which the host saw it.
func (e *event) Times() (devices.Times, error) {
	done, err := e.Done()
	if !done {
		return devices.Times{}, fmt.Errorf("%s: times of %s, which has not finished: %w", e.d.info.ID, e.cmd.String(), devices.ErrInvalid)
	}
	host := devices.Times{Queued: e.queued, Submitted: e.queued, Start: e.seen, End: e.seen}
	if err != nil || !e.native() {
		return host, nil
	}
	times, ok := e.profile()
	if !ok {
		return host, nil
	}
	if e.first != nil {
		if first, ok := e.first.profile(); ok {
			times[0], times[1], times[2] = first[0], first[1], first[2]
		}
	}
	return e.d.clock.Times(times, e.queued, e.seen), nil
}

// profile reads the device's times of a finished command, in nanoseconds.
func (e *event) profile() (times [4]uint64, ok bool) {
	c := &e.d.clock
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.memory == nil { // the device is closed
		return times, false
	}
	c.args = [3]uintptr{e.handle[0], uintptr(unsafe.Pointer(&c.memory.times)), uintptr(unsafe.Pointer(&c.memory.err))}
	if code := int32(dl.CallArgs(e.d.api.eventTimes, c.args[:])); code != statusOK {
		return times, false
	}
	return c.memory.times, true
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
	if e.native() {
		dl.CallArgs(e.d.api.eventFree, e.handle[:])
		e.handle[0] = 0
	}
	e.recycle()
}

// recycle gives an event back that nobody holds and whose command the shim has
// let go.
func (e *event) recycle() {
	e.dropDeps()
	if e.first != nil {
		e.first.unref()
		e.first = nil
	}
	e.err, e.q, e.next = nil, nil, nil
	e.d.pool.put(e)
}
