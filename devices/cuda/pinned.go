package cuda

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/devices/internal/dl"
)

// pinned knows which host memory of this process the device can reach by
// itself: what was allocated pinned, and pages that were registered.
type pinned struct {
	mu     sync.RWMutex
	ranges []pinnedRange // sorted, disjoint
}

type pinnedRange struct {
	lo, hi     uintptr
	registered bool // by this device; false: allocated
}

// holds reports whether the whole of host is pinned.
func (p *pinned) holds(host []byte) bool {
	if len(host) == 0 {
		return true
	}
	lo := uintptr(unsafe.Pointer(&host[0]))
	p.mu.RLock()
	defer p.mu.RUnlock()
	i, exact := slices.BinarySearchFunc(p.ranges, lo, func(r pinnedRange, at uintptr) int { return cmp.Compare(r.lo, at) })
	if !exact {
		i--
	}
	return i >= 0 && lo+uintptr(len(host)) <= p.ranges[i].hi
}

func (p *pinned) add(r pinnedRange) {
	p.mu.Lock()
	defer p.mu.Unlock()
	i, _ := slices.BinarySearchFunc(p.ranges, r.lo, func(r pinnedRange, at uintptr) int { return cmp.Compare(r.lo, at) })
	p.ranges = slices.Insert(p.ranges, i, r)
}

func (p *pinned) remove(lo uintptr) (pinnedRange, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	i, exact := slices.BinarySearchFunc(p.ranges, lo, func(r pinnedRange, at uintptr) int { return cmp.Compare(r.lo, at) })
	if !exact {
		return pinnedRange{}, false
	}
	r := p.ranges[i]
	p.ranges = slices.Delete(p.ranges, i, i+1)
	return r, true
}

// hostMemory is pinned memory that somebody asked for.
type hostMemory struct {
	d     *device
	bytes []byte
	freed atomic.Bool
}

// AllocPinned implements devices.HostPinner.
func (d *device) AllocPinned(size int64) (devices.Pinned, error) {
	if err := d.usable("alloc pinned memory"); err != nil {
		return nil, err
	}
	if size < 1 {
		return nil, fmt.Errorf("%s: alloc of %d bytes of pinned memory: %w", d.info.ID, size, devices.ErrInvalid)
	}
	mem, err := d.pinned.take(d, size)
	if err != nil {
		if d.lostErr() != nil || errors.Is(err, devices.ErrOutOfMemory) {
			return nil, err
		}
		// The driver says "not permitted" and other things where the system
		// sets a limit. It is all the same to the caller.
		return nil, fmt.Errorf("%w: %w", err, devices.ErrOutOfMemory)
	}
	d.open[kindBuffer].Add(1)
	return &hostMemory{d: d, bytes: mem}, nil
}

// Bytes implements devices.Pinned.
func (h *hostMemory) Bytes() []byte { return h.bytes }

// Free implements devices.Pinned.
func (h *hostMemory) Free() error {
	if !h.freed.CompareAndSwap(false, true) {
		return nil
	}
	h.d.open[kindBuffer].Add(-1)
	if h.d.usable("free pinned memory") != nil {
		return nil // it went with the device
	}
	return h.d.pinned.give(h.d, h.bytes)
}

// take allocates pinned memory. Its contents are undefined.
func (p *pinned) take(d *device, size int64) ([]byte, error) {
	if err := d.enter(); err != nil {
		return nil, err
	}
	defer d.leave()
	out := new(unsafe.Pointer)
	if code := d.api.call(d.api.memHostAlloc, uintptr(unsafe.Pointer(out)), uintptr(size), hostAllocPortable); code != success {
		return nil, d.fail(code, "cuMemHostAlloc(%d bytes)", size)
	}
	lo := uintptr(*out)
	p.add(pinnedRange{lo: lo, hi: lo + uintptr(size)})
	return unsafe.Slice((*byte)(*out), size), nil
}

// give frees what take allocated.
func (p *pinned) give(d *device, mem []byte) error {
	lo := uintptr(unsafe.Pointer(unsafe.SliceData(mem)))
	if _, ok := p.remove(lo); !ok {
		return fmt.Errorf("%s: free pinned memory at %#x: it is not this device's: %w", d.info.ID, lo, devices.ErrInvalid)
	}
	if err := d.enter(); err != nil {
		return err
	}
	defer d.leave()
	if code := d.api.call(d.api.memFreeHost, lo); code != success {
		return d.fail(code, "cuMemFreeHost(%d bytes)", len(mem))
	}
	return nil
}

// register pins pages of the host where they are.
func (p *pinned) register(d *device, mem []byte) error {
	lo := uintptr(unsafe.Pointer(unsafe.SliceData(mem)))
	if err := d.enter(); err != nil {
		return err
	}
	defer d.leave()
	code := d.api.call(d.api.memHostRegister, lo, uintptr(len(mem)), hostRegisterPortable|hostRegisterDeviceMap)
	if code != success {
		return d.fail(code, "cuMemHostRegister(%d bytes)", len(mem))
	}
	p.add(pinnedRange{lo: lo, hi: lo + uintptr(len(mem)), registered: true})
	return nil
}

// unregister undoes register.
func (p *pinned) unregister(d *device, mem []byte) error {
	lo := uintptr(unsafe.Pointer(unsafe.SliceData(mem)))
	if _, ok := p.remove(lo); !ok {
		return fmt.Errorf("%s: unpin %d bytes at %#x: they are not pinned: %w", d.info.ID, len(mem), lo, devices.ErrInvalid)
	}
	if err := d.enter(); err != nil {
		return err
	}
	defer d.leave()
	if code := d.api.call(d.api.memHostUnregister, lo); code != success {
		return d.fail(code, "cuMemHostUnregister(%d bytes)", len(mem))
	}
	return nil
}

// mapped is the address under which the device reaches registered memory.
func (d *device) mapped(host uintptr) (uintptr, error) {
	out := new(uintptr)
	if code := d.api.call(d.api.memHostDevicePointer, uintptr(unsafe.Pointer(out)), host, 0); code != success {
		return 0, d.fail(code, "cuMemHostGetDevicePointer")
	}
	return *out, nil
}

// close gives back what is left: it is a leak of whoever took it, and the
// pages must not stay pinned for the life of the process. The context is
// current.
func (p *pinned) close(d *device) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, r := range p.ranges {
		fn := d.api.memFreeHost
		if r.registered {
			fn = d.api.memHostUnregister
		}
		dl.Call(fn, r.lo)
	}
	p.ranges = nil
}
