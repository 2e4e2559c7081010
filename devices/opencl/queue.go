package opencl

import (
	"fmt"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/devices/hostmem"
	"github.com/tandemrun/tandem/devices/internal/dl"
)

const (
	// maxWait is how many events go into one wait list; of a longer one the
	// rest is waited for by markers before it.
	maxWait = 256
	// reapEvery is after how many commands those in flight are looked at.
	reapEvery = 16
	// maxValue bounds the bytes of one argument by value.
	maxValue = 8192
)

// scratchpad is what the library reads during one call. It lies outside the
// Go heap.
type scratchpad struct {
	offset, size, local [3]uintptr
	wait                [maxWait]uintptr
	value               [maxValue / 8]uint64
}

const scratchBytes = int64(unsafe.Sizeof(scratchpad{}))

// queue is an in-order command queue that keeps times.
type queue struct {
	d       *device
	kind    devices.QueueKind
	flushed atomic.Uint64 // position up to which the library was told to begin

	mu         sync.Mutex
	handle     uintptr
	memory     []byte
	scratch    *scratchpad
	args       [12]uintptr // of the call in progress
	deps       []*event    // of the command in progress
	guards     []*event    // that it comes after without needing anything of them
	seq        uint64      // position of the last command
	head, tail *event      // in flight, oldest first
	closed     bool
}

func (q *queue) String() string { return fmt.Sprintf("%s: %v queue", q.d.info.ID, q.kind) }

// dependencies looks at a wait list before the queue is locked: it checks the
// events and sees to it that other queues get on with theirs.
func (q *queue) dependencies(wait []devices.Event, cmd *command) error {
	for i, w := range wait {
		e, ok := w.(*event)
		if !ok || e.d != q.d {
			return fmt.Errorf("%v: %v: event %d of the wait list is not one of this device: %w", q, cmd.String(), i, devices.ErrInvalid)
		}
		if e.q != q && e.native() && e.state.Load() < succeeded {
			e.q.flushTo(e.seq)
		}
	}
	return nil
}

// begin collects the wait list of a command into q.deps and the scratchpad.
// n is how many events the library has to wait for. A predecessor that has
// failed is err. The queue is locked.
func (q *queue) begin(wait []devices.Event) (n int, err error) {
	q.deps = q.deps[:0]
	for _, w := range wait {
		e := w.(*event)
		switch e.state.Load() {
		case succeeded:
			continue
		case broke:
			return 0, e.err
		}
		q.deps = append(q.deps, e)
	}
	return len(q.deps), nil
}

// list writes the wait list into the scratchpad. More than fit are waited for
// by markers first, in whose place the queue's order stands.
func (q *queue) list() (n, address uintptr, err error) {
	for i := range len(q.deps) + len(q.guards) {
		var e *event
		if i < len(q.deps) {
			e = q.deps[i]
		} else if e = q.guards[i-len(q.deps)]; e.q == q || e.state.Load() >= succeeded {
			continue
		}
		if n == maxWait {
			q.args[0], q.args[1], q.args[2], q.args[3] = q.handle, n, uintptr(unsafe.Pointer(&q.scratch.wait[0])), 0
			if code := int32(dl.CallArgs(q.d.api.enqueueMarkerWithWaitList, q.args[:4])); code != success {
				return 0, 0, fmt.Errorf("%v: %w", q, failed(code, "clEnqueueMarkerWithWaitList(%d of %d events)", i, len(q.deps)))
			}
			n = 0
		}
		q.scratch.wait[n] = e.mem.handle
		n++
	}
	if n == 0 {
		return 0, 0, nil
	}
	return n, uintptr(unsafe.Pointer(&q.scratch.wait[0])), nil
}

// event makes the event of the next command.
func (q *queue) event(cmd command) (*event, error) {
	e, err := q.d.pool.get(q.d)
	if err != nil {
		return nil, fmt.Errorf("%v: %w", q, err)
	}
	e.q, e.cmd, e.queued = q, cmd, devices.Now()
	return e, nil
}

// drop gives an event back whose command was not enqueued.
func (e *event) drop() {
	e.mem.handle = 0
	e.unref()
}

// enqueued takes a command that the library has accepted into the list of
// those in flight. The event keeps the predecessors that are not done.
func (q *queue) enqueued(e *event) {
	q.seq++
	e.seq = q.seq
	e.statusArgs[0] = e.mem.handle
	for _, dep := range q.deps {
		dep.refs.Add(1)
		e.deps = append(e.deps, dep)
	}
	e.refs.Add(1)
	if q.tail == nil {
		q.head = e
	} else {
		q.tail.next = e
	}
	q.tail = e
	// Two for one: what has finished is let go as fast as work comes in, so a
	// chain of events never grows beyond what is in flight. Asking about one
	// that has not finished is for nothing, so it is done now and then.
	if q.seq%reapEvery == 0 {
		q.reap(2 * reapEvery)
	}
}

// reap lets go of up to n of the oldest commands, as far as they have finished
// or nobody else knows them.
func (q *queue) reap(n int) {
	for ; n > 0 && q.head != nil; n-- {
		e := q.head
		if e.refs.Load() > 1 {
			if done, _ := e.Done(); !done {
				return
			}
		}
		q.head, e.next = e.next, nil
		if q.head == nil {
			q.tail = nil
		}
		e.unref()
	}
}

// hand gives an event to the caller, who releases it.
func (q *queue) hand(e *event) devices.Event {
	q.d.open[kindEvent].Add(1)
	return e
}

// failedEvent stands for a command that does not run because a predecessor
// failed with err.
func (q *queue) failedEvent(cmd command, err error) (devices.Event, error) {
	e, perr := q.event(cmd)
	if perr != nil {
		return nil, perr
	}
	e.seen, e.err = e.queued, err
	e.state.Store(broke)
	return q.hand(e), nil
}

// closedError is ErrClosed once the queue or its device is closed. The queue
// is locked.
func (q *queue) closedError(cmd *command) error {
	if q.closed {
		return fmt.Errorf("%v: %v: the queue is closed: %w", q, cmd.String(), devices.ErrClosed)
	}
	return nil
}

// marker enqueues a command that does nothing but wait.
func (q *queue) marker(cmd command) (devices.Event, error) {
	e, err := q.event(cmd)
	if err != nil {
		return nil, err
	}
	n, list, err := q.list()
	if err != nil {
		e.drop()
		return nil, err
	}
	q.args[0], q.args[1], q.args[2], q.args[3] = q.handle, n, list, uintptr(unsafe.Pointer(&e.mem.handle))
	if code := int32(dl.CallArgs(q.d.api.enqueueMarkerWithWaitList, q.args[:4])); code != success {
		e.drop()
		return nil, fmt.Errorf("%v: %w", q, failed(code, "clEnqueueMarkerWithWaitList(%d events)", n))
	}
	q.enqueued(e)
	return q.hand(e), nil
}

// Flush implements devices.Queue.
func (q *queue) Flush() error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return fmt.Errorf("%v: flush: the queue is closed: %w", q, devices.ErrClosed)
	}
	return q.flush()
}

func (q *queue) flush() error {
	q.args[0] = q.handle
	if code := int32(dl.CallArgs(q.d.api.flush, q.args[:1])); code != success {
		return fmt.Errorf("%v: %w", q, failed(code, "clFlush"))
	}
	q.flushed.Store(q.seq)
	return nil
}

// flushTo makes the library begin with everything up to a position.
func (q *queue) flushTo(seq uint64) {
	if q == nil { // of a gate, which is in no queue
		return
	}
	if q.flushed.Load() >= seq {
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.closed && q.flushed.Load() < seq {
		_ = q.flush() // if this fails, so do the commands, and that is reported
	}
}

// Close implements devices.Queue.
func (q *queue) Close() error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return nil
	}
	q.closed = true
	code := q.d.api.call(q.d.api.finish, q.handle)
	q.reap(math.MaxInt)
	for q.head != nil { // a library that does not finish in clFinish
		e := q.head
		q.head, e.next = e.next, nil
		e.unref()
	}
	q.tail = nil
	q.flushed.Store(math.MaxUint64)
	q.d.mu.Lock()
	if i := slices.Index(q.d.queues, q); i >= 0 {
		q.d.queues = slices.Delete(q.d.queues, i, i+1)
	}
	q.d.mu.Unlock()
	q.d.open[kindQueue].Add(-1)
	if c := q.d.api.call(q.d.api.releaseCommandQueue, q.handle); code == success {
		code = c
	}
	_ = hostmem.Free(q.memory)
	q.scratch, q.memory = nil, nil
	if code != success {
		return fmt.Errorf("%v: %w", q, failed(code, "clFinish"))
	}
	return nil
}
