package clc

// pointerKind says where a pointer leads.
type pointerKind uint8

const (
	toUnknown pointerKind = iota // any array that was let out of sight (usage.lost)
	toParam                      // an array of the kernel
	toOther                      // local or private memory
	toItself                     // the variable being looked at
)

// pointer is what is known of a pointer.
type pointer struct {
	kind  pointerKind
	param int
	off   value  // bytes from the array's beginning
	elem  *ctype // what it points to
}

var offsetT = intType{64, true}

// moved is p plus or minus n elements.
func (fr *frame) moved(p pointer, n value, c *context, sign int64) pointer {
	if p.kind != toParam {
		return p
	}
	size, ok := int64(0), false
	if p.elem != nil {
		size, ok = p.elem.size()
	}
	n = fr.m.convert(n, offsetT, fr.box(c))
	if !ok || n.is == unknown || p.off.is == unknown {
		p.off = value{t: offsetT}
		return p
	}
	if n.is == later || p.off.is == later {
		p.off = value{is: later, t: offsetT}
		return p
	}
	f, ok := n.f.times(size * sign)
	if ok {
		f, ok = p.off.f.plus(f, 1)
	}
	if ok {
		f, ok = fr.m.tidy(f)
	}
	if !ok {
		p.off = value{t: offsetT}
		return p
	}
	p.off = value{is: known, f: f, t: offsetT}
	return p
}

// pointer follows a pointer expression; ok is false for everything that is
// not seen to be a pointer.
func (fr *frame) pointer(e *expr, c *context) (p pointer, ok bool) {
	if fr.m.over() {
		return pointer{}, false
	}
	switch e.op {
	case opName:
		if e.v != nil {
			return fr.pointerVariable(e.v)
		}
	case opBinary:
		if e.text != "+" && e.text != "-" {
			return p, false
		}
		sign := int64(1)
		if e.text == "-" {
			sign = -1
		}
		if p, ok = fr.pointer(e.x, c); ok {
			if _, both := fr.pointer(e.y, c); both {
				return pointer{}, false
			}
			return fr.moved(p, fr.value(e.y, c), c, sign), true
		}
		if p, ok = fr.pointer(e.y, c); ok && sign > 0 {
			return fr.moved(p, fr.value(e.x, c), c, 1), true
		}
		return pointer{}, false
	case opUnary:
		switch e.text {
		case "&":
			return fr.address(e.x, c), true
		case "*":
			if p, ok = fr.pointer(e.x, c); ok {
				return decayed(p)
			}
		}
	case opIndex:
		if p, ok = fr.element(e, c); ok {
			return decayed(p)
		}
	case opCast:
		if e.typ.kind != kindPointer {
			return p, false
		}
		if p, ok = fr.pointer(e.x, c); !ok {
			p = pointer{kind: toUnknown}
			if n, isNumber := fr.value(e.x, c).exact(); isNumber && n == 0 {
				p.kind = toOther // a null pointer
			}
		}
		p.elem = e.typ.elem
		return p, true
	case opComma:
		return fr.pointer(e.y, c)
	case opAssign:
		if e.text == "=" {
			return fr.pointer(e.y, c)
		}
		if p, ok = fr.pointer(e.x, c); ok {
			p.off = value{t: offsetT}
		}
		return p, ok
	case opUpdate:
		if p, ok = fr.pointer(e.x, c); ok {
			p.off = value{t: offsetT}
		}
		return p, ok
	case opChoose:
		y, ok1 := fr.pointer(e.y, e.onTrue)
		z, ok2 := fr.pointer(e.z, e.onFalse)
		switch {
		case ok1 && ok2:
			return fr.joined(y, z), true
		case ok1:
			return y, true
		}
		return z, ok2
	case opCall:
		fn := fr.m.u.funcs[e.text]
		if fn == nil || fn.ret == nil || fn.ret.kind != kindPointer {
			return p, false
		}
		in := fr.callee(e, c)
		if in == nil {
			return pointer{elem: fn.ret.elem}, true
		}
		for i, r := range fn.returns {
			if r.x == nil {
				continue
			}
			q, isPointer := in.pointer(r.x, r.ctx)
			if !isPointer {
				q = pointer{}
			}
			if i > 0 {
				q = fr.joined(p, q)
			}
			p = q
		}
		p.elem = fn.ret.elem
		return p, true
	}
	return p, false
}

// decayed is the value of an array or pointer that p points to.
func decayed(p pointer) (pointer, bool) {
	if p.elem == nil {
		return pointer{}, false
	}
	switch p.elem.kind {
	case kindArray: // its first element
		p.elem = p.elem.elem
		return p, true
	case kindPointer: // read from memory, where pointers are not followed
		return pointer{kind: toUnknown, elem: p.elem.elem}, true
	}
	return pointer{}, false
}

// element is the address of e, which is x[y].
func (fr *frame) element(e *expr, c *context) (pointer, bool) {
	x, y := e.x, e.y
	p, ok := fr.pointer(x, c)
	if !ok {
		x, y = y, x
		if p, ok = fr.pointer(x, c); !ok {
			return p, false
		}
	}
	return fr.moved(p, fr.value(y, c), c, 1), true
}

// address is where the object lies that e names.
func (fr *frame) address(e *expr, c *context) pointer {
	switch {
	case e.op == opIndex:
		if p, ok := fr.element(e, c); ok {
			return p
		}
		p := fr.address(e.x, c)
		p.elem, p.off = nil, value{t: offsetT}
		return p
	case e.op == opUnary && e.text == "*":
		if p, ok := fr.pointer(e.x, c); ok {
			return p
		}
	case e.op == opMember:
		p := fr.address(e.x, c)
		p.elem, p.off = nil, value{t: offsetT}
		return p
	case e.op == opArrow:
		if p, ok := fr.pointer(e.x, c); ok {
			p.elem, p.off = nil, value{t: offsetT}
			return p
		}
	case e.op == opName && e.v != nil:
		return pointer{kind: toOther, elem: e.v.typ}
	case e.op == opVector:
		return pointer{kind: toOther, elem: e.typ}
	}
	return pointer{}
}

// pointerVariable follows a variable that is a pointer or an array.
func (fr *frame) pointerVariable(v *variable) (pointer, bool) {
	switch v.typ.kind {
	case kindArray:
		return pointer{kind: toOther, elem: v.typ.elem}, true
	case kindPointer:
	default:
		return pointer{}, false
	}
	none := pointer{kind: toUnknown, elem: v.typ.elem}
	if v.pointed || v.global {
		if p, ok := fr.ptrs[v]; ok && p.kind == toOther {
			return p, true
		}
		return none, true
	}
	if have, ok := fr.pvars[v]; ok {
		if have == nil {
			return pointer{kind: toItself, elem: v.typ.elem}, true
		}
		return *have, true
	}
	fr.pvars[v] = nil
	p, first := none, true
	add := func(q pointer) {
		if first {
			p, first = q, false
		} else {
			p = fr.joined(p, q)
		}
	}
	if q, ok := fr.ptrs[v]; ok {
		add(q)
	}
	for _, s := range v.sets {
		if s.x == nil { // p++, p += n: somewhere in the same array
			add(pointer{kind: toItself})
			continue
		}
		q, ok := fr.pointer(s.x, s.ctx)
		if !ok {
			q = none
			if n, isNumber := fr.value(s.x, s.ctx).exact(); isNumber && n == 0 {
				q.kind = toOther
			}
		}
		add(q)
	}
	if p.kind == toItself {
		p = none
	}
	p.elem = v.typ.elem
	fr.pvars[v] = &p
	return p, true
}

// joined covers two pointers.
func (fr *frame) joined(p, q pointer) pointer {
	if p.kind == toItself {
		p, q = q, p
	}
	switch {
	case q.kind == toItself:
		p.off = value{t: offsetT}
		return p
	case p.kind == toOther && (q.kind == toOther || q.kind == toParam):
		return q
	case q.kind == toOther && p.kind == toParam:
		return p
	case p.kind == toParam && q.kind == toParam && p.param == q.param:
		if p.off != q.off {
			p.off = value{t: offsetT}
		}
		return p
	}
	fr.lose(p, fr.fn.pos, "pointers to it and to another array meet in one variable")
	fr.lose(q, fr.fn.pos, "pointers to it and to another array meet in one variable")
	return pointer{kind: toUnknown, elem: p.elem}
}
