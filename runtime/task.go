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
	return t.g.task(t.id)
}

func (t Task) name() string {
	if t.id < 0 {
		return ""
	}
	return t.g.nameOf(t.id)
}

// each calls f with every task of the handle.
func (t Task) each(f func(id int, n *task)) {
	if t.id < 0 {
		return
	}
	t.g.version++
	for i := t.first; i <= t.id; i++ {
		f(i, t.g.task(i))
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
	w := t.task().ask()
	if !t.g.names.give(name, w.name, t.id) {
		return t.g.fault(fmt.Errorf("two tasks are named %q", name))
	}
	w.name = name
	return t
}

// After makes the task wait for others of the same graph, also ones added
// after it. A ring is found by Submit.
func (t Task) After(others ...Task) Task {
	for _, o := range others {
		if o.g != t.g {
			t.g.fault(fmt.Errorf("task %q: After takes tasks of the same graph", t.name()))
			continue
		}
		if o.id < 0 {
			continue
		}
		o.each(func(id int, other *task) {
			other.ask().awaited = true
			t.each(func(_ int, n *task) {
				if i, found := slices.BinarySearch(n.after, int32(id)); !found {
					n.after = slices.Insert(n.after, i, int32(id))
				}
				w := n.ask()
				w.asked = append(w.asked, id)
			})
		})
	}
	return t
}

// On restricts the task to devices that the selector matches ("kind=gpu").
func (t Task) On(selector string) Task {
	t.each(func(_ int, n *task) { n.ask().selector = selector })
	return t
}

// Split sets the shares of a split over the devices that can run the task, in
// probe order. Where the split cannot be proved to give the bits of a single
// device, Submit refuses it with the reason.
func (t Task) Split(shares ...float64) Task {
	t.each(func(_ int, n *task) { n.ask().split = SplitRule{Shares: shares} })
	return t
}

// NoSplit keeps the task on one device.
func (t Task) NoSplit() Task {
	t.each(func(_ int, n *task) { n.ask().split = SplitRule{Never: true} })
	return t
}

// Repeat runs the task n times, one after the other.
func (t Task) Repeat(n int) Task {
	if n < 1 {
		return t.g.fault(fmt.Errorf("task %q: repeat %d, want at least 1", t.name(), n))
	}
	if t.first != t.id {
		return t.g.fault(fmt.Errorf("task %q: a kernel of several steps cannot be repeated; add it %d times", t.name(), n))
	}
	t.g.version++
	t.task().ask().repeat = n
	return t
}

func (t *task) times() int { return max(t.wish().repeat, 1) }

// Timeout bounds how long one launch of the task may run on a device.
func (t Task) Timeout(d time.Duration) Task {
	t.each(func(_ int, n *task) { n.ask().timeout = d })
	return t
}

// task is a node of the graph.
type task struct {
	call    *kernels.Call // shared with tasks that are alike, see forms
	buffers []*Buffer     // by parameter; nil where the argument is no buffer
	after   []int32       // predecessors through data or by request, ascending, no duplicates
	asked   *wishes       // nil: nothing special, as for nearly all
}

// wishes are what a caller may ask of a task.
type wishes struct {
	name     string // empty: one made of the kernel's
	asked    []int  // predecessors by request
	awaited  bool   // another task waits for it by request
	repeat   int    // how many times it runs; 0 is once
	selector string // devices allowed; empty: all
	split    SplitRule
	timeout  time.Duration // of a launch; 0: none
	gang     *gang         // those it runs together with, itself included; nil: none
}

// wish is what was asked of the task, for reading.
func (t *task) wish() *wishes {
	if t.asked == nil {
		return &nothingAsked
	}
	return t.asked
}

var nothingAsked wishes // never written to

// ask is what was asked of the task, for changing.
func (t *task) ask() *wishes {
	if t.asked == nil {
		t.asked = &wishes{}
	}
	return t.asked
}

// waitsFor is after for those who count in int.
func (t *task) waitsFor() []int {
	list := make([]int, len(t.after))
	for i, a := range t.after {
		list[i] = int(a)
	}
	return list
}

// SplitRule says whether a task may be divided over several devices.
type SplitRule struct {
	Never  bool      // on one device
	Shares []float64 // these shares, over the devices that can run it, in probe order
}
