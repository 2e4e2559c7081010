package clc

import (
	"fmt"
	"slices"

	"github.com/tandemrun/tandem/kernels"
)

// Markup is a preprocessed source together with what its reader made of it, for
// tools that write it in another language: every token, and marks on those that
// mean something in OpenCL C which is not said by the token alone. It is
// read-only once made.
type Markup struct {
	Tokens  []Token
	Marks   []Mark   // those of an expression before those inside of it
	Heads   []Head   // functions, declared or defined, in order
	Objects []Object // variables, in order
	Pragmas []Pragma
	Units   []Unit // declarations of program scope, in order
	Kernels []MarkedKernel
	Options []string // compiler options without -D, -U and -I

	// Faults are what is wrong with the source or not understood, outside of
	// its units.
	Faults error
}

// Token is a token behind the preprocessor: macros are expanded.
type Token struct {
	Text   string
	Ident  bool // a name or a word of the language
	Quoted bool // a literal: a string or a character
	Number bool
	Space  bool // white space before it
	Pos    kernels.Pos
}

// MarkKind says what a Mark marks.
type MarkKind uint8

// The kinds of marks.
const (
	// MarkLiteral is a vector literal, (float4)(a, b, …): From is the first
	// bracket, At the one that closes the type, To behind the last.
	MarkLiteral MarkKind = iota
	// MarkCompound is a compound literal, (type){…}: tokens as before.
	MarkCompound
	// MarkLanes is a choice of lanes of a vector, v.xz or v.lo.s01: from the
	// name From to the name At; Lanes says which lanes of the whole vector.
	MarkLanes
	// MarkChoose is c ? a : b with a vector in c: From, the question mark At,
	// the colon Mid, To.
	MarkChoose
	// MarkCall is a call of a function by the name at At; Own says that the
	// source declares it.
	MarkCall
	// MarkShift is a << b or a >> b whose b is not known to be less than the
	// width of a: From, the operator At, To.
	MarkShift
	// MarkShiftTo is a <<= b or a >>= b of that kind.
	MarkShiftTo
	// MarkUnclear is a member of something whose type is not known, at At.
	MarkUnclear
)

// Mark is a mark on tokens, given by their indices.
type Mark struct {
	Kind              MarkKind
	From, At, Mid, To int
	Name              string // MarkCall: the function; others: a type or an operator
	Own               bool
	Args              int   // of a call or a literal
	Lanes             []int // MarkLanes
	Store             bool  // MarkLanes: the lanes are assigned to
	Vector            bool  // the type is a vector
	Array             bool  // MarkCompound: the type is an array
	Unit              int   // index in Units, -1: none
}

// Head is the head of a function.
type Head struct {
	Name         string
	From, NameAt int // tokens
	Open, Close  int // brackets of the parameter list
	Params       [][2]int
	Kernel       bool
	Body         bool // it has one
	First        bool // it is the first that its declaration declares
	Inside       bool // it stands in a function
	Unit         int
}

// ObjectSpace is where an object lives.
type ObjectSpace uint8

// The spaces of objects.
const (
	ObjectPrivate ObjectSpace = iota
	ObjectGlobal
	ObjectConstant
	ObjectLocal
)

// Object is a variable.
type Object struct {
	Name    string
	Pos     kernels.Pos
	Space   ObjectSpace
	SpaceAt int  // token of the address space, -1: there is none
	Pointer bool // the address space is that of what it points to
	Program bool // of program scope
	Unit    int
}

// Pragma is a #pragma before token At.
type Pragma struct {
	At   int
	Text string // without #pragma
	Pos  kernels.Pos
}

// Unit is a declaration of program scope.
type Unit struct {
	From, To int // tokens
	Names    []string
	Function string // that it defines
	// Opaque says why it could not be read, and where; "" if it was.
	Opaque string
	Where  kernels.Pos
	Calls  []string // names of functions and objects of the source that it uses
}

// MarkedKernel is a kernel of the source.
type MarkedKernel struct {
	Name        string
	Pos         kernels.Pos
	Params      []kernels.Param // without access mappings
	FixedLocal  [3]int
	StaticLocal int64
	Err         error // why it cannot be bound to arguments
}

// MarkUp reads a source as Parse does and returns it marked up. extra are macros
// that the target's compiler predefines, beyond those of every source.
func MarkUp(name string, text []byte, o Options, extra []Define) (*Markup, error) {
	o.Defines = append(slices.Clone(extra), o.Defines...)
	u, err := open(name, text, o)
	if err != nil {
		return nil, err
	}
	m := &marker{u: u, unitOf: map[*decl]int{}}
	return m.markup(), nil
}

// A Foreign source is one in another language with C's preprocessor, read as
// far as that goes.
type Foreign struct {
	Text    string  // self-contained: includes are in place, macros of the options stand before it
	Tokens  []Token // behind the preprocessor
	Options []string
}

// Preprocess reads a source in another language than OpenCL C. predefined are
// the macros that its compiler sets. An include in angle brackets that is in
// none of the folders is left to the compiler.
func Preprocess(name string, text []byte, o Options, predefined []Define) (*Foreign, error) {
	set, err := o.settings()
	if err != nil {
		return nil, err
	}
	if len(text) > maxFileBytes {
		return nil, &Error{kernels.Pos{File: name}, fmt.Sprintf("the source has %d bytes, more than the %d that a source may have", len(text), maxFileBytes)}
	}
	main, err := newFile(name, text)
	if err != nil {
		return nil, err
	}
	set.foreign = true
	set.macros = predefined
	prep, fault := preprocess(name, main, set)
	if fault != nil {
		return nil, fault
	}
	return &Foreign{Text: prep.text.String(), Tokens: tokens(prep.out), Options: set.options}, nil
}

func tokens(list []token) []Token {
	out := make([]Token, len(list))
	for i, t := range list {
		out[i] = Token{Text: t.text, Ident: t.kind == tokIdent, Quoted: t.kind == tokString || t.kind == tokChar, Number: t.kind == tokNumber, Space: t.space || t.bol, Pos: t.pos}
	}
	return out
}

// open preprocesses and parses a source.
func open(name string, text []byte, o Options) (*unit, error) {
	set, err := o.settings()
	if err != nil {
		return nil, err
	}
	if len(text) > maxFileBytes {
		return nil, &Error{kernels.Pos{File: name}, fmt.Sprintf("the source has %d bytes, more than the %d that a source may have", len(text), maxFileBytes)}
	}
	main, err := newFile(name, text)
	if err != nil {
		return nil, err
	}
	prep, fault := preprocess(name, main, set)
	if fault != nil {
		return nil, fault
	}
	return parse(name, prep, set), nil
}

// marker makes a Markup.
type marker struct {
	u      *unit
	out    Markup
	unitOf map[*decl]int
	unit   int // being walked
}

func (m *marker) markup() *Markup {
	u := m.u
	m.out.Tokens = tokens(u.toks)
	m.out.Faults, m.out.Options = u.faults.err(), u.set.options
	for i, d := range u.all {
		m.unitOf[d] = i
		m.out.Units = append(m.out.Units, m.describe(d))
	}
	for _, h := range u.heads {
		f := u.funcs[h.name]
		head := Head{Name: h.name, From: h.from, NameAt: h.nameAt, Open: h.list.open, Close: h.list.close, Params: h.list.params, First: h.first, Inside: h.fn != nil, Unit: m.owner(h.decl, h.fn)}
		if f != nil {
			head.Kernel, head.Body = f.kernel, h.decl != nil && h.decl.fn == f
		}
		m.out.Heads = append(m.out.Heads, head)
	}
	for _, o := range u.objects {
		m.out.Objects = append(m.out.Objects, m.object(o))
	}
	for _, p := range u.prep.pragmas {
		m.out.Pragmas = append(m.out.Pragmas, Pragma{At: p.at, Text: spell(p.toks), Pos: p.pos})
	}
	m.unit = -1
	for _, x := range u.inits {
		m.expr(x, false)
	}
	for i, d := range u.all {
		if d.fn != nil && d.fn.body != nil {
			m.unit = i
			m.stmt(d.fn.body)
		}
	}
	for _, f := range u.order {
		k := MarkedKernel{Name: f.name, Pos: f.pos, FixedLocal: f.attrs.local, StaticLocal: staticLocal(u.closure(f))}
		k.Params, k.Err = u.params(f)
		m.out.Kernels = append(m.out.Kernels, k)
	}
	return &m.out
}

func (m *marker) owner(d *decl, fn *function) int {
	if d == nil && fn != nil {
		d = fn.decl
	}
	if i, ok := m.unitOf[d]; ok {
		return i
	}
	return -1
}

// describe describes a declaration of program scope.
func (m *marker) describe(d *decl) Unit {
	u := Unit{From: d.from, To: d.to, Names: d.names}
	switch {
	case d.fn != nil:
		u.Function, u.Opaque, u.Where = d.fn.name, d.fn.opaque, d.fn.where
	default:
		for _, name := range d.names {
			if f := m.u.funcs[name]; f != nil && f.decl == d && f.opaque != "" {
				u.Opaque, u.Where = f.opaque, f.where
			}
		}
	}
	seen := map[string]bool{}
	for _, t := range m.u.toks[d.from:d.to] {
		if t.kind == tokIdent && !seen[t.text] && len(m.u.decls[t.text]) > 0 && !slices.Contains(d.names, t.text) {
			seen[t.text] = true
			u.Calls = append(u.Calls, t.text)
		}
	}
	return u
}

func (m *marker) object(o placed) Object {
	t := o.v.typ
	r := Object{Name: o.v.name, Pos: o.v.pos, SpaceAt: o.spaceAt, Program: o.fn == nil, Unit: m.owner(o.decl, o.fn)}
	if t.kind == kindPointer { // the space is that of what it points to
		r.Pointer = true
		return r
	}
	for t.kind == kindArray && t.space == spaceNone {
		t = t.elem
	}
	switch t.space {
	case spaceLocal:
		r.Space = ObjectLocal
	case spaceConstant:
		r.Space = ObjectConstant
	case spaceGlobal:
		r.Space = ObjectGlobal
	case spaceNone:
		if r.Program {
			r.Space = ObjectGlobal
			if t.isConst {
				r.Space = ObjectConstant
			}
		}
	}
	return r
}
