package clc

import "strings"

// callValue is what is known of a call's result.
func (fr *frame) callValue(e *expr, c *context) value {
	m := fr.m
	none := value{t: intType{32, true}}
	if fn := m.u.funcs[e.text]; fn != nil {
		in := fr.callee(e, c)
		if fn.ret == nil {
			return none
		}
		t, ok := fn.ret.integer()
		if !ok || in == nil || len(fn.returns) == 0 {
			return value{t: t}
		}
		var all union
		for _, r := range fn.returns {
			if r.x == nil {
				return value{t: t}
			}
			b := in.box(r.ctx)
			all.add(m, m.convert(in.value(r.x, r.ctx), t, b), b)
		}
		return all.v
	}
	switch name := e.text; {
	case strings.HasPrefix(name, "get_"):
		return fr.idValue(e, c)
	case (name == "min" || name == "max") && len(e.args) == 2:
		return fr.extreme(name == "max", fr.value(e.args[0], c), fr.value(e.args[1], c), c)
	case name == "clamp" && len(e.args) == 3:
		return fr.extreme(false, fr.extreme(true, fr.value(e.args[0], c), fr.value(e.args[1], c), c), fr.value(e.args[2], c), c)
	case (name == "mul24" || name == "mad24") && len(e.args) >= 2:
		for _, a := range e.args[:2] { // only the low 24 bits count
			w := fr.value(a, c)
			if s, ok := m.span(w.f, fr.box(c)); w.is == known && (!ok || s.lo < -1<<23 || s.hi >= 1<<23) {
				return value{is: m.notYet(), t: none.t}
			}
		}
		v := fr.arith("*", fr.value(e.args[0], c), fr.value(e.args[1], c), c)
		if name == "mad24" && len(e.args) == 3 {
			v = fr.arith("+", v, fr.value(e.args[2], c), c)
		}
		return v
	case name == "mad_hi" || name == "mul_hi":
		return none
	case strings.HasPrefix(name, "convert_") && len(e.args) == 1:
		to := strings.TrimPrefix(name, "convert_")
		for _, mode := range []string{"_rte", "_rtz", "_rtp", "_rtn", "_sat"} {
			to = strings.TrimSuffix(to, mode)
		}
		if typ := builtinTypes[to]; typ != nil {
			if t, ok := typ.integer(); ok {
				v := m.inRange(fr.value(e.args[0], c), fr.box(c))
				return m.inRange(m.convert(v, t, fr.box(c)), fr.box(c))
			}
		}
	}
	return none
}

var builtinTypes = builtins()

// idValue is what is known of get_global_id and its like.
func (fr *frame) idValue(e *expr, c *context) value {
	m := fr.m
	if e.text == "get_work_dim" {
		if m.static {
			return value{is: later, t: intType{32, false}}
		}
		return constant(m.dims, intType{32, false})
	}
	none := value{t: sizeT}
	if len(e.args) != 1 {
		return none
	}
	arg := fr.value(e.args[0], c)
	d64, ok := arg.exact()
	if !ok {
		return none
	}
	if d64 < 0 || d64 > 2 {
		switch e.text { // what the language says for a dimension that is not there
		case "get_global_id", "get_local_id", "get_group_id", "get_global_offset":
			return constant(0, sizeT)
		}
		return constant(1, sizeT)
	}
	d := int(d64)
	v := value{is: known, t: sizeT}
	fixed := func(n int64) value {
		if m.static {
			return value{is: later, t: sizeT}
		}
		return constant(n, sizeT)
	}
	switch e.text {
	case "get_global_id":
		v.f.c[termGlobal+d] = 1
		return v
	case "get_local_id":
		v.f.c[termLocal+d] = 1
		return v
	case "get_group_id":
		return value{t: sizeT, group: d + 1}
	case "get_global_size":
		return fixed(m.size[d])
	case "get_global_offset":
		return fixed(m.offset[d])
	case "get_local_size", "get_enqueued_local_size":
		v = value{is: later, t: sizeT, width: d + 1}
		if !m.static {
			v.is = unknown
			if m.even(d) {
				v = constant(m.local[d], sizeT)
				v.width = d + 1
			} else if m.local[d] > 0 {
				v = interval(1, m.local[d], sizeT) // the last group may be smaller
			}
		}
		return v
	case "get_num_groups":
		if m.local[d] > 0 {
			return fixed((m.size[d] + m.local[d] - 1) / m.local[d])
		}
		if m.static {
			return value{is: later, t: sizeT}
		}
	}
	return none
}

// extreme is min or max.
func (fr *frame) extreme(larger bool, v, w value, c *context) value {
	m, b := fr.m, fr.box(c)
	t := common(v.t, w.t)
	if v.is == unknown || w.is == unknown {
		return value{t: t}
	}
	if v.is == later || w.is == later {
		return value{is: later, t: t}
	}
	v, w, ok := fr.comparable(v, w, b)
	if !ok {
		return value{is: min(v.is, w.is, later), t: t}
	}
	if v.f.fixed() {
		v, w = w, v
	}
	// The result is v, or w where that is the larger (smaller) one. Written
	// with v's terms, w sticks out on one side at most.
	if w, ok = m.like(w, v.f.c, b); !ok {
		return value{is: m.notYet(), t: t}
	}
	f := v.f
	same := v.f.fixed()
	if larger {
		f.hi = max(f.hi, w.f.hi)
		if same {
			f.lo = max(f.lo, w.f.lo)
		}
	} else {
		f.lo = min(f.lo, w.f.lo)
		if same {
			f.hi = min(f.hi, w.f.hi)
		}
	}
	return value{is: known, f: f, t: v.t}
}
