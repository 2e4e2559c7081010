package clc

import (
	"github.com/tandemrun/tandem/kernels"
)

// parse reads the declarations of a preprocessed source.
func parse(name string, prep *prep, set *settings) *unit {
	u := &unit{name: name, prep: prep, set: set, toks: prep.out,
		decls: map[string][]*decl{}, funcs: map[string]*function{}, globals: map[string]*variable{}, enums: map[string]int64{}}
	p := &parser{u: u, toks: prep.out, tags: map[string]*ctype{}}
	p.types = []map[string]*ctype{builtins(), {}}
	u.basic = p.types[0]
	p.vars = []map[string]*variable{u.globals, {}}
	p.closed = token{kind: tokEOF, pos: kernels.Pos{File: name}}
	if n := len(prep.out); n > 0 {
		p.closed.pos = prep.out[n-1].pos
	}
	for p.i < len(p.toks) {
		p.external()
	}
	for _, f := range u.order {
		f.annotate()
	}
	for _, f := range u.funcs {
		if !f.kernel {
			f.annotate()
		}
	}
	return u
}

// external reads one declaration of program scope. What it cannot read it
// reports if it is a kernel and skips otherwise: a device's compiler knows
// better.
func (p *parser) external() {
	from := p.i
	if p.accept(";") {
		return
	}
	d := &decl{from: from}
	p.u.all = append(p.u.all, d)
	defer catch(func(e *Error) {
		kernel := false
		for _, t := range p.toks[from:min(p.i+1, len(p.toks))] {
			kernel = kernel || t.text == "__kernel" || t.text == "kernel"
		}
		p.depth, p.types, p.vars, p.fn = 0, p.types[:2], p.vars[:2], nil
		p.i = from
		p.skipExternal()
		if kernel {
			p.u.faults.add(e.Pos, "%s", e.Msg)
		}
		d.to = p.i
		for _, t := range p.toks[from:p.i] { // it may declare any of these
			if t.is("{") || t.is("=") {
				break
			}
			if t.kind == tokIdent && !reserved[t.text] {
				p.u.decls[t.text], d.names = append(p.u.decls[t.text], d), append(d.names, t.text)
				if p.types[1][t.text] == nil && p.u.funcs[t.text] == nil {
					p.u.funcs[t.text] = &function{name: t.text, decl: d, opaque: e.Msg, where: e.Pos, defined: true}
				}
			}
		}
	})
	s := p.specifiers()
	declare := func(name string) { p.u.decls[name], d.names = append(p.u.decls[name], d), append(d.names, name) }
	for _, n := range s.names {
		declare(n)
	}
	if p.accept(";") {
		d.to = p.i
		return
	}
	if s.base == nil {
		t := p.tok()
		if t.kind == tokIdent {
			bailf(t.pos, "unknown type %q", t.text)
		}
		bailf(t.pos, "%q where a declaration is expected", t.text)
	}
	for first := true; ; first = false {
		dc := p.declarator(s.typ())
		s.attrs.merge(p.attributes())
		if dc.at < 0 {
			bailf(dc.pos, "%q where a name is expected", p.tok().text)
		}
		declare(dc.name)
		switch {
		case s.typedef:
			if s.attrs.aligned > 0 {
				c := *dc.typ
				c.align = max(c.align, s.attrs.aligned)
				dc.typ = &c
			}
			p.name(dc.typ, dc.name)
			p.types[1][dc.name] = dc.typ
		case dc.typ.kind == kindFunction:
			p.u.heads = append(p.u.heads, head{name: dc.name, from: s.from, nameAt: dc.at, list: dc.list, first: first, decl: d})
			if p.function(s, dc, d, first) {
				d.to = p.i
				return
			}
		default:
			v := &variable{name: dc.name, typ: dc.typ, pos: dc.pos, param: -1, global: true}
			if p.accept("=") {
				x := p.initialiser()
				p.unsized(v, x)
				p.u.inits = append(p.u.inits, x)
			}
			p.u.objects = append(p.u.objects, placed{v: v, spaceAt: s.spaceAt, decl: d})
			d.global = d.global || dc.typ.space != spaceConstant && !dc.typ.isConst
			p.u.globals[dc.name] = v
		}
		if !p.accept(",") {
			break
		}
	}
	p.expect(";")
	d.to = p.i
}

// skipExternal moves behind the declaration at hand: its semicolon, or the
// body of a function.
func (p *parser) skipExternal() {
	for {
		t := p.tok()
		switch {
		case t.kind == tokEOF:
			return
		case t.is(";"):
			p.i++
			return
		case t.is("(") || t.is("["):
			if !p.skipped() {
				return
			}
		case t.is("{"):
			body := p.i > 0 && (p.toks[p.i-1].is(")") || p.toks[p.i-1].is(";"))
			if !p.skipped() || body {
				return
			}
		default:
			p.i++
		}
	}
}

// skipped skips a group; a group without end takes the rest of the source.
func (p *parser) skipped() (ok bool) {
	defer catch(func(*Error) { p.i, ok = len(p.toks), false })
	p.skipGroup()
	return true
}

// function reads a function; done is true behind a body.
func (p *parser) function(s *specifiers, dc declared, d *decl, first bool) (done bool) {
	f := p.u.funcs[dc.name]
	fresh := f == nil || f.opaque != "" && !f.kernel
	if fresh {
		f = &function{name: dc.name, pos: dc.pos}
		p.u.funcs[dc.name] = f
	}
	f.attrs.merge(s.attrs)
	f.attrs.merge(p.attributes())
	f.kernel = f.kernel || s.kernel
	if dc.old {
		bailf(dc.pos, "%s declares its parameters behind the list, which OpenCL C does not know", dc.name)
	}
	if !p.tok().is("{") || !first {
		if fresh {
			f.params, f.ret, f.decl = dc.params, dc.typ.elem, d
		}
		return false
	}
	if f.defined && f.kernel {
		p.u.faults.add(dc.pos, "kernel %s is defined twice; first in %s", dc.name, f.pos)
		p.skipGroup()
		return true
	}
	d.fn, f.decl = f, d
	f.pos, f.params, f.ret, f.defined = dc.pos, dc.params, dc.typ.elem, true
	if f.kernel && len(p.u.order) >= maxKernels {
		p.u.faults.add(dc.pos, "kernel %s is beyond the %d that a source may have", f.name, maxKernels)
	} else if f.kernel {
		p.u.order = append(p.u.order, f)
	}
	p.body(f)
	return true
}

// body reads a function's body. One that cannot be read is skipped: it makes
// the function opaque, not the source wrong.
func (p *parser) body(f *function) {
	at := p.i
	p.skipGroup()
	end := p.i
	p.i = at
	defer func() { p.i, p.fn, p.types, p.vars = end, nil, p.types[:2], p.vars[:2] }()
	depth := p.depth
	defer catch(func(e *Error) { f.body, f.opaque, f.where, p.depth = nil, e.Msg, e.Pos, depth })
	p.fn = f
	p.push()
	for _, v := range f.params {
		p.vars[len(p.vars)-1][v.name] = v
		p.types[len(p.types)-1][v.name] = nil
	}
	f.body = p.block()
}
