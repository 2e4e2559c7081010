package clc

import (
	"fmt"
	"strings"

	"github.com/tandemrun/tandem/kernels"
)

// lose notes that any element of the array that p leads to may be read and,
// unless p points to const, written.
func (fr *frame) lose(p pointer, at kernels.Pos, format string, a ...any) {
	if p.kind != toParam {
		return
	}
	u := &fr.m.params[p.param]
	r := &kernels.Reason{Pos: at, Text: fmt.Sprintf(format, a...)}
	fr.lost(u, false, r)
	if p.elem == nil || !p.elem.isConst {
		fr.lost(u, true, r)
	}
}

func (fr *frame) lost(u *usage, write bool, r *kernels.Reason) {
	i := 0
	if write {
		i, u.writes = 1, true
	} else {
		u.reads = true
	}
	if u.lost[i] == nil {
		u.lost[i] = r
	}
}

// mode is what an expression does with the object it names.
type mode uint8

const (
	reading mode = 1 << iota
	writing
	whole // assigned as a whole
)

// record notes an access of size bytes at p.
func (fr *frame) record(p pointer, size int64, how mode, e *expr, c *context) {
	if p.kind != toParam {
		return
	}
	u := &fr.m.params[p.param]
	u.reads = u.reads || how&reading != 0
	u.writes = u.writes || how&writing != 0
	b := fr.box(c)
	if b.empty() && !fr.m.static {
		return
	}
	if p.off.is == unknown || size <= 0 {
		r := &kernels.Reason{Pos: e.pos, Text: "the index is not an affine function of the global ids"}
		if how&reading != 0 {
			fr.lost(u, false, r)
		}
		if how&writing != 0 {
			fr.lost(u, true, r)
		}
		return
	}
	a := access{f: p.off, bytes: size, box: b, where: c, top: fr.depth == 0, at: e.pos}
	if how&reading != 0 {
		u.accesses = append(u.accesses, a)
	}
	if how&writing != 0 {
		a.write, a.plain = true, how == writing|whole
		u.accesses = append(u.accesses, a)
	}
}

func (fr *frame) recordElem(p pointer, how mode, e *expr, c *context) {
	size := int64(0)
	if p.elem != nil {
		size, _ = p.elem.size()
	}
	fr.record(p, size, how, e, c)
}

// access notes what happens to the object that e names.
func (fr *frame) access(e *expr, c *context, how mode) {
	if fr.m.over() {
		return
	}
	switch {
	case e.op == opMember:
		fr.access(e.x, c, how&^whole)
		return
	case e.op == opIndex:
		if p, ok := fr.element(e, c); ok {
			fr.touch(e.x, c, false)
			fr.touch(e.y, c, false)
			fr.recordElem(p, how, e, c)
			return
		}
		fr.access(e.x, c, how&^whole)
		fr.touch(e.y, c, false)
		return
	case e.op == opArrow || e.op == opUnary && e.text == "*":
		fr.touch(e.x, c, false)
		if p, ok := fr.pointer(e.x, c); ok {
			if e.op == opArrow {
				how &^= whole
			}
			fr.recordElem(p, how, e, c)
		}
		return
	case e.op == opName:
		return
	}
	fr.touch(e, c, true)
}

// touch looks for accesses in an expression that is evaluated. escapes is set
// where the value goes somewhere a pointer is not followed to.
func (fr *frame) touch(e *expr, c *context, escapes bool) {
	if e == nil || fr.m.over() {
		return
	}
	switch e.op {
	case opNumber, opString, opSize:
	case opName:
		if escapes {
			fr.escape(e, c)
		}
	case opIndex, opMember, opArrow:
		if _, ok := fr.pointer(e, c); ok {
			fr.inner(e, c)
			if escapes {
				fr.escape(e, c)
			}
			return
		}
		fr.access(e, c, reading)
	case opUnary:
		switch e.text {
		case "&":
			fr.inner(e.x, c)
			if e.x.op == opName && e.x.v != nil && e.x.v.typ.kind == kindPointer {
				if p, ok := fr.ptrs[e.x.v]; ok {
					fr.lose(p, e.pos, "the address of the pointer is taken")
				}
			}
			if escapes {
				fr.escape(e, c)
			}
		case "*":
			if _, ok := fr.pointer(e, c); ok {
				fr.touch(e.x, c, escapes)
				return
			}
			fr.access(e, c, reading)
		default:
			fr.touch(e.x, c, false)
		}
	case opUpdate:
		fr.access(e.x, c, reading|writing)
	case opAssign:
		fr.assign(e, c)
		if escapes {
			fr.escape(e, c)
		}
	case opBinary:
		second := c
		if e.onTrue != nil {
			second = e.onTrue
		} else if e.onFalse != nil {
			second = e.onFalse
		}
		sum := escapes && (e.text == "+" || e.text == "-")
		fr.touch(e.x, c, sum)
		fr.touch(e.y, second, sum)
	case opChoose:
		fr.touch(e.x, c, false)
		fr.touch(e.y, e.onTrue, escapes)
		fr.touch(e.z, e.onFalse, escapes)
	case opComma:
		fr.touch(e.x, c, false)
		fr.touch(e.y, c, escapes)
	case opCast:
		isPointer := e.typ.kind == kindPointer
		fr.touch(e.x, c, escapes || !isPointer)
		if isPointer && bufferSpace(e.typ.elem) {
			if p, ok := fr.pointer(e, c); ok && p.kind == toUnknown {
				if _, fromPointer := fr.pointer(e.x, c); !fromPointer {
					fr.m.refuse(e.pos, "it makes a pointer to global memory out of a number")
				}
			}
		}
	case opVector, opList:
		for _, a := range e.args {
			fr.touch(a, c, true)
		}
	case opCall:
		fr.call(e, c)
	}
}

// inner touches what is evaluated to find the object that e names, not the
// object.
func (fr *frame) inner(e *expr, c *context) {
	switch {
	case e.op == opIndex:
		if _, ok := fr.pointer(e.x, c); ok {
			fr.touch(e.x, c, false)
		} else {
			fr.inner(e.x, c)
		}
		fr.touch(e.y, c, false)
	case e.op == opMember:
		fr.inner(e.x, c)
	case e.op == opArrow || e.op == opUnary && e.text == "*":
		fr.touch(e.x, c, false)
	case e.op == opName:
	default:
		fr.touch(e, c, true)
	}
}

func (fr *frame) escape(e *expr, c *context) {
	if p, ok := fr.pointer(e, c); ok {
		fr.lose(p, e.pos, "a pointer to it is stored or passed where it is not followed")
	}
}

func (fr *frame) assign(e *expr, c *context) {
	if e.x.op == opName && e.x.v != nil {
		fr.touch(e.y, c, !fr.tracked(e.x.v))
		return
	}
	how := writing | whole
	if e.text != "=" {
		how = reading | writing
	}
	fr.touch(e.y, c, true)
	fr.access(e.x, c, how)
}

// refuse notes the first reason why a launch must not be divided.
func (m *machine) refuse(at kernels.Pos, text string) {
	if m.noSplit == nil {
		m.noSplit = &kernels.Reason{Pos: at, Text: text}
	}
}

// maxInline bounds how deeply calls are followed.
const maxInline = 16

// callee is the frame of a called function, nil if it cannot be followed.
func (fr *frame) callee(e *expr, c *context) *frame {
	fn := fr.m.u.funcs[e.text]
	if fn == nil || fn.body == nil || fn.opaque != "" || len(fn.params) != len(e.args) || fr.depth >= maxInline || fr.m.over() {
		return nil
	}
	at := site{e, c}
	if in, ok := fr.frames[at]; ok {
		return in
	}
	in := fr.m.frame(fn, fr.box(c), fr.depth+1)
	fr.frames[at] = in
	for i, v := range fn.params {
		if v.typ.kind == kindPointer {
			p, ok := fr.pointer(e.args[i], c)
			if !ok {
				p = pointer{}
			}
			p.elem = v.typ.elem
			in.ptrs[v] = p
			continue
		}
		if t, ok := v.typ.integer(); ok {
			in.ints[v] = fr.m.convert(fr.value(e.args[i], c), t, fr.box(c))
		}
	}
	return in
}

// call notes what a call does: that of the function's body, or what the
// language says of a built-in one.
func (fr *frame) call(e *expr, c *context) {
	m := fr.m
	if fn := m.u.funcs[e.text]; fn != nil {
		in := fr.callee(e, c)
		for i, a := range e.args {
			followed := in != nil && fn.params[i].typ.kind == kindPointer && !fn.params[i].pointed
			fr.touch(a, c, !followed)
		}
		if in != nil {
			in.scan(fn.body)
		} else if fn.body != nil {
			m.refuse(e.pos, fmt.Sprintf("its call of %s cannot be followed", e.text))
		}
		return
	}
	for i, a := range e.args {
		if how, items := pointerArgument(e.text, i, len(e.args)); how != 0 || items != 0 {
			fr.builtinPointer(e, i, how, items, c)
			continue
		}
		fr.touch(a, c, true)
	}
}

// Special sizes of what a built-in function touches through a pointer.
const (
	itemsNone    = -1 // nothing
	itemsCopy    = -2 // as many elements as argument 2 says
	itemsUnknown = -3
)

// pointerArgument is what the built-in function does through argument i of n:
// how, and how many elements of the pointer's type. Zero for an argument that
// is no pointer, or of a function that is not known.
func pointerArgument(name string, i, n int) (how mode, items int64) {
	lanes := func(prefix string) int64 {
		rest, ok := strings.CutPrefix(name, prefix)
		if !ok {
			return 0
		}
		for _, round := range []string{"_rte", "_rtz", "_rtp", "_rtn"} {
			rest = strings.TrimSuffix(rest, round)
		}
		switch rest {
		case "":
			return 1
		case "2", "3", "4", "8", "16":
			k, _, _ := parseInteger(rest)
			return k
		}
		return 0
	}
	for _, prefix := range []string{"vload_half", "vloada_half", "vload"} {
		if k := lanes(prefix); k > 0 && i == 1 && n == 2 && name != "vload" {
			return reading, k
		}
	}
	for _, prefix := range []string{"vstore_half", "vstorea_half", "vstore"} {
		if k := lanes(prefix); k > 0 && i == 2 && n == 3 && name != "vstore" {
			return writing, k
		}
	}
	switch {
	case strings.HasPrefix(name, "atomic_") || strings.HasPrefix(name, "atom_"):
		if i == 0 {
			return reading | writing, 1
		}
		if strings.Contains(name, "compare_exchange") && i == 1 {
			return reading | writing, 1
		}
	case strings.HasPrefix(name, "async_work_group_strided_copy") && i < 2:
		return []mode{writing, reading}[i], itemsUnknown
	case strings.HasPrefix(name, "async_work_group_copy") && i < 2:
		return []mode{writing, reading}[i], itemsCopy
	case name == "prefetch" && i == 0, name == "printf", name == "wait_group_events":
		return 0, itemsNone
	case i == n-1 && n >= 2:
		switch name {
		case "fract", "modf", "sincos", "frexp", "lgamma_r", "remquo":
			return writing, 1
		}
	}
	return 0, 0
}

func (fr *frame) builtinPointer(e *expr, i int, how mode, items int64, c *context) {
	a := e.args[i]
	p, ok := fr.pointer(a, c)
	if !ok {
		if how == 0 {
			fr.touch(a, c, false)
		} else {
			fr.access(a, c, how)
		}
		return
	}
	fr.touch(a, c, false)
	if items == itemsNone {
		return
	}
	atomic := strings.HasPrefix(e.text, "atom")
	if atomic && (p.kind == toParam || p.kind == toUnknown) {
		fr.m.refuse(e.pos, fmt.Sprintf("it uses %s on global memory", e.text))
	}
	size, known := int64(0), false
	if p.elem != nil {
		size, known = p.elem.size()
	}
	if !known || items == itemsUnknown || items == itemsCopy && len(e.args) < 3 {
		fr.record(p, 0, how, e, c)
		return
	}
	switch {
	case items == itemsCopy:
		n := fr.m.flat(fr.m.inRange(fr.value(e.args[2], c), fr.box(c)), fr.box(c))
		switch {
		case n.is == later:
			p.off = value{is: later, t: offsetT}
			n = constant(1, offsetT)
		case n.is == unknown || n.f.hi > 1<<40/max(size, 1):
			fr.record(p, 0, how, e, c)
			return
		}
		if n.f.hi > 0 {
			fr.record(p, n.f.hi*size, how, e, c)
		}
		return
	case strings.HasPrefix(e.text, "vload"), strings.HasPrefix(e.text, "vstore"):
		at := 0 // vloadN(offset, p)
		if e.text[1] == 's' {
			at = 1 // vstoreN(data, offset, p)
		}
		stride := items
		if items == 3 && strings.HasPrefix(e.text[1:], "loada") || items == 3 && strings.HasPrefix(e.text[1:], "storea") {
			stride = 4
		}
		n := fr.value(e.args[at], c)
		p = fr.moved(p, fr.arith("*", fr.m.convert(n, offsetT, fr.box(c)), constant(stride, offsetT), c), c, 1)
	}
	fr.record(p, items*size, how, e, c)
}
