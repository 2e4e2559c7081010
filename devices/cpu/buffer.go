package cpu

import (
	"math"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/devices/hostmem"
)

// account keeps the bytes that a device and its parts have allocated below
// what the process may use: systems that promise more memory than they have
// would answer with the death of the process.
type account struct {
	total int64
	mu    sync.Mutex
	used  int64
}

func (a *account) take(n int64) (used int64, ok bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if n > a.total-a.used {
		return a.used, false
	}
	a.used += n
	return a.used, true
}

func (a *account) give(n int64) {
	a.mu.Lock()
	a.used -= n
	a.mu.Unlock()
}

func (a *account) left() int64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.total - a.used
}

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
	if err := d.open("Alloc(%d bytes)", size); err != nil {
		return nil, err
	}
	if used, ok := d.memory.take(size); !ok {
		return nil, d.errorf(devices.ErrOutOfMemory, "Alloc(%d bytes) with %d of %d bytes in use", size, used, d.memory.total)
	}
	mem, err := hostmem.Alloc(size)
	if err != nil {
		d.memory.give(size)
		return nil, d.errorf(devices.ErrOutOfMemory, "Alloc(%d bytes): %v", size, err)
	}
	b := &buffer{d: d, mem: mem}
	if err := d.adopt(b); err != nil {
		_ = b.Free()
		return nil, err
	}
	return b, nil
}

// ImportHost makes mem a buffer: kernels work on it in place. Unlike other
// devices this one takes any memory that is aligned to 8 bytes.
func (d *device) ImportHost(mem []byte) (devices.Buffer, error) {
	if p := uintptr(unsafe.Pointer(unsafe.SliceData(mem))); p%minAlign != 0 {
		return nil, d.errorf(devices.ErrUnsupported, "ImportHost(%d bytes at %#x): not aligned to %d bytes", len(mem), p, minAlign)
	}
	b := &buffer{d: d, mem: mem, imported: true}
	if err := d.adopt(b); err != nil {
		return nil, err
	}
	return b, nil
}

func (b *buffer) Size() int64 { return int64(len(b.mem)) }

func (b *buffer) Free() error {
	if !b.freed.CompareAndSwap(false, true) {
		return nil
	}
	b.d.forget(b)
	if b.imported {
		return nil
	}
	b.d.memory.give(int64(len(b.mem)))
	if err := hostmem.Free(b.mem); err != nil {
		return b.d.errorf(devices.ErrInvalid, "Free(%d bytes): %v", len(b.mem), err)
	}
	return nil
}

// part checks that the bytes [offset, offset+size) lie in b, and returns them.
func (d *device) part(c *devices.Copy, side string, arg devices.Buffer, offset int64) ([]byte, error) {
	b, ok := arg.(*buffer)
	if !ok || b == nil || b.d != d {
		return nil, d.errorf(devices.ErrInvalid, "Copy %v: the %s is not a buffer of this device", c.Kind, side)
	}
	if b.freed.Load() {
		return nil, d.errorf(devices.ErrInvalid, "Copy %v: the %s buffer of %d bytes was freed", c.Kind, side, len(b.mem))
	}
	if offset < 0 || c.Size > math.MaxInt64-offset || offset+c.Size > int64(len(b.mem)) {
		return nil, d.errorf(devices.ErrInvalid, "Copy %v: %d bytes at %d lie outside the %s buffer of %d bytes",
			c.Kind, c.Size, offset, side, len(b.mem))
	}
	return b.mem[offset : offset+c.Size], nil
}

// sides finds the memory that a copy moves; both are empty if it moves none.
func (d *device) sides(c *devices.Copy) (dst, src []byte, err error) {
	if c.Size < 0 {
		return nil, nil, d.errorf(devices.ErrInvalid, "Copy %v: %d bytes", c.Kind, c.Size)
	}
	hostSide := func() ([]byte, error) {
		if int64(len(c.Host)) < c.Size {
			return nil, d.errorf(devices.ErrInvalid, "Copy %v: %d bytes, but the host's side has %d", c.Kind, c.Size, len(c.Host))
		}
		return c.Host[:c.Size], nil
	}
	switch c.Kind {
	case devices.HostToDevice:
		if dst, err = d.part(c, "destination", c.Dst, c.DstOffset); err == nil {
			src, err = hostSide()
		}
	case devices.DeviceToHost:
		if src, err = d.part(c, "source", c.Src, c.SrcOffset); err == nil {
			dst, err = hostSide()
		}
	case devices.DeviceToDevice:
		if dst, err = d.part(c, "destination", c.Dst, c.DstOffset); err == nil {
			src, err = d.part(c, "source", c.Src, c.SrcOffset)
		}
		if err == nil && c.Dst == c.Src && c.Size > 0 && c.DstOffset < c.SrcOffset+c.Size && c.SrcOffset < c.DstOffset+c.Size {
			err = d.errorf(devices.ErrInvalid, "Copy %v: the ranges [%d,%d) and [%d,%d) of one buffer overlap", c.Kind,
				c.SrcOffset, c.SrcOffset+c.Size, c.DstOffset, c.DstOffset+c.Size)
		}
	case devices.SyncToDevice, devices.SyncToHost:
		if _, err = d.part(c, "destination", c.Dst, c.DstOffset); err == nil && !c.Dst.(*buffer).imported {
			err = d.errorf(devices.ErrInvalid, "Copy %v: the buffer of %d bytes was not imported", c.Kind, c.Dst.Size())
		}
		return nil, nil, err
	default:
		err = d.errorf(devices.ErrInvalid, "Copy of unknown kind %d", uint8(c.Kind))
	}
	return dst, src, err
}
