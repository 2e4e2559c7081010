package opencl

import (
	"fmt"
	"unsafe"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/devices/internal/dl"
	"github.com/tandemrun/tandem/devices/internal/ragged"
)

// Launch implements devices.Queue. A launch whose local size does not divide
// the range takes several commands, of which the event is the last. The first
// launch of a geometry may compile the kernel once more and takes as long.
func (q *queue) Launch(l *devices.Launch, wait []devices.Event) (devices.Event, error) {
	k, ok := l.Kernel.(*kernel)
	switch {
	case !ok || k == nil:
		return nil, fmt.Errorf("%v: launch: there is no kernel of this driver: %w", q, devices.ErrInvalid)
	case k.d != q.d:
		return nil, fmt.Errorf("%v: launch: kernel %q is one of %s: %w", q, k.entry, k.d.info.ID, devices.ErrInvalid)
	case k.closed:
		return nil, fmt.Errorf("%v: launch: kernel %q is closed: %w", q, k.entry, devices.ErrClosed)
	}
	if err := k.checkArgs(l.Args); err != nil {
		return nil, err
	}
	plan, err := k.lay(l.Range)
	if err != nil {
		return nil, err
	}
	v, err := k.variantFor(plan)
	if err != nil {
		return nil, err
	}
	cmd := command{kernel: k.entry, nd: l.Range}
	if err := q.dependencies(wait, &cmd); err != nil {
		return nil, err
	}
	if q.d.traits.widens && plan.N > 0 {
		w := q.widen(v, plan)
		w.flush()
		e, err := q.launch(k, v, plan, cmd, l.Args, wait, w.guards)
		launched, _ := e.(*event)
		w.done(launched)
		return e, err
	}
	return q.launch(k, v, plan, cmd, l.Args, wait, nil)
}

// launch enqueues a launch that was checked. guards are events that it has to
// come after as well, whether they fail or not.
func (q *queue) launch(k *kernel, v *variant, plan *ragged.Layout, cmd command, args []devices.Arg, wait []devices.Event, guards []*event) (devices.Event, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.guards = guards
	defer func() { q.guards = nil }()
	if err := q.closedError(&cmd); err != nil {
		return nil, err
	}
	if _, err := q.begin(wait); err != nil {
		return q.failedEvent(cmd, err)
	}
	if plan.N == 0 {
		return q.marker(cmd)
	}
	if err := k.bind(v, q.scratch, args); err != nil {
		return nil, err
	}
	return q.boxes(v, plan, cmd)
}

// boxes enqueues the launches of a layout one after the other. Each waits for
// the one before it, so that a failure reaches the last.
func (q *queue) boxes(v *variant, plan *ragged.Layout, cmd command) (devices.Event, error) {
	var first, last *event
	for i := range plan.N {
		e, err := q.event(cmd)
		if err == nil {
			err = q.enqueueBox(v, plan, &plan.Boxes[i], e)
		}
		if err != nil {
			if first != nil {
				// What runs already uses the caller's buffers, and the caller
				// gets no event to wait for.
				q.args[0] = q.handle
				dl.CallArgs(q.d.api.finish, q.args[:1])
				last.unref()
				if first != last {
					first.unref()
				}
			}
			return nil, err
		}
		if first == nil {
			first = e
		} else if last != first {
			last.unref()
		}
		last = e
		q.deps = append(q.deps[:0], e)
	}
	if first != last {
		last.first = first // takes the reference
	}
	return q.hand(last), nil
}

func (q *queue) enqueueBox(v *variant, plan *ragged.Layout, b *ragged.Box, e *event) error {
	n, list, err := q.list()
	if err != nil {
		e.drop()
		return err
	}
	pad := q.scratch
	for d := range 3 {
		pad.offset[d], pad.size[d], pad.local[d] = uintptr(b.Offset[d]), uintptr(b.Size[d]), uintptr(b.Local[d])
	}
	offset := uintptr(unsafe.Pointer(&pad.offset))
	if b.Offset == [3]uint64{} {
		offset = 0
	}
	q.args = [12]uintptr{q.handle, v.handle, uintptr(plan.Dims), offset, uintptr(unsafe.Pointer(&pad.size)),
		uintptr(unsafe.Pointer(&pad.local)), n, list, uintptr(unsafe.Pointer(&e.mem.handle))}
	if code := int32(dl.CallArgs(q.d.api.enqueueNDRangeKernel, q.args[:9])); code != success {
		err := fmt.Errorf("%v: %w", q, failed(code, "clEnqueueNDRangeKernel(%s, global %v, local %v)", e.cmd.kernel, b.Size[:plan.Dims], b.Local[:plan.Dims]))
		e.drop()
		return err
	}
	q.enqueued(e)
	return nil
}
