package tandem

import (
	"container/heap"
	"errors"
	"fmt"
	"math"
	goruntime "runtime"
	"slices"
	"sort"
	"sync/atomic"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/kernels"
)

// A Graph is a set of tasks and the order between them. Building one touches
// no hardware; the same graph may be submitted many times, also while an
// earlier submission of it still runs. A Graph is not safe for concurrent use,
// and must not change while a run or a plan of it is in use.
//
// Tasks are ordered by the data they share: a task waits for the last one
// before it (in the order of Add) that writes what it reads, and a writer
// waits for the readers before it.
type Graph struct {
	name   string
	calls  []*kernels.Call // tasks that are alike share one, see forms
	tasks  [][]record      // in blocks: adding one moves none of those before
	length int
	args   []int32   // the tasks' buffers in turn, as positions in order
	edges  []int32   // the tasks' predecessors through data, in turn
	asked  []*wishes // by task, as far as any was asked something of; nil: nothing
	forms  forms
	use    map[*Buffer]*bufferUse // last writer and readers while building
	order  []*bufferUse           // those of use, in order
	home   []*Buffer              // to be brought to the host within the run
	faults []error
	names  names
	gangs  int  // groups of tasks that run together
	turned bool // a task waits for one that was added after it

	version int                    // counts changes
	direct  atomic.Pointer[direct] // made for a version

	recent [64]*bufferUse // of use, by number of the buffer
	uses   []*bufferUse   // of the task that is being added
	modes  []kernels.Access
	before []int32 // its predecessors
}

// record is what the graph keeps of a task. It has no pointers, so that the
// garbage collector has nothing to do with it.
type record struct {
	call  int32 // position in Graph.calls
	args  int32 // where its buffers begin in Graph.args: one for each array of its call
	after int32 // where its predecessors through data begin in Graph.edges
	waits int32 // how many these are
}

// recordBlock is how many tasks are allocated at a time.
const recordBlock = 1024

// maxLinks bounds how many buffers, and how many predecessors, all tasks of a
// graph have together: they are counted in 32 bits.
const maxLinks = math.MaxInt32

type bufferUse struct {
	buf     *Buffer
	index   int32
	writer  int32 // -1: none yet
	readers []int32
	read    bool // before it is written
}

func (g *Graph) record(i int) *record { return &g.tasks[i/recordBlock][i%recordBlock] }

// NewGraph makes an empty graph.
func NewGraph() *Graph { return &Graph{use: map[*Buffer]*bufferUse{}} }

// Named gives the graph a name for reports, and returns it.
func (g *Graph) Named(name string) *Graph {
	g.name = name
	return g
}

// Return has the run bring these buffers to the host, each part as soon as it
// has been computed, so that a later Read finds them there. x is a *Slice or a
// *Buffer.
func (g *Graph) Return(x ...any) *Graph {
	for _, v := range x {
		b, ok := v.(bufferer)
		if !ok {
			g.fault(fmt.Errorf("Return takes buffers, got %T", v))
			continue
		}
		switch b := b.buffer(); {
		case b == nil:
			g.fault(errors.New("Return takes buffers, got nil"))
		case b.err != nil:
			g.fault(b.err)
		default:
			g.useOf(b)
			g.home = append(g.home, b)
		}
	}
	return g
}

// Len is the number of tasks.
func (g *Graph) Len() int { return g.length }

// Calls are the calls of the graph's tasks, by task number. They are the graph's
// own: the caller must not change them. Tasks whose calls differ only in which
// arrays of the same type and shape they take have one call, with the arrays of
// the first of them.
func (g *Graph) Calls() []*kernels.Call {
	calls := make([]*kernels.Call, g.Len())
	for i := range calls {
		calls[i] = g.calls[g.record(i).call]
	}
	return calls
}

// Err is everything that was wrong with what was added so far, joined; Submit
// returns it too.
func (g *Graph) Err() error { return errors.Join(g.faults...) }

// Add adds a call of k with the given arguments: *Slice, *Buffer, numbers,
// slices of numbers for vectors, []kernels.FieldValue for structs, [Local], and
// any of these wrapped by [In], [Out], [InOut] or [Named]. Unnamed arguments go
// by position. The ND-range follows from the arguments; a kernel that cannot
// tell needs AddRange. A fault is kept for Submit, so that a graph is built
// without a check after every line.
func (g *Graph) Add(k *kernels.Kernel, args ...any) Task {
	return g.AddRange(k, devices.NDRange{}, args...)
}

// AddRange is Add with an explicit ND-range.
func (g *Graph) AddRange(k *kernels.Kernel, r devices.NDRange, args ...any) Task {
	if t, ok := g.addAlike(k, &r, args); ok {
		return t
	}
	// A copy, so that the caller's does not escape to the heap above.
	return g.addNew(k, r, slices.Clone(args))
}

// addNew adds a task that is like none before.
func (g *Graph) addNew(k *kernels.Kernel, r devices.NDRange, args []any) Task {
	all := make([]kernels.Given, len(args))
	buffers := map[*kernels.Array]*Buffer{}
	for i, v := range args {
		giv, b, err := given(v)
		if err != nil {
			return g.fault(fmt.Errorf("kernel %s: argument %d: %w", k.Name, i+1, err))
		}
		all[i] = giv
		if b != nil {
			buffers[giv.Array] = b
		}
	}
	c, err := kernels.Bind(k, r, all)
	if err != nil {
		return g.fault(err)
	}
	t := g.AddCall(c, func(a *kernels.Array) *Buffer { return buffers[a] })
	if t.id >= 0 && k.Compose == nil {
		g.forms.keep(k, &r, args, g.calls, g.record(t.id).call)
	}
	return t
}

// AddCall adds a call that kernels.Bind made; of finds the buffer of each of
// its arrays. A composed kernel becomes several tasks; the handle is the last.
func (g *Graph) AddCall(c *kernels.Call, of func(*kernels.Array) *Buffer) Task {
	if c.Kernel.Compose != nil {
		return g.addComposed(c, of)
	}
	g.uses, g.modes = g.uses[:0], g.modes[:0]
	for i, a := range c.Args {
		if a.Array == nil {
			continue
		}
		b := of(a.Array)
		if b == nil {
			return g.fault(fmt.Errorf("kernel %s: %s: no buffer", c.Kernel.Name, c.Kernel.Params[i].Name))
		}
		if b.err != nil {
			return g.fault(b.err)
		}
		g.uses = append(g.uses, g.useOf(b))
		g.modes = append(g.modes, a.Mode)
	}
	g.calls = append(g.calls, c)
	return g.add(int32(len(g.calls)-1), g.modes)
}

// add adds a task with the buffers of g.uses in the given modes: one for each
// array of the call.
func (g *Graph) add(call int32, modes []kernels.Access) Task {
	id := int32(g.length)
	before := g.before[:0]
	for i, u := range g.uses {
		if modes[i].Reads() && u.writer >= 0 {
			before = append(before, u.writer)
		}
		switch {
		case !modes[i].Writes():
		case len(u.readers) > 0: // all of them come after the writer
			before = append(before, u.readers...)
		case u.writer >= 0:
			before = append(before, u.writer)
		}
	}
	if len(before) > 1 {
		slices.Sort(before)
		before = slices.Compact(before)
	}
	if len(g.args) > maxLinks-len(g.uses) || len(g.edges) > maxLinks-len(before) || g.length == maxLinks {
		return g.fault(fmt.Errorf("the graph is too large: its tasks have more than %d buffers or predecessors in all", maxLinks))
	}
	g.before = before
	n := record{call, int32(len(g.args)), int32(len(g.edges)), int32(len(before))}
	g.edges = append(roomFor(g.edges, len(before)), before...)
	g.args = roomFor(g.args, len(g.uses))
	// All reads came before all writes: a kernel that takes one buffer as two
	// arguments does not wait for itself.
	for i, u := range g.uses {
		g.args = append(g.args, u.index)
		if modes[i].Reads() && u.writer < 0 {
			u.read = true
		}
	}
	for i, u := range g.uses {
		if modes[i].Writes() {
			u.writer, u.readers = id, u.readers[:0]
		} else if u.writer != id {
			u.readers = append(u.readers, id)
		}
	}
	if g.length%recordBlock == 0 {
		g.tasks = append(g.tasks, make([]record, 0, min(recordBlock, 8+g.length)))
	}
	last := &g.tasks[g.length/recordBlock]
	*last = append(*last, n)
	g.length++
	g.version++
	return Task{g, int(id), int(id)}
}

// roomFor is s with room for n more. It doubles, as append does only to short
// ones.
func roomFor(s []int32, n int) []int32 {
	if cap(s)-len(s) >= n {
		return s
	}
	return slices.Grow(s, max(n, len(s)))
}

func (g *Graph) useOf(b *Buffer) *bufferUse {
	recent := &g.recent[b.number%len(g.recent)]
	if u := *recent; u != nil && u.buf == b {
		return u
	}
	u := g.use[b]
	if u == nil {
		u = &bufferUse{buf: b, index: int32(len(g.order)), writer: -1}
		g.use[b] = u
		g.order = append(g.order, u)
	}
	*recent = u
	return u
}

// addComposed expands a composed kernel; its temporaries live as long as the
// graph.
func (g *Graph) addComposed(c *kernels.Call, of func(*kernels.Array) *Buffer) Task {
	steps, err := c.Kernel.Compose(c)
	if err != nil {
		return g.fault(fmt.Errorf("kernel %s: %w", c.Kernel.Name, err))
	}
	var session *Session
	for _, a := range c.Args {
		if a.Array == nil {
			continue
		}
		b := of(a.Array)
		if b == nil {
			return g.fault(fmt.Errorf("kernel %s: no buffer", c.Kernel.Name))
		}
		session = b.session
	}
	temps := map[*kernels.Array]*Buffer{}
	goruntime.AddCleanup(g, func(temps map[*kernels.Array]*Buffer) {
		for _, b := range temps {
			_ = b.Free() // nothing uses it any more; after Close there is nothing to free
		}
	}, temps)
	first := g.Len()
	var last Task
	for n, step := range steps {
		args := make([]kernels.Given, len(step.Args))
		for i, sa := range step.Args {
			switch {
			case sa.Temp != nil:
				if temps[sa.Temp] == nil {
					temps[sa.Temp] = session.NewBuffer(*sa.Temp)
				}
				args[i].Array = sa.Temp
			case sa.Outer >= 0 && c.Args[sa.Outer].Array != nil:
				args[i].Array = c.Args[sa.Outer].Array
			case sa.Outer >= 0:
				args[i].Bytes = c.Args[sa.Outer].Value
			default:
				args[i].Value = sa.Value
			}
		}
		sc, err := kernels.Bind(step.Kernel, step.Range, args)
		if err != nil {
			return g.fault(fmt.Errorf("kernel %s: step %d: %w", c.Kernel.Name, n+1, err))
		}
		last = g.AddCall(sc, func(a *kernels.Array) *Buffer {
			if b := temps[a]; b != nil {
				return b
			}
			return of(a)
		})
	}
	last.first = first
	return last
}

func (g *Graph) fault(err error) Task {
	g.faults = append(g.faults, err)
	return Task{g, -1, -1}
}

// sorted is a topological order of the tasks, ties by task number (Kahn's
// algorithm), or a *CycleError.
func (g *Graph) sorted() ([]int, error) {
	if g.gangs > 0 {
		return g.orderGangs()
	}
	n := g.Len()
	order := make([]int, 0, n)
	if !g.turned { // the order of Add is one already
		for i := range n {
			order = append(order, i)
		}
		return order, nil
	}
	waits := make([]int, n)
	next := make([][]int32, n)
	for i := range g.Len() {
		after := g.task(i).after()
		for _, a := range after {
			next[a] = append(next[a], int32(i))
		}
		waits[i] = len(after)
	}
	ready := &taskHeap{}
	for i, w := range waits {
		if w == 0 {
			heap.Push(ready, i)
		}
	}
	for ready.Len() > 0 {
		i := heap.Pop(ready).(int)
		order = append(order, i)
		for _, s := range next[i] {
			if waits[s]--; waits[s] == 0 {
				heap.Push(ready, int(s))
			}
		}
	}
	if len(order) == n {
		return order, nil
	}
	return nil, &CycleError{g.ring(waits)}
}

// ring follows predecessors that are still waited for until a task repeats.
func (g *Graph) ring(waits []int) []string {
	at := slices.IndexFunc(waits, func(w int) bool { return w > 0 })
	seen := map[int]int{}
	var path []int
	for {
		if from, ok := seen[at]; ok {
			path = path[from:]
			break
		}
		seen[at] = len(path)
		path = append(path, at)
		for _, a := range g.task(at).after() {
			if waits[a] > 0 {
				at = int(a)
				break
			}
		}
	}
	slices.Reverse(path) // in the order of execution
	names := make([]string, len(path))
	for i, id := range path {
		names[i] = g.nameOf(id)
	}
	return names
}

// taskHeap is a heap of task numbers, smallest first.
type taskHeap struct{ sort.IntSlice }

func (h *taskHeap) Push(x any) { h.IntSlice = append(h.IntSlice, x.(int)) }

func (h *taskHeap) Pop() any {
	last := len(h.IntSlice) - 1
	x := h.IntSlice[last]
	h.IntSlice = h.IntSlice[:last]
	return x
}
