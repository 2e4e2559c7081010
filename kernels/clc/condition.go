package clc

import (
	"strconv"
	"strings"

	"github.com/tandemrun/tandem/kernels"
)

// condition evaluates the expression of an #if.
func (p *prep) condition(r *reader, g *group, args []token, at kernels.Pos) bool {
	var in []token
	for i := 0; i < len(args); i++ {
		t := args[i]
		if t.kind == tokIdent {
			g.deps = append(g.deps, t.text)
		}
		if t.text != "defined" {
			in = append(in, t)
			continue
		}
		closing := 0
		if i+1 < len(args) && args[i+1].is("(") {
			i, closing = i+1, 1
		}
		if i+1+closing >= len(args) || args[i+1].kind != tokIdent || closing == 1 && !args[i+2].is(")") {
			bailf(r.at(t), "defined wants the name of a macro")
		}
		g.deps = append(g.deps, args[i+1].text)
		value := "0"
		if _, ok := p.macros[args[i+1].text]; ok {
			value = "1"
		}
		in = append(in, token{kind: tokNumber, text: value, pos: t.pos})
		i += 1 + closing
	}
	p.inIf = g
	toks := p.expandAll(r, in)
	p.inIf = nil
	for _, t := range toks {
		if t.kind == tokIdent {
			g.deps = append(g.deps, t.text)
		}
	}
	c := condParser{p: p, toks: toks, at: at}
	v := c.ternary(true)
	if c.i < len(toks) {
		bailf(at, "%q is not expected in the condition", toks[c.i].text)
	}
	return v.n != 0
}

// condParser evaluates an #if expression, in 64 bits.
type condParser struct {
	p     *prep
	toks  []token
	i     int
	depth int
	at    kernels.Pos
}

type condValue struct {
	n        int64
	unsigned bool
}

func (c *condParser) accept(text string) bool {
	if c.i < len(c.toks) && c.toks[c.i].is(text) {
		c.i++
		return true
	}
	return false
}

// ternary evaluates; live is false in the operand that does not count, where
// a division by zero is no fault.
func (c *condParser) ternary(live bool) condValue {
	if c.depth++; c.depth > 200 {
		bailf(c.at, "the condition is nested too deeply")
	}
	defer func() { c.depth-- }()
	v := c.binary(0, live)
	if !c.accept("?") {
		return v
	}
	a := c.ternary(live && v.n != 0)
	if !c.accept(":") {
		bailf(c.at, "the condition lacks a ':'")
	}
	b := c.ternary(live && v.n == 0)
	if v.n != 0 {
		return condValue{a.n, a.unsigned || b.unsigned}
	}
	return condValue{b.n, a.unsigned || b.unsigned}
}

// precedence orders C's binary operators, the loosest first.
var precedence = map[string]int{
	"||": 1, "&&": 2, "|": 3, "^": 4, "&": 5, "==": 6, "!=": 6, "<": 7, ">": 7, "<=": 7, ">=": 7,
	"<<": 8, ">>": 8, "+": 9, "-": 9, "*": 10, "/": 10, "%": 10,
}

func (c *condParser) binary(above int, live bool) condValue {
	v := c.unary(live)
	for c.i < len(c.toks) && c.toks[c.i].kind == tokPunct {
		op := c.toks[c.i].text
		prec := precedence[op]
		if prec <= above {
			break
		}
		c.i++
		w := c.binary(prec, live && !(op == "&&" && v.n == 0) && !(op == "||" && v.n != 0))
		v = c.apply(op, v, w, live)
	}
	return v
}

func (c *condParser) apply(op string, v, w condValue, live bool) condValue {
	u := v.unsigned || w.unsigned
	truth := func(b bool) condValue {
		if b {
			return condValue{n: 1}
		}
		return condValue{}
	}
	less := func(a, b int64) bool {
		if u {
			return uint64(a) < uint64(b)
		}
		return a < b
	}
	switch op {
	case "||":
		return truth(v.n != 0 || w.n != 0)
	case "&&":
		return truth(v.n != 0 && w.n != 0)
	case "==":
		return truth(v.n == w.n)
	case "!=":
		return truth(v.n != w.n)
	case "<":
		return truth(less(v.n, w.n))
	case ">":
		return truth(less(w.n, v.n))
	case "<=":
		return truth(!less(w.n, v.n))
	case ">=":
		return truth(!less(v.n, w.n))
	case "|":
		return condValue{v.n | w.n, u}
	case "^":
		return condValue{v.n ^ w.n, u}
	case "&":
		return condValue{v.n & w.n, u}
	case "+":
		return condValue{v.n + w.n, u}
	case "-":
		return condValue{v.n - w.n, u}
	case "*":
		return condValue{v.n * w.n, u}
	case "<<":
		return condValue{v.n << (uint64(w.n) & 63), v.unsigned}
	case ">>":
		if v.unsigned {
			return condValue{int64(uint64(v.n) >> (uint64(w.n) & 63)), true}
		}
		return condValue{v.n >> (uint64(w.n) & 63), false}
	}
	if w.n == 0 {
		if live {
			bailf(c.at, "division by zero in the condition")
		}
		return condValue{0, u}
	}
	switch {
	case u && op == "/":
		return condValue{int64(uint64(v.n) / uint64(w.n)), true}
	case u:
		return condValue{int64(uint64(v.n) % uint64(w.n)), true}
	case w.n == -1 && op == "/":
		return condValue{-v.n, false}
	case w.n == -1:
		return condValue{}
	case op == "/":
		return condValue{v.n / w.n, false}
	}
	return condValue{v.n % w.n, false}
}

func (c *condParser) unary(live bool) condValue {
	if c.depth++; c.depth > 200 {
		bailf(c.at, "the condition is nested too deeply")
	}
	defer func() { c.depth-- }()
	if c.i >= len(c.toks) {
		bailf(c.at, "the condition is incomplete")
	}
	t := c.toks[c.i]
	c.i++
	switch {
	case t.is("("):
		v := c.ternary(live)
		if !c.accept(")") {
			bailf(c.at, "the condition lacks a ')'")
		}
		return v
	case t.is("-"):
		v := c.unary(live)
		return condValue{-v.n, v.unsigned}
	case t.is("+"):
		return c.unary(live)
	case t.is("~"):
		v := c.unary(live)
		return condValue{^v.n, v.unsigned}
	case t.is("!"):
		if c.unary(live).n == 0 {
			return condValue{n: 1}
		}
		return condValue{}
	case t.kind == tokIdent:
		if c.i < len(c.toks) && c.toks[c.i].is("(") && strings.HasPrefix(t.text, "__has_") {
			for depth := 0; c.i < len(c.toks); c.i++ { // a question this reader answers with no
				if c.toks[c.i].is("(") {
					depth++
				} else if c.toks[c.i].is(")") {
					if depth--; depth == 0 {
						c.i++
						break
					}
				}
			}
		}
		return condValue{}
	case t.kind == tokNumber:
		if n, typ, ok := parseInteger(t.text); ok {
			return condValue{n, !typ.signed}
		}
		bailf(c.at, "%s is no integer", t.text)
	case t.kind == tokChar:
		if n, ok := parseChar(t.text); ok {
			return condValue{n: n}
		}
	}
	bailf(c.at, "%q is not expected in the condition", t.text)
	return condValue{}
}

// parseInteger reads an integer literal and finds its type.
func parseInteger(text string) (int64, intType, bool) {
	digits := strings.TrimRight(text, "uUlL")
	suffix := strings.ToLower(text[len(digits):])
	if strings.ContainsAny(digits, "_") {
		return 0, intType{}, false
	}
	u, err := strconv.ParseUint(digits, 0, 64)
	if err != nil || strings.HasPrefix(digits, "0o") || strings.HasPrefix(digits, "0O") {
		return 0, intType{}, false
	}
	decimal := digits[0] != '0'
	t := intType{32, !strings.Contains(suffix, "u")}
	if strings.Contains(suffix, "l") || u > 1<<32-1 || t.signed && decimal && u > 1<<31-1 {
		t.bits = 64
	} else if t.signed && u > 1<<31-1 {
		t.signed = false
	}
	if u > 1<<63-1 {
		t.signed = false
	}
	return int64(u), t, true
}

// parseChar reads a character literal.
func parseChar(text string) (int64, bool) {
	s, err := strconv.Unquote(text)
	if err != nil || len(s) != 1 {
		if text == `'\0'` {
			return 0, true
		}
		return 0, false
	}
	return int64(int8(s[0])), true
}
