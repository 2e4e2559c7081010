package tandem

import (
	"fmt"
	"strings"

	"github.com/tandemrun/tandem/devices"
)

// TaskError is a task that failed.
type TaskError struct {
	Task    string
	Device  string // where it ran; empty: it did not get as far
	Attempt int    // from 1
	Err     error
}

func (e *TaskError) Error() string {
	where := ""
	if e.Device != "" {
		where = e.Device + ": "
	}
	again := ""
	if e.Attempt > 1 {
		again = fmt.Sprintf(" (attempt %d)", e.Attempt)
	}
	return fmt.Sprintf("task %q: %s%v%s", e.Task, where, e.Err, again)
}

func (e *TaskError) Unwrap() error { return e.Err }

// CycleError is a ring of tasks that wait for each other.
type CycleError struct {
	Tasks []string // in the order asked for: each is to run after the one before it, and the first after the last
}

func (e *CycleError) Error() string {
	ring := append(append([]string{}, e.Tasks...), e.Tasks[0])
	return "tasks wait for each other in a ring: " + strings.Join(ring, " -> ")
}

func (e *CycleError) Unwrap() error { return devices.ErrInvalid }

// PlanError is a task that no device of the session can run, or not as asked.
type PlanError struct {
	Task  string
	Tried []string // one line for each device: why not
	Hint  string
}

func (e *PlanError) Error() string {
	s := fmt.Sprintf("task %q: no device can run it", e.Task)
	if len(e.Tried) > 0 {
		s += ": " + strings.Join(e.Tried, "; ")
	}
	if e.Hint != "" {
		s += ". " + e.Hint
	}
	return s
}

func (e *PlanError) Unwrap() error { return devices.ErrUnsupported }

// UndefinedError is a read of bytes that a failed or cancelled task should have
// written.
type UndefinedError struct {
	Buffer string
	Err    error // why the writer did not finish
}

func (e *UndefinedError) Error() string {
	return fmt.Sprintf("buffer %q: contents undefined: %v", e.Buffer, e.Err)
}

func (e *UndefinedError) Unwrap() error { return e.Err }
