package pipeline

import (
	"debug/elf"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/kernels"
	"github.com/tandemrun/tandem/kernels/rtl"
)

// Files of machine code tell less of their kernels than sources do. What a
// SPIR-V module does not tell (the sign of a number) may be stated with the
// arguments of a step; of a shared library's functions and of the kernels in a
// vendor's format all of it has to be.

// isStated reports whether the arguments of a step have a say in the parameters
// of the kernels of a source.
func isStated(l devices.Language) bool {
	return l == devices.LangSPIRV || l == devices.LangSYCLLibrary
}

// untold is what a file is called that tells nothing of its kernels' parameters;
// "" for one that does.
func untold(l devices.Language) string {
	switch l {
	case devices.LangSYCLLibrary:
		return "a library"
	case devices.LangBinary:
		return "a binary"
	}
	return ""
}

// maxLibraryBytes bounds a shared library.
const maxLibraryBytes = 256 << 20

// readLibrary lists the functions that a shared library gives to others, as
// kernels without parameters: those that are not mangled as C++ is.
func readLibrary(path string) ([]*kernels.Kernel, error) {
	text, err := readBounded(path, maxLibraryBytes)
	if err != nil {
		return nil, err
	}
	f, err := elf.NewFile(strings.NewReader(string(text)))
	if err != nil {
		return nil, fmt.Errorf("no shared library: %w: %w", err, devices.ErrInvalid)
	}
	symbols, err := f.DynamicSymbols()
	if err != nil && !errors.Is(err, elf.ErrNoSymbols) {
		return nil, fmt.Errorf("its table of symbols: %w: %w", err, devices.ErrInvalid)
	}
	src := &devices.Source{Name: filepath.Base(path), Language: devices.LangSYCLLibrary, Text: text}
	var list []*kernels.Kernel
	for _, s := range symbols {
		if s.Section == elf.SHN_UNDEF || elf.ST_TYPE(s.Info) != elf.STT_FUNC || strings.HasPrefix(s.Name, "_") {
			continue
		}
		list = append(list, &kernels.Kernel{
			Name:     s.Name,
			Doc:      fmt.Sprintf("%s of %s", s.Name, src.Name),
			NoSplit:  "what a function of a library touches is not known",
			Variants: []kernels.Variant{{Language: devices.LangSYCLLibrary, Source: src, Entry: s.Name}},
		})
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("no function that can be called: declare it extern \"C\" and visible, or as tandem/sycl.hpp says: %w", devices.ErrInvalid)
	}
	slices.SortFunc(list, func(a, b *kernels.Kernel) int { return strings.Compare(a.Name, b.Name) })
	return list, nil
}

// pickStated finds the kernel of such a file; nil after a fault.
func (r *reader) pickStated(src *source, f map[string]*node, name, entry, path string) *kernels.Kernel {
	at, where := f["entry"], path+".entry"
	if at == nil || src.err != nil {
		at, where = f["file"], path+".file"
	}
	err := src.err
	if err == nil {
		var k *kernels.Kernel
		if k, err = rtl.Pick(src.good, name, entry); err == nil {
			return k
		}
	} else if errors.Is(err, fs.ErrNotExist) {
		r.add(at, where, "there is no file %s", src.path).Hint = nearFile(src.path)
		return nil
	} else {
		err = fmt.Errorf("%s: %w", name, err)
	}
	r.add(at, where, "%s", strings.TrimSuffix(err.Error(), ": "+devices.ErrInvalid.Error())).Err = err
	return nil
}

// state gives the step a kernel of its own, with what its arguments state.
func (r *reader) state(st *step) {
	if st.kernel == nil || len(st.kernel.Variants) == 0 {
		return
	}
	lang := st.kernel.Variants[0].Language
	what := untold(lang)
	if what == "" && !isStated(lang) {
		return
	}
	own := *st.kernel
	if what != "" {
		own.Params = nil
		for i, a := range st.args {
			if p, ok := r.stated(a, i, what); ok {
				own.Params = append(own.Params, p)
			}
		}
	} else {
		own.Params = slices.Clone(own.Params)
		for i, a := range st.args {
			at := i
			if a.name != "" {
				at = own.Param(a.name)
			}
			if at < 0 || at >= len(own.Params) || own.Params[at].Kind != kernels.Value || a.typ == "" {
				continue
			}
			// Only the sign is open: anything else is for Bind to refuse.
			if t, known := kernels.ParseType(a.typ); known && t.Size == own.Params[at].Type.Size && t.Lanes == own.Params[at].Type.Lanes &&
				signed(t.Elem) == own.Params[at].Type.Elem {
				own.Params[at].Type = t
			}
		}
	}
	st.kernel = &own
}

// signed is the signed type of the same size; t itself where it has no sign.
func signed(t devices.DType) devices.DType {
	switch t {
	case devices.Uint8:
		return devices.Int8
	case devices.Uint16:
		return devices.Int16
	case devices.Uint32:
		return devices.Int32
	case devices.Uint64:
		return devices.Int64
	}
	return t
}

// stated is the parameter that an argument states of a kernel of which what it
// is in tells nothing; false after a fault.
func (r *reader) stated(a *argument, index int, what string) (kernels.Param, bool) {
	p := kernels.Param{Name: a.name, Pos: kernels.Pos{File: r.file, Line: a.at.line, Column: a.at.col}}
	if p.Name == "" {
		p.Name = fmt.Sprintf("arg%d", index)
	}
	switch {
	case a.buf != nil:
		p.Kind, p.Type, p.Mode = kernels.Buffer, kernels.Scalar(a.buf.array.DType), a.mode
		if p.Mode == 0 {
			r.add(a.at, a.path, "%s does not tell what its kernel does with %q", what, a.buf.array.Name).Hint =
				fmt.Sprintf("write {buf: %s, mode: r}, w or rw", a.buf.array.Name)
			return p, false
		}
	case a.local != nil:
		p.Kind, p.Type = kernels.Local, kernels.Scalar(devices.Uint8)
	case a.bytes != nil:
		p.Kind, p.Type = kernels.Value, kernels.Type{Name: a.typ, Size: len(a.bytes), Align: 1}
	default:
		p.Kind = kernels.Value
		var known bool
		if p.Type, known = kernels.ParseType(a.typ); !known {
			not := ""
			if a.typ != "" {
				not = fmt.Sprintf(", and %q is no type of a number or vector", clip(a.typ))
			}
			r.add(a.at, a.path, "%s does not tell the types of its kernel's values%s", what, not).Hint = "write {val: 3, type: int}; a struct is {bytes: FILE}"
			return p, false
		}
	}
	return p, true
}
