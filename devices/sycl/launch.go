package sycl

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
	handle, err := k.variantFor(plan)
	if err != nil {
		return nil, err
	}
	cmd := command{kernel: k.entry, nd: l.Range}
	if err := q.dependencies(wait, &cmd); err != nil {
		return nil, err
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if err := q.closedError(&cmd); err != nil {
		return nil, err
	}
	if err := q.begin(wait); err != nil {
		return q.failedEvent(cmd, err), nil
	}
	if plan.N == 0 {
		return q.marker(cmd)
	}
	q.bind(l.Args)
	launch := &q.scratch.launch
	launch.kernel, launch.dims, launch.arguments = handle, uint32(plan.Dims), uint32(len(l.Args))
	launch.argument = uint64(uintptr(unsafe.Pointer(&q.scratch.args[0])))
	return q.boxes(k, plan, cmd)
}

// bind writes the arguments into the scratchpad. They have been checked.
func (q *queue) bind(args []devices.Arg) {
	pad := q.scratch
	values := unsafe.Slice((*byte)(unsafe.Pointer(&pad.values[0])), maxValues)
	used := 0
	for i := range args {
		a, b := &args[i], &pad.args[i]
		switch {
		case a.Buffer != nil:
			b.kind, b.size, b.data = argPointer, 8, uint64(a.Buffer.(*buffer).address)
		case a.Value != nil:
			copy(values[used:], a.Value)
			b.kind, b.size, b.data = argValue, uint64(len(a.Value)), uint64(uintptr(unsafe.Pointer(&values[used])))
			used += valueRoom(len(a.Value))
		case a.LocalBytes != 0:
			b.kind, b.size, b.data = argLocal, uint64(a.LocalBytes), 0
		default:
			b.kind, b.size, b.data = argPointer, 8, 0
		}
	}
}

// valueRoom is what a value takes in the scratchpad: each begins where any type
// may.
func valueRoom(size int) int { return (size + 15) &^ 15 }

// boxes enqueues the launches of a layout one after the other. Each waits for
// the one before it, so that a failure reaches the last.
func (q *queue) boxes(k *kernel, plan *ragged.Layout, cmd command) (devices.Event, error) {
	var first, last *event
	for i := range plan.N {
		e, err := q.enqueueBox(k, &plan.Boxes[i], cmd)
		if err != nil {
			if first != nil {
				// What runs already uses the caller's buffers, and the caller
				// gets no event to wait for.
				_ = q.finish()
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

func (q *queue) enqueueBox(k *kernel, b *ragged.Box, cmd command) (*event, error) {
	list, n, err := q.list()
	if err != nil {
		return nil, err
	}
	e, pad := q.event(cmd), q.scratch
	pad.launch.offset, pad.launch.global, pad.launch.local = b.Offset, b.Size, b.Local
	fn := q.d.api.launch
	if k.function != 0 {
		fn = q.d.api.call
		q.args = [8]uintptr{q.handle, k.function, uintptr(unsafe.Pointer(&pad.launch)), list, n, uintptr(unsafe.Pointer(&pad.event)), uintptr(unsafe.Pointer(&pad.err))}
	} else {
		q.args = [8]uintptr{q.handle, uintptr(unsafe.Pointer(&pad.launch)), list, n, uintptr(unsafe.Pointer(&pad.event)), uintptr(unsafe.Pointer(&pad.err))}
	}
	count := 6
	if k.function != 0 {
		count = 7
	}
	if code := int32(dl.CallArgs(fn, q.args[:count])); code != statusOK {
		err := q.launchError(b, &pad.err, cmd)
		e.drop()
		return nil, err
	}
	q.enqueued(e)
	return e, nil
}

// launchError is apart, for what it prints to be copied on failure alone.
func (q *queue) launchError(b *ragged.Box, e *errorBlock, cmd command) error {
	global, local := b.Size, b.Local
	return fmt.Errorf("%v: %w", q, failed(e, "kernel %q (global %v, local %v)", cmd.kernel, global, local))
}
