package clc

import (
	"github.com/tandemrun/tandem/kernels"
)

// maxSteps bounds the work of one analysis; beyond it nothing is known.
const maxSteps = 200_000

// machine interprets a kernel for one call, or (static) for every call: then
// the arguments are not known yet and each dimension has two work-items, which
// is enough to see what can never be known.
type machine struct {
	u       *unit
	static  bool
	dims    int64
	size    [3]int64
	offset  [3]int64
	local   [3]int64 // 0: not known
	steps   int
	params  []usage // of the kernel
	noSplit *kernels.Reason
}

// usage is what a kernel does with one array.
type usage struct {
	accesses []access
	reads    bool
	writes   bool
	lost     [2]*kernels.Reason // why the elements read, and those written, are not known
}

// access is one place that touches an array.
type access struct {
	f     value // first byte
	bytes int64
	write bool
	box   box
	where *context // nil: every work-item does it once
	top   bool     // in the kernel itself
	plain bool     // p[i] = x, a whole element
	at    kernels.Pos
}

// frame is a function being interpreted with given arguments.
type frame struct {
	m      *machine
	fn     *function
	depth  int
	start  box
	ints   map[*variable]value
	ptrs   map[*variable]pointer
	vars   map[*variable]*value // nil value: being computed
	pvars  map[*variable]*pointer
	loops  map[*loop]*value
	boxes  map[*context]box
	frames map[site]*frame
}

// site is a call where it stands.
type site struct {
	e *expr
	c *context
}

func (m *machine) frame(fn *function, start box, depth int) *frame {
	return &frame{m: m, fn: fn, depth: depth, start: start,
		ints: map[*variable]value{}, ptrs: map[*variable]pointer{}, vars: map[*variable]*value{}, pvars: map[*variable]*pointer{},
		loops: map[*loop]*value{}, boxes: map[*context]box{}, frames: map[site]*frame{}}
}

// over counts a step and reports whether there were too many.
func (m *machine) over() bool {
	m.steps++
	return m.steps > maxSteps
}

// interpret runs a kernel. args are its integer parameters, by position.
func (m *machine) interpret(fn *function, args []value) {
	m.params = make([]usage, len(fn.params))
	var start box
	for d := range 3 {
		start[d] = span{m.offset[d], m.offset[d] + m.size[d] - 1}
	}
	fr := m.frame(fn, start, 0)
	for i, v := range fn.params {
		switch {
		case v.typ.kind == kindPointer && bufferSpace(v.typ.elem):
			fr.ptrs[v] = pointer{kind: toParam, param: i, off: constant(0, intType{64, true}), elem: v.typ.elem}
		case v.typ.kind == kindPointer:
			fr.ptrs[v] = pointer{kind: toOther, elem: v.typ.elem}
		default:
			if t, ok := v.typ.integer(); ok {
				args[i].t = t
				fr.ints[v] = args[i]
			}
		}
	}
	fr.scan(fn.body)
	if m.steps > maxSteps {
		for i := range m.params {
			r := &kernels.Reason{Pos: fn.pos, Text: "the kernel is too large to follow"}
			m.params[i] = usage{reads: true, writes: true, lost: [2]*kernels.Reason{r, r}}
		}
	}
}

func bufferSpace(t *ctype) bool { return t.space == spaceGlobal || t.space == spaceConstant }

// scan looks at every expression of a statement.
func (fr *frame) scan(s *stmt) {
	if s == nil || fr.m.over() {
		return
	}
	switch s.kind {
	case stmtDeclare:
		for i, v := range s.vars {
			if x := s.vals[i]; x != nil {
				fr.touch(x, s.ctx, !fr.tracked(v))
			}
		}
	case stmtFor:
		fr.scan(s.init)
		if s.x != nil {
			fr.touch(s.x, s.ctx, false)
		}
		if s.post != nil {
			fr.touch(s.post, s.ctx, false)
		}
	case stmtReturn:
		if s.x != nil {
			fr.touch(s.x, s.ctx, false)
		}
	default:
		if s.x != nil {
			fr.touch(s.x, s.ctx, false)
		}
	}
	for _, c := range s.list {
		fr.scan(c)
	}
}

// tracked reports whether what is assigned to a pointer variable is followed.
func (fr *frame) tracked(v *variable) bool {
	return v.typ.kind == kindPointer && !v.pointed && !v.global
}

// box bounds the global ids where the context holds.
func (fr *frame) box(c *context) box {
	if c == nil {
		return fr.start
	}
	if b, ok := fr.boxes[c]; ok {
		return b
	}
	fr.boxes[c] = fr.start // a condition that asks for itself learns nothing
	b := fr.box(c.up)
	if c.cond != nil && !fr.m.static {
		b = fr.clip(b, c.cond, c.not, c.up, 0)
	}
	fr.boxes[c] = b
	return b
}

// clip narrows b to where e holds, or does not.
func (fr *frame) clip(b box, e *expr, not bool, c *context, depth int) box {
	if fr.m.over() || depth > maxParse {
		return b
	}
	switch {
	case e.op == opUnary && e.text == "!":
		return fr.clip(b, e.x, !not, c, depth+1)
	case e.op == opBinary && e.text == "&&" && !not, e.op == opBinary && e.text == "||" && not:
		return fr.clip(fr.clip(b, e.x, not, c, depth+1), e.y, not, c, depth+1)
	case e.op != opBinary:
		return b
	}
	op := e.text
	if not {
		op = map[string]string{"<": ">=", ">=": "<", ">": "<=", "<=": ">", "==": "!=", "!=": "=="}[op]
	}
	if precedence[op] != 6 && precedence[op] != 7 {
		return b
	}
	l, r, ok := fr.comparable(fr.value(e.x, c), fr.value(e.y, c), b)
	if !ok {
		return b
	}
	diff, ok := l.f.plus(r.f, -1)
	d := -1
	for i, k := range diff.c {
		if k == 0 {
			continue
		}
		if d >= 0 || i >= termGroup {
			return b
		}
		d = i
	}
	if !ok || d < 0 {
		return b
	}
	k := diff.c[d]
	below := func(limit int64) { // k·id ≤ limit
		if k > 0 {
			b[d].hi = min(b[d].hi, floorDiv(limit, k))
		} else {
			b[d].lo = max(b[d].lo, -floorDiv(limit, -k))
		}
	}
	above := func(limit int64) { // k·id ≥ limit
		if k > 0 {
			b[d].lo = max(b[d].lo, -floorDiv(-limit, k))
		} else {
			b[d].hi = min(b[d].hi, floorDiv(-limit, -k))
		}
	}
	// diff = k·id + something in [lo, hi] stands in the relation op to 0.
	switch op {
	case "<":
		below(-diff.lo - 1)
	case "<=":
		below(-diff.lo)
	case ">":
		above(-diff.hi + 1)
	case ">=":
		above(-diff.hi)
	case "==":
		below(-diff.lo)
		above(-diff.hi)
	case "!=":
		if diff.lo == diff.hi && diff.lo%k == 0 {
			switch -diff.lo / k {
			case b[d].lo:
				b[d].lo++
			case b[d].hi:
				b[d].hi--
			}
		}
	}
	return b
}

// comparable brings two values to their common type as numbers.
func (fr *frame) comparable(l, r value, b box) (value, value, bool) {
	if l.is != known || r.is != known {
		return l, r, false
	}
	t := common(l.t, r.t)
	l, r = fr.m.inRange(l, b), fr.m.inRange(r, b)
	l, r = fr.m.inRange(fr.m.convert(l, t, b), b), fr.m.inRange(fr.m.convert(r, t, b), b)
	return l, r, l.is == known && r.is == known
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b != 0 && (a < 0) != (b < 0) {
		q--
	}
	return q
}
