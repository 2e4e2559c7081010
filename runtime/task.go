package tandem

import (
	"fmt"
	"iter"
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

func (t Task) name() string {
	if t.id < 0 {
		return ""
	}
	return t.g.nameOf(t.id)
}

// each calls f with every task of the handle.
func (t Task) each(f func(n task)) {
	if t.id < 0 {
		return
	}
	t.g.version++
	for i := t.first; i <= t.id; i++ {
		f(t.g.task(i))
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
	w := t.g.task(t.id).ask()
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
		o.each(func(other task) {
			other.ask().awaited = true
			t.each(func(n task) { n.waitFor(other.id) })
		})
	}
	return t
}

// On restricts the task to devices that the selector matches ("kind=gpu").
func (t Task) On(selector string) Task {
	t.each(func(n task) { n.ask().selector = selector })
	return t
}

// Split sets the shares of a split over the devices that can run the task, in
// probe order. Where the split cannot be proved to give the bits of a single
// device, Submit refuses it with the reason.
func (t Task) Split(shares ...float64) Task {
	t.each(func(n task) { n.ask().split = SplitRule{Shares: shares} })
	return t
}

// NoSplit keeps the task on one device.
func (t Task) NoSplit() Task {
	t.each(func(n task) { n.ask().split = SplitRule{Never: true} })
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
	t.each(func(one task) { one.ask().repeat = n })
	return t
}

func (t task) times() int { return max(t.wish().repeat, 1) }

// Timeout bounds how long one launch of the task may run on a device.
func (t Task) Timeout(d time.Duration) Task {
	t.each(func(n task) { n.ask().timeout = d })
	return t
}

// task is a task of a graph to look at. The zero task has no buffers.
type task struct {
	graph *Graph
	id    int
	call  *kernels.Call // shared with tasks that are alike, see forms
}

func (g *Graph) task(i int) task { return task{g, i, g.calls[g.record(i).call]} }

// uses are the task's buffers by parameter, those of which it has one. The
// same one may come twice.
func (t task) uses() iter.Seq2[int, *bufferUse] {
	return func(yield func(int, *bufferUse) bool) {
		if t.graph == nil {
			return
		}
		at := t.graph.record(t.id).args
		for i := range t.call.Args {
			if t.call.Args[i].Array == nil {
				continue
			}
			if !yield(i, t.graph.order[t.graph.args[at]]) {
				return
			}
			at++
		}
	}
}

// buffers is uses for those who want only the buffers.
func (t task) buffers() iter.Seq2[int, *Buffer] {
	return func(yield func(int, *Buffer) bool) {
		for i, u := range t.uses() {
			if !yield(i, u.buf) {
				return
			}
		}
	}
}

// needs are the buffers for which there has to be room at the same time: the
// task's, and those of the tasks that run together with it.
func (t task) needs() iter.Seq2[int, *Buffer] {
	return func(yield func(int, *Buffer) bool) {
		if t.graph == nil {
			return
		}
		members := []int{t.id}
		if gang := t.wish().gang; gang != nil {
			members = gang.members
		}
		for _, m := range members {
			for i, b := range t.graph.task(m).buffers() {
				if !yield(i, b) {
					return
				}
			}
		}
	}
}

// after are the task's predecessors through data or by request, ascending and
// without duplicates. They are the graph's.
func (t task) after() []int32 {
	if w := t.wish(); len(w.asked) > 0 {
		return w.after
	}
	return t.afterData()
}

func (t task) afterData() []int32 {
	r := t.graph.record(t.id)
	return t.graph.edges[r.after:][:r.waits:r.waits]
}

// waitFor makes the task wait for another by request.
func (t task) waitFor(id int) {
	w := t.ask()
	if len(w.asked) == 0 {
		w.after = slices.Clone(t.afterData())
	}
	if i, found := slices.BinarySearch(w.after, int32(id)); !found {
		w.after = slices.Insert(w.after, i, int32(id))
	}
	w.asked = append(w.asked, id)
	t.graph.turned = t.graph.turned || id >= t.id
}

// wishes are what a caller may ask of a task.
type wishes struct {
	name     string  // empty: one made of the kernel's
	asked    []int   // predecessors by request
	after    []int32 // all predecessors, where some are by request
	awaited  bool    // another task waits for it by request
	repeat   int     // how many times it runs; 0 is once
	selector string  // devices allowed; empty: all
	split    SplitRule
	timeout  time.Duration // of a launch; 0: none
	gang     *gang         // those it runs together with, itself included; nil: none
}

// wish is what was asked of the task, for reading.
func (t task) wish() *wishes {
	if all := t.graph.asked; t.id < len(all) && all[t.id] != nil {
		return all[t.id]
	}
	return &nothingAsked
}

var nothingAsked wishes // never written to

// ask is what was asked of the task, for changing.
func (t task) ask() *wishes {
	g := t.graph
	if n := t.id + 1 - len(g.asked); n > 0 {
		g.asked = append(g.asked, make([]*wishes, n)...)
	}
	if g.asked[t.id] == nil {
		g.asked[t.id] = &wishes{}
	}
	return g.asked[t.id]
}

// waitsFor is after for those who count in int.
func (t task) waitsFor() []int {
	after := t.after()
	list := make([]int, len(after))
	for i, a := range after {
		list[i] = int(a)
	}
	return list
}

// SplitRule says whether a task may be divided over several devices.
type SplitRule struct {
	Never  bool      // on one device
	Shares []float64 // these shares, over the devices that can run it, in probe order
}
