package sim

import (
	"github.com/tandemrun/tandem/devices"
)

// queue is an in-order queue. The clock's lock guards it.
type queue struct {
	d      *device
	number int // on its device, from 0
	name   string

	head, tail *command // not ended, in order
	closed     bool
	free       *command // to be used again
}

// NewQueue makes a queue. Copies find their engine by their direction, on
// whatever queue they are.
func (d *device) NewQueue(kind devices.QueueKind) (devices.Queue, error) {
	if kind > devices.Download {
		return nil, d.errorf(devices.ErrInvalid, "NewQueue of unknown kind %d", uint8(kind))
	}
	d.clock.mu.Lock()
	defer d.clock.mu.Unlock()
	if err := d.usable("NewQueue(" + kind.String() + ")"); err != nil {
		return nil, err
	}
	q := &queue{d: d, number: d.made, name: kind.String()}
	d.made++
	d.queues[q] = struct{}{}
	return q, nil
}

// Launch enqueues a launch.
func (q *queue) Launch(l *devices.Launch, wait []devices.Event) (devices.Event, error) {
	d := q.d
	kn, err := d.checkLaunch(l)
	if err != nil {
		return nil, err
	}
	d.clock.mu.Lock()
	defer d.clock.mu.Unlock()
	if err := d.checkKernel(kn, l.Args); err != nil {
		return nil, err
	}
	if err := q.accepts("Launch", kn.entry, wait); err != nil {
		return nil, err
	}
	c := q.take()
	c.launch(kn, l)
	q.enqueue(c, wait)
	return c, nil
}

// Copy enqueues a copy.
func (q *queue) Copy(cp *devices.Copy, wait []devices.Event) (devices.Event, error) {
	d := q.d
	d.clock.mu.Lock()
	defer d.clock.mu.Unlock()
	dst, src, peer, err := d.sides(cp)
	if err != nil {
		return nil, err
	}
	if err := q.accepts("Copy", cp.Kind.String(), wait); err != nil {
		return nil, err
	}
	c := q.take()
	c.copy(cp, dst, src, peer)
	q.enqueue(c, wait)
	return c, nil
}

// accepts says why a command cannot be enqueued. The caller holds the clock's
// lock.
func (q *queue) accepts(call, what string, wait []devices.Event) error {
	d := q.d
	switch {
	case q.closed:
		return d.errorf(devices.ErrClosed, "%s %s: the %s queue", call, what, q.name)
	case d.lostBy(d.clock.now):
		return d.lostError(call + " " + what)
	}
	for i, ev := range wait {
		if c, ok := ev.(*command); !ok || c == nil || c.q.d != d {
			return d.errorf(devices.ErrInvalid, "%s %s: event %d of the wait list is not one of this device", call, what, i)
		}
	}
	return nil
}

// take is a command to fill in.
func (q *queue) take() *command {
	c := q.free
	if c == nil {
		return &command{q: q}
	}
	q.free, c.next = c.next, nil
	return c
}

// enqueue puts c behind the queue's last and the events of the wait list.
func (q *queue) enqueue(c *command, wait []devices.Event) {
	k := q.d.clock
	c.times.Queued = k.now
	c.refs, c.owned = 2, true
	q.d.events++
	c.pending = 1 // itself
	for _, ev := range wait {
		before := ev.(*command)
		if !before.ended {
			before.followers = append(before.followers, c)
			c.pending++
		} else if before.err != nil {
			c.fail(before.err)
		}
	}
	if q.tail != nil {
		q.tail.next = c
		c.pending++
	} else {
		q.head = c
	}
	q.tail = c
	c.countDown(k)
	k.changed.Broadcast()
}

// Flush does nothing: the device knows of everything at once.
func (q *queue) Flush() error { return nil }

// Close waits for the queue's work.
func (q *queue) Close() error {
	k := q.d.clock
	k.mu.Lock()
	defer k.mu.Unlock()
	q.closed = true
	for q.head != nil {
		k.drained.Wait()
	}
	q.free = nil
	delete(q.d.queues, q)
	return nil
}
