package clc

import (
	"strconv"
	"strings"

	"github.com/tandemrun/tandem/kernels"
)

// macro is a macro's definition.
type macro struct {
	name     string
	function bool
	params   []string
	variadic bool
	body     []token
	pos      kernels.Pos
	builtin  bool
	disabled int // being expanded: not to be expanded inside itself
}

func (p *prep) define(r *reader, args []token, at kernels.Pos) {
	if len(args) == 0 || args[0].kind != tokIdent || args[0].text == "defined" {
		bailf(at, "#define names no macro")
	}
	m := &macro{name: args[0].text, pos: r.at(args[0]), body: args[1:]}
	if len(args) > 1 && args[1].is("(") && !args[1].space {
		m.function = true
		i := 2
	params:
		for ; ; i++ {
			switch {
			case i >= len(args):
				bailf(at, "the parameters of macro %s are not closed", m.name)
			case args[i].is(")"):
				break params
			case args[i].is(","):
			case args[i].is("..."):
				if i == 2 || args[i-1].is(",") {
					m.params = append(m.params, "__VA_ARGS__")
				}
				m.variadic = true
			case args[i].kind == tokIdent:
				m.params = append(m.params, args[i].text)
			default:
				bailf(r.at(args[i]), "%q is no parameter of a macro", args[i].text)
			}
		}
		m.body = args[i+1:]
	}
	if n := len(m.body); n > 0 && (m.body[0].is("##") || m.body[n-1].is("##")) {
		bailf(at, "## at the end of macro %s", m.name)
	}
	m.body = append([]token(nil), m.body...)
	for i := range m.body {
		m.body[i].pos, m.body[i].bol = r.at(m.body[i]), false
	}
	p.macros[m.name] = m
}

// param is the position of a macro's parameter, -1 for other tokens.
func (m *macro) param(t token) int {
	if m.function && t.kind == tokIdent {
		for i, name := range m.params {
			if name == t.text {
				return i
			}
		}
	}
	return -1
}

// expander expands macros: a stack of token lists, the innermost being the
// body of the macro expanded last. A macro is disabled while its body is on
// the stack.
type expander struct {
	p     *prep
	stack []level
	out   []token
	depth int
	sink  bool        // append to p.out
	at    kernels.Pos // of the outermost macro call
}

type level struct {
	toks []token
	i    int
	m    *macro
}

// expand expands toks into the output. With open set, a macro call at the end
// that lacks its closing bracket is not expanded but returned.
func (p *prep) expand(toks []token, open bool) (rest []token) {
	x := expander{p: p, sink: true, stack: []level{{toks: toks}}}
	return x.run(open)
}

// expandAll expands the tokens of a directive.
func (p *prep) expandAll(r *reader, toks []token) []token {
	in := make([]token, len(toks))
	for i, t := range toks {
		t.pos = r.at(t)
		in[i] = t
	}
	x := expander{p: p, stack: []level{{toks: in}}}
	x.run(false)
	return x.out
}

func (x *expander) next() (token, bool) {
	for len(x.stack) > 0 {
		l := &x.stack[len(x.stack)-1]
		if l.i < len(l.toks) {
			l.i++
			return l.toks[l.i-1], true
		}
		if l.m == nil && len(x.stack) == 1 {
			return token{}, false
		}
		x.pop()
	}
	return token{}, false
}

func (x *expander) pop() {
	if m := x.stack[len(x.stack)-1].m; m != nil {
		m.disabled--
	}
	x.stack = x.stack[:len(x.stack)-1]
}

// peek looks at the next token without leaving it; a level that is through is
// left.
func (x *expander) peek() (token, bool) {
	t, ok := x.next()
	if ok {
		x.stack[len(x.stack)-1].i--
	}
	return t, ok
}

func (x *expander) emit(t token) {
	x.p.spend(t.pos, 1)
	if x.sink {
		x.p.out = append(x.p.out, t)
	} else {
		x.out = append(x.out, t)
	}
}

// spend counts work, so that no source takes for ever or all memory.
func (p *prep) spend(at kernels.Pos, n int) {
	if p.work += n; p.work > maxWork {
		bailf(at, "after its macros are expanded the source has more than %d tokens", maxWork)
	}
}

func (x *expander) run(open bool) (rest []token) {
	for {
		t, ok := x.next()
		if !ok {
			return nil
		}
		base := len(x.stack) == 1
		if base {
			x.at = t.pos
		}
		if t.kind != tokIdent || t.noexpand {
			x.emit(t)
			continue
		}
		m := x.p.macros[t.text]
		switch {
		case m == nil:
			x.special(t)
			continue
		case m.disabled > 0:
			t.noexpand = true
			x.emit(t)
			continue
		}
		start := x.stack[0].i - 1
		var args [][]token
		if m.function {
			n, ok := x.peek()
			if !ok && open && base {
				return x.stack[0].toks[start:]
			}
			if !ok || !n.is("(") {
				x.emit(t)
				continue
			}
			var closed bool
			if args, closed = x.args(m); !closed {
				if open && base {
					return x.stack[0].toks[start:]
				}
				bailf(t.pos, "the call of macro %s is not closed", m.name)
			}
			x.arity(m, &args, t)
		}
		x.p.used(m)
		body := x.substitute(m, args, t)
		x.p.spend(t.pos, len(body)+1)
		x.stack = append(x.stack, level{toks: body, m: m})
		m.disabled++
	}
}

// used records the use of a macro.
func (p *prep) used(m *macro) {
	if p.inIf != nil {
		p.inIf.deps = append(p.inIf.deps, m.name)
		return
	}
	p.uses = append(p.uses, use{len(p.out), m.name})
}

// special expands the macros that are computed.
func (x *expander) special(t token) {
	switch t.text {
	case "__LINE__":
		t.kind, t.text = tokNumber, strconv.Itoa(x.at.Line)
	case "__FILE__":
		t.kind, t.text = tokString, strconv.Quote(x.at.File)
	case "_Pragma":
		if n, ok := x.peek(); ok && n.is("(") && x.sink {
			inner, _ := x.args(&macro{params: []string{"text"}})
			if len(inner) == 1 && len(inner[0]) == 1 && inner[0][0].kind == tokString {
				text, _ := strconv.Unquote(inner[0][0].text)
				f, err := newFile(t.pos.File, []byte(text))
				if err == nil {
					x.p.pragmas = append(x.p.pragmas, pragma{t.pos, f.toks, len(x.p.out)})
				}
			}
			return
		}
	}
	x.emit(t)
}

// args reads the arguments of a macro call behind its name.
func (x *expander) args(m *macro) (args [][]token, closed bool) {
	x.next() // (
	var cur []token
	for depth := 0; ; {
		t, ok := x.next()
		if !ok {
			return nil, false
		}
		x.p.spend(t.pos, 1)
		t.at = 0
		switch {
		case t.is("(") || t.is("[") || t.is("{"):
			if t.is("(") {
				depth++
			}
		case t.is(")"):
			if depth == 0 {
				return append(args, cur), true
			}
			depth--
		case t.is(",") && depth == 0 && !(m.variadic && len(args) == len(m.params)-1):
			args = append(args, cur)
			cur = nil
			continue
		}
		cur = append(cur, t)
	}
}

// arity makes the arguments as many as the parameters, or refuses.
func (x *expander) arity(m *macro, args *[][]token, t token) {
	n := len(*args)
	if len(m.params) == 0 && n == 1 && len((*args)[0]) == 0 {
		*args = nil
		return
	}
	if m.variadic && n == len(m.params)-1 {
		*args = append(*args, nil)
		return
	}
	if n != len(m.params) {
		bailf(t.pos, "macro %s takes %d arguments, got %d", m.name, len(m.params), n)
	}
}

// substitute puts the arguments into the body of m, called at t.
func (x *expander) substitute(m *macro, args [][]token, t token) []token {
	expanded := make([][]token, len(args))
	arg := func(i int) []token {
		if expanded[i] == nil && len(args[i]) > 0 {
			if x.depth >= maxArgNesting {
				bailf(t.pos, "macro calls are nested more than %d deep", maxArgNesting)
			}
			in := expander{p: x.p, depth: x.depth + 1, at: x.at, stack: []level{{toks: args[i]}}}
			in.run(false)
			expanded[i] = in.out
		}
		return expanded[i]
	}
	var out []token
	for i := 0; i < len(m.body); i++ {
		b := m.body[i]
		last := len(m.body) - 1
		pasted := i > 0 && m.body[i-1].is("##")
		pastes := i < last && m.body[i+1].is("##")
		if b.is("##") && i > 0 {
			continue
		}
		var part []token
		switch n := m.param(b); {
		case b.is("#") && m.function && i < last && m.param(m.body[i+1]) >= 0:
			i++
			part = []token{{kind: tokString, text: stringify(args[m.param(m.body[i])]), pos: x.at, space: b.space, from: m}}
		case n >= 0 && pasted && m.variadic && n == len(m.params)-1 && len(out) > 0 && out[len(out)-1].is(","):
			if len(args[n]) == 0 { // , ## __VA_ARGS__
				out = out[:len(out)-1]
			}
			part, pasted = arg(n), false
		case n >= 0 && (pasted || pastes):
			part = args[n]
			if len(part) == 0 {
				part = []token{{kind: tokEmpty, pos: x.at}}
			}
		case n >= 0:
			part = arg(n)
		default:
			b.pos, b.from, b.at = x.at, m, 0
			part = []token{b}
		}
		x.p.spend(t.pos, len(part))
		for k, q := range part {
			if k == 0 && m.param(b) >= 0 { // an argument takes over its parameter's space
				q.space = b.space
			}
			if k == 0 && pasted && len(out) > 0 {
				out[len(out)-1] = x.paste(m, out[len(out)-1], q)
				continue
			}
			out = append(out, q)
		}
	}
	kept := out[:0]
	for _, q := range out {
		if q.kind != tokEmpty {
			kept = append(kept, q)
		}
	}
	return kept
}

func (x *expander) paste(m *macro, a, b token) token {
	switch {
	case b.kind == tokEmpty:
		return a
	case a.kind == tokEmpty:
		b.space = a.space
		return b
	}
	toks, err := lex("", []byte(a.text+b.text))
	if err != nil || len(toks) != 1 || toks[0].kind == tokOther {
		bailf(x.at, "macro %s pastes %q and %q, which make no token", m.name, a.text, b.text)
	}
	t := toks[0]
	t.pos, t.space, t.from, t.bol = x.at, a.space, m, false
	return t
}

func stringify(toks []token) string {
	var b strings.Builder
	b.WriteByte('"')
	for i, t := range toks {
		if i > 0 && (t.space || t.bol) {
			b.WriteByte(' ')
		}
		s := t.text
		if t.kind == tokString || t.kind == tokChar {
			s = strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s)
		}
		b.WriteString(s)
	}
	b.WriteByte('"')
	return b.String()
}
