package clc

import (
	"slices"
	"strconv"
	"strings"
)

// stmt marks what a statement holds.
func (m *marker) stmt(s *stmt) {
	if s == nil {
		return
	}
	m.stmt(s.init)
	m.expr(s.x, false)
	for _, v := range s.vals {
		m.expr(v, false)
	}
	m.expr(s.post, false)
	for _, in := range s.list {
		m.stmt(in)
	}
}

func (m *marker) add(k Mark) {
	k.Unit = m.unit
	m.out.Marks = append(m.out.Marks, k)
}

// expr marks an expression; store says that it is assigned to.
func (m *marker) expr(e *expr, store bool) {
	if e == nil {
		return
	}
	switch e.op {
	case opMember, opArrow:
		m.member(e, store)
		return
	case opVector:
		k := Mark{Kind: MarkLiteral, From: e.from, At: e.at, To: e.to, Name: e.typ.String(), Args: len(e.args), Vector: e.typ.kind == kindVector, Array: e.typ.kind == kindArray}
		if m.u.toks[e.at+1].is("{") {
			k.Kind = MarkCompound
		}
		m.add(k)
	case opCall:
		m.add(Mark{Kind: MarkCall, From: e.from, At: e.at, To: e.to, Name: e.text, Own: m.u.funcs[e.text] != nil, Args: len(e.args)})
	case opChoose:
		if t := m.typeOf(e.x, 0); t != nil && t.kind == kindVector {
			m.add(Mark{Kind: MarkChoose, From: e.from, At: e.at, Mid: e.mid, To: e.to, Vector: true})
		}
	case opBinary:
		if (e.text == "<<" || e.text == ">>") && !m.smallShift(e) {
			m.add(Mark{Kind: MarkShift, From: e.from, At: e.at, To: e.to, Name: e.text})
		}
	case opAssign:
		if (e.text == "<<=" || e.text == ">>=") && !m.smallShift(e) {
			m.add(Mark{Kind: MarkShiftTo, From: e.from, At: e.at, To: e.to, Name: e.text})
		}
		m.expr(e.x, true)
		m.expr(e.y, false)
		return
	case opUpdate:
		m.expr(e.x, true)
		return
	}
	for _, x := range []*expr{e.x, e.y, e.z} {
		m.expr(x, false)
	}
	for _, x := range e.args {
		m.expr(x, false)
	}
}

// smallShift reports whether a shift is by a number less than the width of
// what is shifted, which means the same everywhere.
func (m *marker) smallShift(e *expr) bool {
	n, ok := m.u.fold(e.y)
	if !ok || n < 0 {
		return false
	}
	t := m.typeOf(e.x, 0)
	if t == nil || t.kind != kindNumber && t.kind != kindVector {
		return n < 8
	}
	width := t.typ.Elem.Size() * 8
	if t.kind == kindNumber && width < 32 {
		width = 32
	}
	return n < int64(width)
}

// member marks the lanes of a vector. Lanes of lanes are lanes of the whole.
func (m *marker) member(e *expr, store bool) {
	first := e
	for first.x.op == opMember && m.lanesOf(first.x) != nil {
		first = first.x
	}
	base := m.typeOf(first.x, 0)
	if base != nil && first.op == opArrow {
		base = base.settled().elem
	}
	switch {
	case base == nil:
		if lanesOf(e.text, 16) != nil {
			m.add(Mark{Kind: MarkUnclear, At: e.at, Name: e.text})
		}
	case base.kind == kindVector:
		if lanes := m.lanesOf(e); lanes != nil {
			m.add(Mark{Kind: MarkLanes, From: first.at, At: e.at, Lanes: lanes, Store: store})
		} else {
			m.add(Mark{Kind: MarkUnclear, At: e.at, Name: e.text})
		}
		m.expr(first.x, false)
		return
	}
	m.expr(e.x, false)
}

// lanesOf are the lanes of the whole vector that a member names; nil where it
// is no member of a vector.
func (m *marker) lanesOf(e *expr) []int {
	base := m.typeOf(e.x, 0)
	if base != nil && e.op == opArrow {
		base = base.settled().elem
	}
	if base == nil || base.kind != kindVector {
		return nil
	}
	lanes := lanesOf(e.text, base.typ.Lanes)
	if lanes == nil || e.x.op != opMember {
		return lanes
	}
	inner := m.lanesOf(e.x)
	if inner == nil {
		return lanes // a vector in a struct
	}
	whole := make([]int, len(lanes))
	for i, l := range lanes {
		if l >= len(inner) {
			return nil
		}
		whole[i] = inner[l]
	}
	return whole
}

// lanesOf reads the name of lanes of a vector with n of them; nil if it is
// none.
func lanesOf(name string, n int) []int {
	room := n
	if n == 3 {
		room = 4
	}
	var lanes []int
	switch name {
	case "lo", "hi", "even", "odd":
		for i := range room / 2 {
			switch name {
			case "lo":
				lanes = append(lanes, i)
			case "hi":
				lanes = append(lanes, room/2+i)
			case "even":
				lanes = append(lanes, 2*i)
			default:
				lanes = append(lanes, 2*i+1)
			}
		}
		return lanes
	}
	if len(name) > 1 && (name[0] == 's' || name[0] == 'S') {
		for _, c := range name[1:] {
			l, err := strconv.ParseInt(string(c), 16, 8)
			if err != nil || int(l) >= n {
				return nil
			}
			lanes = append(lanes, int(l))
		}
	} else {
		for _, c := range name {
			l := strings.IndexRune("xyzw", c)
			if l < 0 {
				l = strings.IndexRune("rgba", c)
			}
			if l < 0 || l >= n {
				return nil
			}
			lanes = append(lanes, l)
		}
	}
	if !slices.Contains([]int{1, 2, 3, 4, 8, 16}, len(lanes)) {
		return nil
	}
	return lanes
}
