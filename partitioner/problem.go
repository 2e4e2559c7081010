package partitioner

import (
	"time"

	"github.com/tandemrun/tandem/devices"
)

// Problem is what to plan. It is read only: planning does not change it, and
// several goroutines may plan the same problem at once.
type Problem struct {
	Devices []Device
	// Nodes are the memories; node 0 is the host. Empty: every device works on
	// the host's memory.
	Nodes []Node
	// Links[a][b] is what moving bytes from node a to node b costs, by way of
	// the host where there is no direct way (StarLinks). nil: moving is free.
	Links [][]devices.Link
	// Contention makes transfers that leave or enter the same node (other than
	// the host) wait for each other, as on a device with one copy engine each
	// way. Without it they are independent, as in the textbooks.
	Contention bool
	Data       []Datum
	Tasks      []Task
}

// Device is one that may run tasks.
type Device struct {
	ID string
	// Resource is the silicon. Devices that name the same one are faces of one
	// processor: the plan never uses two of them at a time. Sub-devices that
	// share no compute unit name different resources. Empty: ID.
	Resource string
	Node     int // memory node it computes on; 0 for a device that works on host pages
	// Launch is what each launch costs besides the run; it keeps the device
	// busy.
	Launch time.Duration
	// Ready is when the device is free, for a problem that begins while
	// earlier work still runs.
	Ready time.Duration
	// Image is what a reconfigurable device has loaded; empty: nothing.
	Image string
}

// Node is one memory.
type Node struct {
	Name   string
	Memory int64 // bytes that tasks may use; 0: no limit. The host's is not limited
}

// Datum is one version of a piece of memory: it is there from the beginning, or
// exactly one task writes it, and then it never changes. A task that updates
// data in place reads one datum and writes another with the same Buffer.
type Datum struct {
	Name  string
	Bytes int64
	// Nodes hold it from the beginning; empty for data that a task writes.
	// Empty and written by no task: its contents do not matter and it is never
	// moved.
	Nodes []int
	// Buffer says which data share their memory, because they are versions of
	// the same bytes: whoever writes one of them comes after all readers of the
	// one before. 0: none.
	Buffer int
	// Return says that it has to be on the host before the run is over.
	Return bool
}

// Task is one task.
type Task struct {
	Name string
	// Cost is what it would take on each device, by index of Problem.Devices.
	Cost   []Estimate
	Reads  []Read
	Writes []int // data, each written whole
	// After are tasks that must have finished before it starts, in addition to
	// the writers of what it reads.
	After []int
	// Devices it may run on, by index; empty: all.
	Devices []int
	// Split says how it may be divided over devices; nil: not at all.
	Split *Split
	// Together, where not 0, is the number of a group of tasks that run at the
	// same time on one device, each whole: neither starts without the others,
	// and none may wait for another. They take as long as the longest.
	Together int
	// Scratch is memory it needs while it runs besides its data, in bytes.
	Scratch int64
}

// Read is one datum that a task reads.
type Read struct {
	Datum int
	// Lo and Hi cut out the bytes that are read. Both 0: all.
	Lo, Hi int64
	// ByShare: a part of the task, work-items [lo, hi) of n, needs only the
	// bytes of that fraction of [Lo, Hi), and Halo bytes more on either side.
	ByShare bool
	Halo    int64
}

// Split describes the dimension along which a task may be divided. Everything
// it writes is divided in the same proportion.
type Split struct {
	Items int // work-items of the dimension
	// Grain is what cuts must be a multiple of: work-group size, alignment. 0: 1.
	Grain int
	// Shares, where set, fixes the fraction of each device, by index of
	// Problem.Devices. nil: the planner decides whether and how to divide.
	Shares []float64
}

// Estimate is what a task is expected to take on a device.
type Estimate struct {
	Run time.Duration // mean time on the device, launch latency not included
	// Fixed is the part of Run that does not shrink with the work-items.
	Fixed  time.Duration
	Spread time.Duration // one standard deviation of Run
	Source string        // "history", "fit", "roofline", "guess"
	// Refused says why the device cannot run the task; empty: it can.
	Refused string
	// Image is what a reconfigurable device has to have loaded for the task, and
	// Load what loading it takes, in addition to Run, where it has not. Empty:
	// the device runs the task with whatever is loaded.
	Image string
	Load  time.Duration
}

// Measured reports whether the estimate comes from runs of the kernel on the
// device, of this size or others.
func (e *Estimate) Measured() bool { return e.Source == "history" || e.Source == "fit" }

// StarLinks are the links of a machine in which every device node reaches the
// host and nothing else: up[i] and down[i] are the ways from the host to node i
// and back; entry 0 is the host itself and ignored. A move between two devices
// goes through the host: latencies add, and so do times per byte.
func StarLinks(up, down []devices.Link) [][]devices.Link {
	n := len(up)
	links := make([][]devices.Link, n)
	for a := range links {
		links[a] = make([]devices.Link, n)
		for b := range links[a] {
			switch {
			case a == b:
			case a == 0:
				links[a][b] = up[b]
			case b == 0:
				links[a][b] = down[a]
			default:
				links[a][b] = Through(down[a], up[b])
			}
		}
	}
	return links
}

// Through is the link that goes first over a and then over b.
func Through(a, b devices.Link) devices.Link {
	l := devices.Link{Latency: a.Latency + b.Latency}
	switch {
	case a.Bandwidth <= 0:
		l.Bandwidth = b.Bandwidth
	case b.Bandwidth <= 0:
		l.Bandwidth = a.Bandwidth
	default:
		l.Bandwidth = 1 / (1/a.Bandwidth + 1/b.Bandwidth)
	}
	return l
}
