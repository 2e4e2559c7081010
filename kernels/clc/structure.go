package clc

import (
	"fmt"
)

// structure reads a struct or union behind its keyword.
func (p *parser) structure(union bool, s *specifiers) *ctype {
	p.enter()
	defer p.leave()
	var attrs attributes
	for p.tok().text == "__attribute__" || p.tok().text == "__attribute" {
		attrs.merge(p.attribute())
	}
	tag := ""
	if p.tok().kind == tokIdent {
		tag = p.tok().text
		p.i++
	}
	t := p.tags[tag]
	if tag == "" || t == nil || p.tok().is("{") && t.complete {
		t = &ctype{kind: kindStruct, union: union, name: tag}
		if tag != "" {
			p.tags[tag] = t
		}
	}
	if tag != "" {
		s.names = append(s.names, tag)
	}
	if !p.tok().is("{") {
		return t
	}
	p.i++
	for !p.accept("}") {
		if p.accept(";") {
			continue
		}
		fs := p.specifiers()
		if fs.base == nil {
			bailf(p.tok().pos, "%q is no type", p.tok().text)
		}
		s.names = append(s.names, fs.names...)
		if p.tok().is(";") && fs.base.kind == kindStruct { // an anonymous member
			t.trouble = "it has a member without a name"
		}
		for !p.tok().is(";") {
			d := p.declarator(fs.typ())
			if p.accept(":") {
				p.constant()
				t.trouble = "it has bit-fields"
			}
			if a := p.attributes(); a.aligned > 0 || a.packed {
				c := *d.typ
				c.align = max(c.align, a.aligned)
				if a.packed {
					t.trouble = fmt.Sprintf("its field %q is packed on its own", d.name)
				}
				d.typ = &c
			}
			t.fields = append(t.fields, cfield{d.name, d.typ})
			if !p.accept(",") {
				break
			}
		}
		p.expect(";")
	}
	attrs.merge(p.attributes())
	t.layOut(attrs.packed, attrs.aligned)
	return t
}

func (p *parser) attributes() (a attributes) {
	for p.tok().text == "__attribute__" || p.tok().text == "__attribute" {
		a.merge(p.attribute())
	}
	return a
}

// enumeration reads an enum behind its keyword.
func (p *parser) enumeration(s *specifiers) {
	s.base = p.types[0]["int"]
	p.attributes()
	if p.tok().kind == tokIdent {
		s.names = append(s.names, p.tok().text)
		p.i++
	}
	if !p.accept("{") {
		return
	}
	next, known := int64(0), true
	for !p.accept("}") {
		t := p.tok()
		if t.kind != tokIdent {
			bailf(t.pos, "%q where an enumerator is expected", t.text)
		}
		p.i++
		p.attributes()
		if p.accept("=") {
			next, known = p.constant()
		}
		if known {
			p.u.enums[t.text] = next
		}
		s.names = append(s.names, t.text)
		next++
		if !p.accept(",") {
			p.expect("}")
			break
		}
	}
	p.attributes()
}
