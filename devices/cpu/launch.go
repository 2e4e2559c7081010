package cpu

import (
	"math"
	"math/bits"

	"github.com/tandemrun/tandem/devices"
)

// check refuses a launch that cannot be right, and returns its kernel.
func (d *device) check(l *devices.Launch) (*kernel, error) {
	k, ok := l.Kernel.(*kernel)
	if !ok || k == nil || k.d != d {
		return nil, d.errorf(devices.ErrInvalid, "Launch: the kernel is not one of this device")
	}
	if k.closed.Load() {
		return nil, d.errorf(devices.ErrClosed, "Launch %s: the kernel", k.fn.name)
	}
	if err := d.checkRange(k.fn.name, &l.Range); err != nil {
		return nil, err
	}
	return k, d.checkArgs(k.fn.name, l.Args)
}

func (d *device) checkRange(kernel string, r *devices.NDRange) error {
	if r.Dims < 1 || r.Dims > 3 {
		return d.errorf(devices.ErrInvalid, "Launch %s: a range of %d dimensions", kernel, r.Dims)
	}
	items, group := uint64(1), uint64(1)
	part := r.Whole != [3]int{}
	for dim := range r.Dims {
		size, offset, local := r.Size[dim], r.Offset[dim], r.Local[dim]
		if size < 0 || offset < 0 || local < 0 || offset > math.MaxInt-size {
			return d.errorf(devices.ErrInvalid, "Launch %s: dimension %d has global size %d, offset %d, local size %d",
				kernel, dim, size, offset, local)
		}
		if part && offset+size > r.Whole[dim] {
			return d.errorf(devices.ErrInvalid, "Launch %s: dimension %d: part [%d,%d) lies outside the whole of %d",
				kernel, dim, offset, offset+size, r.Whole[dim])
		}
		over, n := bits.Mul64(items, uint64(size))
		if over > 0 || n > math.MaxInt64 {
			return d.errorf(devices.ErrInvalid, "Launch %s: global size %v has too many work-items", kernel, r.Size[:r.Dims])
		}
		items = n
		if local > 0 {
			group *= min(uint64(local), maxWorkGroup+1) // at most (2^20+1)^3
		}
	}
	if group > maxWorkGroup {
		return d.errorf(devices.ErrInvalid, "Launch %s: local size %v has more than %d work-items", kernel, r.Local[:r.Dims], maxWorkGroup)
	}
	return nil
}

func (d *device) checkArgs(kernel string, args []devices.Arg) error {
	var inLocal int64
	for i := range args {
		a := &args[i]
		if a.Buffer != nil {
			b, ok := a.Buffer.(*buffer)
			if !ok || b == nil || b.d != d {
				return d.errorf(devices.ErrInvalid, "Launch %s: argument %d is not a buffer of this device", kernel, i)
			}
			if b.freed.Load() {
				return d.errorf(devices.ErrInvalid, "Launch %s: argument %d, a buffer of %d bytes, was freed", kernel, i, len(b.mem))
			}
			if a.Value != nil || a.LocalBytes != 0 {
				return d.errorf(devices.ErrInvalid, "Launch %s: argument %d is a buffer and something else", kernel, i)
			}
		}
		if a.LocalBytes < 0 || a.LocalBytes > 0 && a.Value != nil {
			return d.errorf(devices.ErrInvalid, "Launch %s: argument %d: local memory of %d bytes and a value of %d", kernel, i, a.LocalBytes, len(a.Value))
		}
		inLocal += min(a.LocalBytes, localMemory+1)
		if inLocal > localMemory {
			return d.errorf(devices.ErrInvalid, "Launch %s: argument %d: local memory of %d bytes, together more than the %d there are",
				kernel, i, a.LocalBytes, localMemory)
		}
	}
	return nil
}
