package clc

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/kernels"
)

// closure are the declarations that a kernel depends on, itself first.
func (u *unit) closure(f *function) []*decl {
	names := map[string]bool{}
	seen := map[*decl]bool{f.decl: true}
	list := []*decl{f.decl}
	for _, d := range u.decls[f.name] {
		if !seen[d] {
			seen[d] = true
			list = append(list, d)
		}
	}
	for i := 0; i < len(list); i++ {
		for _, t := range u.toks[list[i].from:list[i].to] {
			if t.kind != tokIdent || names[t.text] {
				continue
			}
			names[t.text] = true
			for _, d := range u.decls[t.text] {
				if !seen[d] {
					seen[d] = true
					list = append(list, d)
				}
			}
		}
	}
	return list
}

// doubles are names of the language that stand for a double.
var doubles = func() map[string]bool {
	m := map[string]bool{"HUGE_VAL": true}
	for _, n := range []string{"E", "LOG2E", "LOG10E", "LN2", "LN10", "PI", "PI_2", "PI_4", "1_PI", "2_PI", "2_SQRTPI", "SQRT2", "SQRT1_2"} {
		m["M_"+n] = true
	}
	for _, n := range []string{"MAX", "MIN", "EPSILON"} {
		m["DBL_"+n] = true
	}
	return m
}()

// typed reports whether name is base, a vector of it, or a conversion to one:
// "double", "double4", "convert_double2_rte", "as_double".
func typed(name, base string) bool {
	for _, prefix := range []string{"convert_", "as_"} {
		name = strings.TrimPrefix(name, prefix)
	}
	rest, ok := strings.CutPrefix(name, base)
	if !ok {
		return false
	}
	rest = strings.TrimLeft(rest, "0123456789")
	return rest == "" || strings.HasPrefix(rest, "_sat") || strings.HasPrefix(rest, "_rt")
}

// needs finds what a kernel cannot do without, list being what it consists of.
func (u *unit) needs(list []*decl) kernels.Needs {
	var n kernels.Needs
	for _, d := range list {
		toks := u.toks[d.from:d.to]
		for i, t := range toks {
			if n.FP64 == nil {
				n.FP64 = u.fp64(t)
			}
			if n.FP16 == nil {
				n.FP16 = u.fp16(toks, i)
			}
		}
		if n.FP16 == nil && d.fn != nil {
			n.FP16 = d.fn.halfLoads()
		}
	}
	n.Extensions = u.extensions()
	return n
}

func (u *unit) fp64(t token) *kernels.Reason {
	switch {
	case t.kind == tokNumber && !u.set.single && isFloat(t.text) && !strings.ContainsAny(t.text[len(t.text)-1:], "fFhH"):
		from := ""
		if t.from != nil && !t.from.builtin {
			from = fmt.Sprintf(" in macro %s (%s)", t.from.name, t.from.pos)
		}
		return &kernels.Reason{Pos: t.pos, Text: fmt.Sprintf("literal %s%s is a double", t.text, from)}
	case t.kind == tokIdent && (typed(t.text, "double") || t.text == "atomic_double"):
		return &kernels.Reason{Pos: t.pos, Text: "it uses " + t.text}
	case t.kind == tokIdent && doubles[t.text] && u.prep.macros[t.text] == nil:
		return &kernels.Reason{Pos: t.pos, Text: t.text + " is a double"}
	}
	return nil
}

// isFloat reports whether a number is a floating-point literal.
func isFloat(text string) bool {
	if strings.HasPrefix(text, "0x") || strings.HasPrefix(text, "0X") {
		return strings.ContainsAny(text, ".pP")
	}
	return strings.ContainsAny(text, ".eE")
}

// fp16 looks for half as anything but the target of a pointer.
func (u *unit) fp16(toks []token, i int) *kernels.Reason {
	t := toks[i]
	if t.kind == tokNumber && isFloat(t.text) && strings.ContainsAny(t.text[len(t.text)-1:], "hH") {
		return &kernels.Reason{Pos: t.pos, Text: fmt.Sprintf("literal %s is a half", t.text)}
	}
	if t.kind != tokIdent || !typed(t.text, "half") {
		return nil
	}
	if t.text == "half" {
		j := i + 1
		for j < len(toks) && toks[j].kind == tokIdent && (reserved[toks[j].text] && builtinTypes[toks[j].text] == nil) {
			j++
		}
		if j < len(toks) && toks[j].is("*") || j+1 < len(toks) && toks[j].kind == tokIdent && toks[j+1].is("[") && i > 0 && bufferWord(toks, i) {
			return nil
		}
		if i > 1 && toks[i-1].is("(") && toks[i-2].text == "sizeof" {
			return nil
		}
	}
	return &kernels.Reason{Pos: t.pos, Text: "it uses " + t.text + " for more than loading and storing"}
}

// bufferWord reports whether the half at i is qualified as a buffer's: the
// array notation of a parameter.
func bufferWord(toks []token, i int) bool {
	for k := i - 1; k >= 0 && toks[k].kind == tokIdent; k-- {
		if s := spaces[toks[k].text]; s == spaceGlobal || s == spaceConstant || s == spaceLocal {
			return true
		}
	}
	return false
}

// halfLoads finds a half that is read or written without vload_half and
// vstore_half.
func (f *function) halfLoads() (r *kernels.Reason) {
	isHalf := func(e *expr) bool {
		for e.op == opBinary && (e.text == "+" || e.text == "-") {
			e = e.x
		}
		if e.op == opCast {
			return e.typ.kind == kindPointer && e.typ.elem.typ.Elem == devices.Float16
		}
		return e.op == opName && e.v != nil && (e.v.typ.kind == kindPointer || e.v.typ.kind == kindArray) &&
			e.v.typ.elem.kind == kindNumber && e.v.typ.elem.typ.Elem == devices.Float16
	}
	f.walk(func(e *expr, addressed bool) {
		if r == nil && !addressed && (e.op == opIndex || e.op == opUnary && e.text == "*") && isHalf(e.x) {
			r = &kernels.Reason{Pos: e.pos, Text: "it uses a half without vload_half or vstore_half"}
		}
	})
	return r
}

// walk calls visit for every expression of a body; addressed is set for the
// operand of &.
func (f *function) walk(visit func(e *expr, addressed bool)) {
	var expression func(e *expr, addressed bool)
	expression = func(e *expr, addressed bool) {
		if e == nil {
			return
		}
		visit(e, addressed)
		expression(e.x, e.op == opUnary && e.text == "&")
		expression(e.y, false)
		expression(e.z, false)
		for _, a := range e.args {
			expression(a, false)
		}
	}
	var statement func(s *stmt)
	statement = func(s *stmt) {
		if s == nil {
			return
		}
		expression(s.x, false)
		expression(s.post, false)
		for _, v := range s.vals {
			expression(v, false)
		}
		statement(s.init)
		for _, c := range s.list {
			statement(c)
		}
	}
	statement(f.body)
}

// everywhere are extensions that became part of the language (OpenCL 1.1 and
// 1.2), or whose function did.
var everywhere = []string{
	"cl_khr_fp64", "cl_khr_fp16", "cl_amd_fp64", "cl_khr_byte_addressable_store",
	"cl_khr_global_int32_base_atomics", "cl_khr_global_int32_extended_atomics",
	"cl_khr_local_int32_base_atomics", "cl_khr_local_int32_extended_atomics",
	"cl_amd_printf", "cl_intel_printf", "all",
}

// extensions are those that the source enables.
func (u *unit) extensions() []string {
	var list []string
	for _, p := range u.prep.pragmas {
		if len(p.toks) != 5 || p.toks[0].text != "OPENCL" || p.toks[1].text != "EXTENSION" || !p.toks[3].is(":") {
			continue
		}
		name, what := p.toks[2].text, p.toks[4].text
		if (what == "enable" || what == "require") && !slices.Contains(everywhere, name) && !slices.Contains(list, name) {
			list = append(list, name)
		}
	}
	return list
}

// staticLocal is the local memory declared in the functions of list, in bytes.
func staticLocal(list []*decl) int64 {
	total := int64(0)
	for _, d := range list {
		if d.fn == nil {
			continue
		}
		for _, v := range d.fn.locals {
			n, ok := v.typ.size()
			if !ok || n > 1<<40 {
				continue
			}
			align := v.typ.alignment()
			total = (total+align-1)/align*align + n
		}
	}
	return total
}
