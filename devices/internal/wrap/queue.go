package wrap

import (
	"sync"

	"github.com/tandemrun/tandem/devices"
)

// queue is a wrapped queue. Its lock keeps the order of concurrent calls and
// guards what a call is put together in, so that none of it is allocated.
type queue struct {
	inner devices.Queue
	d     *Device
	name  string

	mu     sync.Mutex
	call   Call
	launch devices.Launch
	copy   devices.Copy
	args   []devices.Arg
	wait   []devices.Event
}

// Launch unwraps l and makes the call.
func (q *queue) Launch(l *devices.Launch, wait []devices.Event) (devices.Event, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	c := &q.call
	*c = Call{Op: Launch, Queue: q.name, Launch: l, Wait: wait}
	raw := l.Kernel
	if k, ok := l.Kernel.(*kernel); ok && k != nil {
		c.Name, raw = k.entry, k.Kernel
	}
	if err := q.d.ask(c); err != nil {
		return nil, q.refuse(err)
	}
	q.args = append(q.args[:0], l.Args...)
	for i := range q.args {
		q.args[i].Buffer = rawBuffer(q.args[i].Buffer)
	}
	q.launch = devices.Launch{Kernel: raw, Range: l.Range, Args: q.args}
	later := q.unwrap(wait, c.Later)
	if later != nil {
		// Nothing runs, but the event takes its place in the order.
		q.launch.Range.Size = [3]int{}
	}
	ev, err := q.inner.Launch(&q.launch, q.wait)
	return q.enqueued(ev, err, later)
}

// Copy unwraps cp and makes the call.
func (q *queue) Copy(cp *devices.Copy, wait []devices.Event) (devices.Event, error) {
	if cp.Kind > devices.SyncToHost {
		return q.inner.Copy(cp, wait) // has no name; the device below refuses it
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	c := &q.call
	*c = Call{Op: Copy, Queue: q.name, Name: cp.Kind.String(), Size: cp.Size, Copy: cp, Wait: wait}
	if err := q.d.ask(c); err != nil {
		return nil, q.refuse(err)
	}
	q.copy = *cp
	q.copy.Dst, q.copy.Src = rawBuffer(cp.Dst), rawBuffer(cp.Src)
	later := q.unwrap(wait, c.Later)
	if later != nil {
		q.copy.Size = 0
	}
	ev, err := q.inner.Copy(&q.copy, q.wait)
	return q.enqueued(ev, err, later)
}

// unwrap fills q.wait, and finds the error with which the command has to fail
// because a hook had one of its predecessors fail, or because it said so.
func (q *queue) unwrap(wait []devices.Event, later error) error {
	q.wait = q.wait[:0]
	for _, ev := range wait {
		if e, ok := ev.(*event); ok && e != nil {
			if e.later != nil {
				later = e.later
			}
			ev = e.inner
		}
		q.wait = append(q.wait, ev)
	}
	return later
}

func (q *queue) enqueued(ev devices.Event, err, later error) (devices.Event, error) {
	if err != nil {
		return nil, q.refuse(err)
	}
	e := q.d.event(ev, later)
	q.call.Event = e.number
	q.d.tell(&q.call, nil)
	q.forget()
	return e, nil
}

func (q *queue) refuse(err error) error {
	q.d.tell(&q.call, err)
	q.forget()
	return err
}

// forget drops the caller's things.
func (q *queue) forget() {
	q.call = Call{}
	clear(q.args)
	clear(q.wait)
	q.launch, q.copy = devices.Launch{}, devices.Copy{}
}

// Flush makes the call.
func (q *queue) Flush() error {
	q.mu.Lock()
	defer q.mu.Unlock()
	c := &q.call
	*c = Call{Op: Flush, Queue: q.name}
	if err := q.d.ask(c); err != nil {
		return q.refuse(err)
	}
	err := q.inner.Flush()
	q.d.tell(c, err)
	return err
}

// Close makes the call; it waits, so it holds nobody up meanwhile.
func (q *queue) Close() error {
	return q.d.give(&Call{Op: CloseQueue, Queue: q.name}, q.inner.Close)
}
