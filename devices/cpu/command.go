package cpu

import (
	"sync/atomic"
	"unsafe"

	"github.com/tandemrun/tandem/devices"
)

// command is one enqueued launch or copy and at the same time its event. It
// belongs to its queue, which uses it again once nobody refers to it.
//
// It becomes ready when pending reaches 0. Whoever brings it there runs it or
// hands it on; nobody else touches its work. refs holds it: one for the
// event's owner, one while it is its queue's last, one until it has finished,
// and one for each worker that helps with it.
type command struct {
	q    *queue
	next *command // in the list of free, returned or submitted commands

	pending atomic.Int32
	refs    atomic.Int32
	state   atomic.Uint32
	owned   atomic.Bool // the event was not released yet

	// followers are the edges to commands that wait for this one; the
	// command's own order edge, which cannot be among them, marks the end of
	// listening.
	followers atomic.Pointer[edge]
	order     edge   // from the queue's previous command
	edges     []edge // from the wait list

	failed atomic.Pointer[failure]
	notify devices.Completion
	err    error // set before state is done
	times  devices.Times

	batch *batch // of whose tasks this is one; nil: it came by a queue
	task  int32

	work
}

// The states of a command.
const (
	pending  = iota // not finished, nobody asked to be told
	notified        // not finished, notify is set
	done
)

// edge says that a command has to wait for another one.
type edge struct {
	to    *command
	next  *edge
	order bool // only the order within a queue: a failure does not spread
}

type failure struct{ err error }

// arm prepares a record for waits predecessors from a wait list, one in the
// queue, and one for enqueueing itself.
func (c *command) arm(waits int) {
	if cap(c.edges) < waits {
		c.edges = make([]edge, waits)
	}
	c.edges = c.edges[:waits]
	c.pending.Store(int32(waits) + 2)
	c.times = devices.Times{Queued: devices.Now()}
}

// follow makes e wait for c, or reports that c has finished.
func (c *command) follow(e *edge) bool {
	for {
		head := c.followers.Load()
		if head == &c.order {
			return false
		}
		e.next = head
		if c.followers.CompareAndSwap(head, e) {
			return true
		}
	}
}

// fail has the command fail with err instead of running; the first call wins.
func (c *command) fail(err error) { c.failed.CompareAndSwap(nil, &failure{err}) }

// complete finishes c. It returns a command that became ready by that, for
// the caller to run next, and hands any others to w, or to the pool if w is
// nil.
func (c *command) complete(w *worker) (next *command) {
	now := devices.Now()
	if w != nil {
		w.now = now
	}
	if c.times.Start < c.times.Submitted {
		c.times.Start = c.times.Submitted
	}
	c.times.End = max(now, c.times.Start)
	if f := c.failed.Load(); f != nil {
		c.err = f.err
	}
	old := c.state.Swap(done)
	for e := c.followers.Swap(&c.order); e != nil; {
		to, following := e.to, e.next // e may be used again once to is on its way
		if c.err != nil && !e.order {
			to.fail(c.err)
		}
		if to.pending.Add(-1) == 0 {
			to.times.Submitted = max(c.times.End, to.times.Queued)
			if next == nil {
				next = to
			} else {
				c.q.d.pool.hand(w, to)
			}
		}
		e = following
	}
	if old == notified {
		n := c.notify
		c.notify = nil
		n.Complete(c.err)
	}
	if c.batch != nil {
		c.batch.ended(w, c)
	}
	c.unref()
	return next
}

func (c *command) unref() {
	if c.refs.Add(-1) > 0 {
		return
	}
	c.clear()
	c.followers.Store(nil)
	c.failed.Store(nil)
	c.notify, c.err = nil, nil
	c.state.Store(pending)
	for q := c.q; ; {
		c.next = q.returned.Load()
		if q.returned.CompareAndSwap(c.next, c) {
			return
		}
	}
}

// Done reports whether the command has finished.
func (c *command) Done() (bool, error) {
	if c.state.Load() != done {
		return false, nil
	}
	return true, c.err
}

// Notify has n told once the command has finished.
func (c *command) Notify(n devices.Completion) {
	if c.state.Load() != done {
		c.notify = n
		if c.state.CompareAndSwap(pending, notified) {
			return
		}
		if c.state.Load() == notified {
			panic("cpu: a second Notify of one event")
		}
		c.notify = nil
	}
	n.Complete(c.err)
}

// Times says when the command ran.
func (c *command) Times() (devices.Times, error) {
	if c.state.Load() != done {
		return devices.Times{}, c.q.d.errorf(devices.ErrInvalid, "Times of a command that has not finished")
	}
	return c.times, nil
}

// Release gives the event back.
func (c *command) Release() {
	if !c.owned.CompareAndSwap(true, false) {
		panic("cpu: an event was released twice")
	}
	c.q.d.events.Add(-1)
	c.unref()
}

// work is what a command does: nothing, a launch or a copy.
type work struct {
	fn     *function
	args   devices.Args
	host   []devices.HostArg // what args wraps
	values []uint64          // the bytes of value arguments
	locals []local           // arguments in local memory
	dst    []byte            // a copy
	src    []byte

	cut    cut
	short  bool         // not worth another worker's help, as far as known
	left   atomic.Int32 // shared: chunks that have not finished
	spans  []span       // shared: by worker, the chunks it has still to begin
	shared bool         // in the pool's list of launches to help with
	before *command     // in that list
	after  *command
}

// local is an argument in local memory.
type local struct {
	index int
	bytes int
}

// launch fills in the work of l, which was checked.
func (c *command) launch(fn *function, l *devices.Launch, workers int) {
	c.fn = fn
	c.host = c.host[:0]
	c.locals = c.locals[:0]
	words := 0
	for i := range l.Args {
		words += (len(l.Args[i].Value) + 7) / 8
	}
	if cap(c.values) < words {
		c.values = make([]uint64, words)
	}
	values := c.values[:words]
	for i := range l.Args {
		a := &l.Args[i]
		var bytes []byte
		switch {
		case a.Buffer != nil:
			bytes = a.Buffer.(*buffer).mem
		case len(a.Value) > 0:
			n := (len(a.Value) + 7) / 8
			bytes = unsafe.Slice((*byte)(unsafe.Pointer(&values[0])), len(a.Value))
			copy(bytes, a.Value)
			values = values[n:]
		case a.LocalBytes > 0:
			c.locals = append(c.locals, local{i, int(a.LocalBytes)})
		}
		c.host = append(c.host, devices.HostArg{Bytes: bytes})
	}
	c.args = devices.MakeArgs(c.host)
	n, short := fn.pieces(l.Range.Items(), workers)
	c.cut, c.short = cutRange(l.Range.Norm(), n), short
}

// copy fills in the work of a copy; empty slices: none.
func (c *command) copy(dst, src []byte, workers int) {
	c.fn = nil
	c.dst, c.src = dst, src
	r := devices.NDRange{Dims: 1, Size: [3]int{len(dst)}}
	n := 1
	if workers > 1 {
		n = min(len(dst)/copyPiece, someChunks*workers)
	}
	c.cut, c.short = cutRange(r.Norm(), n), false
}

// clear drops what the work points to but keeps its slices.
func (c *command) clear() {
	c.fn = nil
	clear(c.host)
	c.dst, c.src = nil, nil
}
