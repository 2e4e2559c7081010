package clc

// value is what is known of an integer expression.
func (fr *frame) value(e *expr, c *context) value {
	m := fr.m
	none := value{t: intType{32, true}}
	if m.over() {
		return none
	}
	switch e.op {
	case opNumber:
		if e.text[0] == '\'' {
			if n, ok := parseChar(e.text); ok {
				return constant(n, intType{32, true})
			}
			return none
		}
		if n, t, ok := parseInteger(e.text); ok && (n >= 0 || t.signed) {
			return constant(n, t)
		}
	case opName:
		if e.v != nil {
			return fr.variable(e.v, c)
		}
		if n, ok := m.u.enums[e.text]; ok {
			return constant(n, intType{32, true})
		}
	case opSize:
		if n, ok := m.u.fold(e); ok {
			return constant(n, sizeT)
		}
	case opCast:
		if t, ok := e.typ.integer(); ok {
			return m.convert(fr.value(e.x, c), t, fr.box(c))
		}
	case opComma:
		return fr.value(e.y, c)
	case opAssign:
		if e.text == "=" && e.x.op == opName && e.x.v != nil {
			if t, ok := e.x.v.typ.integer(); ok {
				return m.convert(fr.value(e.y, c), t, fr.box(c))
			}
		}
	case opUnary:
		switch e.text {
		case "+":
			v := fr.value(e.x, c)
			return m.convert(v, v.t.promoted(), fr.box(c))
		case "-":
			v := fr.value(e.x, c)
			return fr.arith("-", constant(0, v.t), v, c)
		case "!":
			return interval(0, 1, intType{32, true})
		}
	case opChoose:
		y, z := fr.value(e.y, e.onTrue), fr.value(e.z, e.onFalse)
		t := common(y.t, z.t)
		a, b := fr.box(e.onTrue), fr.box(e.onFalse)
		return m.join(m.convert(y, t, a), a, m.convert(z, t, b), b)
	case opBinary:
		switch e.text {
		case "&&", "||", "<", ">", "<=", ">=", "==", "!=":
			return interval(0, 1, intType{32, true})
		case "<<", ">>":
			return fr.shift(e.text, fr.value(e.x, c), fr.value(e.y, c), c)
		}
		return fr.arith(e.text, fr.value(e.x, c), fr.value(e.y, c), c)
	case opCall:
		return fr.callValue(e, c)
	}
	return none
}

// union covers several values, each taken while the ids are in a box.
type union struct {
	any bool
	v   value
	b   box // covers the boxes
}

func (u *union) add(m *machine, v value, b box) {
	if !u.any {
		*u = union{true, v, b}
		return
	}
	u.v = m.join(u.v, u.b, v, b)
	for d := range u.b {
		u.b[d].lo, u.b[d].hi = min(u.b[d].lo, b[d].lo), max(u.b[d].hi, b[d].hi)
	}
}

// variable is what is known of a variable where the context holds.
func (fr *frame) variable(v *variable, c *context) value {
	t, ok := v.typ.integer()
	none := value{t: t}
	if !ok || v.pointed {
		return value{t: intType{32, true}}
	}
	for ; c != nil; c = c.up {
		if c.loop != nil && c.loop.v == v && c.loop.valid {
			return fr.loopValue(c.loop, t)
		}
	}
	if have, ok := fr.vars[v]; ok {
		if have == nil {
			return none
		}
		return *have
	}
	fr.vars[v] = nil
	var all union
	add := func(w value, b box) { all.add(fr.m, w, b) }
	if w, ok := fr.ints[v]; ok {
		add(w, fr.start)
	}
	for _, s := range v.sets {
		if s.x == nil {
			add(none, fr.start)
			continue
		}
		b := fr.box(s.ctx)
		add(fr.m.convert(fr.value(s.x, s.ctx), t, b), b)
	}
	res := none
	if all.any {
		res = all.v
	}
	fr.vars[v] = &res
	return res
}

// loopValue is what is known of a loop's variable in the loop's body.
func (fr *frame) loopValue(l *loop, t intType) value {
	if have, ok := fr.loops[l]; ok {
		if have == nil {
			return value{t: t}
		}
		return *have
	}
	fr.loops[l] = nil
	res := fr.bounds(l, t)
	fr.loops[l] = &res
	return res
}

func (fr *frame) bounds(l *loop, t intType) value {
	m, b := fr.m, fr.box(l.outer)
	none := value{t: t}
	init := m.convert(fr.value(l.init, l.outer), t, b)
	bound := fr.value(l.bound, l.outer)
	step := constant(1, t)
	if l.step != nil {
		step = fr.value(l.step, l.outer)
	}
	if init.is == unknown || bound.is == unknown || step.is == unknown {
		return none
	}
	if init.is == later || bound.is == later || step.is == later {
		return value{is: later, t: t}
	}
	if b.empty() {
		return interval(0, 0, t)
	}
	ct := common(t, bound.t)
	init = m.inRange(init, b)
	as, bound, ok := fr.comparable(init, bound, b)
	step = m.flat(m.inRange(step, b), b)
	if step.is == later || !ok && m.static {
		return value{is: later, t: t}
	}
	if !ok || as.is != known || step.is != known || step.f.lo < 0 {
		return none
	}
	if bound, ok = m.like(bound, init.f.c, b); !ok {
		return value{is: m.notYet(), t: t}
	}
	lowest, highest := t.limits()
	f := init.f
	switch l.op {
	case "<", "<=":
		f.hi = bound.f.hi
		if l.op == "<" {
			f.hi--
		}
		f.hi = max(f.hi, f.lo)
		s, ok := m.span(f, b)
		if end, ok2 := addOK(s.hi, step.f.hi); !ok || !ok2 || end > highest {
			return value{is: m.notYet(), t: t} // it might wrap around
		}
	default:
		f.lo = bound.f.lo
		if l.op == ">" {
			f.lo++
		}
		f.lo = min(f.lo, f.hi)
		s, ok := m.span(f, b)
		if l.halve {
			if first, ok2 := m.span(init.f, b); !ok || !ok2 || first.lo < 0 {
				return value{is: m.notYet(), t: t}
			}
			f.lo = min(f.lo, 0)
			break
		}
		if end, ok2 := addOK(s.lo, -step.f.hi); !ok || !ok2 || end < lowest || !ct.signed && end < 0 {
			return value{is: m.notYet(), t: t}
		}
	}
	return value{is: known, f: f, t: t}
}

// arith applies + - * / % & | ^.
func (fr *frame) arith(op string, v, w value, c *context) value {
	m, b := fr.m, fr.box(c)
	t := common(v.t, w.t)
	none := value{t: t}
	if op == "*" { // get_group_id(d) * get_local_size(d)
		if v.group == 0 {
			v, w = w, v
		}
		if v.group > 0 {
			return fr.groupBase(v.group-1, w, t)
		}
	}
	if v.is == unknown || w.is == unknown {
		if n, ok := w.exact(); ok && n > 0 && op == "%" {
			return interval(-(n - 1), n-1, t) // whatever the type of the other side
		}
		return none
	}
	if v.is == later || w.is == later {
		return value{is: later, t: t}
	}
	v, w = m.convert(v, t, b), m.convert(w, t, b)
	if v.is != known || w.is != known {
		return value{is: min(v.is, w.is), t: t}
	}
	var f form
	ok := true
	switch op {
	case "+":
		f, ok = v.f.plus(w.f, 1)
	case "-":
		f, ok = v.f.plus(w.f, -1)
	case "*":
		f, ok = product(v.f, w.f)
	default:
		return fr.divide(op, m.inRange(v, b), m.inRange(w, b), t, b)
	}
	if ok {
		f, ok = m.tidy(f)
	}
	if !ok {
		return none
	}
	return value{is: known, f: f, t: t}
}

// product multiplies where at least one side has no terms.
func product(v, w form) (form, bool) {
	if !v.fixed() {
		v, w = w, v
	}
	switch {
	case !v.fixed():
		return form{}, false
	case v.lo == v.hi:
		return w.times(v.lo)
	case !w.fixed():
		return form{}, false
	}
	a, ok1 := w.times(v.lo)
	b, ok2 := w.times(v.hi)
	return form{lo: min(a.lo, b.lo), hi: max(a.hi, b.hi)}, ok1 && ok2
}

// groupBase is get_group_id(d) times w.
func (fr *frame) groupBase(d int, w value, t intType) value {
	m := fr.m
	n, exact := w.exact()
	switch {
	case w.width == d+1 && m.even(d), exact && m.local[d] > 0 && n == m.local[d] && m.even(d):
		v := value{is: known, t: t}
		v.f.c[termGroup+d] = 1
		return v
	case m.static && w.is != unknown:
		return value{is: later, t: t}
	}
	return value{t: t}
}

// divide applies / % & | ^ to numbers.
func (fr *frame) divide(op string, v, w value, t intType, b box) value {
	m := fr.m
	none := value{t: t}
	flat, by := m.flat(v, b), m.flat(w, b)
	if flat.is != known || by.is != known {
		return value{is: min(flat.is, by.is), t: t}
	}
	n, exact := by.exact()
	switch {
	case op == "/" && exact && n == 1:
		return v
	case op == "/" && exact && n > 0:
		return interval(flat.f.lo/n, flat.f.hi/n, t)
	case op == "%" && exact && n > 0:
		if flat.f.lo >= 0 && flat.f.hi < n {
			return v
		}
		if flat.f.lo >= 0 {
			return interval(0, n-1, t)
		}
		return interval(-(n - 1), n-1, t)
	case op == "%" && by.f.lo > 0 && flat.f.lo >= 0:
		return interval(0, by.f.hi-1, t)
	case op == "/" && by.f.lo > 0 && flat.f.lo >= 0:
		return interval(flat.f.lo/by.f.hi, flat.f.hi/by.f.lo, t)
	case op == "&" && flat.f.lo >= 0 && by.f.lo >= 0:
		return interval(0, min(flat.f.hi, by.f.hi), t)
	case op == "&" && by.f.lo >= 0:
		return interval(0, by.f.hi, t)
	case op == "&" && flat.f.lo >= 0:
		return interval(0, flat.f.hi, t)
	}
	return none
}

func (fr *frame) shift(op string, v, w value, c *context) value {
	t := v.t.promoted()
	if v.is == later || w.is == later {
		if v.is == unknown || w.is == unknown {
			return value{t: t}
		}
		return value{is: later, t: t}
	}
	n, ok := w.exact()
	if v.is != known || !ok || n < 0 || n >= int64(t.bits) || n > 62 {
		return value{t: t}
	}
	v = fr.m.convert(v, t, fr.box(c))
	if op == "<<" {
		f, ok := v.f.times(1 << n)
		if v.is != known || !ok {
			return value{is: min(v.is, later), t: t}
		}
		return value{is: known, f: f, t: t}
	}
	return fr.divideShift(v, n, t, fr.box(c))
}

func (fr *frame) divideShift(v value, n int64, t intType, b box) value {
	v = fr.m.flat(fr.m.inRange(v, b), b)
	if v.is != known {
		return value{is: v.is, t: t}
	}
	return interval(v.f.lo>>n, v.f.hi>>n, t)
}
