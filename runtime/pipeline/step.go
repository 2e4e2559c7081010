package pipeline

import (
	"fmt"
	"math"
	"os"
	"slices"
	"strings"

	tandem "github.com/tandemrun/tandem/runtime"

	"github.com/tandemrun/tandem/kernels"
)

// item is a step or a loop over items.
type item struct {
	step *step
	loop *loop
}

// step is a step of the file.
type step struct {
	id       string // as it is named in the file; empty: it is not
	name     string // of its tasks, without the loop variables
	at       *node
	path     string
	pos      int // among the steps of the file
	kernel   *kernels.Kernel
	global   []*formula
	local    []*formula
	sizeAt   *node // of global, for messages
	args     []*argument
	argsAt   *node
	after    []after
	together []companion
	gang     *gang // nil: it runs by itself
	shares   []float64
	never    bool // split: none
	on       string
	device   int // position in the device list, -1: not given
	devAt    *node
	repeat   *formula
	body     *loop // the loop around it, nil outside loops
	fixed    bool  // nothing that Bind sees depends on a loop variable

	bound  *kernels.Call // of a fixed step
	failed bool          // a fault was reported; no more tasks are made of it
}

// after is a step to wait for.
type after struct {
	at     *node
	path   string
	name   string
	target *step
}

// loop is a loop of the file, one variable of it.
type loop struct {
	at             *node
	path           string
	variable       string
	slot           int
	from, to, step *formula // step nil: 1
	items          []item
	around         *loop
}

// readSteps reads the steps at the top.
func (r *reader) readSteps(n, root *node) []item {
	if n == nil {
		r.add(root, "", "the pipeline has no steps").Hint = "add steps: [...]"
		return nil
	}
	s := r.scope()
	items := r.readItems(n, "steps", s, nil)
	r.nameSteps()
	return items
}

func (r *reader) readItems(n *node, path string, s *scope, around *loop) []item {
	if n.kind != kindList {
		r.add(n, path, "want a list of steps, got %s", n.what())
		return nil
	}
	var items []item
	for i, it := range n.items {
		at := fmt.Sprintf("%s[%d]", path, i)
		switch {
		case it.kind != kindMap:
			r.add(it, at, "want a step, got %s", it.what())
		case it.get("for") != nil || (it.get("steps") != nil && it.get("kernel") == nil):
			items = append(items, r.readLoop(it, at, s, around)...)
		default:
			items = append(items, item{step: r.readStep(it, at, s, around)})
		}
	}
	return items
}

// readLoop reads a loop; one with several variables becomes nested ones.
func (r *reader) readLoop(n *node, path string, s *scope, around *loop) []item {
	f := r.fields(n, path, "a loop", keysOf[loopFormat]())
	vars, steps := f["for"], f["steps"]
	switch {
	case vars == nil:
		r.add(n, path, "the loop has no range").Hint = "add for: {k: [0, n]}"
		return nil
	case steps == nil:
		r.add(n, path, "the loop has no steps")
		return nil
	case vars.kind != kindMap || len(vars.entries) == 0:
		r.add(vars, path+".for", "want a loop variable and its range, {k: [0, n]}; got %s", vars.what())
		return nil
	}
	var outer, inner *loop
	for _, e := range vars.entries {
		at := join(path+".for", e.name)
		l := &loop{at: e.key, path: at, variable: e.name, slot: len(s.slots), around: around}
		ok := r.variable(e.key, at)
		if before := r.varNodes[e.name]; before != nil {
			r.add(e.key, at, "there is a variable %q already (line %d)", e.name, before.line)
		}
		if slices.Contains(s.slots, e.name) {
			r.add(e.key, at, "a loop around this one has the variable %q already", e.name)
		}
		ok = r.readRange(l, e.value, s) && ok
		if ok {
			if outer == nil {
				outer = l
			} else {
				inner.items = []item{{loop: l}}
			}
			inner, around = l, l
		}
		s = &scope{vars: s.vars, slots: append(slices.Clone(s.slots), e.name)}
	}
	if len(s.slots) > maxNesting {
		r.add(vars, path+".for", "loops are nested more than %d deep", maxNesting)
		return nil
	}
	body := r.readItems(steps, path+".steps", s, around)
	if outer == nil {
		return nil
	}
	inner.items = body
	return []item{{loop: outer}}
}

func (r *reader) readRange(l *loop, n *node, s *scope) bool {
	if n.kind != kindList || len(n.items) < 2 || len(n.items) > 3 {
		r.add(n, l.path, "want [from, to] or [from, to, step], got %s", describeList(n))
		return false
	}
	parts := []**formula{&l.from, &l.to, &l.step}
	ok := true
	for i, item := range n.items {
		*parts[i] = r.formula(item, fmt.Sprintf("%s[%d]", l.path, i), s)
		ok = ok && *parts[i] != nil
	}
	return ok
}

func describeList(n *node) string {
	if n.kind == kindList {
		return fmt.Sprintf("%d values", len(n.items))
	}
	return n.what()
}

func (r *reader) readStep(n *node, path string, s *scope, around *loop) *step {
	st := &step{at: n, path: path, pos: len(r.p.steps), device: -1, body: around}
	before := len(r.list) + r.more
	f := r.fields(n, path, "a step", keysOf[stepFormat]())
	r.p.steps = append(r.p.steps, st)
	if id := f["id"]; id != nil {
		r.readID(st, id, path+".id")
	}
	if k := f["kernel"]; k != nil {
		st.kernel = r.readKernel(k, path+".kernel")
	} else {
		r.add(n, path, "the step has no kernel").Hint = "add kernel: NAME, or kernel: {file: k.cl, entry: name}"
	}
	st.global = r.readSizes(f["global"], path+".global", s)
	st.local = r.readSizes(f["local"], path+".local", s)
	st.sizeAt = n
	if g := f["global"]; g != nil {
		st.sizeAt = g
	}
	if l := f["local"]; l != nil && len(st.local) > 0 {
		switch {
		case f["global"] == nil:
			r.add(l, path+".local", "local without global").Hint = "add global"
		case len(st.global) > 0 && len(st.local) != len(st.global):
			r.add(l, path+".local", "%d dimensions, and global has %d", len(st.local), len(st.global))
		}
	}
	st.argsAt = n
	if a := f["args"]; a != nil {
		st.argsAt = a
		r.readArgs(st, a, path+".args", s)
	}
	r.state(st)
	r.readPlacing(st, f, path)
	if n := f["repeat"]; n != nil {
		st.repeat = r.formula(n, path+".repeat", s)
	}
	if a := f["after"]; a != nil {
		names, nodes := r.textList(a, path+".after")
		for i, name := range names {
			st.after = append(st.after, after{at: nodes[i], path: fmt.Sprintf("%s.after[%d]", path, i), name: name})
		}
	}
	if t := f["together"]; t != nil {
		r.readTogether(st, t, path+".together")
	}
	st.fixed = true
	for _, f := range slices.Concat(st.global, st.local) {
		st.fixed = st.fixed && f.fixed
	}
	for _, a := range st.args {
		st.fixed = st.fixed && a.fixed()
		st.failed = st.failed || (a.buf != nil && a.buf.broken)
	}
	st.failed = st.failed || len(r.list)+r.more > before
	return st
}

func (r *reader) readID(st *step, n *node, path string) {
	id, ok := r.textOf(n, path)
	if !ok || !r.name(n, path, "a step") {
		return
	}
	if other := r.byID[id]; other != nil {
		r.add(n, path, "there are two steps %q (first on line %d)", clip(id), other.at.get("id").line)
		return
	}
	st.id, st.name = id, id
	r.byID[id] = st
}

// readSizes reads global or local; a single number is one dimension.
func (r *reader) readSizes(n *node, path string, s *scope) []*formula {
	switch {
	case n == nil:
		return nil
	case n.kind != kindList:
		if f := r.formula(n, path, s); f != nil {
			return []*formula{f}
		}
		return nil
	case len(n.items) < 1 || len(n.items) > 3:
		r.add(n, path, "want one to three sizes, got %d", len(n.items))
		return nil
	}
	var sizes []*formula
	for i, item := range n.items {
		if f := r.formula(item, fmt.Sprintf("%s[%d]", path, i), s); f != nil {
			sizes = append(sizes, f)
		}
	}
	if len(sizes) < len(n.items) {
		return nil
	}
	return sizes
}

// readPlacing reads split and device.
func (r *reader) readPlacing(st *step, f map[string]*node, path string) {
	if n := f["device"]; n != nil {
		st.devAt = n
		switch n.kind {
		case kindInt:
			if i, ok := n.number.whole(); !ok || i < 0 || i > math.MaxInt32 {
				r.add(n, path+".device", "want a position in the device list, from 0; got %s", n.what())
			} else {
				st.device = int(i)
			}
		default:
			s, ok := r.textOf(n, path+".device")
			if !ok {
				break
			}
			if _, err := tandem.ParseSelector(s); err != nil {
				r.add(n, path+".device", "%v", err).Err = err
			}
			st.on = s
		}
	}
	n := f["split"]
	switch {
	case n == nil || (n.kind == kindText && n.text == "auto"):
	case n.kind == kindText && n.text == "none":
		st.never = true
	case n.kind != kindList || len(n.items) == 0:
		fault := r.add(n, path+".split", "want auto, none, or a list of shares; got %s", n.what())
		if n.kind == kindText {
			fault.Hint = near(n.text, []string{"auto", "none"})
		}
	default:
		r.readShares(st, n, path+".split")
	}
}

// sharesTolerance is how far shares may be from adding up to 1: three times
// 0.33 is meant as thirds.
const sharesTolerance = 0.0101

func (r *reader) readShares(st *step, n *node, path string) {
	sum, ok := 0.0, true
	for i, item := range n.items {
		at := fmt.Sprintf("%s[%d]", path, i)
		v, good := r.number(item, at)
		if good && !(v.real() >= 0 && v.real() <= 1) {
			r.add(item, at, "a share is from 0 to 1, got %v", v)
			good = false
		}
		ok = ok && good
		st.shares = append(st.shares, v.real())
		sum += v.real()
	}
	if !ok {
		return
	}
	if math.Abs(sum-1) > sharesTolerance {
		r.add(n, path, "the shares add up to %.4g, not 1", sum)
		return
	}
	for i := range st.shares {
		st.shares[i] /= sum
	}
}

// nameSteps names the steps that have no id after their kernels.
func (r *reader) nameSteps() {
	taken := map[string]bool{}
	for id := range r.byID {
		taken[id] = true
	}
	next := map[string]int{} // the number to try, so that many steps of one kernel cost little
	for _, st := range r.p.steps {
		if st.name != "" || st.kernel == nil {
			continue
		}
		base := st.kernel.Name
		name, n := base, max(next[base], 1)
		for taken[name] {
			n++
			name = fmt.Sprintf("%s#%d", base, n)
		}
		st.name, taken[name], next[base] = name, true, n
	}
}

// resolveAfter finds the steps that others wait for.
func (r *reader) resolveAfter() {
	var ids []string
	for _, st := range r.p.steps {
		if st.id != "" {
			ids = append(ids, st.id)
		}
	}
	for _, st := range r.p.steps {
		for i := range st.after {
			a := &st.after[i]
			a.target = r.byID[a.name]
			if a.target != nil {
				continue
			}
			who := "the step"
			if st.name != "" {
				who = fmt.Sprintf("step %q", st.name)
			}
			f := r.add(a.at, a.path, "%s waits for %q, and there is no step of that id", who, clip(a.name))
			f.Hint = near(a.name, ids)
			if strings.Contains(a.name, "[") {
				f.Hint = "name the step without its loop variables: the same iteration is meant"
			}
		}
	}
}

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// asked is what the file says about the step's devices.
func (st *step) asked() string {
	if st.device >= 0 {
		return fmt.Sprintf("#%d", st.device)
	}
	return st.on
}
