package clc

import (
	"github.com/tandemrun/tandem/kernels"
)

// maxParse bounds how deeply declarations, statements and expressions nest.
const maxParse = 200

// parser reads declarations and bodies from preprocessed tokens.
type parser struct {
	u      *unit
	toks   []token
	i      int
	depth  int
	types  []map[string]*ctype    // typedefs by scope; nil: the name is something else
	vars   []map[string]*variable // variables by scope
	tags   map[string]*ctype
	fn     *function
	closed token // end of the source
}

func (p *parser) tok() token {
	if p.i < len(p.toks) {
		return p.toks[p.i]
	}
	return p.closed
}

func (p *parser) ahead(n int) token {
	if p.i+n < len(p.toks) {
		return p.toks[p.i+n]
	}
	return p.closed
}

func (p *parser) accept(text string) bool {
	if p.tok().is(text) {
		p.i++
		return true
	}
	return false
}

func (p *parser) expect(text string) token {
	t := p.tok()
	if !p.accept(text) {
		if t.kind == tokEOF {
			bailf(t.pos, "the source ends where %q is expected", text)
		}
		bailf(t.pos, "%q where %q is expected", t.text, text)
	}
	return t
}

func (p *parser) enter() {
	if p.depth++; p.depth > maxParse {
		bailf(p.tok().pos, "this is nested more than %d deep", maxParse)
	}
}

func (p *parser) leave() { p.depth-- }

// specifiers are what stands in front of declarators.
type specifiers struct {
	kernel, typedef, pipe bool
	space                 space
	isConst, volatile     bool
	base                  *ctype
	attrs                 attributes
	names                 []string // tags and enumerators declared on the way
	from, spaceAt         int      // tokens: the first one, and the address space (-1: none)
	pos                   kernels.Pos
}

// typ is the type that the specifiers name.
func (s *specifiers) typ() *ctype {
	t := s.base.with(s.space, s.isConst, s.volatile)
	if s.attrs.aligned > 0 {
		c := *t
		c.align = s.attrs.aligned
		t = &c
	}
	return t
}

// lookup finds a type by name.
func (p *parser) lookup(name string) *ctype {
	for i := len(p.types) - 1; i >= 0; i-- {
		if t, ok := p.types[i][name]; ok {
			return t
		}
	}
	return nil
}

// startsType reports whether t begins a declaration or a type name.
func (p *parser) startsType(t token) bool {
	if t.kind != tokIdent {
		return false
	}
	if _, ok := spaces[t.text]; ok {
		return true
	}
	switch t.text {
	case "const", "__const", "volatile", "__volatile__", "restrict", "__restrict", "__restrict__", "static", "extern",
		"inline", "__inline", "__inline__", "register", "auto", "typedef", "struct", "union", "enum", "signed", "unsigned",
		"__attribute__", "__attribute", "__kernel", "kernel", "__extension__", "pipe",
		"__read_only", "read_only", "__write_only", "write_only", "__read_write", "read_write":
		return true
	}
	return p.lookup(t.text) != nil
}

// specifiers reads qualifiers, storage classes and the type; base stays nil
// where there is none.
func (p *parser) specifiers() *specifiers {
	s := &specifiers{pos: p.tok().pos, from: p.i, spaceAt: -1}
	words := map[string]int{}
	for {
		t := p.tok()
		if t.kind != tokIdent {
			break
		}
		if sp, ok := spaces[t.text]; ok {
			s.space, s.spaceAt = sp, p.i
			p.i++
			continue
		}
		switch t.text {
		case "__kernel", "kernel":
			s.kernel = true
		case "typedef":
			s.typedef = true
		case "const", "__const":
			s.isConst = true
		case "volatile", "__volatile__":
			s.volatile = true
		case "pipe":
			s.pipe = true
		case "static", "extern", "inline", "__inline", "__inline__", "register", "auto", "restrict", "__restrict", "__restrict__",
			"__extension__", "__read_only", "read_only", "__write_only", "write_only", "__read_write", "read_write":
		case "__attribute__", "__attribute":
			s.attrs.merge(p.attribute())
			continue
		case "struct", "union":
			if s.base != nil {
				return s
			}
			p.i++
			s.base = p.structure(t.text == "union", s)
			continue
		case "enum":
			p.i++
			p.enumeration(s)
			continue
		case "signed", "unsigned", "char", "short", "int", "long", "float", "double":
			if s.base != nil {
				return s
			}
			if words[t.text]++; words[t.text] > 1 {
				bailf(t.pos, "%s %s is no type of OpenCL C", t.text, t.text)
			}
		default:
			if s.base != nil || len(words) > 0 {
				s.finish(p, words, t)
				return s
			}
			if s.base = p.lookup(t.text); s.base == nil {
				return s
			}
		}
		p.i++
	}
	s.finish(p, words, p.tok())
	return s
}

// finish turns the words of a scalar type into the type.
func (s *specifiers) finish(p *parser, words map[string]int, t token) {
	if len(words) == 0 {
		return
	}
	name := "int"
	for _, w := range []string{"char", "short", "long", "float", "double"} {
		if words[w] > 0 {
			if name != "int" {
				bailf(t.pos, "%s %s is no type of OpenCL C", name, w)
			}
			name = w
		}
	}
	float := name == "float" || name == "double"
	if float && words["int"]+words["signed"]+words["unsigned"] > 0 || words["signed"]+words["unsigned"] > 1 ||
		name == "char" && words["int"] > 0 {
		bailf(t.pos, "this is no type of OpenCL C")
	}
	if words["unsigned"] > 0 {
		name = "u" + name
	}
	s.base = p.types[0][name]
}

// attribute reads one __attribute__((…)).
func (p *parser) attribute() (a attributes) {
	p.i++
	p.expect("(")
	p.expect("(")
	for !p.tok().is(")") {
		t := p.tok()
		p.i++
		if t.kind == tokEOF {
			bailf(t.pos, "this attribute does not end")
		}
		var args []int64
		known := true
		if p.tok().is("(") {
			switch t.text {
			case "aligned", "__aligned__", "reqd_work_group_size", "__reqd_work_group_size__":
				p.i++
				for !p.tok().is(")") {
					n, ok := p.constant()
					args, known = append(args, n), known && ok
					if !p.accept(",") {
						break
					}
				}
				p.expect(")")
			default:
				p.skipGroup()
			}
		}
		switch t.text {
		case "packed", "__packed__":
			a.packed = true
		case "aligned", "__aligned__":
			a.aligned = 16
			if len(args) == 1 {
				if n := args[0]; !known || n <= 0 || n > 1<<16 || n&(n-1) != 0 {
					bailf(t.pos, "the alignment has to be a power of two up to %d", 1<<16)
				}
				a.aligned = int(args[0])
			}
		case "reqd_work_group_size", "__reqd_work_group_size__":
			if len(args) != 3 || !known {
				bailf(t.pos, "reqd_work_group_size wants three constants")
			}
			for d, n := range args {
				if n <= 0 || n > 1<<24 {
					bailf(t.pos, "reqd_work_group_size(%d, %d, %d) is impossible", args[0], args[1], args[2])
				}
				a.local[d] = int(n)
			}
		}
		p.accept(",")
	}
	p.expect(")")
	p.expect(")")
	return a
}

// skipGroup skips a bracket and what it encloses.
func (p *parser) skipGroup() {
	start, depth := p.tok(), 0
	for {
		t := p.tok()
		switch {
		case t.kind == tokEOF:
			bailf(start.pos, "this %q is not closed", start.text)
		case t.is("(") || t.is("[") || t.is("{"):
			depth++
		case t.is(")") || t.is("]") || t.is("}"):
			depth--
		}
		p.i++
		if depth == 0 {
			return
		}
	}
}

// constant reads a constant expression; ok is false if its value is not known.
func (p *parser) constant() (n int64, ok bool) {
	x := p.assignment()
	return p.u.fold(x)
}
