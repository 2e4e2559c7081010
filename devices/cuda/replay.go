package cuda

import (
	"fmt"
	"sync/atomic"
	"unsafe"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/devices/internal/dl"
)

// replay is a recorded sequence of launches: a CUDA graph, made executable.
type replay struct {
	d      *device
	exec   uintptr // CUgraphExec; 0 for launches that are all empty
	n      int
	closed atomic.Bool
}

// Record implements devices.Replayer: the launches run in their order, each
// after the one before it. Their kernels and buffers have to stay until the
// replay is closed. Values are those of now.
func (d *device) Record(launches []devices.Launch) (devices.Replay, error) {
	if err := d.usable("record"); err != nil {
		return nil, err
	}
	if !d.api.replays() {
		return nil, fmt.Errorf("%s: record: the driver has no graphs: %w", d.info.ID, devices.ErrUnsupported)
	}
	nq, err := d.NewQueue(devices.Compute)
	if err != nil {
		return nil, err
	}
	defer nq.Close()
	q := nq.(*queue)
	// Everything that could compile or ask comes before the recording, which
	// allows launches only.
	for i := range launches {
		k, ok := launches[i].Kernel.(*kernel)
		if !ok || k == nil || k.d != d || k.closed {
			return nil, fmt.Errorf("%s: record: launch %d has no kernel of this device that is open: %w", d.info.ID, i, devices.ErrInvalid)
		}
		if _, err := k.ready(&launches[i]); err != nil {
			return nil, fmt.Errorf("launch %d of %d: %w", i, len(launches), err)
		}
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if err := d.enter(); err != nil {
		return nil, err
	}
	defer d.leave()
	graph, err := q.capture(launches)
	if err != nil {
		return nil, err
	}
	r := &replay{d: d, n: len(launches)}
	defer d.api.call(d.api.graphDestroy, graph)
	if err := r.instantiate(graph); err != nil {
		return nil, err
	}
	// It counts as a kernel in a LeakError: it is launched like one.
	d.open[kindKernel].Add(1)
	return r, nil
}

// capture records the launches on the queue's stream. The queue is locked, the
// context current.
func (q *queue) capture(launches []devices.Launch) (graph uintptr, err error) {
	d := q.d
	if code := d.api.call(d.api.beginCapture, q.stream, captureThreadLocal); code != success {
		return 0, d.fail(code, "cuStreamBeginCapture")
	}
	for i := range launches {
		l := &launches[i]
		k := l.Kernel.(*kernel)
		var dynamic int64
		if dynamic, err = k.ready(l); err == nil {
			err = q.issue(k, l, dynamic, q.stream)
		}
		if err != nil {
			err = fmt.Errorf("%s: record: launch %d of %d: %w", d.info.ID, i, len(launches), err)
			break
		}
	}
	out := new(uintptr)
	code := d.api.call(d.api.endCapture, q.stream, uintptr(unsafe.Pointer(out)))
	switch {
	case err != nil:
		if code == success && *out != 0 {
			d.api.call(d.api.graphDestroy, *out)
		}
		return 0, err
	case code != success:
		return 0, d.fail(code, "cuStreamEndCapture after %d launches", len(launches))
	}
	return *out, nil
}

// instantiate makes a graph executable. The context is current.
func (r *replay) instantiate(graph uintptr) error {
	d, out := r.d, new(uintptr)
	var code int32
	if d.api.graphInstantiate != 0 {
		code = d.api.call(d.api.graphInstantiate, uintptr(unsafe.Pointer(out)), graph, 0)
	} else {
		code = d.api.call(d.api.graphInstantiateOld, uintptr(unsafe.Pointer(out)), graph, 0, 0, 0)
	}
	if code != success {
		return d.fail(code, "cuGraphInstantiate of %d launches", r.n)
	}
	r.exec = *out
	return nil
}

// Enqueue implements devices.Replay. Runs of one replay follow each other, also
// on different queues.
func (r *replay) Enqueue(dq devices.Queue, wait []devices.Event) (devices.Event, error) {
	q, ok := dq.(*queue)
	switch {
	case !ok || q == nil || q.d != r.d:
		return nil, fmt.Errorf("%s: replay of %d launches: the queue is not one of this device: %w", r.d.info.ID, r.n, devices.ErrInvalid)
	case r.closed.Load():
		return nil, fmt.Errorf("%v: replay of %d launches: it is closed: %w", q, r.n, devices.ErrClosed)
	}
	e, run, err := q.begin(wait, command{replay: r.n})
	if err != nil {
		return nil, err
	}
	if !run {
		return e, nil
	}
	q.args[0], q.args[1] = r.exec, q.stream
	if code := int32(dl.CallArgs(r.d.api.graphLaunch, q.args[:2])); code != success {
		return nil, q.withdraw(e, r.d.fail(code, "cuGraphLaunch of %d launches", r.n))
	}
	return q.finish(e)
}

// Close implements devices.Replay. It comes after the last run is done.
func (r *replay) Close() error {
	if !r.closed.CompareAndSwap(false, true) {
		return nil
	}
	d := r.d
	d.open[kindKernel].Add(-1)
	if d.lostErr() != nil {
		return nil
	}
	d.aux.mu.Lock()
	defer d.aux.mu.Unlock()
	if d.aux.stream == 0 {
		return nil // the device is closed
	}
	if err := d.enter(); err != nil {
		return err
	}
	defer d.leave()
	if code := d.api.call(d.api.graphExecDestroy, r.exec); code != success {
		return d.fail(code, "cuGraphExecDestroy of %d launches", r.n)
	}
	return nil
}
