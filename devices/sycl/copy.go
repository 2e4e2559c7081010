package sycl

import (
	"fmt"
	"unsafe"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/devices/internal/dl"
)

// Copy implements devices.Queue.
func (q *queue) Copy(c *devices.Copy, wait []devices.Event) (devices.Event, error) {
	dst, src, err := q.checkCopy(c)
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

// checkCopy finds the buffers of a copy and checks its ranges.
func (q *queue) checkCopy(c *devices.Copy) (dst, src *buffer, err error) {
	if c.Kind > devices.SyncToHost {
		return nil, nil, fmt.Errorf("%v: copy of the unknown kind %d: %w", q, c.Kind, devices.ErrInvalid)
	}
	if c.Kind != devices.DeviceToHost {
		if dst, err = q.d.bufferOf(c.Dst, c.Kind, "destination", c.DstOffset, c.Size); err != nil {
			return nil, nil, err
		}
	}
	if c.Kind == devices.DeviceToHost || c.Kind == devices.DeviceToDevice {
		if src, err = q.d.bufferOf(c.Src, c.Kind, "source", c.SrcOffset, c.Size); err != nil {
			return nil, nil, err
		}
	}
	switch c.Kind {
	case devices.HostToDevice, devices.DeviceToHost:
		if int64(len(c.Host)) < c.Size {
			return nil, nil, fmt.Errorf("%v: %v copy of %d bytes: the host's side has %d: %w", q, c.Kind, c.Size, len(c.Host), devices.ErrInvalid)
		}
	case devices.DeviceToDevice:
		if dst == src && c.SrcOffset < c.DstOffset+c.Size && c.DstOffset < c.SrcOffset+c.Size && c.Size > 0 {
			return nil, nil, fmt.Errorf("%v: d2d copy of %d bytes from offset %d to %d of one buffer overlaps: %w", q, c.Size, c.SrcOffset, c.DstOffset, devices.ErrInvalid)
		}
	default:
		if c.Size > 0 && dst.host == nil {
			return nil, nil, fmt.Errorf("%v: %v: the buffer is not imported host memory: %w", q, c.Kind, devices.ErrInvalid)
		}
	}
	return dst, src, nil
}
