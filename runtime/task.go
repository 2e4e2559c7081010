package tandem

import (
	"fmt"
	"slices"
	"time"

	"github.com/tandemrun/tandem/kernels"
)

// A Task is a light handle of a task in a graph, or of the several tasks that a
// composed kernel became.
type Task struct {
	g     *Graph
	id    int // -1: adding it failed, the graph knows the error
	first int // first of the tasks of a composed kernel; id otherwise
}

func (t Task) task() *task {
	if t.id < 0 {
		return &task{} // the fault is kept in the graph; changes go nowhere
	}
	return &t.g.tasks[t.id]
}

// each calls f with every task of the handle.
func (t Task) each(f func(id int, n *task)) {
	if t.id < 0 {
		return
	}
	for i := t.first; i <= t.id; i++ {
		f(i, &t.g.tasks[i])
	}
}

// ID is the task's number in its graph, of several the last one's; -1 if adding
// it failed.
func (t Task) ID() int { return t.id }

// Span is the numbers of the handle's tasks, first to last: more than one only
// for a composed kernel. Both are -1 if adding it failed.
func (t Task) Span() (first, last int) { return t.first, t.id }

// Named gives the task a name; it has to be unique within the graph.
func (t Task) Named(name string) Task {
	if t.id < 0 {
		return t
	}
	if other, taken := t.g.names[name]; taken && other != t.id {
		return t.g.fault(fmt.Errorf("two tasks are named %q", name))
	}
	delete(t.g.names, t.task().name)
	t.g.names[name] = t.id
	t.task().name = name
	return t
}

// After makes the task wait for others of the same graph, also ones added
// after it. A ring is found by Submit.
func (t Task) After(others ...Task) Task {
	for _, o := range others {
		if o.g != t.g {
			t.g.fault(fmt.Errorf("task %q: After takes tasks of the same graph", t.task().name))
			continue
		}
		if o.id < 0 {
			continue
		}
		o.each(func(id int, other *task) {
			other.awaited = true
			t.each(func(_ int, n *task) {
				if i, found := slices.BinarySearch(n.after, id); !found {
					n.after = slices.Insert(n.after, i, id)
				}
				n.asked = append(n.asked, id)
			})
		})
	}
	return t
}

// On restricts the task to devices that the selector matches ("kind=gpu").
func (t Task) On(selector string) Task {
	t.each(func(_ int, n *task) { n.selector = selector })
	return t
}

// Split sets the shares of a split over the devices that can run the task, in
// probe order. Where the split cannot be proved to give the bits of a single
// device, Submit refuses it with the reason.
func (t Task) Split(shares ...float64) Task {
	t.each(func(_ int, n *task) { n.split = SplitRule{Shares: shares} })
	return t
}

// NoSplit keeps the task on one device.
func (t Task) NoSplit() Task {
	t.each(func(_ int, n *task) { n.split = SplitRule{Never: true} })
	return t
}

// Repeat runs the task n times, one after the other.
func (t Task) Repeat(n int) Task {
	if n < 1 {
		return t.g.fault(fmt.Errorf("task %q: repeat %d, want at least 1", t.task().name, n))
	}
	if t.first != t.id {
		return t.g.fault(fmt.Errorf("task %q: a kernel of several steps cannot be repeated; add it %d times", t.task().name, n))
	}
	t.task().repeat = n
	return t
}

func (t *task) times() int { return max(t.repeat, 1) }

// Timeout bounds how long one launch of the task may run on a device.
func (t Task) Timeout(d time.Duration) Task {
	t.each(func(_ int, n *task) { n.timeout = d })
	return t
}

// task is a node of the graph.
type task struct {
	name     string
	call     *kernels.Call
	buffers  []*Buffer // by parameter; nil where the argument is no buffer
	after    []int     // predecessors through data or by request, ascending, no duplicates
	asked    []int     // those by request
	awaited  bool      // another task waits for it by request
	repeat   int       // how many times it runs; 0 is once
	selector string    // devices allowed; empty: all
	split    SplitRule
	timeout  time.Duration
}

// SplitRule says whether a task may be divided over several devices.
type SplitRule struct {
	Never  bool      // on one device
	Shares []float64 // these shares, over the devices that can run it, in probe order
}
