package sycl

import (
	"fmt"
	"strings"

	"github.com/tandemrun/tandem/devices"
)

// The shim's status codes.
const (
	statusOK          = 0
	statusFailed      = 1
	statusUnavailable = 2
	statusUnsupported = 3
	statusOutOfMemory = 4
	statusDeviceLost  = 5
	statusInvalid     = 6
	statusNoBuild     = 7
	statusNoKernel    = 8
)

// codes maps the shim's status codes to a name and to the class of failure.
var codes = map[int32]struct {
	symbol string
	class  error
}{
	statusFailed:      {"RUNTIME_ERROR", devices.ErrInvalid},
	statusUnavailable: {"NO_DEVICE", devices.ErrUnavailable},
	statusUnsupported: {"FEATURE_NOT_SUPPORTED", devices.ErrUnsupported},
	statusOutOfMemory: {"MEMORY_ALLOCATION", devices.ErrOutOfMemory},
	statusDeviceLost:  {"DEVICE_LOST", devices.ErrDeviceLost},
	statusInvalid:     {"INVALID", devices.ErrInvalid},
	statusNoBuild:     {"BUILD", devices.ErrInvalid},
	statusNoKernel:    {"NO_KERNEL", devices.ErrInvalid},
}

// symbol is the name of a status code, with the runtime's own words behind it.
func symbol(status int32, words string) string {
	name := "unknown status"
	if c, ok := codes[status]; ok {
		name = c.symbol
	}
	if first, _, _ := strings.Cut(words, "\n"); first != "" {
		return name + ": " + first
	}
	return name
}

// failed is the error of a call to the shim that filled e in. call says which,
// with its values.
func failed(e *errorBlock, call string, args ...any) error {
	class := devices.ErrInvalid
	if c, ok := codes[e.status]; ok {
		class = c.class
	}
	code := int64(e.native)
	if code == 0 {
		code = int64(e.status)
	}
	return &devices.StatusError{Driver: backend, Call: fmt.Sprintf(call, args...), Code: code, Symbol: symbol(e.status, e.message()), Err: class}
}

// eventStatus is where the shim's status codes begin, downwards, among the
// back end's own in an event's status.
const eventStatus = -100000

// aborted is the error of a command that was enqueued and then ended with a
// negative status.
func aborted(code int32, command string) error {
	e := &devices.StatusError{Driver: backend, Call: command, Code: int64(code), Symbol: "command failed", Err: devices.ErrDeviceLost}
	if code < eventStatus {
		if c, ok := codes[eventStatus-code]; ok {
			e.Symbol, e.Err = c.symbol, c.class
		}
		return e
	}
	switch code { // of OpenCL
	case -4, -5, -6: // no memory for an object, no resources, no host memory
		e.Err = devices.ErrOutOfMemory
	case -14: // an event of the wait list failed
		e.Err = devices.ErrInvalid
	}
	return e
}
