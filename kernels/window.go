package kernels

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unsafe"

	"github.com/tandemrun/tandem/devices"
)

// A Windowed is a variant of a kernel that works on windows of some of its
// arrays: a buffer that holds only the bytes from a certain one on takes the
// array's place, and the work-items index it as if it were whole. A launch must
// touch nothing outside its windows, so it is a part of the ND-range for which
// Call.Splittable has said which elements it touches.
//
// The variant takes more values for each such array, behind the kernel's own
// arguments; Arguments makes them.
type Windowed struct {
	Variant Variant
	Params  []int // the arrays that have windows, by parameter

	unit  []int64 // bytes in which the place of each window is counted
	whole bool    // it is told the size of the whole array too
}

// WindowAlign is a multiple of what a window's first byte has to be a multiple
// of: a page, so that a window of the host's memory can be imported, and whole
// elements of every type that Windowed takes.
const WindowAlign = 4096

// Windowed makes a variant of v, one of k's, that takes windows of the given
// parameters. It is an error that wraps devices.ErrUnsupported where that
// cannot be done, and says why: in languages other than Go and OpenCL C, where
// the element size does not divide WindowAlign, or where the source does not
// show the definition of its entry point.
func (k *Kernel) Windowed(v *Variant, params []int) (*Windowed, error) {
	w := &Windowed{Variant: *v, Params: slices.Clone(params)}
	for _, p := range params {
		if p < 0 || p >= len(k.Params) || k.Params[p].Kind != Buffer {
			return nil, fmt.Errorf("%s has no array parameter %d: %w", k.Name, p, devices.ErrInvalid)
		}
	}
	if v.Source == nil {
		return nil, unsupportedError(fmt.Sprintf("%s has no source", k.Name))
	}
	switch v.Language {
	case devices.LangGo:
		f := v.Source.Go[v.Entry]
		if f == nil {
			return nil, fmt.Errorf("%s has no Go function %q: %w", k.Name, v.Entry, devices.ErrInvalid)
		}
		w.unit, w.whole = slices.Repeat([]int64{1}, len(params)), true
		w.Variant.Entry = v.Entry + windowSuffix
		w.Variant.Source = &devices.Source{Name: v.Source.Name, Language: devices.LangGo,
			Go: map[string]devices.GoFunc{w.Variant.Entry: windowedFunc(f, len(k.Params), w.Params)}}
		return w, nil
	case devices.LangOpenCL:
		var names []string
		for _, p := range params {
			size := int64(k.Params[p].Type.Size)
			if size <= 0 || WindowAlign%size != 0 {
				return nil, unsupportedError(fmt.Sprintf("elements of %q have %d bytes, which does not divide %d", k.Params[p].Name, size, WindowAlign))
			}
			w.unit = append(w.unit, size)
			names = append(names, k.Params[p].Name)
		}
		text, err := windowedOpenCL(string(v.Source.Text), v.Entry, names)
		if err != nil {
			return nil, err
		}
		src := *v.Source
		src.Text = []byte(text)
		w.Variant.Source = &src
		return w, nil
	}
	return nil, unsupportedError(fmt.Sprintf("kernels in %s take no windows", v.Language))
}

const windowSuffix = "_window"

// Arguments are the values behind the kernel's own arguments: for each array
// of Params the byte at which its window begins, a multiple of WindowAlign, and
// the bytes of the whole array.
func (w *Windowed) Arguments(at, whole []int64) []devices.Arg {
	args := make([]devices.Arg, 0, 2*len(at))
	for i := range at {
		args = append(args, devices.Arg{Value: binary.NativeEndian.AppendUint64(nil, uint64(at[i]/w.unit[i]))})
		if w.whole { // a Go slice has a length
			args = append(args, devices.Arg{Value: binary.NativeEndian.AppendUint64(nil, uint64(whole[i]))})
		}
	}
	return args
}

// windowedFunc calls f with slices that begin where the whole arrays would.
// They lie outside the Go heap, and f touches only what is in the windows.
func windowedFunc(f devices.GoFunc, own int, params []int) devices.GoFunc {
	return func(r devices.Range, a *devices.Args) {
		args := make([]devices.HostArg, own)
		for i := range args {
			args[i] = devices.HostArg{Bytes: a.Bytes(i)}
		}
		for i, p := range params {
			at, whole := devices.Value[uint64](a, own+2*i), devices.Value[uint64](a, own+2*i+1)
			if b := args[p].Bytes; len(b) > 0 {
				first := unsafe.Add(unsafe.Pointer(unsafe.SliceData(b)), -int(at))
				args[p].Bytes = unsafe.Slice((*byte)(first), int(whole))
			}
		}
		all := devices.MakeArgs(args)
		f(r, &all)
	}
}

// windowedOpenCL adds a parameter for each name to every definition of the
// kernel, and moves the pointer back at the beginning of its body.
func windowedOpenCL(text, entry string, names []string) (string, error) {
	var more, moves strings.Builder
	for _, n := range names {
		fmt.Fprintf(&more, ", ulong tandem_at_%s", n)
		fmt.Fprintf(&moves, " %s -= tandem_at_%s;", n, n)
	}
	var out strings.Builder
	found := false
	s := scanner{text: text}
	kernel := false // a kernel's definition has begun, and its name has not been seen
	from := 0
	for s.next() {
		switch s.token {
		case "__kernel", "kernel":
			kernel = true
		case ";", "}":
			kernel = false
		case entry:
			if !kernel {
				continue
			}
			kernel = false
			closing, body, ok := s.definition()
			if !ok {
				continue // a declaration
			}
			out.WriteString(text[from:closing])
			out.WriteString(more.String())
			out.WriteString(text[closing : body+1])
			out.WriteString(moves.String())
			from, found = body+1, true
		}
	}
	if !found {
		return "", unsupportedError(fmt.Sprintf("the source does not show where kernel %s is defined", entry))
	}
	out.WriteString(text[from:])
	return out.String(), nil
}

// scanner finds the tokens of C: identifiers, and single characters of anything
// else. Comments, strings and preprocessor lines are left out.
type scanner struct {
	text  string
	at    int // behind the token
	start int
	token string
}

func (s *scanner) next() bool {
	for s.at < len(s.text) {
		rest := s.text[s.at:]
		switch c := rest[0]; {
		case strings.HasPrefix(rest, "//"), c == '#':
			s.line()
		case strings.HasPrefix(rest, "/*"):
			end := strings.Index(rest[2:], "*/")
			if end < 0 {
				s.at = len(s.text)
				return false
			}
			s.at += end + 4
		case c == '"' || c == '\'':
			s.quoted(c)
		case c == '_' || unicode.IsLetter(rune(c)) || unicode.IsDigit(rune(c)):
			n := 1
			for n < len(rest) && (rest[n] == '_' || unicode.IsLetter(rune(rest[n])) || unicode.IsDigit(rune(rest[n]))) {
				n++
			}
			s.start, s.token = s.at, rest[:n]
			s.at += n
			return true
		case c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' || c == '\v' || c == '\\':
			s.at++
		default:
			s.start, s.token = s.at, rest[:1]
			s.at++
			return true
		}
	}
	return false
}

// line goes to the end of the line and of those that continue it.
func (s *scanner) line() {
	for s.at < len(s.text) {
		n := strings.IndexByte(s.text[s.at:], '\n')
		if n < 0 {
			s.at = len(s.text)
			return
		}
		end := s.at + n
		s.at = end + 1
		if !strings.HasSuffix(strings.TrimSuffix(s.text[:end], "\r"), "\\") {
			return
		}
	}
}

func (s *scanner) quoted(quote byte) {
	for s.at++; s.at < len(s.text) && s.text[s.at] != quote && s.text[s.at] != '\n'; s.at++ {
		if s.text[s.at] == '\\' {
			s.at++
		}
	}
	s.at++
}

// definition goes on behind the name of a function: to the parenthesis that
// closes its parameters, and the brace that opens its body.
func (s *scanner) definition() (closing, body int, ok bool) {
	if !s.next() || s.token != "(" {
		return 0, 0, false
	}
	for depth := 1; depth > 0; {
		if !s.next() {
			return 0, 0, false
		}
		switch s.token {
		case "(":
			depth++
		case ")":
			depth--
		}
	}
	closing = s.start
	if !s.next() || s.token != "{" {
		return 0, 0, false
	}
	return closing, s.start, true
}

// CanWindow reports whether, along the dimension in which the call can be
// split, the given parameters have windows: each is touched in a known band. The
// error says why not.
func (c *Call) CanWindow(params []int) (dim int, bands []*Band, err error) {
	dim, bands, err = c.Splittable()
	if err != nil {
		return 0, nil, fmt.Errorf("it cannot be cut: %w", err)
	}
	for _, p := range params {
		if b := bands[p]; b == nil || b.Dim != dim {
			return 0, nil, fmt.Errorf("it cannot be cut: which elements of %q a work-item touches is not known", c.Kernel.Params[p].Name)
		}
	}
	return dim, bands, nil
}
