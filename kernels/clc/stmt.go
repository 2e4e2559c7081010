package clc

type stmtKind uint8

const (
	stmtExpr stmtKind = iota
	stmtDeclare
	stmtBlock
	stmtIf
	stmtFor
	stmtWhile
	stmtDo
	stmtSwitch
	stmtCase
	stmtReturn
	stmtLeave // break or continue
)

// stmt is a statement.
type stmt struct {
	kind stmtKind
	x    *expr   // expression, condition, value returned
	list []*stmt // block; if: then and else; loops: the body
	init *stmt   // for
	post *expr   // for
	vars []*variable
	vals []*expr // initialisers of vars, nil where there is none
	ctx  *context
	loop *loop // for
}

func (p *parser) push() {
	p.types = append(p.types, map[string]*ctype{})
	p.vars = append(p.vars, map[string]*variable{})
}

func (p *parser) pop() {
	p.types = p.types[:len(p.types)-1]
	p.vars = p.vars[:len(p.vars)-1]
}

func (p *parser) block() *stmt {
	p.expect("{")
	p.push()
	defer p.pop()
	s := &stmt{kind: stmtBlock}
	for !p.accept("}") {
		if p.tok().kind == tokEOF {
			bailf(p.tok().pos, "the source ends inside a function")
		}
		s.list = append(s.list, p.statement())
	}
	return s
}

func (p *parser) statement() *stmt {
	p.enter()
	defer p.leave()
	t := p.tok()
	if t.kind == tokIdent && (t.text == "__attribute__" || t.text == "__attribute") && !p.attributedDeclaration() {
		p.attributes() // of a loop
		t = p.tok()
	}
	switch {
	case t.is("{"):
		return p.block()
	case p.accept(";"):
		return &stmt{kind: stmtBlock}
	case t.kind != tokIdent:
		return p.simple()
	}
	switch t.text {
	case "if":
		p.i++
		s := &stmt{kind: stmtIf, x: p.parenthesised()}
		s.list = append(s.list, p.scoped())
		if p.tok().text == "else" {
			p.i++
			s.list = append(s.list, p.scoped())
		}
		return s
	case "for":
		p.i++
		p.push()
		defer p.pop()
		p.expect("(")
		s := &stmt{kind: stmtFor}
		switch {
		case p.accept(";"):
		case p.startsType(p.tok()) && p.variable(p.tok().text) == nil:
			s.init = p.declaration()
		default:
			s.init = p.simple()
		}
		if !p.tok().is(";") {
			s.x = p.expression()
		}
		p.expect(";")
		if !p.tok().is(")") {
			s.post = p.expression()
		}
		p.expect(")")
		s.list = []*stmt{p.scoped()}
		return s
	case "while":
		p.i++
		s := &stmt{kind: stmtWhile, x: p.parenthesised()}
		s.list = []*stmt{p.scoped()}
		return s
	case "do":
		p.i++
		s := &stmt{kind: stmtDo, list: []*stmt{p.scoped()}}
		if p.tok().text != "while" {
			bailf(p.tok().pos, "%q where \"while\" is expected", p.tok().text)
		}
		p.i++
		s.x = p.parenthesised()
		p.expect(";")
		return s
	case "switch":
		p.i++
		s := &stmt{kind: stmtSwitch, x: p.parenthesised()}
		s.list = []*stmt{p.scoped()}
		return s
	case "case", "default":
		p.i++
		s := &stmt{kind: stmtCase}
		if t.text == "case" {
			p.choice()
		}
		p.expect(":")
		return s
	case "return":
		p.i++
		s := &stmt{kind: stmtReturn}
		if !p.tok().is(";") {
			s.x = p.expression()
		}
		p.expect(";")
		return s
	case "break", "continue":
		p.i++
		p.expect(";")
		return &stmt{kind: stmtLeave}
	case "goto":
		bailf(t.pos, "it uses goto")
	}
	if p.ahead(1).is(":") {
		bailf(t.pos, "it has a label")
	}
	if p.startsType(t) && p.variable(t.text) == nil {
		return p.declaration()
	}
	return p.simple()
}

// attributedDeclaration reports whether what stands behind the attribute at
// hand is a declaration.
func (p *parser) attributedDeclaration() bool {
	at := p.i
	defer func() { p.i = at }()
	p.attributes()
	return p.startsType(p.tok())
}

// scoped reads a statement that has a scope of its own.
func (p *parser) scoped() *stmt {
	p.push()
	defer p.pop()
	return p.statement()
}

func (p *parser) parenthesised() *expr {
	p.expect("(")
	e := p.expression()
	p.expect(")")
	return e
}

func (p *parser) simple() *stmt {
	e := p.expression()
	p.expect(";")
	return &stmt{kind: stmtExpr, x: e}
}

// declaration reads a declaration inside a function.
func (p *parser) declaration() *stmt {
	s := p.specifiers()
	st := &stmt{kind: stmtDeclare}
	if p.accept(";") {
		return st
	}
	if s.base == nil {
		bailf(p.tok().pos, "unknown type %q", p.tok().text)
	}
	for {
		d := p.declarator(s.typ())
		if d.at < 0 {
			bailf(d.pos, "%q where a name is expected", p.tok().text)
		}
		if a := p.attributes(); a.aligned > 0 {
			c := *d.typ
			c.align = max(c.align, a.aligned)
			d.typ = &c
		}
		scope := len(p.vars) - 1
		switch {
		case s.typedef:
			p.name(d.typ, d.name)
			p.types[scope][d.name] = d.typ
			delete(p.vars[scope], d.name)
		case d.typ.kind == kindFunction:
			// a prototype inside a function declares what the file defines
			p.u.heads = append(p.u.heads, head{name: d.name, from: s.from, nameAt: d.at, list: d.list, fn: p.fn})
		default:
			v := &variable{name: d.name, typ: d.typ, pos: d.pos, param: -1}
			p.vars[scope][d.name] = v
			p.types[scope][d.name] = nil
			var val *expr
			if p.accept("=") {
				val = p.initialiser()
				p.unsized(v, val)
			}
			st.vars, st.vals = append(st.vars, v), append(st.vals, val)
			p.u.objects = append(p.u.objects, placed{v: v, spaceAt: s.spaceAt, fn: p.fn})
			if v.typ.space == spaceLocal && v.typ.kind != kindPointer {
				p.fn.locals = append(p.fn.locals, v)
			}
		}
		if !p.accept(",") {
			break
		}
	}
	p.expect(";")
	return st
}

// unsized gives an array without a length that of its initialiser.
func (p *parser) unsized(v *variable, val *expr) {
	if v.typ.kind == kindArray && v.typ.count < 0 && val.op == opList {
		c := *v.typ
		c.count = int64(len(val.args))
		v.typ = &c
	}
}

// name gives a struct without a tag the name of its typedef.
func (p *parser) name(t *ctype, name string) {
	if t.kind == kindStruct && t.name == "" {
		t.name, t.typ.Name = name, name
	}
}
