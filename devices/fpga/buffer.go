package fpga

import (
	"math"
	"sync/atomic"
	"unsafe"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/devices/hostmem"
)

// buffer is host memory, the device's own or imported.
type buffer struct {
	d        *device
	mem      []byte
	imported bool
	freed    atomic.Bool
}

// Alloc makes a buffer of zeroed pages, which become resident when they are
// first touched.
func (d *device) Alloc(size int64) (devices.Buffer, error) {
	if size < 0 {
		return nil, d.errorf(devices.ErrInvalid, "Alloc(%d bytes)", size)
	}
	d.mu.Lock()
	used, closed := d.used, d.closed
	fits := size <= d.info.MemoryTotal-used
	if fits && !closed {
		d.used += size
	}
	d.mu.Unlock()
	switch {
	case closed:
		return nil, d.errorf(devices.ErrClosed, "Alloc(%d bytes)", size)
	case !fits:
		return nil, d.errorf(devices.ErrOutOfMemory, "Alloc(%d bytes) with %d of %d bytes in use", size, used, d.info.MemoryTotal)
	}
	mem, err := hostmem.Alloc(size)
	if err != nil {
		d.mu.Lock()
		d.used -= size
		d.mu.Unlock()
		return nil, d.errorf(devices.ErrOutOfMemory, "Alloc(%d bytes): %v", size, err)
	}
	b := &buffer{d: d, mem: mem}
	if err := d.adopt(b); err != nil {
		_ = b.Free()
		return nil, err
	}
	return b, nil
}

// ImportHost makes mem a buffer: kernels stream it in place.
func (d *device) ImportHost(mem []byte) (devices.Buffer, error) {
	b := &buffer{d: d, mem: mem, imported: true}
	if err := d.adopt(b); err != nil {
		return nil, err
	}
	return b, nil
}

func (d *device) adopt(b *buffer) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return d.errorf(devices.ErrClosed, "buffer of %d bytes", len(b.mem))
	}
	d.buffers[b] = struct{}{}
	return nil
}

// Size is the buffer's size in bytes.
func (b *buffer) Size() int64 { return int64(len(b.mem)) }

// Free gives the memory back; imported memory stays the caller's.
func (b *buffer) Free() error {
	if !b.freed.CompareAndSwap(false, true) {
		return nil
	}
	b.d.mu.Lock()
	delete(b.d.buffers, b)
	if !b.imported {
		b.d.used -= int64(len(b.mem))
	}
	b.d.mu.Unlock()
	if b.imported {
		return nil
	}
	if err := hostmem.Free(b.mem); err != nil {
		return b.d.errorf(devices.ErrInvalid, "Free(%d bytes): %v", len(b.mem), err)
	}
	return nil
}

// overlaps reports whether two pieces of memory have a byte in common.
func overlaps(a, b []byte) bool {
	if len(a) == 0 || len(b) == 0 {
		return false
	}
	p, q := uintptr(unsafe.Pointer(unsafe.SliceData(a))), uintptr(unsafe.Pointer(unsafe.SliceData(b)))
	return p < q+uintptr(len(b)) && q < p+uintptr(len(a))
}

// piece finds the bytes [offset, offset+size) of a copy's buffer.
func (d *device) piece(c *devices.Copy, side string, arg devices.Buffer, offset int64) ([]byte, error) {
	b, ok := arg.(*buffer)
	switch {
	case !ok || b == nil || b.d != d:
		return nil, d.errorf(devices.ErrInvalid, "Copy %v: the %s is no buffer of this device", c.Kind, side)
	case b.freed.Load():
		return nil, d.errorf(devices.ErrInvalid, "Copy %v: the %s, a buffer of %d bytes, was freed", c.Kind, side, len(b.mem))
	case offset < 0 || c.Size > math.MaxInt64-offset || offset+c.Size > int64(len(b.mem)):
		return nil, d.errorf(devices.ErrInvalid, "Copy %v: %d bytes from %d on are outside of the %s, a buffer of %d bytes",
			c.Kind, c.Size, offset, side, len(b.mem))
	}
	return b.mem[offset : offset+c.Size], nil
}

// ends finds the memory of both sides of a copy; both are empty where nothing
// moves.
func (d *device) ends(c *devices.Copy) (dst, src []byte, err error) {
	if c.Size < 0 {
		return nil, nil, d.errorf(devices.ErrInvalid, "Copy %v of %d bytes", c.Kind, c.Size)
	}
	if c.Kind <= devices.DeviceToHost && int64(len(c.Host)) < c.Size {
		return nil, nil, d.errorf(devices.ErrInvalid, "Copy %v of %d bytes, the host's side has %d", c.Kind, c.Size, len(c.Host))
	}
	switch c.Kind {
	case devices.HostToDevice:
		dst, err = d.piece(c, "destination", c.Dst, c.DstOffset)
		return dst, c.Host[:c.Size], err
	case devices.DeviceToHost:
		src, err = d.piece(c, "source", c.Src, c.SrcOffset)
		return c.Host[:c.Size], src, err
	case devices.DeviceToDevice:
		if dst, err = d.piece(c, "destination", c.Dst, c.DstOffset); err != nil {
			return nil, nil, err
		}
		if src, err = d.piece(c, "source", c.Src, c.SrcOffset); err != nil {
			return nil, nil, err
		}
		if c.Dst == c.Src && overlaps(dst, src) {
			return nil, nil, d.errorf(devices.ErrInvalid, "Copy %v: [%d,%d) and [%d,%d) of one buffer overlap", c.Kind,
				c.SrcOffset, c.SrcOffset+c.Size, c.DstOffset, c.DstOffset+c.Size)
		}
		return dst, src, nil
	case devices.SyncToDevice, devices.SyncToHost:
		if _, err = d.piece(c, "buffer", c.Dst, c.DstOffset); err == nil && !c.Dst.(*buffer).imported {
			err = d.errorf(devices.ErrInvalid, "Copy %v: the buffer of %d bytes was not imported", c.Kind, c.Dst.Size())
		}
		return nil, nil, err
	}
	return nil, nil, d.errorf(devices.ErrInvalid, "Copy of unknown kind %d", uint8(c.Kind))
}
