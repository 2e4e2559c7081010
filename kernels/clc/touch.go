package clc

import (
	"fmt"

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
