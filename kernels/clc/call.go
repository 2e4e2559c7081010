package clc

import (
	"fmt"
	"strings"
)

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
