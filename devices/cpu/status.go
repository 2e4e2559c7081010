package cpu

import (
	"bytes"
	"fmt"
	"runtime/debug"
	"strings"

	"github.com/tandemrun/tandem/devices"
)

// errorf is an error of this device: outside-in, the class last.
func (d *device) errorf(class error, format string, args ...any) error {
	return fmt.Errorf("%s: %s: %w", d.info.ID, fmt.Sprintf(format, args...), class)
}

// A PanicError is a Go kernel that panicked. The launch fails with it; the
// other work-items of the launch may or may not have run.
type PanicError struct {
	Device string
	Kernel string
	Range  devices.Range // the work-items of the call that panicked
	Value  any           // what it panicked with; nil: it called runtime.Goexit
	Stack  string        // of the kernel, innermost frame first
}

// Error is one line: device, kernel, work-items, the panic's value.
func (e *PanicError) Error() string {
	r := e.Range
	what := "runtime.Goexit was called"
	if e.Value != nil {
		what = fmt.Sprintf("panic: %v", e.Value)
	}
	return fmt.Sprintf("%s: kernel %s: work-items [%d,%d)x[%d,%d)x[%d,%d): %s", e.Device, e.Kernel,
		r.Lo[0], r.Hi[0], r.Lo[1], r.Hi[1], r.Lo[2], r.Hi[2], what)
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

// kernelStack is the part of the current stack between the panic and the
// worker: the kernel's own frames.
func kernelStack() string {
	stack := debug.Stack()
	if i := bytes.Index(stack, []byte("\npanic(")); i >= 0 {
		stack = stack[i+1:]
		if j := bytes.IndexByte(stack, '\n'); j >= 0 { // panic( and the line with its place
			if k := bytes.IndexByte(stack[j+1:], '\n'); k >= 0 {
				stack = stack[j+1+k+1:]
			}
		}
	}
	if i := bytes.Index(stack, []byte("devices/cpu.(*worker).call(")); i >= 0 {
		stack = stack[:bytes.LastIndexByte(stack[:i], '\n')+1]
	}
	return strings.TrimRight(string(stack), "\n")
}
