package tandem

import (
	"time"

	"github.com/tandemrun/tandem/devices"
)

// An Observer learns what a session does. Fields left nil cost nothing. The
// functions are called on the session's goroutines, several at a time: they
// have to be safe for that, return quickly, and must not call into the session.
type Observer struct {
	// RunStarted comes before any other event of the run.
	RunStarted func(RunStarted)
	// Launched reports a launch that has finished, well or not.
	Launched func(LaunchEvent)
	// Copied reports a copy that has finished. Zero-copy hand-overs are
	// reported too, with ZeroCopy set.
	Copied func(CopyEvent)
	// Decided reports why a task was placed where it was.
	Decided func(DecisionEvent)
	// Faulted reports what went wrong and what was done about it.
	Faulted func(FaultEvent)
	// RunFinished is the last event of the run.
	RunFinished func(RunFinished)
}

// RunStarted describes a run that is about to begin.
type RunStarted struct {
	Run     int64 // number of the run in its session, from 1
	Name    string
	Tasks   []TaskInfo // by task number
	Devices []devices.Info
	At      time.Duration // on the clock of devices.Now
}

// TaskInfo describes a task of a graph.
type TaskInfo struct {
	ID     int
	Name   string // unique within the graph
	Kernel string
	After  []int // tasks it waits for, through data or by request
}

// OpID numbers the operations of a session, from 1.
type OpID int64

// LaunchEvent is one launch: a task, or one part of a split task.
type LaunchEvent struct {
	Run    int64
	Op     OpID
	After  []OpID // what it waited for
	Task   int
	Name   string // of the task
	Kernel string
	Part   int // 0-based; Parts is 1 for a task that was not split
	Parts  int
	Device string
	// Planned is the device that the plan had it on, where Device stole it or
	// stood in for a lost one; empty: it ran as planned.
	Planned string
	Queue   string // "compute#0"
	Range   devices.NDRange
	// ZeroCopy is how many bytes of buffers the launch touched on the host's
	// own pages, where a device with memory of its own would have copied.
	ZeroCopy int64
	Times    devices.Times
	Err      error
}

// CopyEvent is one movement of bytes between two memories.
type CopyEvent struct {
	Run      int64
	Op       OpID
	After    []OpID
	Task     int    // the task that needs the bytes; -1: none, the host does
	Buffer   string // name
	Offset   int64  // bytes
	Bytes    int64
	From, To string // "host" or a device id
	Staged   int64  // of those bytes, what passed through pinned memory
	ZeroCopy bool   // nothing moved: the host's pages changed hands
	Device   string // whose queue did it
	Queue    string // "upload#0"
	Times    devices.Times
	Err      error
}

// DecisionEvent explains one placement. Its lists may be shared by tasks that are
// alike: they are not to be changed.
type DecisionEvent struct {
	Run        int64
	Task       int
	Candidates []Candidate
	Chosen     []Share
	Reason     string
}

// Candidate is one device that a task could have run on, with the prediction.
type Candidate struct {
	Device  string
	Run     time.Duration // predicted
	Move    time.Duration
	Start   time.Duration // earliest, from the beginning of the run
	Refused string        // why not at all; empty: it could
}

// Share is the part of a task's work-items that one device gets: those from Lo
// up to Hi of dimension Dim.
type Share struct {
	Device string
	Dim    int
	Lo, Hi int
}

// FaultEvent is a failure that the session noticed.
type FaultEvent struct {
	Run    int64
	Task   int // -1: none
	Device string
	Err    error
	Action string // what the session did about it, in words
	Fatal  bool   // the task fails, and with it the run
	At     time.Duration
}

// RunFinished closes a run.
type RunFinished struct {
	Run int64
	At  time.Duration
	Err error
}

// Tee makes one observer of several.
func Tee(observers ...Observer) Observer {
	var t Observer
	for _, o := range observers {
		t.RunStarted = tee(t.RunStarted, o.RunStarted)
		t.Launched = tee(t.Launched, o.Launched)
		t.Copied = tee(t.Copied, o.Copied)
		t.Decided = tee(t.Decided, o.Decided)
		t.Faulted = tee(t.Faulted, o.Faulted)
		t.RunFinished = tee(t.RunFinished, o.RunFinished)
	}
	return t
}

func tee[E any](a, b func(E)) func(E) {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	}
	return func(e E) { a(e); b(e) }
}
