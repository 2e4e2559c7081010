package fpga

import (
	"github.com/tandemrun/tandem/devices"
)

// queue is an in-order queue: each command waits for the one before it.
type queue struct {
	d       *device
	kind    devices.QueueKind
	last    *command // guarded by d.mu, as what follows; the queue holds a reference
	closed  bool
	drained chan struct{} // closed once Close has waited
}

// Launch enqueues a launch.
func (q *queue) Launch(l *devices.Launch, wait []devices.Event) (devices.Event, error) {
	d := q.d
	k, err := d.kernelOf(l)
	if err != nil {
		return nil, err
	}
	name := k.in.unit.module.Entry
	if err := d.checkRange(k.in.unit.module, &l.Range); err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := q.admit("Launch", name, wait); err != nil {
		return nil, err
	}
	c := d.take()
	if err := c.launch(k, l); err != nil {
		d.discard(c)
		return nil, err
	}
	q.enqueue(c, wait)
	return c, nil
}

// Copy enqueues a copy.
func (q *queue) Copy(cp *devices.Copy, wait []devices.Event) (devices.Event, error) {
	dst, src, err := q.d.ends(cp)
	if err != nil {
		return nil, err
	}
	q.d.mu.Lock()
	defer q.d.mu.Unlock()
	if err := q.admit("Copy", cp.Kind.String(), wait); err != nil {
		return nil, err
	}
	c := q.d.take()
	c.dst, c.src = dst, src
	q.enqueue(c, wait)
	return c, nil
}

// admit refuses commands of a closed queue and foreign events. d.mu is held.
func (q *queue) admit(call, what string, wait []devices.Event) error {
	if q.closed {
		return q.d.errorf(devices.ErrClosed, "%s %s: the %v queue", call, what, q.kind)
	}
	for i, ev := range wait {
		if c, ok := ev.(*command); !ok || c == nil || c.d != q.d {
			return q.d.errorf(devices.ErrInvalid, "%s %s: event %d of the wait list is not one of this device", call, what, i)
		}
	}
	return nil
}

// enqueue puts c behind the queue's last command and behind the events of the
// wait list. d.mu is held.
func (q *queue) enqueue(c *command, wait []devices.Event) {
	q.d.events++
	c.owned = true
	c.refs = 3 // the event's owner, the queue's last, the execution
	c.times = devices.Times{Queued: devices.Now()}
	c.pending = 1
	for _, ev := range wait {
		c.after(ev.(*command), false)
	}
	if q.last != nil {
		c.after(q.last, true)
		q.d.unref(q.last)
	}
	q.last = c
	q.d.met(c)
}

// Flush does nothing: work starts at once.
func (q *queue) Flush() error { return nil }

// Close waits for the queue's work.
func (q *queue) Close() error {
	d := q.d
	d.mu.Lock()
	if q.closed {
		d.mu.Unlock()
		<-q.drained
		return nil
	}
	q.closed = true
	if q.last == nil {
		delete(d.queues, q)
		d.mu.Unlock()
		close(q.drained)
		return nil
	}
	last := make(signal, 1)
	c := d.take() // a last command, which nobody else sees
	q.enqueue(c, nil)
	c.notify = last
	d.release(c)
	d.mu.Unlock()

	<-last
	d.mu.Lock()
	d.unref(q.last)
	q.last = nil
	delete(d.queues, q)
	d.mu.Unlock()
	close(q.drained)
	return nil
}

type signal chan struct{}

// Complete tells that the last command is done.
func (s signal) Complete(error) { s <- struct{}{} }
