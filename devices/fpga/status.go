package fpga

import (
	"fmt"
	"strings"

	"github.com/tandemrun/tandem/devices"
)

// errorf is an error of this device: outside-in, the class last.
func (d *device) errorf(class error, format string, args ...any) error {
	return fmt.Errorf("%s: %s: %w", d.info.ID, fmt.Sprintf(format, args...), class)
}

// A FaultError is a launch that a kernel ended in another way than by tlast.
type FaultError struct {
	Device string
	Kernel string
	File   string // where in the source, if it is known
	Line   int
	What   string // "$fatal: divisor is 0"
	Log    string // what the kernel printed
	Err    error  // devices.ErrTimeout for a kernel that does not move, devices.ErrInvalid for one that writes too much; else nil
}

// Error is one line: device, kernel, place, what happened.
func (e *FaultError) Error() string {
	at := ""
	if e.Line > 0 {
		at = fmt.Sprintf("%s:%d: ", e.File, e.Line)
	} else if e.File != "" {
		at = e.File + ": "
	}
	s := fmt.Sprintf("%s: kernel %s: %s%s", e.Device, e.Kernel, at, e.What)
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

// Format implements fmt.Formatter: %+v prints what the kernel printed as well.
func (e *FaultError) Format(f fmt.State, verb rune) {
	_, _ = f.Write([]byte(e.Error()))
	if verb == 'v' && f.Flag('+') && e.Log != "" {
		_, _ = f.Write([]byte("\n" + e.Log))
	}
}

// Unwrap gives the class, nil for what the kernel raised itself.
func (e *FaultError) Unwrap() error { return e.Err }

// The ways in which a job ends, as the harness numbers them.
const (
	jobDone = iota
	jobFinished
	jobStopped
	jobFatal
	jobIdle
	jobOverflowed
	jobFailed
)

// fault makes an error of a job that did not end well; nil if it did.
func (j *job) fault(d *device, u *unit) *FaultError {
	if j.Status == jobDone {
		return nil
	}
	m := u.module
	log := j.logText()
	e := &FaultError{Device: d.info.ID, Kernel: m.Entry, Line: int(j.Line), Log: log}
	if file := text(j.File[:]); file != "" {
		e.File = file
		if file == u.base {
			e.File = m.File
		}
	}
	switch j.Status {
	case jobFinished:
		e.What = "$finish ended the kernel before tlast"
	case jobStopped:
		e.What = "$stop, or an error that the kernel raised"
		if said := lastError(log); said != "" {
			e.What = said
		}
	case jobFatal:
		e.What = text(j.Message[:])
	case jobIdle:
		e.What, e.Err = fmt.Sprintf("no word moved for %d cycles (%s)", j.MaxIdle, j.progress(m)), devices.ErrTimeout
	case jobOverflowed:
		out := m.Outputs[j.Which].Prefix
		e.What = fmt.Sprintf("port %s gives more than the %d words that there is room for, without tlast on the last (%s)", out, j.Room[j.Which], j.progress(m))
		e.Err = devices.ErrInvalid
	default:
		e.What = "the emulation failed: " + text(j.Message[:])
	}
	return e
}

// lastError is the message of the last error in what a kernel printed.
func lastError(log string) string {
	said := ""
	for line := range strings.Lines(log) {
		if _, msg, found := strings.Cut(line, "Error: "); found {
			said = strings.TrimSpace(msg)
			// "k.v:14: Assertion failed in mad.part: text": the place is in the
			// error already.
			for _, front := range []string{": ", "Assertion failed in "} {
				if _, after, found := strings.Cut(said, front); found {
					said = after
				}
			}
			if _, after, found := strings.Cut(said, ": "); found {
				said = after
			}
		}
	}
	return said
}

// text is a zero-terminated string.
func text(b []byte) string {
	for i, c := range b {
		if c == 0 {
			return string(b[:i])
		}
	}
	return string(b)
}
