package clc

import (
	"math"
	"math/bits"
)

// An affine form: the sum of coefficient times term, plus something between lo
// and hi. The terms are, for each dimension, the global id, the first global
// id of the work-group less the launch's offset, and the local id.
type form struct {
	c      [9]int64
	lo, hi int64
}

// Where the terms stand in form.c.
const (
	termGlobal = 0
	termGroup  = 3
	termLocal  = 6
)

// span is a closed interval; it is empty if lo > hi.
type span struct{ lo, hi int64 }

// box bounds the global ids.
type box [3]span

func (b box) empty() bool {
	for _, s := range b {
		if s.lo > s.hi {
			return true
		}
	}
	return false
}

// certainty says how much is known of a value.
type certainty uint8

const (
	unknown certainty = iota
	later             // as soon as the call's sizes and arguments are known
	known
)

// value is what is known of an integer: it equals a form modulo 2^bits of its
// type. Whether the form is the number itself has to be checked (inRange) where
// it makes a difference.
type value struct {
	is    certainty
	f     form
	t     intType
	group int // d+1: this is get_group_id(d)
	width int // d+1: this is get_local_size(d)
}

var sizeT = intType{64, false}

func constant(n int64, t intType) value { return value{is: known, f: form{lo: n, hi: n}, t: t} }

func interval(lo, hi int64, t intType) value { return value{is: known, f: form{lo: lo, hi: hi}, t: t} }

func (f form) fixed() bool { return f.c == [9]int64{} }

// exact is the number that f is, if it is one.
func (v value) exact() (int64, bool) {
	return v.f.lo, v.is == known && v.f.fixed() && v.f.lo == v.f.hi
}

func addOK(a, b int64) (int64, bool) {
	s := a + b
	return s, (a >= 0) != (b >= 0) || (s >= 0) == (a >= 0)
}

func mulOK(a, b int64) (int64, bool) {
	hi, lo := bits.Mul64(uint64(abs64(a)), uint64(abs64(b)))
	if a == math.MinInt64 || b == math.MinInt64 || hi != 0 || lo > math.MaxInt64 {
		return 0, a == 0 || b == 0
	}
	if (a < 0) != (b < 0) {
		return -int64(lo), true
	}
	return int64(lo), true
}

func abs64(a int64) int64 {
	if a < 0 {
		return -a
	}
	return a
}

// plus adds g times k to f.
func (f form) plus(g form, k int64) (form, bool) {
	g, ok := g.times(k)
	if !ok {
		return form{}, false
	}
	for i := range f.c {
		if f.c[i], ok = addOK(f.c[i], g.c[i]); !ok {
			return form{}, false
		}
	}
	var ok2 bool
	f.lo, ok = addOK(f.lo, g.lo)
	f.hi, ok2 = addOK(f.hi, g.hi)
	return f, ok && ok2
}

func (f form) times(k int64) (form, bool) {
	var ok bool
	for i := range f.c {
		if f.c[i], ok = mulOK(f.c[i], k); !ok {
			return form{}, false
		}
	}
	a, ok1 := mulOK(f.lo, k)
	b, ok2 := mulOK(f.hi, k)
	f.lo, f.hi = min(a, b), max(a, b)
	return f, ok1 && ok2
}

// terms are the values that each term can take.
func (m *machine) term(i int, b box) span {
	d := i % 3
	switch {
	case i < termGroup:
		return b[d]
	case i < termLocal:
		return span{0, max(m.size[d]-1, 0)}
	case m.local[d] > 0:
		return span{0, m.local[d] - 1}
	}
	return span{0, max(m.size[d]-1, 0)}
}

// span is the range of f while the global ids stay in b.
func (m *machine) span(f form, b box) (span, bool) {
	s := span{f.lo, f.hi}
	for i, c := range f.c {
		if c == 0 {
			continue
		}
		t := m.term(i, b)
		x, ok1 := mulOK(c, t.lo)
		y, ok2 := mulOK(c, t.hi)
		var ok3, ok4 bool
		s.lo, ok3 = addOK(s.lo, min(x, y))
		s.hi, ok4 = addOK(s.hi, max(x, y))
		if !ok1 || !ok2 || !ok3 || !ok4 {
			return span{}, false
		}
	}
	return s, true
}

// inRange is v if its form is the number itself, that is within the limits of
// its type; unknown otherwise. Before the call is known, what is out of range
// may still come into it.
func (m *machine) inRange(v value, b box) value {
	if v.is != known || b.empty() {
		return v
	}
	lo, hi := v.t.limits()
	s, ok := m.span(v.f, b)
	switch {
	case ok && s.lo >= lo && s.hi <= hi:
		return v
	case m.static:
		return value{is: later, t: v.t}
	}
	return value{t: v.t}
}

// convert is v as a value of type t.
func (m *machine) convert(v value, t intType, b box) value {
	if t.bits > v.t.bits {
		v = m.inRange(v, b)
	}
	v.t = t
	if m.static && t.bits < 32 && !v.f.fixed() && v.is == known {
		return value{is: later, t: t} // it may wrap around
	}
	return v
}

// flat is v without terms: an interval.
func (m *machine) flat(v value, b box) value {
	if v.is != known || v.f.fixed() {
		return v
	}
	if m.static { // the ids' true range is not known yet
		return value{is: later, t: v.t}
	}
	s, ok := m.span(v.f, b)
	if !ok {
		return value{t: v.t}
	}
	return value{is: known, f: form{lo: s.lo, hi: s.hi}, t: v.t}
}

// like writes v with the terms of another form; the difference goes into the
// interval.
func (m *machine) like(v value, c [9]int64, b box) (value, bool) {
	if v.f.c == c {
		return v, true
	}
	rest, ok := v.f.plus(form{c: c}, -1)
	if !ok || m.static {
		return value{is: m.notYet(), t: v.t}, false
	}
	s, ok := m.span(rest, b)
	return value{is: known, f: form{c: c, lo: s.lo, hi: s.hi}, t: v.t}, ok
}

// notYet is what is known of a value that depends on the range of the ids.
func (m *machine) notYet() certainty {
	if m.static {
		return later
	}
	return unknown
}

// join covers v, taken while the ids are in a, and w, taken while they are in
// b. Both have the same type.
func (m *machine) join(v value, a box, w value, b box) value {
	switch {
	case v.is == unknown || w.is == unknown:
		return value{t: v.t}
	case v.is == later || w.is == later:
		return value{is: later, t: v.t}
	case a.empty():
		return w
	case b.empty():
		return v
	}
	ok := true
	if v.f.fixed() {
		v, ok = m.like(v, w.f.c, a)
	} else {
		w, ok = m.like(w, v.f.c, b)
	}
	if !ok {
		return value{is: m.notYet(), t: v.t}
	}
	v.f.lo, v.f.hi = min(v.f.lo, w.f.lo), max(v.f.hi, w.f.hi)
	v.group, v.width = 0, 0
	return v
}

// tidy joins the group's base and the local id to the global id where that is
// sound: all groups have the same size.
func (m *machine) tidy(f form) (form, bool) {
	for d := range 3 {
		k := f.c[termGroup+d]
		if k == 0 || k != f.c[termLocal+d] || !m.even(d) {
			continue
		}
		f.c[termGroup+d], f.c[termLocal+d] = 0, 0
		g := form{lo: -m.offset[d], hi: -m.offset[d]}
		g.c[termGlobal+d] = 1
		var ok bool
		if f, ok = f.plus(g, k); !ok {
			return f, false
		}
	}
	return f, true
}

// even reports whether the work-groups of dimension d are known to be of equal
// size.
func (m *machine) even(d int) bool {
	return m.static || m.local[d] > 0 && m.size[d]%m.local[d] == 0
}
