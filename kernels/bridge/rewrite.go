package bridge

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/tandemrun/tandem/kernels/clc"
)

// rewrite decides what is written in place of each token.
func (t *translation) rewrite() {
	t.ranged = t.reaching(func(name string) bool { return rangedFunctions[name] })
	t.locals = t.reaching(func(name string) bool { return groupFunctions[name] })
	for _, k := range t.m.Kernels {
		t.ranged[k.Name] = true
	}
	t.defined = map[string]bool{}
	for _, h := range t.m.Heads {
		t.defined[h.Name] = t.defined[h.Name] || h.Body
	}
	for _, u := range t.m.Units {
		t.defined[u.Function] = true
		for _, n := range u.Names {
			t.defined[n] = t.defined[n] || u.Opaque != ""
		}
	}
	for i := range t.m.Tokens {
		t.word(i)
	}
	for _, h := range t.m.Heads {
		t.head(h)
	}
	for i := range t.m.Objects {
		t.object(i)
	}
	for _, k := range t.m.Marks {
		t.mark(k)
	}
}

// unitOf is the unit that a token belongs to, -1 for none.
func (t *translation) unitOf(token int) int {
	lo, hi := 0, len(t.m.Units)
	for lo < hi {
		mid := (lo + hi) / 2
		if t.m.Units[mid].To <= token {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	if lo < len(t.m.Units) && t.m.Units[lo].From <= token {
		return lo
	}
	return -1
}

// word rewrites a token by what it is.
func (t *translation) word(i int) {
	tok := &t.m.Tokens[i]
	switch {
	case tok.Number:
		if text := number(tok.Text, t.settings.single); text != tok.Text {
			t.replace(i, text)
		}
		return
	case !tok.Ident || t.edits[i].replaced:
		return
	}
	member := i > 0 && (t.is(i-1, ".") || t.is(i-1, "->"))
	switch text, known := words[tok.Text]; {
	case known && !member:
		t.replace(i, text)
	case reservedInCPP[tok.Text]:
		t.replace(i, tok.Text+"_tandem")
	case tok.Text == "char" && !t.is(i-1, "unsigned") && !t.is(i-1, "signed") && !t.is(i+1, "unsigned") && !t.is(i+1, "signed"):
		t.replace(i, "signed char")
	case tok.Text == "__attribute__" || tok.Text == "__attribute":
		t.attribute(i)
	default:
		if why := refusedNames[tok.Text]; why != "" && !member {
			t.refuse(t.unitOf(i), i, "%s has no counterpart in CUDA C: %s", tok.Text, why)
		}
	}
}

// is reports whether token i is the given text.
func (t *translation) is(i int, text string) bool {
	return i >= 0 && i < len(t.m.Tokens) && t.m.Tokens[i].Text == text && !t.m.Tokens[i].Quoted
}

// attribute keeps those attributes that mean something in CUDA C.
func (t *translation) attribute(i int) {
	depth, end := 0, i+1
	for ; end < len(t.m.Tokens); end++ {
		if t.is(end, "(") {
			depth++
		} else if t.is(end, ")") {
			if depth--; depth == 0 {
				break
			}
		}
	}
	kept, unroll := false, ""
	for j := i + 1; j < end; j++ {
		switch strings.Trim(t.m.Tokens[j].Text, "_") {
		case "aligned", "packed":
			kept = true
		case "opencl_unroll_hint":
			unroll = "unroll"
			if t.is(j+1, "(") && t.m.Tokens[j+2].Number {
				unroll += " " + t.m.Tokens[j+2].Text
			}
		}
	}
	if kept {
		return
	}
	for j := i; j <= end && j < len(t.m.Tokens); j++ {
		t.replace(j, "")
	}
	if unroll != "" {
		t.replace(i, fmt.Sprintf("_Pragma(%q)", unroll))
	}
}

// head makes a function one of the device, and hands it the range where it
// needs it.
func (t *translation) head(h clc.Head) {
	if h.Inside {
		t.refuse(h.Unit, h.NameAt, "function %q is declared inside of another; declare it at program scope", h.Name)
		return
	}
	for i := h.From; i < h.NameAt; i++ {
		if t.is(i, "static") || t.is(i, "extern") {
			t.replace(i, "")
		}
	}
	if h.First {
		t.edits[h.From].before = append([]string{"static __device__ "}, t.edits[h.From].before...)
	}
	if len(h.Params) == 0 && t.is(h.Open+1, "void") {
		t.replace(h.Open+1, "")
	}
	if t.ranged[h.Name] {
		text := "const tandem_range &tandem_nd"
		if len(h.Params) > 0 {
			text += ", "
		}
		t.edits[h.Open].after = append(t.edits[h.Open].after, text)
	}
}

// object puts a variable where it lives.
func (t *translation) object(i int) {
	o := &t.m.Objects[i]
	at := o.SpaceAt
	if o.Pointer {
		if o.Program {
			t.refuse(o.Unit, max(t.m.Units[max(o.Unit, 0)].From, 0), "variable %q is a pointer of program scope, which is not mapped", o.Name)
		}
		for j := i - 1; j >= 0 && at >= 0 && t.m.Objects[j].SpaceAt == at; j-- {
			if !t.m.Objects[j].Pointer {
				t.apart(o, &t.m.Objects[j])
			}
		}
		return
	}
	text := ""
	switch {
	case o.Space == clc.ObjectLocal:
		text = "__shared__"
	case o.Space == clc.ObjectConstant && o.Program:
		text = "__constant__"
	case o.Space == clc.ObjectGlobal && o.Program:
		text = "__device__"
	case o.Space == clc.ObjectConstant:
		text = "static const"
		if t.is(at-1, "const") || t.is(at+1, "const") {
			text = "static"
		}
	default:
		return
	}
	for j := i - 1; j >= 0 && at >= 0 && t.m.Objects[j].SpaceAt == at; j-- {
		if t.m.Objects[j].Pointer {
			t.apart(o, &t.m.Objects[j])
		}
	}
	switch {
	case at >= 0:
		t.replace(at, text)
	case o.Program && o.Unit >= 0:
		first := t.m.Units[o.Unit].From
		if len(t.edits[first].before) == 0 || t.edits[first].before[0] != text+" " {
			t.edits[first].before = append([]string{text + " "}, t.edits[first].before...)
		}
	default:
		t.refuse(o.Unit, t.m.Units[max(o.Unit, 0)].From, "variable %q (%s): its address space comes from a typedef, write it in the declaration", o.Name, o.Pos)
	}
}

func (t *translation) apart(a, b *clc.Object) {
	t.refuse(a.Unit, a.SpaceAt, "%q and %q, a pointer and what is none, are declared together; declare them one by one", b.Name, a.Name)
}

// mark rewrites a marked construct.
func (t *translation) mark(k clc.Mark) {
	switch k.Kind {
	case clc.MarkLiteral:
		t.replace(k.From, "tandem_lit<")
		t.replace(k.At, ">")
	case clc.MarkCompound:
		switch {
		case k.Array:
			t.refuse(k.Unit, k.From, "a compound literal of an array is not mapped; make it a variable")
		case k.Vector:
			t.replace(k.From, "tandem_lit<")
			t.replace(k.At, ">")
			t.replace(k.At+1, "(")
			t.replace(k.To-1, ")")
		default:
			t.replace(k.From, "tandem_type<")
			t.replace(k.At, ">")
		}
	case clc.MarkLanes:
		for i := k.From; i < k.At; i++ {
			t.replace(i, "")
		}
		t.replace(k.At, lanes(k.Lanes, k.Store))
	case clc.MarkChoose:
		t.around(k.From, k.To, "tandem_choose((", "))")
		t.replace(k.At, "),(")
		t.replace(k.Mid, "),(")
	case clc.MarkShift, clc.MarkShiftTo:
		name := map[string]string{"<": "left", ">": "right"}[k.Name[:1]]
		if k.Kind == clc.MarkShiftTo {
			name += "_to"
		}
		t.around(k.From, k.To, "tandem_shift_"+name+"((", "))")
		t.replace(k.At, "),(")
	case clc.MarkCall:
		t.call(k)
	case clc.MarkUnclear:
		t.refuse(k.Unit, k.At, "%q may be lanes of a vector or a member of a struct, the type before it is not known; put it in a variable first", k.Name)
	}
}

func lanes(list []int, store bool) string {
	if len(list) == 1 {
		return fmt.Sprintf("s[%d]", list[0])
	}
	text := make([]string, len(list))
	for i, l := range list {
		text[i] = strconv.Itoa(l)
	}
	name := "tandem_lanes"
	if store {
		name = "tandem_to"
	}
	return name + "<" + strings.Join(text, ",") + ">()"
}

// number rewrites a literal: long is 64 bits wide in OpenCL C.
func number(text string, single bool) string {
	low := strings.ToLower(text)
	hex := strings.HasPrefix(low, "0x")
	if strings.ContainsAny(low, ".p") || !hex && strings.ContainsRune(low, 'e') {
		switch last := low[len(low)-1]; {
		case last == 'h':
			return "tandem_half(" + text[:len(text)-1] + ")"
		case last != 'f' && single:
			return text + "f"
		}
		return text
	}
	digits := strings.TrimRight(low, "ul")
	suffix := low[len(digits):]
	if strings.Count(suffix, "l") == 1 {
		return digits + strings.Replace(suffix, "l", "ll", 1)
	}
	return text
}
