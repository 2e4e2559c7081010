package clc

import (
	"strings"
)

// typeOf is the type of an expression as OpenCL C has it; nil where it is not
// known.
func (m *marker) typeOf(e *expr, depth int) *ctype {
	if e == nil || depth > maxParse {
		return nil
	}
	t := m.typed(e, depth+1)
	if t == nil {
		return nil
	}
	return t.settled()
}

func (m *marker) typed(e *expr, depth int) *ctype {
	basic := m.u.basic
	switch e.op {
	case opNumber:
		return basic[literalType(e.text)]
	case opName:
		switch {
		case e.v != nil:
			return e.v.typ
		case strings.HasSuffix(e.text, "_F") || strings.HasPrefix(e.text, "FLT_") || e.text == "INFINITY" || e.text == "NAN" || e.text == "MAXFLOAT" || e.text == "HUGE_VALF":
			return basic["float"]
		case strings.HasPrefix(e.text, "M_") || strings.HasPrefix(e.text, "DBL_") || e.text == "HUGE_VAL":
			return basic["double"]
		}
		return basic["int"] // an enumerator, or a constant of the language
	case opCall:
		if f := m.u.funcs[e.text]; f != nil {
			return f.ret
		}
		return m.returned(e, depth)
	case opIndex:
		t := m.typeOf(e.x, depth)
		switch {
		case t == nil:
		case t.kind == kindVector:
			return m.vector(t, 1)
		case t.kind == kindPointer || t.kind == kindArray:
			return t.elem
		}
	case opMember, opArrow:
		t := m.typeOf(e.x, depth)
		if t != nil && e.op == opArrow {
			t = t.elem
			if t != nil {
				t = t.settled()
			}
		}
		switch {
		case t == nil:
		case t.kind == kindVector:
			if lanes := lanesOf(e.text, t.typ.Lanes); lanes != nil {
				return m.vector(t, len(lanes))
			}
		case t.kind == kindStruct:
			for _, f := range t.fields {
				if f.name == e.text {
					return f.typ
				}
			}
		}
	case opUnary:
		t := m.typeOf(e.x, depth)
		switch {
		case t == nil:
		case e.text == "*" && (t.kind == kindPointer || t.kind == kindArray):
			return t.elem
		case e.text == "*":
		case e.text == "&":
			return pointerTo(t)
		case e.text == "!":
			return m.truth(t)
		case t.kind == kindNumber:
			return m.promoted(t)
		default:
			return t
		}
	case opUpdate, opAssign:
		return m.typeOf(e.x, depth)
	case opBinary:
		return m.binaryType(e, depth)
	case opChoose:
		return m.merged(m.typeOf(e.y, depth), m.typeOf(e.z, depth))
	case opComma:
		return m.typeOf(e.y, depth)
	case opCast, opVector:
		return e.typ
	case opSize:
		return basic["ulong"]
	case opString:
		return pointerTo(basic["char"])
	}
	return nil
}

// vector is the vector of n lanes of the kind of t; one lane is a number.
func (m *marker) vector(t *ctype, n int) *ctype {
	name := strings.TrimRight(t.typ.Name, "0123456789")
	if t.kind == kindNumber {
		name = t.typ.Name
	}
	switch n {
	case 1:
		return m.u.basic[name]
	case 2, 3, 4, 8, 16:
		return m.u.basic[name+map[int]string{2: "2", 3: "3", 4: "4", 8: "8", 16: "16"}[n]]
	}
	return nil
}

// truth is the type of a comparison of what has type t: a vector of integers as
// wide as its lanes, or int.
func (m *marker) truth(t *ctype) *ctype {
	if t.kind != kindVector {
		return m.u.basic["int"]
	}
	return m.vector(m.u.basic[map[int]string{1: "char", 2: "short", 4: "int", 8: "long"}[t.typ.Elem.Size()]], t.typ.Lanes)
}

func (m *marker) promoted(t *ctype) *ctype {
	if t.boolean || !t.typ.Elem.Float() && t.typ.Elem.Size() < 4 {
		return m.u.basic["int"]
	}
	return t
}

func (m *marker) binaryType(e *expr, depth int) *ctype {
	a, b := m.typeOf(e.x, depth), m.typeOf(e.y, depth)
	switch e.text {
	case "<", ">", "<=", ">=", "==", "!=", "&&", "||":
		switch {
		case a != nil && a.kind == kindVector:
			return m.truth(a)
		case b != nil && b.kind == kindVector:
			return m.truth(b)
		case a == nil || b == nil:
			return nil
		}
		return m.u.basic["int"]
	case "<<", ">>":
		if a != nil && a.kind == kindNumber {
			return m.promoted(a)
		}
		return a
	case "-":
		if a != nil && b != nil && a.kind != kindNumber && b.kind != kindNumber && a.kind != kindVector && b.kind != kindVector {
			return m.u.basic["long"]
		}
	}
	return m.merged(a, b)
}

// merged is the type that a sum or a choice of two types has.
func (m *marker) merged(a, b *ctype) *ctype {
	switch {
	case a == nil || b == nil:
		for _, t := range []*ctype{a, b} { // a vector with a number is a vector
			if t != nil && t.kind == kindVector {
				return t
			}
		}
		return nil
	case a.kind == kindVector:
		return a
	case b.kind == kindVector:
		return b
	case a.kind == kindNumber && b.kind == kindNumber:
		return m.usual(a, b)
	case a.kind == kindArray:
		return pointerTo(a.elem)
	case a.kind != kindNumber:
		return a
	case b.kind == kindArray:
		return pointerTo(b.elem)
	}
	return b
}

// usual are the usual arithmetic conversions.
func (m *marker) usual(a, b *ctype) *ctype {
	for _, name := range []string{"double", "float", "half"} {
		if a.typ.Elem == m.u.basic[name].typ.Elem || b.typ.Elem == m.u.basic[name].typ.Elem {
			return m.u.basic[name]
		}
	}
	x, ok1 := m.promoted(a).integer()
	y, ok2 := m.promoted(b).integer()
	if !ok1 || !ok2 {
		return nil
	}
	t := common(x, y)
	name := "int"
	if t.bits == 64 {
		name = "long"
	}
	if !t.signed {
		name = "u" + name
	}
	return m.u.basic[name]
}

// literalType is the type of a number.
func literalType(text string) string {
	if text[0] == '\'' {
		return "char"
	}
	low := strings.ToLower(text)
	hex := strings.HasPrefix(low, "0x")
	if strings.ContainsAny(low, ".p") || !hex && strings.ContainsRune(low, 'e') {
		switch low[len(low)-1] {
		case 'f':
			return "float"
		case 'h':
			return "half"
		}
		return "double"
	}
	_, t, ok := parseInteger(text)
	switch {
	case !ok:
		return "int"
	case t.bits == 64 && t.signed:
		return "long"
	case t.bits == 64:
		return "ulong"
	case !t.signed:
		return "uint"
	}
	return "int"
}

// returned is what a function of the language returns.
func (m *marker) returned(e *expr, depth int) *ctype {
	basic, name := m.u.basic, e.text
	arg := func(i int) *ctype {
		if i < len(e.args) {
			return m.typeOf(e.args[i], depth)
		}
		return nil
	}
	pointee := func(i int) *ctype {
		if t := arg(i); t != nil && (t.kind == kindPointer || t.kind == kindArray) {
			return t.elem.settled()
		}
		return nil
	}
	if rest, ok := strings.CutPrefix(name, "convert_"); ok {
		to, _, _ := strings.Cut(rest, "_")
		return basic[to]
	}
	if to, ok := strings.CutPrefix(name, "as_"); ok {
		return basic[to]
	}
	if n, half, ok := vectorAccess(name, "load"); ok {
		t := basic["float"]
		if !half {
			t = pointee(1)
		}
		if t == nil || t.kind != kindNumber {
			return nil
		}
		return m.vector(t, n)
	}
	switch name {
	case "get_work_dim":
		return basic["uint"]
	case "isequal", "isnotequal", "isgreater", "isgreaterequal", "isless", "islessequal", "islessgreater", "isfinite", "isinf",
		"isnan", "isnormal", "isordered", "isunordered", "signbit":
		if t := arg(0); t != nil {
			return m.truth(t)
		}
		return nil
	case "any", "all", "vec_step", "printf", "atomic_flag_test_and_set", "atomic_compare_exchange_strong", "atomic_compare_exchange_weak",
		"atomic_compare_exchange_strong_explicit", "atomic_compare_exchange_weak_explicit":
		return basic["int"]
	case "dot", "length", "distance", "fast_length", "fast_distance":
		if t := arg(0); t != nil && (t.kind == kindVector || t.kind == kindNumber) {
			return m.vector(t, 1)
		}
		return nil
	case "ilogb":
		if t := arg(0); t != nil && t.kind == kindVector {
			return m.vector(basic["int"], t.typ.Lanes)
		}
		return basic["int"]
	case "upsample":
		if t := arg(0); t != nil && t.kind != kindPointer {
			wide := map[string]string{"char": "short", "uchar": "ushort", "short": "int", "ushort": "uint", "int": "long", "uint": "ulong"}[strings.TrimRight(t.typ.Name, "0123456789")]
			if basic[wide] != nil {
				return m.vector(basic[wide], t.typ.Lanes)
			}
		}
		return nil
	case "abs", "abs_diff":
		if t := arg(0); t != nil && (t.kind == kindVector || t.kind == kindNumber) {
			base := strings.TrimRight(t.typ.Name, "0123456789")
			if strings.HasPrefix(base, "u") {
				return t
			}
			if basic["u"+base] != nil {
				return m.vector(basic["u"+base], t.typ.Lanes)
			}
		}
		return nil
	case "nan":
		if t := arg(0); t != nil && (t.kind == kindVector || t.kind == kindNumber) {
			return m.vector(basic[map[int]string{2: "half", 4: "float", 8: "double"}[t.typ.Elem.Size()]], max(t.typ.Lanes, 1))
		}
		return nil
	case "shuffle", "shuffle2":
		a, mask := arg(0), arg(len(e.args)-1)
		if a != nil && mask != nil && a.kind == kindVector && mask.kind == kindVector {
			return m.vector(a, mask.typ.Lanes)
		}
		return nil
	}
	switch {
	case strings.HasPrefix(name, "get_"):
		return basic["ulong"]
	case strings.HasPrefix(name, "atomic_") || strings.HasPrefix(name, "atom_"):
		return pointee(0)
	}
	// Everything else returns what it takes: a vector if one is among the
	// arguments.
	var first *ctype
	for i := range e.args {
		t := arg(i)
		switch {
		case t != nil && t.kind == kindVector:
			return t
		case t != nil && first == nil && t.kind == kindNumber:
			first = t
		case t == nil:
			return nil
		}
	}
	return first
}

// vectorAccess takes the name of vload4, vloada_half8 and their like apart: how
// many lanes, and whether memory holds halfs.
func vectorAccess(name, what string) (lanes int, half, ok bool) {
	rest, ok := strings.CutPrefix(name, "v"+what)
	if !ok {
		return 0, false, false
	}
	if after, is := strings.CutPrefix(strings.TrimPrefix(rest, "a"), "_half"); is {
		half, rest = true, after
		if rest == "" {
			return 1, true, true
		}
	}
	switch rest {
	case "2", "3", "4", "8", "16":
		return map[string]int{"2": 2, "3": 3, "4": 4, "8": 8, "16": 16}[rest], half, true
	}
	return 0, false, false
}
