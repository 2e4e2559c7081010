package sim

import (
	"fmt"
	"runtime/debug"
	"time"

	"github.com/tandemrun/tandem/devices"
)

// errorf is an error of this device: outside-in, the class last.
func (d *device) errorf(class error, format string, args ...any) error {
	return fmt.Errorf("%s: %s: %w", d.info.ID, fmt.Sprintf(format, args...), class)
}

// lostBy reports whether the device is lost at a time.
func (d *device) lostBy(now time.Duration) bool {
	return d.lost || d.spec.LostAt > 0 && now >= d.spec.LostAt
}

// lostError is the answer to everything once the device is lost.
func (d *device) lostError(call string) error {
	return d.errorf(devices.ErrDeviceLost, "%s: as described, at %v", call, d.spec.LostAt)
}

// usable is an error if the device is closed or lost. The caller holds the
// clock's lock.
func (d *device) usable(call string) error {
	switch {
	case d.closed:
		return d.errorf(devices.ErrClosed, "%s", call)
	case d.lostBy(d.clock.now):
		return d.lostError(call)
	}
	return nil
}

// A PanicError is a Go kernel that panicked. The launch fails with it.
type PanicError struct {
	Device string
	Kernel string
	Range  devices.Range // of the whole launch
	Value  any           // what it panicked with; nil: it called runtime.Goexit
	Stack  string
}

// Error is one line: device, kernel, work-items, the panic's value.
func (e *PanicError) Error() string {
	what := "runtime.Goexit was called"
	if e.Value != nil {
		what = fmt.Sprintf("panic: %v", e.Value)
	}
	return fmt.Sprintf("%s: kernel %s: work-items %v up to %v: %s", e.Device, e.Kernel, e.Range.Lo, e.Range.Hi, what)
}

// Format implements fmt.Formatter: %+v prints the stack as well.
func (e *PanicError) Format(f fmt.State, verb rune) {
	_, _ = f.Write([]byte(e.Error()))
	if verb == 'v' && f.Flag('+') {
		_, _ = f.Write([]byte("\n" + e.Stack))
	}
}

// Unwrap is the panic's value if that is an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// caught fails c, whose work did not return.
func (c *command) caught(r *devices.Range, value any) {
	d := c.q.d
	if c.fn == nil { // pages that are gone
		c.err = d.errorf(devices.ErrInvalid, "Copy %v of %d bytes: %v", c.kind, c.size, value)
		return
	}
	e := &PanicError{Device: d.info.ID, Kernel: c.entry, Range: *r, Value: value}
	if value != nil {
		e.Stack = string(debug.Stack())
	}
	c.err = e
}
