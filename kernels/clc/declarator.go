package clc

import (
	"github.com/tandemrun/tandem/kernels"
)

// declared is a declarator: a name and the type it gives it.
type declared struct {
	name   string
	pos    kernels.Pos
	typ    *ctype
	params []*variable // of a function
	old    bool        // the parameters are names only
	at     int         // index of the name's token, -1: abstract
	list   paramTokens // of a function
}

// paramTokens are the tokens of a parameter list: its brackets, and from where
// to where each parameter goes.
type paramTokens struct {
	open, close int
	params      [][2]int
}

// declarator reads a declarator of the given base type; it may lack a name.
func (p *parser) declarator(base *ctype) declared {
	p.enter()
	defer p.leave()
	t := base
	p.attributes()
	for p.accept("*") || p.tok().is("^") {
		if p.tok().is("^") {
			bailf(p.tok().pos, "blocks are not supported")
		}
		t = pointerTo(t)
		for p.tok().kind == tokIdent {
			sp, isSpace := spaces[p.tok().text]
			switch w := p.tok().text; {
			case w == "const" || w == "__const":
				t = t.with(spaceNone, true, false)
			case w == "volatile" || w == "__volatile__":
				t = t.with(spaceNone, false, true)
			case w == "restrict" || w == "__restrict" || w == "__restrict__":
			case isSpace:
				t = t.with(sp, false, false)
			case w == "__attribute__" || w == "__attribute":
				p.attribute()
				continue
			default:
				goto direct
			}
			p.i++
		}
	direct:
	}
	d := declared{typ: t, pos: p.tok().pos, at: -1}
	inner := -1
	switch {
	case p.tok().kind == tokIdent && !p.startsType(p.tok()) || p.tok().kind == tokIdent && p.shadows():
		d.name, d.at = p.tok().text, p.i
		p.i++
	case p.tok().is("(") && !p.ahead(1).is(")") && !p.startsType(p.ahead(1)):
		inner = p.i + 1
		p.skipGroup()
	}
	d.typ = p.suffixes(t, &d)
	if inner >= 0 { // read what the brackets hold, now that its base is known
		end := p.i
		p.i = inner
		in := p.declarator(d.typ)
		p.expect(")")
		p.i = end
		if in.params == nil {
			in.params, in.old, in.list = d.params, d.old, d.list
		}
		return in
	}
	return d
}

// shadows reports whether a typedef's name is declared anew here.
func (p *parser) shadows() bool {
	t := p.tok()
	if _, ok := spaces[t.text]; ok || reserved[t.text] {
		return false
	}
	n := p.ahead(1)
	return n.is(";") || n.is("=") || n.is(",") || n.is(")") || n.is("[")
}

// suffixes reads array lengths and parameter lists.
func (p *parser) suffixes(t *ctype, d *declared) *ctype {
	switch {
	case p.accept("["):
		for p.tok().text == "const" || p.tok().text == "restrict" || p.tok().text == "static" || p.tok().text == "volatile" {
			p.i++
		}
		n, ok := int64(-1), true
		if !p.tok().is("]") {
			if n, ok = p.constant(); !ok || n < 0 {
				n = -1
			}
		}
		p.expect("]")
		elem := p.suffixes(t, d)
		return &ctype{kind: kindArray, elem: elem, count: n, space: elem.space, isConst: elem.isConst}
	case p.tok().is("("):
		list := paramTokens{open: p.i}
		p.i++
		params, old := p.parameters(&list)
		list.close = p.i - 1
		if d.params == nil {
			d.params, d.old, d.list = params, old, list
		}
		return p.suffixes(&ctype{kind: kindFunction, elem: t, name: "a function"}, d)
	}
	return t
}

// parameters reads a parameter list behind its opening bracket.
func (p *parser) parameters(list *paramTokens) (params []*variable, old bool) {
	params = []*variable{}
	if p.accept(")") {
		return params, false
	}
	if p.tok().text == "void" && p.ahead(1).is(")") {
		p.i += 2
		return params, false
	}
	for {
		if p.accept("...") {
			p.expect(")")
			return params, old
		}
		from := p.i
		s := p.specifiers()
		if s.base == nil {
			t := p.tok()
			if t.kind == tokIdent && (p.ahead(1).is(",") || p.ahead(1).is(")")) {
				old = true
			}
			if !old {
				bailf(t.pos, "unknown type %q", t.text)
			}
			s.base = p.types[0]["int"]
		}
		if s.pipe {
			s.base = &ctype{kind: kindOpaque, name: "pipe"}
		}
		d := p.declarator(s.typ())
		p.attributes()
		if d.at < 0 {
			d.pos = s.pos
		}
		t := d.typ
		if t.kind == kindArray { // an array parameter is a pointer
			t = pointerTo(t.elem)
		}
		params = append(params, &variable{name: d.name, typ: t, pos: d.pos, param: len(params)})
		list.params = append(list.params, [2]int{from, p.i})
		if len(params) > 1000 {
			bailf(d.pos, "more than 1000 parameters")
		}
		if !p.accept(",") {
			break
		}
	}
	p.expect(")")
	return params, old
}
