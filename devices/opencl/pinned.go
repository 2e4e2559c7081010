package opencl

import (
	"fmt"
	"sync/atomic"
	"unsafe"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/devices/internal/dl"
)

// pinned is a buffer in host memory that the implementation chose, mapped for
// as long as it lives: what implementations pin.
type pinned struct {
	d      *device
	handle uintptr // cl_mem
	at     uintptr // where it is mapped
	mem    []byte
	freed  atomic.Bool
}

var _ devices.HostPinner = (*device)(nil)

// AllocPinned implements devices.HostPinner with CL_MEM_ALLOC_HOST_PTR. OpenCL
// does not promise that such memory is pinned; on devices with memory of their
// own it is, as far as the implementations document it.
func (d *device) AllocPinned(size int64) (devices.Pinned, error) {
	if err := d.usable("alloc pinned memory"); err != nil {
		return nil, err
	}
	switch {
	case size < 1:
		return nil, fmt.Errorf("%s: alloc of %d bytes of pinned memory: %w", d.info.ID, size, devices.ErrInvalid)
	case d.info.MaxAlloc > 0 && size > d.info.MaxAlloc:
		return nil, fmt.Errorf("%s: alloc of %d bytes of pinned memory: a single buffer has at most %d bytes: %w",
			d.info.ID, size, d.info.MaxAlloc, devices.ErrOutOfMemory)
	}
	handle, err := d.createBuffer(memReadWrite|memAllocHostPtr, size, 0)
	if err != nil {
		return nil, err
	}
	at, code := d.mapFor(handle, size)
	if code != success {
		d.api.call(d.api.releaseMemObject, handle)
		return nil, fmt.Errorf("%s: pinned memory: %w", d.info.ID, failed(code, "clEnqueueMapBuffer(%d bytes)", size))
	}
	d.open[kindBuffer].Add(1)
	// The address comes from the library, not from a Go pointer: reading it
	// through its own memory is the conversion that vet accepts.
	mem := unsafe.Slice(*(**byte)(unsafe.Pointer(&at)), int(size))
	return &pinned{d: d, handle: handle, at: at, mem: mem}, nil
}

// mapFor maps a buffer until unmap.
func (d *device) mapFor(handle uintptr, size int64) (uintptr, int32) {
	d.aux.mu.Lock()
	defer d.aux.mu.Unlock()
	code := new(int32)
	const blocking = 1
	at := dl.Call(d.api.enqueueMapBuffer, d.aux.handle, handle, blocking, mapRead|mapWrite, 0, uintptr(size), 0, 0, 0, uintptr(unsafe.Pointer(code)))
	return at, *code
}

// unmap waits until a mapped buffer is unmapped.
func (d *device) unmap(handle, at uintptr) int32 {
	d.aux.mu.Lock()
	defer d.aux.mu.Unlock()
	if code := d.api.call(d.api.enqueueUnmapMemObject, d.aux.handle, handle, at, 0, 0, 0); code != success {
		return code
	}
	return d.api.call(d.api.finish, d.aux.handle)
}

// Bytes implements devices.Pinned.
func (p *pinned) Bytes() []byte { return p.mem }

// Free implements devices.Pinned.
func (p *pinned) Free() error {
	if !p.freed.CompareAndSwap(false, true) {
		return nil
	}
	p.d.open[kindBuffer].Add(-1)
	code := p.d.unmap(p.handle, p.at)
	if c := p.d.api.call(p.d.api.releaseMemObject, p.handle); code == success {
		code = c
	}
	if code != success {
		return fmt.Errorf("%s: %w", p.d.info.ID, failed(code, "freeing %d bytes of pinned memory", len(p.mem)))
	}
	return nil
}
