package sim

import (
	"math"
	"unsafe"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/devices/hostmem"
)

// minAlign suits every type that a Go kernel can view its bytes as.
const minAlign = 8

// buffer is host memory that counts as the device's, or imported pages.
type buffer struct {
	d        *device
	mem      []byte
	imported bool
	freed    bool
}

// Alloc makes a buffer, within what the description allows.
func (d *device) Alloc(size int64) (devices.Buffer, error) {
	if size < 0 {
		return nil, d.errorf(devices.ErrInvalid, "Alloc(%d bytes)", size)
	}
	k := d.clock
	k.mu.Lock()
	defer k.mu.Unlock()
	if err := d.usable("Alloc"); err != nil {
		return nil, err
	}
	if size > d.spec.MaxAlloc {
		return nil, d.errorf(devices.ErrOutOfMemory, "Alloc(%d bytes): the largest buffer has %d", size, d.spec.MaxAlloc)
	}
	for _, w := range d.spec.OutOfMemory {
		if w.From <= k.now && k.now < w.To {
			return nil, d.errorf(devices.ErrOutOfMemory, "Alloc(%d bytes) at %v: as described, from %v to %v", size, k.now, w.From, w.To)
		}
	}
	if size > d.spec.Memory-d.used {
		return nil, d.errorf(devices.ErrOutOfMemory, "Alloc(%d bytes) with %d of %d bytes in use", size, d.used, d.spec.Memory)
	}
	mem, err := hostmem.Alloc(size)
	if err != nil {
		return nil, d.errorf(devices.ErrOutOfMemory, "Alloc(%d bytes): the simulation itself: %v", size, err)
	}
	d.used += size
	b := &buffer{d: d, mem: mem}
	d.buffers[b] = struct{}{}
	return b, nil
}

// ImportHost makes mem a buffer, on a device with unified memory.
func (d *device) ImportHost(mem []byte) (devices.Buffer, error) {
	if !d.spec.Unified {
		return nil, d.errorf(devices.ErrUnsupported, "ImportHost(%d bytes): the device has memory of its own", len(mem))
	}
	if p := uintptr(unsafe.Pointer(unsafe.SliceData(mem))); p%minAlign != 0 {
		return nil, d.errorf(devices.ErrUnsupported, "ImportHost(%d bytes at %#x): not aligned to %d bytes", len(mem), p, minAlign)
	}
	d.clock.mu.Lock()
	defer d.clock.mu.Unlock()
	if err := d.usable("ImportHost"); err != nil {
		return nil, err
	}
	b := &buffer{d: d, mem: mem, imported: true}
	d.buffers[b] = struct{}{}
	return b, nil
}

// Size is the size in bytes.
func (b *buffer) Size() int64 { return int64(len(b.mem)) }

// Free gives the memory back.
func (b *buffer) Free() error {
	k := b.d.clock
	k.mu.Lock()
	defer k.mu.Unlock()
	if b.freed {
		return nil
	}
	b.freed = true
	delete(b.d.buffers, b)
	if b.imported {
		return nil
	}
	b.d.used -= int64(len(b.mem))
	if err := hostmem.Free(b.mem); err != nil {
		return b.d.errorf(devices.ErrInvalid, "Free(%d bytes): %v", len(b.mem), err)
	}
	return nil
}

// part checks that the bytes [offset, offset+size) lie in a buffer, of this
// device or, where peer is allowed, another one.
func (d *device) part(c *devices.Copy, side string, arg devices.Buffer, offset int64, peer bool) ([]byte, error) {
	b, ok := arg.(*buffer)
	if !ok || b == nil || b.d != d && !(peer && b.d.clock == d.clock) {
		return nil, d.errorf(devices.ErrInvalid, "Copy %v: the %s is not a buffer of this device", c.Kind, side)
	}
	if b.freed {
		return nil, d.errorf(devices.ErrInvalid, "Copy %v: the %s buffer of %d bytes was freed", c.Kind, side, len(b.mem))
	}
	if offset < 0 || c.Size > math.MaxInt64-offset || offset+c.Size > int64(len(b.mem)) {
		return nil, d.errorf(devices.ErrInvalid, "Copy %v: %d bytes at %d lie outside the %s buffer of %d bytes", c.Kind, c.Size, offset, side, len(b.mem))
	}
	return b.mem[offset : offset+c.Size], nil
}

// sides finds the memory that a copy moves; both are empty if it moves none.
// peer: the source is another device's. The caller holds the clock's lock.
func (d *device) sides(c *devices.Copy) (dst, src []byte, peer bool, err error) {
	if c.Size < 0 {
		return nil, nil, false, d.errorf(devices.ErrInvalid, "Copy %v: %d bytes", c.Kind, c.Size)
	}
	host := c.Kind == devices.HostToDevice || c.Kind == devices.DeviceToHost
	if host && int64(len(c.Host)) < c.Size {
		return nil, nil, false, d.errorf(devices.ErrInvalid, "Copy %v: %d bytes, but the host's side has %d", c.Kind, c.Size, len(c.Host))
	}
	if c.Kind != devices.DeviceToHost {
		if dst, err = d.part(c, "destination", c.Dst, c.DstOffset, false); err != nil {
			return nil, nil, false, err
		}
	}
	switch c.Kind {
	case devices.HostToDevice:
		src = c.Host[:c.Size]
	case devices.DeviceToHost:
		dst = c.Host[:c.Size]
		src, err = d.part(c, "source", c.Src, c.SrcOffset, false)
	case devices.DeviceToDevice:
		if src, err = d.part(c, "source", c.Src, c.SrcOffset, d.spec.Peer != nil); err != nil {
			break
		}
		peer = c.Src.(*buffer).d != d
		if c.Dst == c.Src && c.Size > 0 && max(c.DstOffset, c.SrcOffset) < min(c.DstOffset, c.SrcOffset)+c.Size {
			err = d.errorf(devices.ErrInvalid, "Copy %v: the ranges [%d,%d) and [%d,%d) of one buffer overlap", c.Kind,
				c.SrcOffset, c.SrcOffset+c.Size, c.DstOffset, c.DstOffset+c.Size)
		}
	case devices.SyncToDevice, devices.SyncToHost:
		if !c.Dst.(*buffer).imported {
			err = d.errorf(devices.ErrInvalid, "Copy %v: the buffer of %d bytes was not imported", c.Kind, c.Dst.Size())
		}
		dst = nil
	default:
		err = d.errorf(devices.ErrInvalid, "Copy of unknown kind %d", uint8(c.Kind))
	}
	if err != nil {
		return nil, nil, false, err
	}
	return dst, src, peer, nil
}
