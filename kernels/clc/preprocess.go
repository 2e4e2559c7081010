package clc

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/tandemrun/tandem/kernels"
)

// prep preprocesses one source.
type prep struct {
	name     string
	set      *settings
	files    map[string]*file
	includes int
	macros   map[string]*macro
	text     strings.Builder // self-contained

	out     []token  // preprocessed
	pending []token  // the beginning of a macro call that goes on behind a conditional
	pragmas []pragma // in order
	uses    []use    // of macros, in order
	work    int

	conds  []*conditional // open ones
	groups []*group       // all of them
	inIf   *group         // whose condition is being expanded
	own    map[string]bool
}

// pragma is a #pragma in an active part.
type pragma struct {
	pos  kernels.Pos
	toks []token
	at   int // token of the output that it stands before
}

// use is the expansion of a macro in front of token at of the output.
type use struct {
	at   int
	name string
}

// conditional is an open #if.
type conditional struct {
	active bool // this branch is read
	taken  bool // a branch was read
	outer  bool // the surrounding text is active
	last   bool // #else was seen
	pos    kernels.Pos
	group  *group
}

// group is a conditional, for the question what hangs on the device.
type group struct {
	up         *group
	pos        kernels.Pos
	deps       []string        // names in its conditions
	names      map[string]bool // that its branches define, declare or use outside of brackets
	depth      int             // of brackets in the branch being read
	plain      bool            // an #ifdef or #ifndef
	unbalanced bool
	from, to   int // tokens of the output
}

// preprocess reads a file and everything it includes.
func preprocess(name string, main *file, set *settings) (p *prep, err *Error) {
	p = &prep{name: name, set: set, files: map[string]*file{main.path: main}, macros: map[string]*macro{}, own: map[string]bool{}}
	defer catch(func(e *Error) { err = e })
	if set.foreign {
		for _, d := range set.macros {
			p.builtin(d.Name, d.Value)
		}
	} else {
		p.predefine()
	}
	if set.prologue != "" {
		args, _ := newFile("<options>", []byte(set.prologue))
		p.read(&reader{file: args, name: args.path}, false)
	}
	p.write(lineDirective(1, name))
	main.seen = true
	p.read(&reader{file: main, name: name}, false)
	p.flush(true)
	if !strings.HasSuffix(p.text.String(), "\n") {
		p.write("\n")
	}
	return p, nil
}

// read preprocesses one file. In a skipped part only its includes count.
func (p *prep) read(r *reader, skipped bool) {
	toks, open := r.file.toks, len(p.conds)
	for i := 0; i < len(toks); {
		j := i + 1
		if toks[i].bol && toks[i].is("#") {
			for j < len(toks) && !toks[j].bol {
				j++
			}
			if skipped {
				if j > i+1 && toks[i+1].text == "include" {
					p.include(r, toks[i:j], true)
				}
			} else {
				p.directive(r, toks[i:j])
			}
			i = j
			continue
		}
		for j < len(toks) && !(toks[j].bol && toks[j].is("#")) {
			j++
		}
		if !skipped {
			p.note(toks[i:j])
			if p.active() {
				p.run(r, toks[i:j])
			}
		}
		i = j
	}
	if len(p.conds) > open {
		bailf(p.conds[len(p.conds)-1].pos, "this conditional has no #endif")
	}
	r.copyTo(p, len(r.file.text))
}

func (p *prep) active() bool { return len(p.conds) == 0 || p.conds[len(p.conds)-1].active }

// deviceDecides reports whether what is skipped here may be read on a device.
func (p *prep) deviceDecides() bool {
	for _, c := range p.conds {
		if !c.outer || c.active {
			continue
		}
		for _, name := range c.group.deps {
			if !p.own[name] && deviceName(name) {
				return true
			}
		}
	}
	return false
}

// run expands text and appends it to the output.
func (p *prep) run(r *reader, toks []token) {
	in := make([]token, len(p.pending), len(p.pending)+len(toks))
	copy(in, p.pending)
	for _, t := range toks {
		t.pos = r.at(t)
		t.at = p.text.Len() + t.end - r.done
		in = append(in, t)
	}
	p.pending = nil
	p.pending = p.expand(in, true)
}

// flush ends a macro call that was left open.
func (p *prep) flush(final bool) {
	if len(p.pending) == 0 {
		return
	}
	if t := p.pending[0]; len(p.pending) > 1 && final {
		bailf(t.pos, "the call of macro %s is not closed", t.text)
	}
	p.pending[0].noexpand = true
	toks := p.pending
	p.pending = nil
	p.expand(toks, false)
}

func (p *prep) directive(r *reader, d []token) {
	if len(d) == 1 {
		return
	}
	name, args, at := d[1].text, d[2:], r.at(d[1])
	if d[1].kind == tokNumber { // # 7 "file"
		name, args = "line", d[1:]
	}
	switch name {
	case "if", "ifdef", "ifndef":
		p.open(r, name, args, at)
		return
	case "elif", "else", "endif":
		p.branch(r, name, args, at)
		return
	}
	if p.active() {
		p.flush(name == "define" || name == "undef" || name == "include")
	} else if name == "include" && p.deviceDecides() {
		p.include(r, d, true)
	}
	p.noteDirective(name, args)
	if !p.active() {
		return
	}
	switch name {
	case "include":
		p.include(r, d, false)
	case "define":
		p.define(r, args, at)
	case "undef":
		if len(args) > 0 {
			delete(p.macros, args[0].text)
		}
	case "pragma":
		p.pragma(r, d, at)
	case "line":
		p.line(r, p.expandAll(r, args), d, at)
	case "error":
		bailf(at, "#error %s", spell(args))
	case "warning", "ident":
	default:
		bailf(at, "unknown directive #%s", name)
	}
}

func (p *prep) pragma(r *reader, d []token, at kernels.Pos) {
	if len(d) == 3 && d[2].text == "once" {
		r.file.once = true
		r.copyTo(p, d[0].off) // the text is one file: the pragma would be a warning
		r.done = d[2].end
		return
	}
	p.pragmas = append(p.pragmas, pragma{at, d[2:], len(p.out)})
}

func (p *prep) line(r *reader, args, d []token, at kernels.Pos) {
	n, err := 0, error(nil)
	if len(args) > 0 {
		n, err = strconv.Atoi(args[0].text)
	}
	if len(args) == 0 || err != nil || n < 0 {
		bailf(at, "#line wants a line number")
	}
	r.delta = n - d[0].pos.Line - 1
	if len(args) > 1 && args[1].kind == tokString {
		r.name = strings.NewReplacer(`\\`, `\`, `\"`, `"`).Replace(args[1].text[1 : len(args[1].text)-1])
	}
}

// open begins a conditional.
func (p *prep) open(r *reader, name string, args []token, at kernels.Pos) {
	if len(p.conds) >= maxNesting {
		bailf(at, "conditionals are nested more than %d deep", maxNesting)
	}
	c := &conditional{outer: p.active(), pos: at, group: &group{pos: at, from: len(p.out), names: map[string]bool{}}}
	if len(p.conds) > 0 {
		c.group.up = p.conds[len(p.conds)-1].group
	}
	p.groups = append(p.groups, c.group)
	if name == "if" {
		c.active = c.outer && p.condition(r, c.group, args, at)
	} else {
		if len(args) == 0 {
			bailf(at, "#%s names no macro", name)
		}
		c.group.deps, c.group.plain = append(c.group.deps, args[0].text), true
		_, defined := p.macros[args[0].text]
		c.active = c.outer && defined == (name == "ifdef")
	}
	c.taken = c.active
	p.conds = append(p.conds, c)
}

// branch goes on to the next branch of a conditional, or ends it.
func (p *prep) branch(r *reader, name string, args []token, at kernels.Pos) {
	if len(p.conds) == 0 {
		bailf(at, "#%s without #if", name)
	}
	c := p.conds[len(p.conds)-1]
	g := c.group
	g.unbalanced = g.unbalanced || g.depth != 0
	g.depth, g.to = 0, len(p.out)
	switch {
	case name == "endif":
		p.conds = p.conds[:len(p.conds)-1]
	case c.last:
		bailf(at, "#%s behind #else", name)
	case name == "else":
		c.active, c.last = c.outer && !c.taken, true
		c.taken = true
	default:
		c.active = c.outer && !c.taken && p.condition(r, g, args, at)
		for _, t := range args {
			if t.kind == tokIdent {
				g.deps = append(g.deps, t.text)
			}
		}
		c.taken = c.taken || c.active
	}
}

// note records which names the branches of the open conditional deal with.
func (p *prep) note(toks []token) {
	if len(p.conds) == 0 {
		return
	}
	g := p.conds[len(p.conds)-1].group
	for _, t := range toks {
		switch {
		case t.is("(") || t.is("{") || t.is("["):
			g.depth++
		case t.is(")") || t.is("}") || t.is("]"):
			g.depth--
			g.unbalanced = g.unbalanced || g.depth < 0
		case t.kind == tokIdent && g.depth == 0 && !reserved[t.text]:
			g.names[t.text] = true
		}
	}
}

func (p *prep) noteDirective(name string, args []token) {
	if len(args) == 0 || name != "define" && name != "undef" {
		return
	}
	if name == "define" && p.active() {
		p.own[args[0].text] = true
	}
	if len(p.conds) > 0 {
		p.conds[len(p.conds)-1].group.names[args[0].text] = true
	}
}

// builtin sets a macro that a compiler sets.
func (p *prep) builtin(name, value string) {
	if f, err := newFile("<built-in>", []byte(value)); err == nil {
		p.macros[name] = &macro{name: name, body: f.toks, builtin: true}
	}
}

// predefine sets what an OpenCL C compiler of a device with double precision
// and without half arithmetic sets.
func (p *prep) predefine() {
	set := p.builtin
	for _, v := range []int{100, 110, 120, 200, 300} {
		if v <= max(p.set.version, 120) {
			set(fmt.Sprintf("CL_VERSION_%d_%d", v/100, v%100/10), strconv.Itoa(v))
		}
	}
	set("__OPENCL_VERSION__", strconv.Itoa(max(p.set.version, 120)))
	set("__OPENCL_C_VERSION__", strconv.Itoa(p.set.version))
	for _, one := range []string{"__ENDIAN_LITTLE__", "cl_khr_fp64", "cl_khr_byte_addressable_store",
		"cl_khr_global_int32_base_atomics", "cl_khr_global_int32_extended_atomics",
		"cl_khr_local_int32_base_atomics", "cl_khr_local_int32_extended_atomics"} {
		set(one, "1")
	}
	if p.set.fast {
		set("__FAST_RELAXED_MATH__", "1")
	}
}

// spell writes tokens as text.
func spell(toks []token) string {
	var b strings.Builder
	for i, t := range toks {
		if i > 0 && t.space {
			b.WriteByte(' ')
		}
		b.WriteString(t.text)
	}
	return b.String()
}
