package sycl

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
	// maxValues bounds the bytes of a launch's arguments by value.
	maxValues = 16384
	// reapEvery is after how many commands those in flight are looked at.
	reapEvery = 16
	// maxArgs bounds the number of a kernel's arguments.
	maxArgs = 512
)

// argBlock is the shim's Argument.
type argBlock struct {
	kind, _    uint32
	size, data uint64
}

// The kinds of arguments.
const (
	argPointer = 0
	argValue   = 1
	argLocal   = 2
)

// launchBlock is the shim's Launch.
type launchBlock struct {
	kernel                uint64
	dims, arguments       uint32
	argument              uint64
	offset, global, local [3]uint64
}

// scratchpad is what the shim reads and writes during one call. It lies
// outside the Go heap.
type scratchpad struct {
	event  uint64
	launch launchBlock
	wait   [maxWait]uint64
	free   [2 * reapEvery]uint64
	args   [maxArgs]argBlock
	values [maxValues / 8]uint64
	err    errorBlock
}

const scratchBytes = int64(unsafe.Sizeof(scratchpad{}))

// queue is an in-order queue that keeps times.
type queue struct {
	d       *device
	kind    devices.QueueKind
	flushed atomic.Uint64 // position up to which the runtime was told to begin

	mu         sync.Mutex
	handle     uintptr
	memory     []byte
	scratch    *scratchpad
	args       [8]uintptr // of the call in progress
	freeArgs   [2]uintptr // of the shim's events_free
	deps       []*event   // of the command in progress
	seq        uint64     // position of the last command
	head, tail *event     // in flight, oldest first
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

// begin collects the wait list of a command into q.deps. A predecessor that
// has failed is the error. The queue is locked.
func (q *queue) begin(wait []devices.Event) error {
	q.deps = q.deps[:0]
	for _, w := range wait {
		e := w.(*event)
		switch e.state.Load() {
		case succeeded:
			continue
		case broke:
			return e.err
		}
		q.deps = append(q.deps, e)
	}
	return nil
}

// list writes the wait list into the scratchpad. More than fit are waited for
// by markers first, in whose place the queue's order stands.
func (q *queue) list() (address, n uintptr, err error) {
	for _, e := range q.deps {
		if e.q == q {
			continue // the queue's order sees to it
		}
		if n == maxWait {
			if err := q.enqueueMarker(n); err != nil {
				return 0, 0, err
			}
			freed := [1]uintptr{uintptr(q.scratch.event)}
			dl.Call(q.d.api.eventFree, freed[0])
			n = 0
		}
		q.scratch.wait[n] = uint64(e.handle[0])
		n++
	}
	return uintptr(unsafe.Pointer(&q.scratch.wait[0])), n, nil
}

// enqueueMarker enqueues a command that does nothing but wait for the first n
// events of the scratchpad.
func (q *queue) enqueueMarker(n uintptr) error {
	pad := q.scratch
	q.args = [8]uintptr{q.handle, uintptr(unsafe.Pointer(&pad.wait[0])), n, uintptr(unsafe.Pointer(&pad.event)), uintptr(unsafe.Pointer(&pad.err))}
	if code := int32(dl.CallArgs(q.d.api.marker, q.args[:5])); code != statusOK {
		return fmt.Errorf("%v: %w", q, failed(&pad.err, "barrier(%d events)", n))
	}
	return nil
}

// event makes the event of a command that was enqueued.
func (q *queue) event(cmd command) *event {
	e := q.d.pool.get(q.d)
	e.q, e.cmd, e.queued = q, cmd, devices.Now()
	return e
}

// drop gives an event back whose command was not enqueued.
func (e *event) drop() {
	e.handle[0] = 0
	e.unref()
}

// enqueued takes a command that the runtime has accepted into the list of
// those in flight. The event keeps the predecessors that are not done.
func (q *queue) enqueued(e *event) {
	q.seq++
	e.seq = q.seq
	e.handle[0] = uintptr(q.scratch.event)
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
// or nobody else knows them. The shim's events are freed many at a time.
func (q *queue) reap(n int) {
	pad, free := q.scratch, 0
	for ; n > 0 && q.head != nil; n-- {
		e := q.head
		if e.refs.Load() > 1 {
			if done, _ := e.Done(); !done {
				break
			}
		}
		q.head, e.next = e.next, nil
		if q.head == nil {
			q.tail = nil
		}
		if e.refs.Add(-1) > 0 {
			continue
		}
		if e.native() {
			pad.free[free] = uint64(e.handle[0])
			e.handle[0] = 0
			if free++; free == len(pad.free) {
				q.free(free)
				free = 0
			}
		}
		e.recycle()
	}
	if free > 0 {
		q.free(free)
	}
}

// free frees the first n of the shim's events in the scratchpad.
func (q *queue) free(n int) {
	q.freeArgs = [2]uintptr{uintptr(unsafe.Pointer(&q.scratch.free[0])), uintptr(n)}
	dl.CallArgs(q.d.api.eventsFree, q.freeArgs[:])
}

// hand gives an event to the caller, who releases it.
func (q *queue) hand(e *event) devices.Event {
	q.d.open[kindEvent].Add(1)
	return e
}

// failedEvent stands for a command that does not run because a predecessor
// failed with err.
func (q *queue) failedEvent(cmd command, err error) devices.Event {
	e := q.event(cmd)
	e.seen, e.err = e.queued, err
	e.state.Store(broke)
	return q.hand(e)
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
	_, n, err := q.list()
	if err != nil {
		return nil, err
	}
	e := q.event(cmd)
	if err := q.enqueueMarker(n); err != nil {
		e.drop()
		return nil, err
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
	q.args[0], q.args[1] = q.handle, uintptr(unsafe.Pointer(&q.scratch.err))
	if code := int32(dl.CallArgs(q.d.api.flush, q.args[:2])); code != statusOK {
		return fmt.Errorf("%v: %w", q, failed(&q.scratch.err, "flush"))
	}
	q.flushed.Store(q.seq)
	return nil
}

// flushTo makes the runtime begin with everything up to a position.
func (q *queue) flushTo(seq uint64) {
	if q.flushed.Load() >= seq {
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.closed && q.flushed.Load() < seq {
		_ = q.flush() // if this fails, so do the commands, and that is reported
	}
}

// finish waits for everything that was enqueued. The queue is locked, or known
// to nobody else.
func (q *queue) finish() error {
	if code := int32(dl.Call(q.d.api.finish, q.handle, uintptr(unsafe.Pointer(&q.scratch.err)))); code != statusOK {
		return fmt.Errorf("%v: %w", q, failed(&q.scratch.err, "wait"))
	}
	return nil
}

// Close implements devices.Queue.
func (q *queue) Close() error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return nil
	}
	q.closed = true
	err := q.finish()
	q.reap(math.MaxInt)
	for q.head != nil { // a runtime that does not finish in wait
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
	dl.Call(q.d.api.queueFree, q.handle, uintptr(unsafe.Pointer(&q.scratch.err)))
	_ = hostmem.Free(q.memory)
	q.scratch, q.memory = nil, nil
	return err
}
