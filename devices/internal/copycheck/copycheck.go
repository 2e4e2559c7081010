// Package copycheck checks copies before a vendor's library sees them.
package copycheck

import (
	"fmt"

	"github.com/tandemrun/tandem/devices"
)

// Buffer is a driver's own type of buffers.
type Buffer interface {
	comparable
	devices.Buffer
	// Imported reports whether it is host memory that the device works on.
	Imported() bool
}

// Buffers finds the buffers of a copy and checks its kind and its ranges. of
// finds the driver's own buffer in one of the two places, "destination" or
// "source", and checks that it can be used there; queue is for messages.
func Buffers[B Buffer](queue fmt.Stringer, c *devices.Copy, of func(b devices.Buffer, side string) (B, error)) (dst, src B, err error) {
	var none B
	refuse := func(format string, args ...any) (B, B, error) {
		return none, none, fmt.Errorf("%v: %w", queue, fmt.Errorf(format, args...))
	}
	if c.Kind > devices.SyncToHost {
		return refuse("copy of the unknown kind %d: %w", c.Kind, devices.ErrInvalid)
	}
	if c.Kind != devices.DeviceToHost {
		if dst, err = of(c.Dst, "destination"); err != nil {
			return none, none, err
		}
		if err := within(dst, c.Kind, "destination", c.DstOffset, c.Size); err != nil {
			return refuse("%w", err)
		}
	}
	if c.Kind == devices.DeviceToHost || c.Kind == devices.DeviceToDevice {
		if src, err = of(c.Src, "source"); err != nil {
			return none, none, err
		}
		if err := within(src, c.Kind, "source", c.SrcOffset, c.Size); err != nil {
			return refuse("%w", err)
		}
	}
	switch c.Kind {
	case devices.HostToDevice, devices.DeviceToHost:
		if int64(len(c.Host)) < c.Size {
			return refuse("%v copy of %d bytes: the host's side has %d: %w", c.Kind, c.Size, len(c.Host), devices.ErrInvalid)
		}
	case devices.DeviceToDevice:
		if dst == src && c.SrcOffset < c.DstOffset+c.Size && c.DstOffset < c.SrcOffset+c.Size && c.Size > 0 {
			return refuse("d2d copy of %d bytes from offset %d to %d of one buffer overlaps: %w", c.Size, c.SrcOffset, c.DstOffset, devices.ErrInvalid)
		}
	default:
		if c.Size > 0 && !dst.Imported() {
			return refuse("%v: the buffer is not imported host memory: %w", c.Kind, devices.ErrInvalid)
		}
	}
	return dst, src, nil
}

// within checks that [offset, offset+size) lies within a buffer.
func within(b devices.Buffer, kind devices.CopyKind, side string, offset, size int64) error {
	if offset < 0 || size < 0 || offset > b.Size() || size > b.Size()-offset {
		return fmt.Errorf("%v copy, %s: %d bytes at offset %d do not lie within a buffer of %d bytes: %w",
			kind, side, size, offset, b.Size(), devices.ErrInvalid)
	}
	return nil
}
