package sycl

import (
	"fmt"
	"unsafe"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/devices/internal/copycheck"
	"github.com/tandemrun/tandem/devices/internal/dl"
)

// Copy implements devices.Queue.
func (q *queue) Copy(c *devices.Copy, wait []devices.Event) (devices.Event, error) {
	dst, src, err := copycheck.Buffers(q, c, func(b devices.Buffer, side string) (*buffer, error) { return q.d.bufferOf(b, c.Kind, side) })
	if err != nil {
		return nil, err
	}
	cmd := command{copy: c.Kind, size: c.Size}
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
	if c.Size == 0 || c.Kind == devices.SyncToDevice || c.Kind == devices.SyncToHost {
		// System USM is coherent where a command ends: there is nothing to
		// make visible.
		return q.marker(cmd)
	}
	var to, from uintptr
	switch c.Kind {
	case devices.HostToDevice:
		to, from = dst.address+uintptr(c.DstOffset), uintptr(unsafe.Pointer(&c.Host[0]))
	case devices.DeviceToHost:
		to, from = uintptr(unsafe.Pointer(&c.Host[0])), src.address+uintptr(c.SrcOffset)
	default:
		to, from = dst.address+uintptr(c.DstOffset), src.address+uintptr(c.SrcOffset)
	}
	list, n, err := q.list()
	if err != nil {
		return nil, err
	}
	e, pad := q.event(cmd), q.scratch
	q.args = [8]uintptr{q.handle, to, from, uintptr(c.Size), list, n, uintptr(unsafe.Pointer(&pad.event)), uintptr(unsafe.Pointer(&pad.err))}
	if code := int32(dl.CallArgs(q.d.api.copy, q.args[:8])); code != statusOK {
		e.drop()
		return nil, fmt.Errorf("%v: %w", q, failed(&pad.err, "copy %v of %d bytes", c.Kind, c.Size))
	}
	q.enqueued(e)
	return q.hand(e), nil
}
