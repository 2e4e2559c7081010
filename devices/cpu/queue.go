package cpu

import (
	"sync"
	"sync/atomic"

	"github.com/tandemrun/tandem/devices"
)

// queue is an in-order queue. Its order is a chain of edges from each command
// to the next; nothing runs per queue.
type queue struct {
	d    *device
	name string

	mu      sync.Mutex // the order in which commands get in
	last    *command   // the newest one; the queue holds a reference
	closed  bool
	drained chan struct{} // closed once Close has waited
	free    *command      // records to use again, taken under mu

	// returned are records that were given up, pushed by anyone and taken all
	// at once, which is what makes a list without a lock safe here.
	returned atomic.Pointer[command]
}

// take is a record to fill in. The caller holds q.mu.
func (q *queue) take() *command {
	if q.free == nil {
		q.free = q.returned.Swap(nil)
	}
	c := q.free
	if c == nil {
		return &command{q: q}
	}
	q.free = c.next
	c.next = nil
	return c
}

// Launch enqueues a launch.
func (q *queue) Launch(l *devices.Launch, wait []devices.Event) (devices.Event, error) {
	k, err := q.d.check(l)
	if err != nil {
		return nil, err
	}
	if err := q.d.foreign("Launch", k.fn.name, wait); err != nil {
		return nil, err
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return nil, q.d.errorf(devices.ErrClosed, "Launch %s: queue %s", k.fn.name, q.name)
	}
	c := q.take()
	c.launch(k.fn, l, len(q.d.pool.workers))
	q.enqueue(c, wait)
	return c, nil
}

// Copy enqueues a copy.
func (q *queue) Copy(cp *devices.Copy, wait []devices.Event) (devices.Event, error) {
	dst, src, err := q.d.sides(cp)
	if err != nil {
		return nil, err
	}
	if err := q.d.foreign("Copy", cp.Kind.String(), wait); err != nil {
		return nil, err
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return nil, q.d.errorf(devices.ErrClosed, "Copy %v of %d bytes: queue %s", cp.Kind, cp.Size, q.name)
	}
	c := q.take()
	c.copy(dst, src, len(q.d.pool.workers))
	q.enqueue(c, wait)
	return c, nil
}

// enqueue puts a filled-in record behind the last one and behind the events
// of the wait list. The caller holds q.mu.
func (q *queue) enqueue(c *command, wait []devices.Event) {
	q.d.events.Add(1)
	c.owned.Store(true)
	c.arm(len(wait))
	c.refs.Store(3) // the event's owner, the queue's last, the execution
	met := int32(1)
	for i, ev := range wait {
		before := ev.(*command)
		e := &c.edges[i]
		e.to, e.order = c, false
		if !before.follow(e) {
			if before.err != nil {
				c.fail(before.err)
			}
			met++
		}
	}
	c.order.to, c.order.order = c, true
	if q.last == nil || !q.last.follow(&c.order) {
		met++
	}
	if q.last != nil {
		q.last.unref()
	}
	q.last = c
	if c.pending.Add(-met) == 0 {
		c.times.Submitted = c.times.Queued
		q.d.pool.submit(c)
	}
}

// foreign refuses events that are not of this device.
func (d *device) foreign(call, what string, wait []devices.Event) error {
	for i, ev := range wait {
		if c, ok := ev.(*command); !ok || c == nil || c.q.d != d {
			return d.errorf(devices.ErrInvalid, "%s %s: event %d of the wait list is not one of this device", call, what, i)
		}
	}
	return nil
}

// Flush does nothing: work starts at once.
func (q *queue) Flush() error { return nil }

// Close waits for the queue's work.
func (q *queue) Close() error {
	q.mu.Lock()
	if q.closed {
		q.mu.Unlock()
		<-q.drained
		return nil
	}
	q.closed = true
	done := make(signal, 1)
	// A last command behind all others, whose event nobody else sees.
	c := &command{q: q}
	c.copy(nil, nil, 1)
	q.enqueue(c, nil)
	c.Notify(done)
	c.Release()
	q.mu.Unlock()

	<-done
	q.mu.Lock()
	q.last.unref()
	q.last, q.free = nil, nil
	q.mu.Unlock()
	q.d.mu.Lock()
	delete(q.d.queues, q)
	q.d.mu.Unlock()
	close(q.drained)
	return nil
}

type signal chan struct{}

func (s signal) Complete(error) { s <- struct{}{} }
