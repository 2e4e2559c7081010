package clc

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/kernels"
)

// Load reads one kernel of a file. An empty entry stands for the only kernel
// there is; with several, the error lists them. Faults in other kernels of the
// file do not count. The kernel belongs to the caller and is safe for
// concurrent use.
func Load(path, entry string, o Options) (*kernels.Kernel, error) {
	text, err := readFile(path)
	if err != nil {
		return nil, fmt.Errorf("cannot read the kernel's source: %w", err)
	}
	list, err := read(path, text, o)
	if err != nil {
		return nil, err
	}
	return list.pick(entry)
}

// Entries reads all kernels of a file, in the order of their definition. The
// kernels that can be used are returned also when others cannot: the error
// then joins what is wrong with those, each an *Error. A file without kernels
// is an error.
func Entries(path string, o Options) ([]*kernels.Kernel, error) {
	text, err := readFile(path)
	if err != nil {
		return nil, fmt.Errorf("cannot read the kernel's source: %w", err)
	}
	return Parse(path, text, o)
}

// Parse is Entries for text in memory. name stands in messages, and its folder
// is the first that is searched for included files.
func Parse(name string, text []byte, o Options) ([]*kernels.Kernel, error) {
	list, err := read(name, text, o)
	if err != nil {
		return nil, err
	}
	return list.all()
}

// found is what a source holds.
type found struct {
	u       *unit
	kernels []*kernels.Kernel // nil where the kernel at that place has faults
	errs    []error
}

// read reads a source. The error is that of a source that cannot be read at
// all.
func read(name string, text []byte, o Options) (*found, error) {
	u, err := open(name, text, o)
	if err != nil {
		return nil, err
	}
	src := &devices.Source{Name: filepath.Base(name), Language: devices.LangOpenCL, Text: []byte(u.prep.text.String()), Options: u.set.options}
	l := &found{u: u}
	for _, f := range u.order {
		k, err := u.kernel(f, src)
		l.kernels, l.errs = append(l.kernels, k), append(l.errs, err)
	}
	return l, nil
}

// names are the kernels' names.
func (l *found) names() []string {
	names := make([]string, len(l.u.order))
	for i, f := range l.u.order {
		names[i] = f.name
	}
	return names
}

func (l *found) pick(entry string) (*kernels.Kernel, error) {
	names, pos := l.names(), kernels.Pos{File: l.u.name}
	if entry == "" {
		switch err := l.u.faults.err(); {
		case len(names) == 1 && l.errs[0] == nil:
			return l.kernels[0], nil
		case len(names) == 1:
			return nil, l.errs[0]
		case len(names) == 0 && err != nil:
			return nil, err
		case len(names) == 0:
			return nil, &Error{pos, "the source holds no kernel"}
		}
		return nil, &Error{pos, "the source holds several kernels, name one of them: " + strings.Join(names, ", ")}
	}
	for i, name := range names {
		if name == entry {
			return l.kernels[i], l.errs[i]
		}
	}
	msg := fmt.Sprintf("the source holds no kernel %q", entry)
	if len(names) > 0 {
		msg += "; it has " + strings.Join(names, ", ")
	}
	if n := kernels.Nearest(entry, names); n != "" {
		msg += fmt.Sprintf("; did you mean %q?", n)
	}
	return nil, errors.Join(&Error{pos, msg}, l.u.faults.err())
}

func (l *found) all() ([]*kernels.Kernel, error) {
	var good []*kernels.Kernel
	errs := []error{l.u.faults.err()}
	for i, k := range l.kernels {
		if l.errs[i] != nil {
			errs = append(errs, l.errs[i])
			continue
		}
		good = append(good, k)
	}
	err := errors.Join(errs...)
	if len(good) == 0 && err == nil {
		err = &Error{kernels.Pos{File: l.u.name}, "the source holds no kernel"}
	}
	return good, err
}

// kernel describes one kernel of the source.
func (u *unit) kernel(f *function, src *devices.Source) (*kernels.Kernel, error) {
	params, err := u.params(f)
	if err != nil {
		return nil, err
	}
	decls := u.closure(f)
	k := &kernels.Kernel{Name: f.name, Params: params, Variants: []kernels.Variant{{
		Language: devices.LangOpenCL, Source: src, Entry: f.name, Needs: u.needs(decls),
		FixedLocal: f.attrs.local, StaticLocal: staticLocal(decls),
	}}}
	u.trim(&k.Variants[0], decls)
	if why := u.hangsOnDevice(decls); why != "" {
		k.NoSplit = why
		return k, nil
	}
	if f.opaque != "" || f.body == nil {
		k.NoSplit = fmt.Sprintf("its body cannot be followed: %s (%s)", f.opaque, f.where)
		return k, nil
	}
	m := still(u, f)
	a := &analysis{u: u, fn: f}
	for i := range k.Params {
		p := &k.Params[i]
		if p.Kind != kernels.Buffer {
			continue
		}
		p.Band, p.Reach = a.band(m, i, p.Mode.Writes()), a.reach(m, i)
		if p.Mode == kernels.ReadWrite && m.overwrites(f, i) {
			p.Mode = kernels.Write
		}
	}
	k.NoSplit = u.noSplit(m, decls, k)
	return k, nil
}

// noSplit is why a launch of the kernel must not be divided, "" if nothing is
// known against it.
func (u *unit) noSplit(m *machine, decls []*decl, k *kernels.Kernel) string {
	if m.noSplit != nil {
		return fmt.Sprintf("%s (%s)", m.noSplit.Text, m.noSplit.Pos)
	}
	for _, d := range decls {
		for _, t := range u.toks[d.from:d.to] {
			if why := wholeOnly[t.text]; t.kind == tokIdent && why != "" && u.funcs[t.text] == nil {
				return fmt.Sprintf("%s (%s)", why, t.pos)
			}
		}
		if d.global {
			return fmt.Sprintf("it uses a variable of program scope (%s)", u.toks[d.from].pos)
		}
		if d.fn != nil && d.fn.opaque != "" {
			return fmt.Sprintf("function %s, which it uses, cannot be followed: %s (%s)", d.fn.name, d.fn.opaque, d.fn.where)
		}
	}
	for i := range m.params {
		use := &m.params[i]
		if !use.writes || k.Params[i].Kind != kernels.Buffer {
			continue
		}
		if r := use.lost[1]; r != nil {
			return fmt.Sprintf("which elements of %q a work-item writes is not known: %s (%s)", k.Params[i].Name, r.Text, r.Pos)
		}
		if r := use.lost[0]; r != nil {
			return fmt.Sprintf("it may read elements of %q that other work-items write: %s (%s)", k.Params[i].Name, r.Text, r.Pos)
		}
	}
	return ""
}

// wholeOnly are the built-in functions whose answer in a part of a launch is
// not that in the whole, and what is wrong with each.
var wholeOnly = map[string]string{
	"get_global_linear_id": "get_global_linear_id counts from the beginning of a part",
	"get_global_offset":    "get_global_offset is that of a part",
	"enqueue_kernel":       "it enqueues kernels",
	"read_pipe":            "it reads a pipe",
	"write_pipe":           "it writes a pipe",
}
