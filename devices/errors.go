package devices

import (
	"errors"
	"fmt"
	"strings"
)

// The classes of failure. A driver never returns one of them bare: it wraps
// them in an error that says which call, with which values.
var (
	ErrUnavailable = errors.New("not available")
	ErrUnsupported = errors.New("not supported")
	ErrOutOfMemory = errors.New("out of device memory")
	ErrDeviceLost  = errors.New("device lost")
	ErrInvalid     = errors.New("invalid use")
	ErrClosed      = errors.New("closed")
	ErrTimeout     = errors.New("timed out")
)

// LoadError says that a vendor library could not be loaded.
type LoadError struct {
	Driver string
	Tried  []string // names or paths, in order
	Err    error    // wraps ErrUnavailable
}

func (e *LoadError) Error() string {
	return fmt.Sprintf("%s: no usable library among %s: %v", e.Driver, strings.Join(e.Tried, ", "), e.Err)
}

func (e *LoadError) Unwrap() error { return e.Err }

// StatusError is a vendor call that returned an error status.
type StatusError struct {
	Driver string
	Call   string // "clCreateBuffer(268435456 bytes)"
	Code   int64
	Symbol string // "CL_OUT_OF_RESOURCES"
	Err    error  // the sentinel it maps to
}

func (e *StatusError) Error() string {
	return fmt.Sprintf("%s: %s: %s (%d): %v", e.Driver, e.Call, e.Symbol, e.Code, e.Err)
}

func (e *StatusError) Unwrap() error { return e.Err }

// CompileError is a source that a device's compiler refused. Error is one
// line, the first error of the log; %+v prints the whole log.
type CompileError struct {
	Source string // the source's name
	Device string
	Log    string
	Err    error
}

func (e *CompileError) Error() string {
	return fmt.Sprintf("%s: %s does not compile: %s", e.Device, e.Source, e.FirstLine())
}

// FirstLine is the first line of the log that reports an error, or its first
// line with text, or what Err says.
func (e *CompileError) FirstLine() string {
	first := ""
	for line := range strings.Lines(e.Log) {
		line = strings.TrimSpace(line)
		if strings.Contains(strings.ToLower(line), "error") {
			return line
		}
		if first == "" {
			first = line
		}
	}
	if first == "" && e.Err != nil {
		return e.Err.Error()
	}
	return first
}

// Format implements fmt.Formatter.
func (e *CompileError) Format(f fmt.State, verb rune) {
	_, _ = f.Write([]byte(e.Error()))
	if verb == 'v' && f.Flag('+') {
		_, _ = f.Write([]byte("\n" + e.Log))
	}
}

func (e *CompileError) Unwrap() error { return e.Err }

// LeakError is returned by Device.Close when things made from the device are
// still open. It counts them by kind, "buffer", "queue", "event", "kernel",
// "program", "device".
type LeakError struct {
	Device string
	Open   map[string]int
}

func (e *LeakError) Error() string {
	var parts []string
	for _, k := range []string{"buffer", "queue", "event", "kernel", "program", "device"} {
		if n := e.Open[k]; n != 0 {
			parts = append(parts, fmt.Sprintf("%d %s(s)", n, k))
		}
	}
	return fmt.Sprintf("%s: closed with %s still open", e.Device, strings.Join(parts, ", "))
}

func (e *LeakError) Unwrap() error { return ErrInvalid }
