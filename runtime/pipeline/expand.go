package pipeline

import (
	"errors"
	"fmt"
	"strings"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/kernels"
)

// task is one run of a step: its iteration and what Bind made of it.
type task struct {
	step   *step
	name   string
	call   *kernels.Call
	repeat int // at least 1
	in     *iteration
	after  []int32 // tasks to wait for by request
}

// iteration is one pass through the body of a loop.
type iteration struct {
	loop   *loop
	around *iteration
}

// maxEdges bounds the waits that after adds.
const maxEdges = 4_000_000

// expander makes tasks of steps.
type expander struct {
	*reader
	slots []int64
	full  bool // the bound on tasks was reached
	steps int  // iterations so far: an empty loop makes no tasks, but takes time
}

// expand makes the tasks of all items, in the order of the file.
func (r *reader) expand(items []item) {
	x := &expander{reader: r}
	x.items(items, nil)
	if !x.full {
		x.waits()
	}
}

func (x *expander) items(items []item, in *iteration) {
	for _, it := range items {
		switch {
		case x.full:
			return
		case it.loop != nil:
			x.loop(it.loop, in)
		default:
			x.task(it.step, in)
		}
	}
}

func (x *expander) loop(l *loop, in *iteration) {
	var bounds [3]int64
	bounds[2] = 1
	for i, f := range []*formula{l.from, l.to, l.step} {
		if f == nil {
			continue
		}
		v, ok := x.value(f, x.slots)
		if !ok {
			return
		}
		if bounds[i], ok = v.whole(); !ok {
			x.add(f.at, f.path, "want a whole number, got %s", f.gives(v))
			return
		}
	}
	from, to, by := bounds[0], bounds[1], bounds[2]
	if by == 0 {
		x.add(l.step.at, l.step.path, "a loop with the step 0 does not end")
		return
	}
	x.slots = append(x.slots, 0)
	defer func() { x.slots = x.slots[:len(x.slots)-1] }()
	for v := from; (by > 0 && v < to) || (by < 0 && v > to); {
		if x.steps++; x.steps > x.opts.MaxTasks {
			x.tooMany(l.at, l.path)
			return
		}
		x.slots[l.slot] = v
		x.items(l.items, &iteration{l, in})
		if x.full {
			return
		}
		next := v + by
		if (by > 0) != (next > v) {
			break // beyond 64 bits
		}
		v = next
	}
}

func (x *expander) tooMany(at *node, path string) {
	x.full = true
	x.add(at, path, "the loops make more than %d tasks", x.opts.MaxTasks).Hint = "repeat runs one step many times without a loop"
}

// suffix names the iteration: "[k=3,m=1]".
func (x *expander) suffix(in *iteration) string {
	if in == nil {
		return ""
	}
	var parts []string
	for ; in != nil; in = in.around {
		parts = append([]string{fmt.Sprintf("%s=%d", in.loop.variable, x.slots[in.loop.slot])}, parts...)
	}
	return "[" + strings.Join(parts, ",") + "]"
}

// task makes the task of one step in one iteration.
func (x *expander) task(st *step, in *iteration) {
	if st.failed {
		return
	}
	if len(x.tasks) >= x.opts.MaxTasks {
		x.tooMany(st.at, st.path)
		return
	}
	t := task{step: st, name: st.name + x.suffix(in), call: st.bound, repeat: 1, in: in}
	before := len(x.list) + x.more
	if t.call == nil {
		if t.call = x.bind(st, t.name); t.call != nil && st.fixed {
			st.bound = t.call
		}
	}
	if st.repeat != nil {
		if n, ok := x.whole(st.repeat, x.slots, 1); ok {
			t.repeat = int(min(n, maxRepeat))
			if n > maxRepeat {
				x.add(st.repeat.at, st.repeat.path, "at most %d repeats are possible, got %d", maxRepeat, n)
			}
		}
	}
	if st.failed = len(x.list)+x.more > before; st.failed {
		return
	}
	x.touch(&t)
	x.tasks = append(x.tasks, t)
}

// maxRepeat is far above what a run of one step can count.
const maxRepeat = 1 << 30

// bind evaluates a step's sizes and arguments and joins them with the kernel.
func (x *expander) bind(st *step, name string) *kernels.Call {
	rng := devices.NDRange{Dims: len(st.global)}
	args := make([]kernels.Given, len(st.args))
	ok := true
	for d, f := range st.global {
		v, good := x.whole(f, x.slots, 0)
		rng.Size[d], ok = int(v), ok && good
	}
	for d, f := range st.local {
		v, good := x.whole(f, x.slots, 1)
		rng.Local[d], ok = int(v), ok && good
	}
	for i, a := range st.args {
		g, good := x.given(a, x.slots)
		args[i], ok = g, ok && good
	}
	if !ok || !x.countable(st, rng) {
		return nil
	}
	c, err := kernels.Bind(st.kernel, rng, args)
	if err != nil {
		x.bindFaults(st, name, err)
		return nil
	}
	if !x.fixedGroups(st, c) {
		return nil
	}
	if _, err := takeApart(c); err != nil {
		x.bindFaults(st, name, err)
		return nil
	}
	return c
}

// countable holds the number of work-items against 64 bits.
func (x *expander) countable(st *step, rng devices.NDRange) bool {
	n := int64(1)
	for d := range rng.Dims {
		var ok bool
		if n, ok = mulInt(n, int64(rng.Size[d])); !ok {
			x.add(st.sizeAt, st.path+".global", "%v are more work-items than can be counted", rng.Size[:rng.Dims])
			return false
		}
	}
	return true
}

// bindFaults places what Bind found at the arguments.
func (x *expander) bindFaults(st *step, name string, err error) {
	for _, e := range flatten(err) {
		f := &Fault{File: x.file, Line: st.argsAt.line, Column: st.argsAt.col, Path: st.path + ".args", Msg: e.Error(), Err: e}
		var ae *kernels.ArgError
		if errors.As(e, &ae) {
			f.Msg = fmt.Sprintf("kernel %s: %s %v", ae.Kernel, ae.Param, ae.Err)
			for _, a := range st.args {
				if ae.Pos.Line > 0 && a.at.line == ae.Pos.Line && a.at.col == ae.Pos.Column {
					f.Line, f.Column, f.Path = a.at.line, a.at.col, a.path
				}
			}
			if ae.Param == "global size" {
				f.Line, f.Column, f.Path = st.sizeAt.line, st.sizeAt.col, st.path+".global"
				f.Msg = fmt.Sprintf("kernel %s: the global size is %v", ae.Kernel, ae.Err)
			}
		}
		if name != st.name {
			f.Msg = name + ": " + f.Msg
		}
		x.put(f)
	}
}

// fixedGroups refuses sizes that a kernel with a work-group size of its own
// cannot have. Elsewhere a ragged global size runs.
func (x *expander) fixedGroups(st *step, c *kernels.Call) bool {
	for i := range c.Kernel.Variants {
		want := c.Kernel.Variants[i].FixedLocal
		if want == [3]int{} {
			return true // a variant that takes any size
		}
		for d := range c.Range.Dims {
			w, global, local := max(want[d], 1), c.Range.Size[d], c.Range.Local[d]
			switch {
			case local > 0 && local != w:
				x.add(st.sizeAt, st.path+".local", "kernel %s demands work-groups of %d in dimension %d, local is %d", c.Kernel.Name, w, d, local)
				return false
			case global%w != 0:
				x.add(st.sizeAt, st.path+".global", "kernel %s demands work-groups of %d in dimension %d, and the global size %d is no multiple of it", c.Kernel.Name, w, d, global).
					Hint = fmt.Sprintf("make it %d or %d, or take reqd_work_group_size out of the source", global/w*w, (global/w+1)*w)
				return false
			}
		}
	}
	return true
}

// touch notes what a task does to buffers, for warnings.
func (x *expander) touch(t *task) {
	for _, a := range t.step.args {
		b := a.buf
		if b == nil {
			continue
		}
		for i := range t.call.Args {
			if t.call.Args[i].Array != &b.array {
				continue
			}
			mode := t.call.Args[i].Mode
			if mode.Reads() && !b.written && b.in == "" && b.fill == nil {
				b.zeroRead = true
			}
			b.read = b.read || mode.Reads()
		}
	}
	for i := range t.call.Args {
		if a := t.call.Args[i]; a.Array != nil && a.Mode.Writes() {
			x.buffers[a.Array.Name].written = true
		}
	}
}

// waits turns after into tasks to wait for.
func (x *expander) waits() {
	type group struct {
		step *step
		in   *iteration
	}
	members := map[group][]int32{}
	wanted := map[*step]bool{}
	for i := range x.tasks {
		for _, a := range x.tasks[i].step.after {
			wanted[a.target] = true
		}
	}
	for i := range x.tasks {
		t := &x.tasks[i]
		if !wanted[t.step] {
			continue
		}
		for in := t.in; ; in = in.around { // one entry for each loop around it, and one for all
			g := group{t.step, in}
			members[g] = append(members[g], int32(i))
			if in == nil {
				break
			}
		}
	}
	edges := 0
	for i := range x.tasks {
		t := &x.tasks[i]
		for _, a := range t.step.after {
			if a.target == nil {
				continue
			}
			in := t.in
			for in != nil && !a.target.within(in.loop) {
				in = in.around
			}
			list := members[group{a.target, in}]
			if edges += len(list); edges > maxEdges {
				x.add(a.at, a.path, "the loops make more than %d waits", maxEdges)
				return
			}
			t.after = append(t.after, list...)
		}
	}
}

// within reports whether the step stands in the loop, however deep.
func (st *step) within(l *loop) bool {
	for b := st.body; b != nil; b = b.around {
		if b == l {
			return true
		}
	}
	return false
}
