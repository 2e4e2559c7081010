package opencl

import (
	"errors"
	"fmt"
	"sync/atomic"
	"unsafe"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/devices/hostmem"
	"github.com/tandemrun/tandem/devices/internal/dl"
)

// buffer is a cl_mem, or nothing for size 0.
type buffer struct {
	d      *device
	handle uintptr // cl_mem; 0 for size 0
	id     uint64  // never used twice, unlike the handle
	size   int64
	host   []byte // the imported memory
	freed  atomic.Bool
}

// Alloc implements devices.Device. The device's memory size is a limit of its
// own: implementations on the host's memory would promise pages that are not
// there.
func (d *device) Alloc(size int64) (devices.Buffer, error) {
	if err := d.usable("alloc"); err != nil {
		return nil, err
	}
	switch {
	case size < 0:
		return nil, fmt.Errorf("%s: alloc of %d bytes: %w", d.info.ID, size, devices.ErrInvalid)
	case size == 0:
		return d.newBuffer(0, 0, nil), nil
	case d.info.MaxAlloc > 0 && size > d.info.MaxAlloc:
		return nil, fmt.Errorf("%s: alloc of %d bytes: a single buffer has at most %d bytes: %w",
			d.info.ID, size, d.info.MaxAlloc, devices.ErrOutOfMemory)
	}
	if used := d.allocated.Add(size); d.info.MemoryTotal > 0 && used > d.info.MemoryTotal {
		d.allocated.Add(-size)
		return nil, fmt.Errorf("%s: alloc of %d bytes: %d of %d bytes are in use: %w",
			d.info.ID, size, used-size, d.info.MemoryTotal, devices.ErrOutOfMemory)
	}
	handle, err := d.createBuffer(memReadWrite, size, 0)
	if err != nil {
		d.allocated.Add(-size)
		return nil, err
	}
	return d.newBuffer(handle, size, nil), nil
}

func (d *device) createBuffer(flags uintptr, size int64, host uintptr) (uintptr, error) {
	code := new(int32)
	handle := dl.Call(d.api.createBuffer, d.ctx, flags, uintptr(size), host, uintptr(unsafe.Pointer(code)))
	if *code != success || handle == 0 {
		return 0, fmt.Errorf("%s: %w", d.info.ID, failed(*code, "clCreateBuffer(%d bytes)", size))
	}
	return handle, nil
}

func (d *device) newBuffer(handle uintptr, size int64, host []byte) *buffer {
	d.open[kindBuffer].Add(1)
	return &buffer{d: d, handle: handle, id: d.lastID.Add(1), size: size, host: host}
}

// ImportHost implements devices.HostMapper on devices that share the host's
// memory. Whether the implementation really works in place shows in mapping
// the buffer: it has to give the very same address.
func (d *device) ImportHost(mem []byte) (devices.Buffer, error) {
	if err := d.usable("import host memory"); err != nil {
		return nil, err
	}
	if !d.info.UnifiedMemory {
		return nil, fmt.Errorf("%s: import %d bytes: the device has memory of its own: %w", d.info.ID, len(mem), devices.ErrUnsupported)
	}
	if len(mem) == 0 {
		return d.newBuffer(0, 0, nil), nil
	}
	start := uintptr(unsafe.Pointer(&mem[0]))
	if start%uintptr(hostmem.PageSize()) != 0 {
		return nil, fmt.Errorf("%s: import %d bytes at %#x: not at the beginning of a page: %w", d.info.ID, len(mem), start, devices.ErrUnsupported)
	}
	handle, err := d.createBuffer(memReadWrite|memUseHostPtr, int64(len(mem)), start)
	if err != nil {
		// The caller copies instead; that this cannot be imported is no lack
		// of memory.
		return nil, fmt.Errorf("%w: %w", errors.New(err.Error()), devices.ErrUnsupported)
	}
	at, code := d.mapOnce(handle, int64(len(mem)))
	if code != success || at != start {
		d.api.call(d.api.releaseMemObject, handle)
		return nil, fmt.Errorf("%s: import %d bytes at %#x: the driver maps them at %#x (%s), so it would copy: %w",
			d.info.ID, len(mem), start, at, symbol(code), devices.ErrUnsupported)
	}
	return d.newBuffer(handle, int64(len(mem)), mem), nil
}

// mapOnce maps a buffer, unmaps it and returns where it was.
func (d *device) mapOnce(handle uintptr, size int64) (uintptr, int32) {
	at, code := d.mapFor(handle, size)
	if code != success {
		return 0, code
	}
	return at, d.unmap(handle, at)
}

// Size implements devices.Buffer.
func (b *buffer) Size() int64 { return b.size }

// Imported implements copycheck.Buffer.
func (b *buffer) Imported() bool { return b.host != nil }

// Free implements devices.Buffer.
func (b *buffer) Free() error {
	if !b.freed.CompareAndSwap(false, true) {
		return nil
	}
	b.d.open[kindBuffer].Add(-1)
	if b.handle == 0 {
		return nil
	}
	if b.host == nil {
		b.d.allocated.Add(-b.size)
	}
	if code := b.d.api.call(b.d.api.releaseMemObject, b.handle); code != success {
		return fmt.Errorf("%s: %w", b.d.info.ID, failed(code, "clReleaseMemObject(%d bytes)", b.size))
	}
	return nil
}

// bufferOf checks that b is a buffer of d in use.
func (d *device) bufferOf(b devices.Buffer, kind devices.CopyKind, side string) (*buffer, error) {
	buf, ok := b.(*buffer)
	switch {
	case !ok || buf == nil:
		return nil, fmt.Errorf("%s: %v copy, %s: there is no buffer of this device: %w", d.info.ID, kind, side, devices.ErrInvalid)
	case buf.d != d:
		return nil, fmt.Errorf("%s: %v copy, %s: the buffer is one of %s: %w", d.info.ID, kind, side, buf.d.info.ID, devices.ErrInvalid)
	case buf.freed.Load():
		return nil, fmt.Errorf("%s: %v copy, %s: the buffer of %d bytes has been freed: %w", d.info.ID, kind, side, buf.size, devices.ErrClosed)
	}
	return buf, nil
}
