package sim

import (
	"unsafe"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/devices/hostmem"
)

// pinned is host memory that counts as pinned for one device.
type pinned struct {
	d     *device
	mem   []byte
	freed bool
}

// AllocPinned gives pinned memory, within what the description allows.
func (d *device) AllocPinned(size int64) (devices.Pinned, error) {
	if size < 1 {
		return nil, d.errorf(devices.ErrInvalid, "AllocPinned(%d bytes)", size)
	}
	if d.spec.Pinned == 0 {
		return nil, d.errorf(devices.ErrUnsupported, "AllocPinned(%d bytes): the description has no pinned memory", size)
	}
	k := d.clock
	k.mu.Lock()
	defer k.mu.Unlock()
	if err := d.usable("AllocPinned"); err != nil {
		return nil, err
	}
	if size > d.spec.Pinned-d.locked {
		return nil, d.errorf(devices.ErrOutOfMemory, "AllocPinned(%d bytes) with %d of %d bytes in use", size, d.locked, d.spec.Pinned)
	}
	mem, err := hostmem.Alloc(size)
	if err != nil {
		return nil, d.errorf(devices.ErrOutOfMemory, "AllocPinned(%d bytes): the simulation itself: %v", size, err)
	}
	d.locked += size
	p := &pinned{d: d, mem: mem}
	d.pins[p] = struct{}{}
	return p, nil
}

// isPinned reports whether mem lies in pinned memory of the device. The caller
// holds the clock's lock.
func (d *device) isPinned(mem []byte) bool {
	if len(mem) == 0 {
		return false
	}
	at := uintptr(unsafe.Pointer(&mem[0]))
	for p := range d.pins {
		lo := uintptr(unsafe.Pointer(&p.mem[0]))
		if lo <= at && at+uintptr(len(mem)) <= lo+uintptr(len(p.mem)) {
			return true
		}
	}
	return false
}

// Bytes is the memory.
func (p *pinned) Bytes() []byte { return p.mem }

// Free gives the memory back.
func (p *pinned) Free() error {
	k := p.d.clock
	k.mu.Lock()
	defer k.mu.Unlock()
	if p.freed {
		return nil
	}
	p.freed = true
	delete(p.d.pins, p)
	p.d.locked -= int64(len(p.mem))
	if err := hostmem.Free(p.mem); err != nil {
		return p.d.errorf(devices.ErrInvalid, "Free(%d bytes of pinned memory): %v", len(p.mem), err)
	}
	return nil
}
