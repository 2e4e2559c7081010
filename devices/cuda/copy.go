package cuda

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
	e, run, err := q.begin(wait, command{copy: c.Kind, size: c.Size})
	if err != nil {
		return nil, err
	}
	if !run {
		return e, nil
	}
	if c.Size == 0 {
		return q.finish(e)
	}
	switch c.Kind {
	case devices.HostToDevice:
		err = q.upload(dst.address+uintptr(c.DstOffset), c.Host[:c.Size])
	case devices.DeviceToHost:
		err = q.download(c.Host[:c.Size], src.address+uintptr(c.SrcOffset))
	case devices.DeviceToDevice:
		err = q.across(dst, uintptr(c.DstOffset), src, uintptr(c.SrcOffset), uintptr(c.Size))
	default:
		// Mapped memory is the same for both: the order of commands is all.
	}
	if err != nil {
		return nil, q.withdraw(e, fmt.Errorf("%v copy of %d bytes: %w", c.Kind, c.Size, err))
	}
	return q.finish(e)
}

// across copies between buffers, of this GPU or two of them.
func (q *queue) across(dst *buffer, to uintptr, src *buffer, from, size uintptr) error {
	d := q.d
	if src.d.ctx == d.ctx {
		q.args = [12]uintptr{dst.address + to, src.address + from, size, q.stream}
		if code := int32(dl.CallArgs(d.api.copyDtoD, q.args[:4])); code != success {
			return d.fail(code, "cuMemcpyDtoDAsync")
		}
		return nil
	}
	q.args = [12]uintptr{dst.address + to, d.ctx, src.address + from, src.d.ctx, size, q.stream}
	if code := int32(dl.CallArgs(d.api.copyPeer, q.args[:6])); code != success {
		return d.fail(code, "cuMemcpyPeerAsync from %s", src.d.info.ID)
	}
	return nil
}

// toDevice enqueues a copy from host memory that the driver may read until it
// is done.
func (q *queue) toDevice(dst uintptr, src unsafe.Pointer, size int) error {
	q.args = [12]uintptr{dst, uintptr(src), uintptr(size), q.stream}
	if code := int32(dl.CallArgs(q.d.api.copyHtoD, q.args[:4])); code != success {
		return q.d.fail(code, "cuMemcpyHtoDAsync")
	}
	return nil
}

// toHost enqueues a copy to host memory that the driver may write until it is
// done.
func (q *queue) toHost(dst unsafe.Pointer, src uintptr, size int) error {
	q.args = [12]uintptr{uintptr(dst), src, uintptr(size), q.stream}
	if code := int32(dl.CallArgs(q.d.api.copyDtoH, q.args[:4])); code != success {
		return q.d.fail(code, "cuMemcpyDtoHAsync")
	}
	return nil
}

// bufferOf checks that b is a buffer of d in use, or one of a GPU that d can
// copy from.
func (d *device) bufferOf(b devices.Buffer, kind devices.CopyKind, side string) (*buffer, error) {
	buf, ok := b.(*buffer)
	switch {
	case !ok || buf == nil:
		return nil, fmt.Errorf("%s: %v copy, %s: there is no buffer of this device: %w", d.info.ID, kind, side, devices.ErrInvalid)
	case buf.d != d && (side != "source" || kind != devices.DeviceToDevice || !d.CanCopyFrom(buf.d)):
		return nil, fmt.Errorf("%s: %v copy, %s: the buffer is one of %s: %w", d.info.ID, kind, side, buf.d.info.ID, devices.ErrInvalid)
	case buf.freed.Load():
		return nil, fmt.Errorf("%s: %v copy, %s: the buffer of %d bytes has been freed: %w", d.info.ID, kind, side, buf.size, devices.ErrClosed)
	}
	return buf, nil
}
