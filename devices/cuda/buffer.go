package cuda

import (
	"fmt"
	"sync/atomic"
	"unsafe"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/devices/hostmem"
)

// buffer is memory of the device, or nothing for size 0.
type buffer struct {
	d       *device
	address uintptr // CUdeviceptr; 0 for size 0
	size    int64
	host    []byte // the imported memory
	shared  bool   // host was pinned already: freeing does not unpin it
	pooled  bool   // from the stream-ordered pool
	foreign bool   // somebody else's memory: freeing does not free it
	freed   atomic.Bool
}

// preparePool has the GPU's pool keep some of what is freed, so that buffers
// which come and go do not cost a round trip to the system each time.
func (d *device) preparePool() {
	if !d.traits.pools {
		return
	}
	pool, keep := d.defaultPool(), new(uint64)
	if pool == 0 {
		d.traits.pools = false
		return
	}
	d.api.call(d.api.poolGetAttribute, pool, poolReleaseThreshold, uintptr(unsafe.Pointer(keep)))
	if *keep == 0 { // otherwise somebody in this process has decided already
		*keep = uint64(d.info.MemoryTotal) / 8
		d.api.call(d.api.poolSetAttribute, pool, poolReleaseThreshold, uintptr(unsafe.Pointer(keep)))
	}
}

func (d *device) defaultPool() uintptr {
	pool := new(uintptr)
	if d.api.call(d.api.defaultPool, uintptr(unsafe.Pointer(pool)), uintptr(d.handle)) != success {
		return 0
	}
	return *pool
}

// freeMemory is what could be allocated now; 0 when the device is closed or
// lost.
func (d *device) freeMemory() int64 {
	d.aux.mu.Lock()
	defer d.aux.mu.Unlock()
	if d.aux.stream == 0 || d.lostErr() != nil || d.enter() != nil {
		return 0
	}
	defer d.leave()
	free, total := new(uint64), new(uint64)
	if d.api.call(d.api.memGetInfo, uintptr(unsafe.Pointer(free)), uintptr(unsafe.Pointer(total))) != success {
		return 0
	}
	if d.traits.pools {
		// What the pool keeps is free too.
		reserved, used, pool := new(uint64), new(uint64), d.defaultPool()
		if d.api.call(d.api.poolGetAttribute, pool, poolReservedCurrent, uintptr(unsafe.Pointer(reserved))) == success &&
			d.api.call(d.api.poolGetAttribute, pool, poolUsedCurrent, uintptr(unsafe.Pointer(used))) == success && *reserved > *used {
			*free += *reserved - *used
		}
	}
	return min(int64(*free), d.info.MemoryTotal)
}

// Alloc implements devices.Device.
func (d *device) Alloc(size int64) (devices.Buffer, error) {
	if err := d.usable("alloc"); err != nil {
		return nil, err
	}
	switch {
	case size < 0:
		return nil, fmt.Errorf("%s: alloc of %d bytes: %w", d.info.ID, size, devices.ErrInvalid)
	case size == 0:
		return d.newBuffer(&buffer{}), nil
	case size > d.info.MaxAlloc:
		return nil, fmt.Errorf("%s: alloc of %d bytes: a single buffer has at most %d bytes: %w",
			d.info.ID, size, d.info.MaxAlloc, devices.ErrOutOfMemory)
	}
	d.aux.mu.Lock()
	defer d.aux.mu.Unlock()
	if err := d.enter(); err != nil {
		return nil, err
	}
	defer d.leave()
	b := &buffer{size: size, pooled: d.traits.pools}
	out, code, call := new(uintptr), int32(0), "cuMemAlloc"
	if b.pooled {
		call = "cuMemAllocAsync"
		code = d.api.call(d.api.memAllocAsync, uintptr(unsafe.Pointer(out)), uintptr(size), d.aux.stream)
		if code == success {
			// The memory is ready for other streams once the allocating one
			// has come so far; nothing else is on it.
			code = d.api.call(d.api.streamSync, d.aux.stream)
		}
	} else {
		code = d.api.call(d.api.memAlloc, uintptr(unsafe.Pointer(out)), uintptr(size))
	}
	if code != success {
		return nil, d.fail(code, "%s(%d bytes) with %d in use", call, size, d.allocated.Load())
	}
	b.address = *out
	d.allocated.Add(size)
	return d.newBuffer(b), nil
}

func (d *device) newBuffer(b *buffer) *buffer {
	b.d = d
	d.open[kindBuffer].Add(1)
	return b
}

// ImportHost implements devices.HostMapper on GPUs that share the host's
// memory. The others would read it over the bus again and again.
func (d *device) ImportHost(mem []byte) (devices.Buffer, error) {
	if err := d.usable("import host memory"); err != nil {
		return nil, err
	}
	if !d.traits.integrated || !d.traits.hostRegister {
		return nil, fmt.Errorf("%s: import %d bytes: the device has memory of its own: %w", d.info.ID, len(mem), devices.ErrUnsupported)
	}
	if len(mem) == 0 {
		return d.newBuffer(&buffer{}), nil
	}
	start := uintptr(unsafe.Pointer(&mem[0]))
	if start%uintptr(hostmem.PageSize()) != 0 {
		return nil, fmt.Errorf("%s: import %d bytes at %#x: not at the beginning of a page: %w", d.info.ID, len(mem), start, devices.ErrUnsupported)
	}
	b := &buffer{size: int64(len(mem)), host: mem, shared: d.pinned.holds(mem)}
	if !b.shared {
		if err := d.pinned.register(d, mem); err != nil {
			if d.lostErr() != nil {
				return nil, err
			}
			// The caller copies instead; a limit on pinned memory is no lack
			// of memory.
			return nil, fmt.Errorf("%v: %w", err, devices.ErrUnsupported)
		}
	}
	err := d.enter()
	if err == nil {
		b.address, err = d.mapped(start)
		d.leave()
	}
	if err != nil {
		if !b.shared {
			_ = d.pinned.unregister(d, mem)
		}
		return nil, fmt.Errorf("%v: %w", err, devices.ErrUnsupported)
	}
	return d.newBuffer(b), nil
}

// Size implements devices.Buffer.
func (b *buffer) Size() int64 { return b.size }

// Imported implements copycheck.Buffer.
func (b *buffer) Imported() bool { return b.host != nil }

// Free implements devices.Buffer. The memory of a lost device is gone already.
func (b *buffer) Free() error {
	if !b.freed.CompareAndSwap(false, true) {
		return nil
	}
	d := b.d
	d.open[kindBuffer].Add(-1)
	switch {
	case b.address == 0 || b.foreign:
		return nil
	case b.host != nil:
		if b.shared || d.lostErr() != nil {
			return nil
		}
		return d.pinned.unregister(d, b.host)
	}
	d.allocated.Add(-b.size)
	if d.lostErr() != nil {
		return nil
	}
	d.aux.mu.Lock()
	defer d.aux.mu.Unlock()
	if d.aux.stream == 0 {
		return nil // the device is closed, and its context with all memory gone
	}
	if err := d.enter(); err != nil {
		return err
	}
	defer d.leave()
	code, call := int32(0), "cuMemFree"
	if b.pooled {
		call = "cuMemFreeAsync"
		code = d.api.call(d.api.memFreeAsync, b.address, d.aux.stream)
	} else {
		code = d.api.call(d.api.memFree, b.address)
	}
	if code != success {
		return d.fail(code, "%s(%d bytes)", call, b.size)
	}
	return nil
}
