package wrap

import (
	"sync/atomic"

	"github.com/tandemrun/tandem/devices"
)

// event is a wrapped event. It is used again once it was released and the
// completion that it was asked for has come.
type event struct {
	d      *Device
	inner  devices.Event
	number uint64
	later  error // what a hook wants it to fail with
	user   devices.Completion
	refs   atomic.Int32
	next   *event
	call   Call // of Notify and Release
	done   Call
}

func (d *Device) event(inner devices.Event, later error) *event {
	d.mu.Lock()
	e := d.free
	if e != nil {
		d.free = e.next
	}
	d.mu.Unlock()
	if e == nil {
		e = &event{d: d}
	}
	e.inner, e.later, e.next = inner, later, nil
	e.number = d.events.Add(1)
	e.refs.Store(1)
	return e
}

func (e *event) unref() {
	if e.refs.Add(-1) > 0 {
		return
	}
	e.inner, e.later, e.user = nil, nil, nil
	e.d.mu.Lock()
	e.next = e.d.free
	e.d.free = e
	e.d.mu.Unlock()
}

// outcome is the error of a finished command: its own, or what a hook wants.
func (e *event) outcome(err error) error {
	if err == nil {
		return e.later
	}
	return err
}

func (e *event) Done() (bool, error) {
	done, err := e.inner.Done()
	if !done {
		return false, err
	}
	return true, e.outcome(err)
}

func (e *event) Times() (devices.Times, error) { return e.inner.Times() }

// Notify asks the event below to tell e, which tells n.
func (e *event) Notify(n devices.Completion) {
	e.user = n
	e.refs.Add(1)
	e.call = Call{Op: Notify, Device: e.d.id, Event: e.number, Start: devices.Now()}
	e.d.tell(&e.call, nil)
	e.inner.Notify(e)
}

// Complete is called by the device below.
func (e *event) Complete(err error) {
	err = e.outcome(err)
	e.done = Call{Op: Done, Device: e.d.id, Event: e.number, Start: devices.Now(), Err: err}
	e.d.hook.After(&e.done)
	e.user.Complete(err)
	e.unref()
}

func (e *event) Release() {
	c := &e.call
	*c = Call{Op: Release, Device: e.d.id, Event: e.number, Inner: e.inner, Start: devices.Now()}
	e.d.hook.After(c) // while the event below can still be asked
	c.Inner = nil
	inner := e.inner
	e.unref()
	inner.Release()
}
