package cuda

import (
	"fmt"
	goruntime "runtime"
	"slices"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/devices/hostmem"
	"github.com/tandemrun/tandem/devices/internal/dl"
)

const (
	// maxValues bounds the bytes of a launch's arguments, as CUDA 12.1 does.
	maxValues = 32764
	// maxArgs bounds the number of a kernel's parameters, hidden ones included.
	maxArgs = 1024
)

// scratchpad is what the library reads during one launch. It lies outside the
// Go heap.
type scratchpad struct {
	params [maxArgs]uintptr // addresses of the values
	values [maxValues/8 + maxArgs*2]uint64
}

const scratchBytes = int64(unsafe.Sizeof(scratchpad{}))

// queue is a stream, and a second one on which the host is told of its events:
// a stream's functions hold up what is behind them, and nothing is behind
// those.
type queue struct {
	d    *device
	kind devices.QueueKind
	done atomic.Uint64 // position of the last command known to have finished

	mu      sync.Mutex
	stream  uintptr
	moves   ring // on stream: copies of the host's, for pageable memory
	bounce  []byte
	memory  []byte
	scratch *scratchpad
	args    [12]uintptr // of the call in progress
	seq     uint64      // position of the last command
	closed  bool

	tellMu   sync.Mutex
	bells    uintptr // the second stream
	told     ring
	tellArgs [3]uintptr
}

func (q *queue) String() string { return fmt.Sprintf("%s: %v queue", q.d.info.ID, q.kind) }

// NewQueue implements devices.Device.
func (d *device) NewQueue(kind devices.QueueKind) (devices.Queue, error) {
	if err := d.usable("new queue"); err != nil {
		return nil, err
	}
	scratch, err := hostmem.Alloc(scratchBytes)
	if err != nil {
		return nil, fmt.Errorf("%s: new %v queue: %w: %w", d.info.ID, kind, err, devices.ErrOutOfMemory)
	}
	q := &queue{d: d, kind: kind, memory: scratch, scratch: (*scratchpad)(unsafe.Pointer(&scratch[0]))}
	if err := d.enter(); err != nil {
		_ = hostmem.Free(scratch)
		return nil, err
	}
	defer d.leave()
	if q.stream, err = d.createStream(); err == nil {
		if q.bells, err = d.createStream(); err != nil {
			d.api.call(d.api.streamDestroy, q.stream)
		}
	}
	if err != nil {
		_ = hostmem.Free(scratch)
		return nil, err
	}
	d.relay.attach(&q.moves)
	d.relay.attach(&q.told)
	d.mu.Lock()
	d.queues = append(d.queues, q)
	d.mu.Unlock()
	d.open[kindQueue].Add(1)
	if d.lostErr() != nil {
		q.abandon() // whoever was told of the loss did not know of this one
	}
	return q, nil
}

// dependencies checks a wait list before the queue is locked.
func (q *queue) dependencies(wait []devices.Event, cmd *command) error {
	for i, w := range wait {
		e, ok := w.(*event)
		if !ok || e == nil || e.d != q.d {
			return fmt.Errorf("%v: %v: event %d of the wait list is not one of this device: %w", q, cmd.String(), i, devices.ErrInvalid)
		}
	}
	return nil
}

// begin locks the queue, makes the context current and has the stream wait for
// a wait list. If a predecessor has failed, e is the event of a command that
// does not run, and nothing is to be enqueued. Without an error and such an
// event the caller has to call finish or cancel.
func (q *queue) begin(wait []devices.Event, cmd command) (e *event, run bool, err error) {
	if err := q.dependencies(wait, &cmd); err != nil {
		return nil, false, err
	}
	q.mu.Lock()
	if q.closed {
		q.mu.Unlock()
		return nil, false, fmt.Errorf("%v: %v: the queue is closed: %w", q, cmd.String(), devices.ErrClosed)
	}
	if err := q.d.lostErr(); err != nil {
		q.mu.Unlock()
		return nil, false, fmt.Errorf("%v: %v: %w", q, cmd.String(), err)
	}
	if err := q.d.enter(); err != nil {
		q.mu.Unlock()
		return nil, false, err
	}
	e, err = q.d.pool.get(q.d)
	if err != nil {
		q.d.leave()
		q.mu.Unlock()
		return nil, false, fmt.Errorf("%v: %v: %w", q, cmd.String(), err)
	}
	e.q, e.seq, e.cmd, e.queued = q, 0, cmd, devices.Now()
	for _, w := range wait {
		dep := w.(*event)
		switch state := dep.state.Load(); {
		case state == broke:
			e.seen, e.submitted, e.err = e.queued, e.queued, dep.err
			e.state.Store(broke)
			q.d.leave()
			q.mu.Unlock()
			q.d.open[kindEvent].Add(1)
			return e, false, nil
		case state == succeeded || dep.q == q || dep.q.done.Load() >= dep.seq:
			continue // over, or before this one anyway
		}
		q.args[0], q.args[1], q.args[2] = q.stream, dep.end[0], 0
		if code := int32(dl.CallArgs(q.d.api.streamWaitEvent, q.args[:3])); code != success {
			return nil, false, q.cancel(e, q.d.fail(code, "cuStreamWaitEvent"))
		}
	}
	if err := q.record(e.start[0]); err != nil {
		return nil, false, q.cancel(e, err)
	}
	return e, true, nil
}

// record notes on the stream that it has come so far.
func (q *queue) record(handle uintptr) error {
	q.args[0], q.args[1] = handle, q.stream
	if code := int32(dl.CallArgs(q.d.api.eventRecord, q.args[:2])); code != success {
		return q.d.fail(code, "cuEventRecord")
	}
	return nil
}

// cancel ends what begin began, without a command.
func (q *queue) cancel(e *event, err error) error {
	q.d.leave()
	q.mu.Unlock()
	e.unref()
	return fmt.Errorf("%v: %w", q, err)
}

// finish ends what begin began and gives the event to the caller, who releases
// it.
func (q *queue) finish(e *event) (devices.Event, error) {
	if err := q.record(e.end[0]); err != nil {
		return nil, q.withdraw(e, err)
	}
	q.seq++
	e.seq, e.timed, e.submitted = q.seq, true, devices.Now()
	q.d.leave()
	q.mu.Unlock()
	q.d.open[kindEvent].Add(1)
	return e, nil
}

// withdraw ends what begin began when a part of the command runs already: that
// uses the caller's buffers, and the caller gets no event to wait for, so it
// is waited for here.
func (q *queue) withdraw(e *event, err error) error {
	if q.d.lostErr() == nil {
		q.d.api.call(q.d.api.streamSync, q.stream)
	}
	return q.cancel(e, err)
}

// tell has the driver call when e has finished. A nil error means that e is
// told, or has been. The queue is not locked.
func (q *queue) tell(e *event) error {
	q.tellMu.Lock()
	defer q.tellMu.Unlock()
	if q.bells == 0 {
		return fmt.Errorf("%v: %v: the queue is closed: %w", q, e.cmd.String(), devices.ErrClosed)
	}
	if err := q.d.enter(); err != nil {
		return err
	}
	defer q.d.leave()
	a := q.d.api
	q.tellArgs = [3]uintptr{q.bells, e.end[0], 0}
	if code := int32(dl.CallArgs(a.streamWaitEvent, q.tellArgs[:])); code != success {
		return q.d.fail(code, "cuStreamWaitEvent")
	}
	q.told.push(job{event: e})
	q.tellArgs = [3]uintptr{q.bells, q.told.fn, q.told.key}
	if code := int32(dl.CallArgs(a.launchHostFunc, q.tellArgs[:])); code != success {
		err := q.d.fail(code, "cuLaunchHostFunc")
		if _, mine := q.told.unpush(); mine {
			return err
		}
		return nil // the loss of the device has been told
	}
	if goruntime.GOOS == "windows" {
		// There commands are gathered until somebody asks.
		q.tellArgs[0] = q.stream
		dl.CallArgs(a.streamQuery, q.tellArgs[:1])
	}
	if q.d.lostErr() != nil {
		q.abandon()
	}
	return nil
}

// abandon tells everybody who waits that the device is lost. The driver's
// calls that have not come do not come any more, or find nothing to do.
func (q *queue) abandon() {
	err := q.d.lostErr()
	q.told.drop(err)
	q.moves.drop(err)
}

// Flush implements devices.Queue. The driver begins with commands as they come,
// except on Windows, where it gathers them until somebody asks.
func (q *queue) Flush() error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return fmt.Errorf("%v: flush: the queue is closed: %w", q, devices.ErrClosed)
	}
	if err := q.d.enter(); err != nil {
		return err
	}
	defer q.d.leave()
	q.args[0] = q.stream
	if code := int32(dl.CallArgs(q.d.api.streamQuery, q.args[:1])); code != success && code != codeNotReady {
		return fmt.Errorf("%v: %w", q, q.d.fail(code, "cuStreamQuery"))
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
	q.tellMu.Lock()
	defer q.tellMu.Unlock()
	d := q.d
	err := d.enter()
	if err == nil {
		code := d.api.call(d.api.streamSync, q.stream)
		if code == success {
			code = d.api.call(d.api.streamSync, q.bells)
		}
		if code != success {
			err = fmt.Errorf("%v: %w", q, d.fail(code, "cuStreamSynchronize"))
		} else {
			q.done.Store(q.seq)
		}
		d.api.call(d.api.streamDestroy, q.bells)
		d.api.call(d.api.streamDestroy, q.stream)
		d.leave()
	}
	lost := d.lostErr() != nil
	if lost {
		q.abandon()
	}
	q.bells, q.stream = 0, 0
	d.relay.detach(&q.told, lost)
	d.relay.detach(&q.moves, lost)
	d.freeBounce(q.bounce)
	d.mu.Lock()
	if i := slices.Index(d.queues, q); i >= 0 {
		d.queues = slices.Delete(d.queues, i, i+1)
	}
	d.mu.Unlock()
	d.open[kindQueue].Add(-1)
	_ = hostmem.Free(q.memory)
	q.scratch, q.memory, q.bounce = nil, nil, nil
	if lost {
		return nil // the queue is empty and closed; what happened is every event's error
	}
	return err
}
