package bridge

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/kernels"
	"github.com/tandemrun/tandem/kernels/clc"
)

// A Program is a source in CUDA C.
type Program struct {
	// Text is self-contained: NVRTC needs no file beside it.
	Text string
	// Options are NVRTC's, to be passed with the text.
	Options []string
	// Kernels are those that were translated, in the order of their definition.
	Kernels []Kernel
	// Refused says of each kernel that was not translated why, by its name.
	// Each error is one or several joined *clc.Error.
	Refused map[string]error

	source  string // in OpenCL C, as it was given
	columns map[place]columns
}

// Kernel is a kernel of a Program.
type Kernel struct {
	Entry  string // in OpenCL C
	Symbol string // in the compiled program
	// Params are the parameters of the OpenCL C kernel; the hidden one is
	// behind them.
	Params      []kernels.Param
	FixedLocal  [3]int // group size written in the kernel; zero: free
	StaticLocal int64  // bytes of local memory declared inside, about
	// SeesLocal says that the kernel may tell one local size from another.
	SeesLocal bool
}

// Kernel finds a kernel by its name in OpenCL C. One that was refused is its
// error, one that does not exist is devices.ErrInvalid and the message lists
// those that do.
func (p *Program) Kernel(entry string) (*Kernel, error) {
	var names []string
	for i := range p.Kernels {
		if p.Kernels[i].Entry == entry {
			return &p.Kernels[i], nil
		}
		names = append(names, p.Kernels[i].Entry)
	}
	if err := p.Refused[entry]; err != nil {
		return nil, err
	}
	return nil, fmt.Errorf("there is no kernel %q, only %s: %w", entry, strings.Join(names, ", "), devices.ErrInvalid)
}

// symbolPrefix keeps a kernel's name from meaning a function of CUDA.
const symbolPrefix = "cl_"

// predefined are macros that a compiler of OpenCL C for these GPUs defines,
// beyond those that package clc does.
var predefined = []clc.Define{
	{Name: "cl_khr_fp16"}, {Name: "cl_khr_int64_base_atomics"}, {Name: "cl_khr_int64_extended_atomics"},
	{Name: "__OPENCL_C_INT64_ATOMICS"}, {Name: "FP_FAST_FMAF"}, {Name: "FP_FAST_FMA"},
}

// Translate turns a self-contained source in OpenCL C into CUDA C. A source that
// cannot be read, or of which no kernel can be translated, is an error: a
// *devices.CompileError whose log has the faults with file, line and column.
// An option that has no meaning for NVRTC is one too.
func Translate(src *devices.Source) (*Program, error) {
	fail := func(err error) error {
		return &devices.CompileError{Source: src.Name, Device: "bridge to CUDA C", Log: logOf(err), Err: fmt.Errorf("%w: %w", err, devices.ErrInvalid)}
	}
	name := src.Name
	if name == "" {
		name = "source.cl"
	}
	m, err := clc.MarkUp(name, src.Text, clc.Options{Options: src.Options}, predefined)
	if err == nil {
		err = m.Faults
	}
	if err != nil {
		return nil, fail(err)
	}
	settings, err := readOptions(m.Options)
	if err != nil {
		return nil, fail(err)
	}
	t := &translation{m: m, settings: settings, edits: make([]edit, len(m.Tokens)), unitFaults: map[int][]error{}}
	t.rewrite()
	if len(t.faults) > 0 {
		return nil, fail(errors.Join(t.faults...))
	}
	if t.designates() {
		settings.options[0] = "--std=c++20"
	}
	p := &Program{Options: settings.options, Refused: map[string]error{}}
	t.drop()
	for _, k := range m.Kernels {
		if err := errors.Join(k.Err, t.whyNot(k.Name)); err != nil {
			p.Refused[k.Name] = err
			continue
		}
		p.Kernels = append(p.Kernels, Kernel{Entry: k.Name, Symbol: symbolPrefix + k.Name, Params: k.Params, FixedLocal: k.FixedLocal, StaticLocal: k.StaticLocal, SeesLocal: t.seesLocal(k.Name)})
	}
	if len(p.Kernels) == 0 {
		var all []error
		for _, k := range m.Kernels {
			all = append(all, p.Refused[k.Name])
		}
		if len(m.Kernels) == 0 {
			all = append(all, &clc.Error{Pos: kernels.Pos{File: name}, Msg: "the source holds no kernel"})
		}
		return nil, fail(errors.Join(all...))
	}
	p.source = fmt.Sprintf("#line 1 \"%s\"\n%s", quoted(name), src.Text)
	p.Text, p.columns = t.text(p.Kernels)
	return p, nil
}

// logOf writes errors as a compiler's log: "file:line:column: error: text".
func logOf(err error) string {
	var b strings.Builder
	seen := map[string]bool{}
	for _, e := range flat(err) {
		line := "error: " + e.Error()
		if ce, ok := errors.AsType[*clc.Error](e); ok && ce.Pos.File != "" {
			line = fmt.Sprintf("%s:%d:%d: error: %s", ce.Pos.File, max(ce.Pos.Line, 1), max(ce.Pos.Column, 1), ce.Msg)
		}
		if !seen[line] {
			seen[line] = true
			b.WriteString(line + "\n")
		}
	}
	return b.String()
}

func flat(err error) []error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		var list []error
		for _, e := range joined.Unwrap() {
			list = append(list, flat(e)...)
		}
		return list
	}
	if err == nil {
		return nil
	}
	return []error{err}
}

// translation is a translation under way.
type translation struct {
	m        *clc.Markup
	settings settings
	edits    []edit

	ranged     map[string]bool // functions that take the range
	defined    map[string]bool // functions with a body
	locals     map[string]bool // functions that may tell one local size from another
	faults     []error         // of the whole source
	unitFaults map[int][]error // by unit
	dropped    map[int]bool    // units that are left out
}

// edit is what is written in place of a token.
type edit struct {
	before, after []string
	text          string // in place of the token's own
	replaced      bool
}

func (t *translation) replace(i int, text string) {
	t.edits[i].text, t.edits[i].replaced = text, true
}

// around puts text before token from and behind the one before to. Edits of
// what is inside come later and stay inside.
func (t *translation) around(from, to int, before, after string) {
	t.edits[from].before = append(t.edits[from].before, before)
	t.edits[to-1].after = append([]string{after}, t.edits[to-1].after...)
}

// refuse notes that a construct cannot be mapped.
func (t *translation) refuse(unit, token int, format string, args ...any) {
	err := &clc.Error{Pos: t.m.Tokens[token].Pos, Msg: fmt.Sprintf(format, args...)}
	if unit < 0 {
		t.faults = append(t.faults, err)
		return
	}
	const most = 20
	if len(t.unitFaults[unit]) < most {
		t.unitFaults[unit] = append(t.unitFaults[unit], err)
	}
}

// drop leaves out the units with faults, and those that use them.
func (t *translation) drop() {
	t.dropped = map[int]bool{}
	bad := map[string]error{}
	for i := range t.m.Units {
		u := &t.m.Units[i]
		if u.Opaque != "" {
			t.unitFaults[i] = append(t.unitFaults[i], &clc.Error{Pos: u.Where, Msg: "this cannot be translated: " + u.Opaque})
		}
		if len(t.unitFaults[i]) > 0 {
			t.dropped[i] = true
			for _, n := range u.Names {
				bad[n] = t.unitFaults[i][0]
			}
		}
	}
	for changed := len(bad) > 0; changed; {
		changed = false
		for i := range t.m.Units {
			u := &t.m.Units[i]
			if t.dropped[i] {
				continue
			}
			for _, n := range u.Calls {
				if why := bad[n]; why != nil {
					t.dropped[i], changed = true, true
					t.unitFaults[i] = append(t.unitFaults[i], why)
					for _, own := range u.Names {
						bad[own] = why
					}
					break
				}
			}
		}
	}
}

// whyNot is why a function was left out; nil if it was not.
func (t *translation) whyNot(name string) error {
	for i, u := range t.m.Units {
		if t.dropped[i] && u.Function == name {
			return errors.Join(t.unitFaults[i]...)
		}
	}
	return nil
}

// reaching are the functions of the source that call one of those that is
// tells, themselves or through others.
func (t *translation) reaching(is func(name string) bool) map[string]bool {
	found := map[string]bool{}
	for _, k := range t.m.Marks {
		if k.Kind == clc.MarkCall && !k.Own && k.Unit >= 0 && is(k.Name) {
			found[t.m.Units[k.Unit].Function] = true
		}
	}
	for changed := true; changed; {
		changed = false
		for i := range t.m.Units {
			u := &t.m.Units[i]
			if u.Function != "" && !found[u.Function] && slices.ContainsFunc(u.Calls, func(n string) bool { return found[n] }) {
				found[u.Function], changed = true, true
			}
		}
	}
	return found
}

// designates reports whether an initialiser names its members, {.x = 1}, which
// C++ has since 2020.
func (t *translation) designates() bool {
	for i := 1; i < len(t.m.Tokens); i++ {
		if t.is(i, ".") && (t.is(i-1, "{") || t.is(i-1, ",")) {
			return true
		}
	}
	return false
}

// seesLocal reports whether a kernel asks for its place in a group or shares
// memory within one.
func (t *translation) seesLocal(kernel string) bool { return t.locals[kernel] }
