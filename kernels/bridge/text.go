package bridge

import (
	_ "embed"
	"fmt"
	"strings"

	"github.com/tandemrun/tandem/kernels"
	"github.com/tandemrun/tandem/kernels/clc"
)

// writer writes tokens where they stood, as far as that goes: on their line
// and, where nothing before them grew, in their column.
type writer struct {
	b      strings.Builder
	file   string
	line   int // that the next character is on, as #line directives have it
	column int
	last   byte
	places map[place]columns
}

const maxPadding = 400 // of columns and of lines; beyond, blanks or #line are cheaper

// to moves to a position.
func (w *writer) to(p kernels.Pos, space bool) {
	if p.File != w.file || p.Line < w.line || p.Line > w.line+20 {
		if w.column > 1 {
			w.raw("\n")
		}
		fmt.Fprintf(&w.b, "#line %d \"%s\"\n", max(p.Line, 1), quoted(p.File))
		w.file, w.line, w.column, w.last = p.File, p.Line, 1, '\n'
	}
	for w.line < p.Line {
		w.raw("\n")
	}
	if n := p.Column - w.column; n > 0 && n <= maxPadding {
		w.raw(strings.Repeat(" ", n))
	} else if space {
		w.raw(" ")
	}
}

// quoted escapes a file's name for a #line directive.
func quoted(file string) string {
	return strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(file)
}

// note notes that the token at hand stands in a column of the source.
func (w *writer) note(p kernels.Pos) {
	if at := (place{p.File, p.Line}); w.file == p.File && w.line == p.Line {
		list := w.places[at]
		if n := len(list); n == 0 || list[n-1].cuda < w.column {
			w.places[at] = append(list, struct{ cuda, opencl int }{w.column, p.Column})
		}
	}
}

func (w *writer) raw(s string) {
	if s == "" {
		return
	}
	w.b.WriteString(s)
	if i := strings.LastIndexByte(s, '\n'); i >= 0 {
		w.line += strings.Count(s, "\n")
		w.column = len(s) - i
	} else {
		w.column += len(s)
	}
	w.last = s[len(s)-1]
}

// put writes a piece of code, apart from what is before it if they would run
// together.
func (w *writer) put(s string) {
	if s != "" && clash(w.last, s[0]) {
		w.raw(" ")
	}
	w.raw(s)
}

func first(s string) byte {
	if s == "" {
		return ' '
	}
	return s[0]
}

func clash(a, b byte) bool {
	word := func(c byte) bool {
		return c == '_' || c == '.' || c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z' || c >= 0x80
	}
	sign := func(c byte) bool { return strings.IndexByte("+-<>&|=!*/%^:#.", c) >= 0 }
	return word(a) && (word(b) || b == '"' || b == '\'') || sign(a) && sign(b)
}

// token writes token i with its edits.
func (t *translation) token(w *writer, i int) {
	e, tok := &t.edits[i], &t.m.Tokens[i]
	text := tok.Text
	if e.replaced {
		text = e.text
	}
	if text == "" && len(e.before)+len(e.after) == 0 {
		return
	}
	w.to(tok.Pos, tok.Space && w.last != '\n')
	w.note(tok.Pos)
	for _, s := range e.before {
		w.put(s)
	}
	if clash(w.last, first(text)) {
		w.raw(" ")
	}
	w.note(tok.Pos)
	w.put(text)
	for _, s := range e.after {
		w.put(s)
	}
}

// text is the whole program in CUDA C.
func (t *translation) text(list []Kernel) (string, map[place]columns) {
	w := &writer{places: map[place]columns{}}
	w.b.WriteString(header(t.m))
	w.b.WriteString("namespace tandem_cl { namespace user {\n")
	w.column, w.last = 1, '\n'
	pragma := 0
	unit := 0
	for i := range t.m.Tokens {
		for unit < len(t.m.Units) && t.m.Units[unit].To <= i {
			unit++
		}
		inside := unit < len(t.m.Units) && t.m.Units[unit].From <= i
		gone := inside && t.dropped[unit]
		for ; pragma < len(t.m.Pragmas) && t.m.Pragmas[pragma].At <= i; pragma++ {
			if p := t.m.Pragmas[pragma]; !gone && strings.HasPrefix(p.Text, "unroll") {
				w.raw("\n#pragma " + p.Text + "\n")
				w.file = "" // a #line follows
			}
		}
		if !gone {
			t.token(w, i)
		}
	}
	for k := range list {
		t.entry(w, &list[k])
	}
	w.raw("\n} }\n")
	return w.b.String(), w.places
}

// entry writes the entry point of a kernel.
func (t *translation) entry(w *writer, k *Kernel) {
	for _, h := range t.m.Heads {
		if h.Name != k.Entry || !h.Body {
			continue
		}
		w.file = ""
		w.to(t.m.Tokens[h.NameAt].Pos, false)
		bounds := ""
		if f := k.FixedLocal; f != [3]int{} {
			bounds = fmt.Sprintf("__launch_bounds__(%d) ", max(f[0], 1)*max(f[1], 1)*max(f[2], 1))
		}
		w.put("extern \"C\" __global__ void " + bounds + k.Symbol + "(")
		call := make([]string, 0, len(k.Params)+1)
		call = append(call, "tandem_nd")
		for i, p := range k.Params {
			if p.Kind == kernels.Local {
				name := fmt.Sprintf("tandem_at%d", i)
				w.put("unsigned " + name)
				call = append(call, "tandem_local("+name+")")
			} else {
				for j := h.Params[i][0]; j < h.Params[i][1]; j++ {
					text := t.m.Tokens[j].Text
					if t.edits[j].replaced {
						text = t.edits[j].text
					}
					w.put(" " + text)
				}
				name := p.Name
				if reservedInCPP[name] {
					name += "_tandem"
				}
				call = append(call, name)
			}
			w.put(", ")
		}
		w.put("tandem_grid_constant const tandem_range tandem_nd) { if (!tandem_outside(tandem_nd)) user::" + k.Entry + "(" + strings.Join(call, ", ") + "); }\n")
		return
	}
}

//go:embed header/range.cuh
var headerRange string

//go:embed header/vector.cuh
var headerVector string

//go:embed header/convert.cuh
var headerConvert string

//go:embed header/memory.cuh
var headerMemory string

//go:embed header/common.cuh
var headerCommon string

//go:embed header/math.cuh
var headerMath string

// header is what stands before the program.
func header(*clc.Markup) string {
	var b strings.Builder
	for _, part := range []struct{ name, text string }{
		{"range", headerRange}, {"vector", headerVector}, {"convert", headerConvert}, {"memory", headerMemory},
		{"common", headerCommon}, {"math", headerMath},
	} {
		fmt.Fprintf(&b, "#line 1 \"bridge/header/%s.cuh\"\n%s", part.name, part.text)
	}
	return b.String()
}
