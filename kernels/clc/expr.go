package clc

import (
	"github.com/tandemrun/tandem/kernels"
)

type exprOp uint8

const (
	opNumber exprOp = iota // text
	opString               // a literal
	opName                 // text: a variable (v) or a name that the language knows
	opCall                 // text(args)
	opIndex                // x[y]
	opMember               // x.text
	opArrow                // x->text
	opUnary                // text x: + - ~ ! * &
	opUpdate               // ++ or --, in front or behind
	opBinary               // x text y
	opAssign               // x text y: = += …
	opChoose               // x ? y : z
	opComma                // x, y
	opCast                 // (typ) x
	opVector               // (typ)(args) or (typ){args}
	opSize                 // sizeof x or sizeof(typ)
	opList                 // {args}
)

// expr is an expression. Contexts are set when a function is annotated.
type expr struct {
	op      exprOp
	text    string
	pos     kernels.Pos
	x, y, z *expr
	args    []*expr
	v       *variable
	typ     *ctype
	onTrue  *context // in which y of && and of ?: is evaluated
	onFalse *context // y of ||, z of ?:

	// Tokens: from begins and to is behind it; at is the operator, the name of
	// a call or a member, the bracket that closes the type of a cast or of a
	// vector, or the question mark, and mid the colon.
	from, at, mid, to int
}

// expression reads an expression with commas.
func (p *parser) expression() *expr {
	from := p.i
	e := p.assignment()
	for p.tok().is(",") {
		pos, at := p.tok().pos, p.i
		p.i++
		e = p.span(from, at, &expr{op: opComma, pos: pos, x: e, y: p.assignment()})
	}
	return e
}

// span notes the tokens of an expression that ends here.
func (p *parser) span(from, at int, e *expr) *expr {
	e.from, e.at, e.to = from, at, p.i
	return e
}

var assignOps = map[string]bool{"=": true, "+=": true, "-=": true, "*=": true, "/=": true, "%=": true,
	"<<=": true, ">>=": true, "&=": true, "|=": true, "^=": true}

func (p *parser) assignment() *expr {
	p.enter()
	defer p.leave()
	from := p.i
	e := p.choice()
	if t := p.tok(); t.kind == tokPunct && assignOps[t.text] {
		at := p.i
		p.i++
		return p.span(from, at, &expr{op: opAssign, text: t.text, pos: t.pos, x: e, y: p.assignment()})
	}
	return e
}

func (p *parser) choice() *expr {
	from := p.i
	e := p.binary(0)
	at := p.i
	if t := p.tok(); p.accept("?") {
		y := p.expression()
		mid := p.i
		p.expect(":")
		return p.span(from, at, &expr{op: opChoose, pos: t.pos, x: e, y: y, z: p.assignment(), mid: mid})
	}
	return e
}

func (p *parser) binary(above int) *expr {
	p.enter()
	defer p.leave()
	from := p.i
	e := p.unary()
	for {
		t, at := p.tok(), p.i
		prec := precedence[t.text]
		if t.kind != tokPunct || prec <= above {
			return e
		}
		p.i++
		e = p.span(from, at, &expr{op: opBinary, text: t.text, pos: t.pos, x: e, y: p.binary(prec)})
	}
}

func (p *parser) unary() *expr {
	p.enter()
	defer p.leave()
	t, from := p.tok(), p.i
	switch {
	case t.kind == tokPunct && (t.text == "+" || t.text == "-" || t.text == "~" || t.text == "!" || t.text == "*" || t.text == "&"):
		p.i++
		return p.span(from, from, &expr{op: opUnary, text: t.text, pos: t.pos, x: p.unary()})
	case t.is("++") || t.is("--"):
		p.i++
		return p.span(from, from, &expr{op: opUpdate, text: t.text, pos: t.pos, x: p.unary()})
	case t.kind == tokIdent && t.text == "sizeof":
		p.i++
		if p.tok().is("(") && p.startsType(p.ahead(1)) {
			p.i++
			typ := p.typeName()
			p.expect(")")
			return p.span(from, from, &expr{op: opSize, pos: t.pos, typ: typ})
		}
		return p.span(from, from, &expr{op: opSize, pos: t.pos, x: p.unary()})
	case t.is("(") && p.startsType(p.ahead(1)):
		p.i++
		typ := p.typeName()
		at := p.i
		p.expect(")")
		if p.tok().is("{") {
			list := p.list()
			return p.postfix(p.span(from, at, &expr{op: opVector, pos: t.pos, typ: typ, args: list.args}))
		}
		if typ.kind == kindVector && p.tok().is("(") {
			p.i++
			e := &expr{op: opVector, pos: t.pos, typ: typ}
			for !p.tok().is(")") {
				e.args = append(e.args, p.assignment())
				if !p.accept(",") {
					break
				}
			}
			p.expect(")")
			return p.postfix(p.span(from, at, e))
		}
		return p.span(from, at, &expr{op: opCast, pos: t.pos, typ: typ, x: p.unary()})
	}
	return p.postfix(p.primary())
}

func (p *parser) typeName() *ctype {
	s := p.specifiers()
	if s.base == nil {
		bailf(p.tok().pos, "%q is no type", p.tok().text)
	}
	d := p.declarator(s.typ())
	if d.at >= 0 {
		bailf(d.pos, "%q where a type ends", d.name)
	}
	return d.typ
}

func (p *parser) primary() *expr {
	t, from := p.tok(), p.i
	p.i++
	switch {
	case t.is("("):
		e := p.expression()
		p.expect(")")
		return e
	case t.kind == tokNumber || t.kind == tokChar:
		return p.span(from, from, &expr{op: opNumber, text: t.text, pos: t.pos})
	case t.kind == tokString:
		for p.tok().kind == tokString {
			p.i++
		}
		return p.span(from, from, &expr{op: opString, pos: t.pos})
	case t.kind == tokIdent && !reserved[t.text]:
		e := p.span(from, from, &expr{op: opName, text: t.text, pos: t.pos, v: p.variable(t.text)})
		if e.v == nil && p.tok().is("(") {
			return p.call(e)
		}
		return e
	}
	if t.kind == tokEOF {
		bailf(t.pos, "the source ends inside an expression")
	}
	bailf(t.pos, "%q is not expected here", t.text)
	return nil
}

func (p *parser) call(name *expr) *expr {
	e := &expr{op: opCall, text: name.text, pos: name.pos}
	p.expect("(")
	for !p.tok().is(")") {
		e.args = append(e.args, p.assignment())
		if !p.accept(",") {
			break
		}
	}
	p.expect(")")
	return p.span(name.from, name.at, e)
}

func (p *parser) postfix(e *expr) *expr {
	from := e.from
	for {
		t, at := p.tok(), p.i
		switch {
		case p.accept("["):
			e = &expr{op: opIndex, pos: e.pos, x: e, y: p.expression()}
			p.expect("]")
			p.span(from, at, e)
		case t.is(".") || t.is("->"):
			p.i++
			n := p.tok()
			if n.kind != tokIdent {
				bailf(n.pos, "%q where a member is expected", n.text)
			}
			p.i++
			op := opMember
			if t.is("->") {
				op = opArrow
			}
			e = p.span(from, at+1, &expr{op: op, text: n.text, pos: t.pos, x: e})
		case t.is("++") || t.is("--"):
			p.i++
			e = p.span(from, at, &expr{op: opUpdate, text: t.text, pos: t.pos, x: e})
		case t.is("("):
			bailf(t.pos, "calls through pointers are not supported")
		default:
			return e
		}
	}
}

// list reads an initialiser list.
func (p *parser) list() *expr {
	p.enter()
	defer p.leave()
	e := &expr{op: opList, pos: p.tok().pos}
	p.expect("{")
	for !p.tok().is("}") {
		for p.tok().is(".") || p.tok().is("[") { // a designator
			if p.accept(".") {
				p.i++
			} else {
				p.i++
				e.args = append(e.args, p.expression())
				p.expect("]")
			}
			p.accept("=")
		}
		e.args = append(e.args, p.initialiser())
		if !p.accept(",") {
			break
		}
	}
	p.expect("}")
	return e
}

func (p *parser) initialiser() *expr {
	if p.tok().is("{") {
		return p.list()
	}
	return p.assignment()
}

func (p *parser) variable(name string) *variable {
	for i := len(p.vars) - 1; i >= 0; i-- {
		if v, ok := p.vars[i][name]; ok {
			return v
		}
	}
	return nil
}

// fold evaluates a constant integer expression.
func (u *unit) fold(e *expr) (int64, bool) {
	switch e.op {
	case opNumber:
		if e.text[0] == '\'' {
			return parseChar(e.text)
		}
		n, _, ok := parseInteger(e.text)
		return n, ok
	case opName:
		n, ok := u.enums[e.text]
		return n, ok && e.v == nil
	case opSize:
		if e.typ != nil {
			return e.typ.size()
		}
		if e.x.op == opName && e.x.v != nil {
			return e.x.v.typ.size()
		}
	case opCast:
		if t, ok := e.typ.integer(); ok {
			n, ok := u.fold(e.x)
			lo, hi := t.limits()
			return n, ok && n >= lo && n <= hi
		}
	case opUnary:
		n, ok := u.fold(e.x)
		switch e.text {
		case "-":
			return -n, ok
		case "+":
			return n, ok
		case "~":
			return ^n, ok
		case "!":
			if n == 0 {
				return 1, ok
			}
			return 0, ok
		}
	case opChoose:
		if n, ok := u.fold(e.x); ok && n != 0 {
			return u.fold(e.y)
		} else if ok {
			return u.fold(e.z)
		}
	case opBinary:
		a, ok1 := u.fold(e.x)
		b, ok2 := u.fold(e.y)
		if !ok1 || !ok2 || b == 0 && (e.text == "/" || e.text == "%") {
			return 0, false
		}
		c := condParser{}
		return c.apply(e.text, condValue{n: a}, condValue{n: b}, true).n, true
	}
	return 0, false
}
