package opencl

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
	if _, err := q.begin(wait); err != nil {
		return q.failedEvent(cmd, err)
	}
	shared := c.Kind == devices.SyncToDevice || c.Kind == devices.SyncToHost
	if c.Size == 0 || shared && q.d.info.HostCoherent {
		// On the host's own cores there is nothing to make visible.
		return q.marker(cmd)
	}
	if shared {
		return q.sync(c, dst, cmd)
	}
	e, err := q.event(cmd)
	if err != nil {
		return nil, err
	}
	n, list, err := q.list()
	if err != nil {
		e.drop()
		return nil, err
	}
	const notBlocking = 0
	out := uintptr(unsafe.Pointer(&e.mem.handle))
	var code int32
	switch c.Kind {
	case devices.HostToDevice:
		q.args = [12]uintptr{q.handle, dst.handle, notBlocking, uintptr(c.DstOffset), uintptr(c.Size), uintptr(unsafe.Pointer(&c.Host[0])), n, list, out}
		code = int32(dl.CallArgs(q.d.api.enqueueWriteBuffer, q.args[:9]))
	case devices.DeviceToHost:
		q.args = [12]uintptr{q.handle, src.handle, notBlocking, uintptr(c.SrcOffset), uintptr(c.Size), uintptr(unsafe.Pointer(&c.Host[0])), n, list, out}
		code = int32(dl.CallArgs(q.d.api.enqueueReadBuffer, q.args[:9]))
	default:
		q.args = [12]uintptr{q.handle, src.handle, dst.handle, uintptr(c.SrcOffset), uintptr(c.DstOffset), uintptr(c.Size), n, list, out}
		code = int32(dl.CallArgs(q.d.api.enqueueCopyBuffer, q.args[:9]))
	}
	if code != success {
		e.drop()
		return nil, fmt.Errorf("%v: %w", q, failed(code, "copy %v of %d bytes", c.Kind, c.Size))
	}
	q.enqueued(e)
	return q.hand(e), nil
}

// sync makes imported memory visible to the other side by mapping and
// unmapping it. Mapping for reading brings the device's bytes to the host;
// mapping for writing, with the old contents given up, hands the host's to the
// device and never overwrites them.
func (q *queue) sync(c *devices.Copy, b *buffer, cmd command) (devices.Event, error) {
	flags := uintptr(mapRead)
	if c.Kind == devices.SyncToDevice {
		flags = mapWriteInvalidate
	}
	mapped, err := q.event(cmd)
	if err != nil {
		return nil, err
	}
	n, list, err := q.list()
	if err != nil {
		mapped.drop()
		return nil, err
	}
	const notBlocking = 0
	q.scratch.value[0] = 0
	status := unsafe.Pointer(&q.scratch.value[0])
	q.args = [12]uintptr{q.handle, b.handle, notBlocking, flags, uintptr(c.DstOffset), uintptr(c.Size), n, list,
		uintptr(unsafe.Pointer(&mapped.mem.handle)), uintptr(status)}
	at := dl.CallArgs(q.d.api.enqueueMapBuffer, q.args[:10])
	if code := *(*int32)(status); code != success {
		mapped.drop()
		return nil, fmt.Errorf("%v: %w", q, failed(code, "clEnqueueMapBuffer(%d bytes)", c.Size))
	}
	q.enqueued(mapped)
	q.deps = append(q.deps[:0], mapped)
	unmapped, err := q.event(cmd)
	if err == nil {
		if n, list, err = q.list(); err == nil {
			q.args = [12]uintptr{q.handle, b.handle, at, n, list, uintptr(unsafe.Pointer(&unmapped.mem.handle))}
			if code := int32(dl.CallArgs(q.d.api.enqueueUnmapMemObject, q.args[:6])); code != success {
				err = fmt.Errorf("%v: %w", q, failed(code, "clEnqueueUnmapMemObject(%d bytes)", c.Size))
			}
		}
		if err != nil {
			unmapped.drop()
		}
	}
	if err != nil {
		mapped.unref()
		return nil, err
	}
	q.enqueued(unmapped)
	unmapped.first = mapped // takes the reference
	return q.hand(unmapped), nil
}
