package tandem

import (
	"container/heap"
	"errors"
	"fmt"
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
	blocks [][]task // of taskBlock each: from the second on, adding a task moves none
	length int
	forms  forms
	use    map[*Buffer]*bufferUse // last writer and readers while building
	order  []*bufferUse           // those of use, in order
	args   []int32                // the tasks' buffers in turn, as positions in order
	home   []*Buffer              // to be brought to the host within the run
	faults []error
	names  names
	gangs  int // groups of tasks that run together

	version int                    // counts changes
	direct  atomic.Pointer[direct] // made for a version

	recent [64]*bufferUse // of use, by number of the buffer
	slots  []*Buffer      // room for the next tasks' buffers
	edges  []int32        // room for the next tasks' predecessors
	before []int32        // predecessors of the task that is being added
}

type bufferUse struct {
	buf     *Buffer
	index   int32
	writer  int32 // -1: none yet
	readers []int32
}

// taskBlock is how many tasks are allocated at a time.
const taskBlock = 512

// task is task number i.
func (g *Graph) task(i int) *task { return &g.blocks[i/taskBlock][i%taskBlock] }

// block is how many buffers or predecessors of tasks are allocated at a time.
const block = 4096

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
	for i := range g.Len() {
		calls[i] = g.task(i).call
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
		g.forms.keep(k, &r, args, g.task(t.id).call)
	}
	return t
}

// AddCall adds a call that kernels.Bind made; of finds the buffer of each of
// its arrays. A composed kernel becomes several tasks; the handle is the last.
func (g *Graph) AddCall(c *kernels.Call, of func(*kernels.Array) *Buffer) Task {
	if c.Kernel.Compose != nil {
		return g.addComposed(c, of)
	}
	buffers := g.slotsFor(len(c.Args))
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
		buffers[i] = b
	}
	return g.add(c, buffers)
}

// slotsFor is room for the buffers of a task.
func (g *Graph) slotsFor(n int) []*Buffer {
	if len(g.slots) < n {
		g.slots = make([]*Buffer, max(n, min(block, 16+g.Len())))
	}
	s := g.slots[:n:n]
	g.slots = g.slots[n:]
	return s
}

// add adds a task with the given buffers by argument, nil for other arguments.
func (g *Graph) add(c *kernels.Call, buffers []*Buffer) Task {
	id := int32(g.Len())
	g.before = g.before[:0]
	var some [8]*bufferUse
	uses := some[:0]
	// All reads come before all writes: a kernel that takes one buffer as two
	// arguments does not wait for itself.
	for i, b := range buffers {
		if b == nil {
			continue
		}
		u := g.useOf(b)
		uses = append(uses, u)
		g.args = append(g.args, u.index)
		if c.Args[i].Mode.Reads() && u.writer >= 0 {
			g.before = append(g.before, u.writer)
		}
	}
	n := 0
	for i, b := range buffers {
		if b == nil {
			continue
		}
		if u := uses[n]; c.Args[i].Mode.Writes() {
			g.before = append(g.before, u.readers...)
			if u.writer >= 0 {
				g.before = append(g.before, u.writer)
			}
		}
		n++
	}
	n = 0
	for i, b := range buffers {
		if b == nil {
			continue
		}
		if u := uses[n]; c.Args[i].Mode.Writes() {
			u.writer, u.readers = id, u.readers[:0]
		} else if u.writer != id {
			u.readers = append(u.readers, id)
		}
		n++
	}
	g.version++
	if g.length%taskBlock == 0 {
		g.blocks = append(g.blocks, make([]task, 0, min(taskBlock, 8+g.length)))
	}
	last := &g.blocks[g.length/taskBlock]
	*last = append(*last, task{call: c, buffers: buffers, after: g.predecessors()})
	g.length++
	return Task{g, int(id), int(id)}
}

// predecessors is g.before in ascending order without duplicates, to be kept.
func (g *Graph) predecessors() []int32 {
	if len(g.before) == 0 {
		return nil
	}
	slices.Sort(g.before)
	list := slices.Compact(g.before)
	if len(g.edges) < len(list) {
		g.edges = make([]int32, max(len(list), min(block, 16+g.Len())))
	}
	after := g.edges[:len(list):len(list)]
	g.edges = g.edges[len(list):]
	copy(after, list)
	return after
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
	if g.forward() { // the order of Add is one already
		for i := range n {
			order = append(order, i)
		}
		return order, nil
	}
	waits := make([]int, n)
	next := make([][]int32, n)
	for i := range g.Len() {
		for _, a := range g.task(i).after {
			next[a] = append(next[a], int32(i))
		}
		waits[i] = len(g.task(i).after)
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

// forward reports whether every task comes after those it waits for.
func (g *Graph) forward() bool {
	for i := range g.Len() {
		if after := g.task(i).after; len(after) > 0 && after[len(after)-1] >= int32(i) {
			return false
		}
	}
	return true
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
		for _, a := range g.task(at).after {
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
