package cudasrc

import (
	"slices"
	"strings"

	"github.com/tandemrun/tandem/kernels"
	"github.com/tandemrun/tandem/kernels/clc"
)

// function is a function of the source that has a body, or an instance of a
// template.
type function struct {
	name   string // with its namespaces and template arguments
	global bool
	params [][]clc.Token
	// arguments are those of a template's instance.
	arguments [][]clc.Token
	body      []clc.Token // nil of an instance
}

// shared is an array in dynamic shared memory.
type shared struct {
	name string
	elem []clc.Token
	pos  kernels.Pos
}

// reader walks over the tokens of a source at the level of namespaces.
type reader struct {
	toks      []clc.Token
	aliases   map[string][]clc.Token // typedef and using
	structs   map[string]structure
	enums     map[string]bool
	functions []*function
	templates []string // kernels that are templates
	arrays    []shared // of program scope
	byName    map[string][]*function
}

func is(t clc.Token, text string) bool { return t.Text == text && !t.Quoted }

func (r *reader) read() {
	var spaces []string // namespaces and extern "C" blocks that are open; "" for the latter
	start := 0          // of the declaration at hand
	for i := 0; i < len(r.toks); i++ {
		switch t := r.toks[i]; {
		case t.Quoted:
		case t.Text == ";":
			r.declaration(r.toks[start:i], spaces)
			start = i + 1
		case t.Text == "{":
			head := r.toks[start:i]
			if name, ok := namespace(head); ok {
				spaces = append(spaces, name)
				start = i + 1
				continue
			}
			end := closing(r.toks, i)
			body := r.toks[i+1 : end]
			if isType(head) { // what is behind its body goes up to the semicolon
				for end < len(r.toks) && !is(r.toks[end], ";") {
					end++
				}
				r.typed(head, body, r.toks[i:min(end, len(r.toks))])
			} else {
				r.function(head, body, spaces)
			}
			i, start = end, end+1
		case t.Text == "}":
			if len(spaces) > 0 {
				spaces = spaces[:len(spaces)-1]
			}
			start = i + 1
		case t.Text == "(":
			i = closing(r.toks, i)
		}
	}
}

// closing is the index of the bracket that closes the one at i, or the end.
func closing(list []clc.Token, i int) int {
	open := list[i].Text
	shut := map[string]string{"(": ")", "{": "}", "[": "]"}[open]
	depth := 0
	for ; i < len(list); i++ {
		switch {
		case is(list[i], open):
			depth++
		case is(list[i], shut):
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return len(list)
}

// namespace reads "namespace a::b" and `extern "C"`.
func namespace(head []clc.Token) (string, bool) {
	if len(head) == 2 && is(head[0], "extern") && head[1].Quoted {
		return "", true
	}
	if len(head) > 0 && is(head[0], "inline") {
		head = head[1:]
	}
	if len(head) == 0 || !is(head[0], "namespace") {
		return "", false
	}
	if len(head) == 1 {
		return "(anonymous namespace)", true
	}
	return join(head[1:]), true
}

func isType(head []clc.Token) bool {
	if len(head) > 0 && is(head[0], "template") {
		return false
	}
	for _, t := range head {
		if is(t, "(") || is(t, "=") {
			return false
		}
		if !t.Quoted && slices.Contains([]string{"struct", "class", "union", "enum"}, t.Text) {
			return true
		}
	}
	return false
}

// declaration reads what ends with a semicolon: an alias, an instance of a
// template, an array in dynamic shared memory.
func (r *reader) declaration(d []clc.Token, spaces []string) {
	n := len(d)
	switch {
	case n == 0:
	case is(d[0], "typedef") && n >= 3 && d[n-1].Ident:
		r.aliases[d[n-1].Text] = d[1 : n-1]
	case is(d[0], "using") && n >= 4 && is(d[2], "="):
		r.aliases[d[1].Text] = d[3:]
	case is(d[0], "template") && n > 1 && !is(d[1], "<") && slices.ContainsFunc(d, func(t clc.Token) bool { return is(t, "__global__") }):
		if f := head(d[1:], spaces); f != nil && len(f.arguments) > 0 {
			f.name += "<" + r.arguments(f.arguments) + ">"
			r.functions = append(r.functions, f)
		}
	default:
		if s, ok := dynamic(d); ok {
			r.arrays = append(r.arrays, s)
		}
	}
}

// arguments writes the arguments of a template as compilers spell them.
func (r *reader) arguments(list [][]clc.Token) string {
	texts := make([]string, len(list))
	for i, a := range list {
		a = r.resolve(a, 0)
		texts[i] = join(a)
		words := strings.Fields(texts[i])
		slices.Sort(words)
		if full, ok := spelled[strings.Join(words, " ")]; ok {
			texts[i] = full
		}
	}
	return strings.Join(texts, ", ")
}

// spelled are the full names of scalar types by their words in order.
var spelled = map[string]string{
	"char signed": "signed char", "char unsigned": "unsigned char", "int short": "short", "short signed": "short",
	"short unsigned": "unsigned short", "int short unsigned": "unsigned short", "signed": "int", "int signed": "int",
	"unsigned": "unsigned int", "int unsigned": "unsigned int", "int long": "long", "long unsigned": "unsigned long",
	"int long unsigned": "unsigned long", "int long long": "long long", "long long unsigned": "unsigned long long",
	"int long long unsigned": "unsigned long long",
}

// dynamic reads "extern __shared__ float tile[]".
func dynamic(d []clc.Token) (shared, bool) {
	has := func(word string) bool {
		return slices.ContainsFunc(d, func(t clc.Token) bool { return is(t, word) })
	}
	open := slices.IndexFunc(d, func(t clc.Token) bool { return is(t, "[") })
	if open < 1 || !has("extern") || !has("__shared__") || !d[open-1].Ident {
		return shared{}, false
	}
	s := shared{name: d[open-1].Text, pos: d[open-1].Pos}
	for i := 0; i < open-1; i++ {
		switch {
		case is(d[i], "extern") || is(d[i], "__shared__"):
		case attribute(d[i]) && i+1 < open && is(d[i+1], "("):
			i = closing(d, i+1)
		default:
			s.elem = append(s.elem, d[i])
		}
	}
	return s, true
}

// attribute reports whether a word takes arguments in brackets and is no
// function's name.
func attribute(t clc.Token) bool {
	return t.Ident && slices.Contains([]string{"__launch_bounds__", "__maxnreg__", "__cluster_dims__", "__block_size__", "__attribute__",
		"__attribute", "__align__", "alignas", "__declspec", "noexcept", "decltype"}, t.Text)
}

// function reads what stands before a body.
func (r *reader) function(h, body []clc.Token, spaces []string) {
	template := len(h) > 0 && is(h[0], "template")
	f := head(h, spaces)
	if f == nil {
		return
	}
	if template {
		if f.global {
			r.templates = append(r.templates, f.name)
		}
		f.global = false
	}
	f.body = body
	r.functions = append(r.functions, f)
}

// head reads "__global__ void __launch_bounds__(256) name<float>(parameters)".
func head(h []clc.Token, spaces []string) *function {
	f := &function{}
	if len(h) > 1 && is(h[0], "template") && is(h[1], "<") { // its parameters are not the function's
		depth := 0
		for i := 1; i < len(h); i++ {
			if is(h[i], "<") {
				depth++
			} else if is(h[i], ">") {
				depth--
			} else if is(h[i], ">>") {
				depth -= 2
			}
			if depth <= 0 {
				h = h[i+1:]
				break
			}
		}
	}
	for i := 0; i < len(h); i++ {
		switch {
		case is(h[i], "__global__"):
			f.global = true
		case attribute(h[i]) && i+1 < len(h) && is(h[i+1], "("):
			i = closing(h, i+1)
		case is(h[i], "(") && i > 0:
			end := closing(h, i)
			name := i - 1
			if is(h[name], ">") { // the arguments of a template
				for depth := 0; name >= 0; name-- {
					if is(h[name], ">") {
						depth++
					} else if is(h[name], "<") {
						if depth--; depth == 0 {
							break
						}
					}
				}
				name--
			}
			if name < 0 || !h[name].Ident || end >= len(h) {
				return nil
			}
			f.name = h[name].Text
			if i-name > 2 {
				f.arguments = split(h[name+2 : i-1])
			}
			f.params = split(h[i+1 : end])
			if len(f.params) == 1 && len(f.params[0]) == 1 && is(f.params[0][0], "void") {
				f.params = nil
			}
			i = len(h)
		}
	}
	if f.name == "" {
		return nil
	}
	c := len(h) > 1 && is(h[0], "extern") && h[1].Quoted || slices.Contains(spaces, "")
	for i := len(spaces) - 1; i >= 0 && !c; i-- {
		f.name = spaces[i] + "::" + f.name
	}
	return f
}

// split cuts a list at its commas outside of brackets.
func split(list []clc.Token) [][]clc.Token {
	var out [][]clc.Token
	depth, start := 0, 0
	for i, t := range list {
		if t.Quoted {
			continue
		}
		switch t.Text {
		case "(", "<", "[", "{":
			depth++
		case ")", ">", "]", "}":
			depth--
		case ">>":
			depth -= 2
		case ",":
			if depth == 0 {
				out = append(out, list[start:i])
				start = i + 1
			}
		}
	}
	if start < len(list) {
		out = append(out, list[start:])
	}
	return out
}

// join writes tokens as one would: "unsigned int", "vec<float, 4>".
func join(list []clc.Token) string {
	var b strings.Builder
	word := func(t clc.Token) bool { return t.Ident || t.Number }
	for i, t := range list {
		if i > 0 && (word(t) && word(list[i-1]) || is(list[i-1], ",")) {
			b.WriteByte(' ')
		}
		b.WriteString(t.Text)
	}
	return b.String()
}

// sharedOf is the dynamic shared memory that a kernel uses, itself or through
// the functions it calls; nil for none.
func (r *reader) sharedOf(kernel *function) *shared {
	if r.byName == nil {
		r.byName = map[string][]*function{}
		for _, f := range r.functions {
			name := f.name[strings.LastIndex(f.name, ":")+1:]
			r.byName[name] = append(r.byName[name], f)
		}
	}
	if base, _, ok := strings.Cut(kernel.name, "<"); ok && kernel.body == nil { // an instance: its body is the template's
		for _, f := range r.functions {
			if f.name == base && f.body != nil {
				kernel = f
			}
		}
	}
	seen := map[*function]bool{kernel: true}
	for list := []*function{kernel}; len(list) > 0; list = list[1:] {
		body := list[0].body
		for i, t := range body {
			if !t.Ident {
				continue
			}
			if t.Text == "extern" {
				end := i
				for end < len(body) && !is(body[end], ";") {
					end++
				}
				if s, ok := dynamic(body[i:end]); ok {
					return &s
				}
			}
			for k := range r.arrays {
				if r.arrays[k].name == t.Text {
					return &r.arrays[k]
				}
			}
			for _, f := range r.byName[t.Text] {
				if !seen[f] {
					seen[f] = true
					list = append(list, f)
				}
			}
		}
	}
	return nil
}
