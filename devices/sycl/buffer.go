package sycl

import (
	"fmt"
	"sync/atomic"
	"unsafe"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/devices/hostmem"
	"github.com/tandemrun/tandem/devices/internal/dl"
)

// buffer is unified shared memory on the device, memory of the host that the
// device works on in place, or nothing for size 0.
type buffer struct {
	d       *device
	address uintptr // 0 for size 0
	size    int64
	host    []byte // the imported memory
	freed   atomic.Bool
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
	const onDevice = 0
	address, e := new(uint64), new(errorBlock)
	code := int32(dl.Call(d.api.alloc, uintptr(d.handle), onDevice, uintptr(size), bufferAlign, uintptr(unsafe.Pointer(address)), uintptr(unsafe.Pointer(e))))
	if code != statusOK {
		d.allocated.Add(-size)
		return nil, fmt.Errorf("%s: %w", d.info.ID, failed(e, "malloc_device(%d bytes)", size))
	}
	return d.newBuffer(uintptr(*address), size, nil), nil
}

// bufferAlign is what buffers are aligned to: the widest vector of OpenCL C.
const bufferAlign = 128

func (d *device) newBuffer(address uintptr, size int64, host []byte) *buffer {
	d.open[kindBuffer].Add(1)
	return &buffer{d: d, address: address, size: size, host: host}
}

// ImportHost implements devices.HostMapper on devices with system USM: those
// work on any memory of the host as it is.
func (d *device) ImportHost(mem []byte) (devices.Buffer, error) {
	if err := d.usable("import host memory"); err != nil {
		return nil, err
	}
	if !d.traits.systemUSM {
		return nil, fmt.Errorf("%s: import %d bytes: the device has no system USM: %w", d.info.ID, len(mem), devices.ErrUnsupported)
	}
	if len(mem) == 0 {
		return d.newBuffer(0, 0, nil), nil
	}
	start := uintptr(unsafe.Pointer(&mem[0]))
	if start%uintptr(hostmem.PageSize()) != 0 {
		return nil, fmt.Errorf("%s: import %d bytes at %#x: not at the beginning of a page: %w", d.info.ID, len(mem), start, devices.ErrUnsupported)
	}
	return d.newBuffer(start, int64(len(mem)), mem), nil
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
	if b.address == 0 || b.host != nil {
		return nil
	}
	b.d.allocated.Add(-b.size)
	if b.d.handle == 0 {
		return nil // the device is closed, and its memory went with it
	}
	e := new(errorBlock)
	if code := int32(dl.Call(b.d.api.free, uintptr(b.d.handle), b.address, uintptr(unsafe.Pointer(e)))); code != statusOK {
		return fmt.Errorf("%s: %w", b.d.info.ID, failed(e, "free(%d bytes)", b.size))
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
