package partitioner

import (
	"fmt"
	"strings"
	"time"

	"github.com/tandemrun/tandem/devices"
)

// Plan says where and when every task runs.
type Plan struct {
	Tasks     []Placement // by index of Problem.Tasks
	Transfers []Transfer  // in the order in which they were decided
	Evictions []Eviction
	// Makespan is when everything has finished and all data with Return set are
	// back on the host.
	Makespan time.Duration
	// LowerBound is a time that no plan for the problem can beat.
	LowerBound time.Duration
	// Order is the order in which the tasks were decided; each comes after all
	// tasks it waits for. Enqueueing in this order follows the plan.
	Order []int
}

// Placement is where and when a task runs.
type Placement struct {
	Shares        []Share // one, or one for each part, ascending Lo
	Start, Finish time.Duration
	// Candidates are all devices, by index of Problem.Devices, as they looked
	// when the task was decided.
	Candidates []Candidate
	Reason     string // one line: why this and no other
}

// Share is a part of a task on one device.
type Share struct {
	Device int
	Lo, Hi int // work-items of the split dimension; 0, 0 for a task without Split
	// Start is when the launch begins and Finish when it ends. Inputs have
	// arrived by Start.
	Start, Finish time.Duration
	// Load is the part of that, before the run, in which a reconfigurable device
	// loads the task's image.
	Load time.Duration
}

// Candidate is how one device looked for a task. Start = Wait's end; the terms
// are Move: from when the task could have started at all (predecessors done)
// until its inputs are there; Wait: from then until the device is free; Run:
// launch and run, and loading an image before it.
type Candidate struct {
	Device          int
	Move, Wait, Run time.Duration
	Start, Finish   time.Duration
	Source          string // of the estimate
	Refused         string // why not at all; empty: it could
}

// Transfer is a planned movement of bytes [Lo, Hi) of a datum between nodes.
type Transfer struct {
	Datum      int
	Lo, Hi     int64
	From, To   int
	Start, End time.Duration
	// Task is the one that needs it; -1: the host (Return, or a write-back that
	// makes room).
	Task int
}

// Eviction drops the replica of bytes [Lo, Hi) of a datum from a node to make
// room.
type Eviction struct {
	Datum  int
	Lo, Hi int64
	Node   int
	At     time.Duration
}

// PlanError is a task that no device can run.
type PlanError struct {
	Task  string
	Tried []string // "opencl:0: does not compile go"
}

func (e *PlanError) Error() string {
	if len(e.Tried) == 0 {
		return fmt.Sprintf("task %q: no device to run it on", e.Task)
	}
	return fmt.Sprintf("task %q: no device can run it: %s", e.Task, strings.Join(e.Tried, "; "))
}

func (e *PlanError) Unwrap() error { return devices.ErrUnsupported }

// CycleError is a ring of tasks that wait for each other, each for the one
// before it and the first for the last.
type CycleError struct{ Tasks []string }

func (e *CycleError) Error() string {
	return "tasks wait for each other in a ring: " + strings.Join(append(append([]string{}, e.Tasks...), e.Tasks[0]), " -> ")
}

func (e *CycleError) Unwrap() error { return devices.ErrInvalid }
