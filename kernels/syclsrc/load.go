package syclsrc

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/devices/sycl/freefunc"
	"github.com/tandemrun/tandem/kernels"
	"github.com/tandemrun/tandem/kernels/clc"
)

// Load reads one kernel of a file. An empty entry stands for the only kernel
// there is; with several, the error lists them. The kernel belongs to the
// caller and is safe for concurrent use.
func Load(path, entry string, o clc.Options) (*kernels.Kernel, error) {
	list, err := Entries(path, o)
	names := make([]string, len(list))
	for i, k := range list {
		if k.Name == entry || entry == "" && len(list) == 1 && err == nil {
			return k, nil
		}
		names[i] = k.Name
	}
	pos := kernels.Pos{File: path}
	switch {
	case err != nil:
		return nil, err
	case entry == "":
		return nil, &clc.Error{Pos: pos, Msg: fmt.Sprintf("it has %d kernels (%s): name one", len(list), strings.Join(names, ", "))}
	}
	msg := fmt.Sprintf("it has no kernel %q, only %s", entry, strings.Join(names, ", "))
	if near := kernels.Nearest(entry, names); near != "" {
		msg += fmt.Sprintf("; is %q meant?", near)
	}
	return nil, &clc.Error{Pos: pos, Msg: msg}
}

// Entries reads all kernels of a file, in the order of their definition. A file
// without kernels is an error, and so is a kernel whose parameters no host
// program can give.
func Entries(path string, o clc.Options) ([]*kernels.Kernel, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("cannot read the kernel's source: %w", err)
	}
	return Parse(path, text, o)
}

// Parse is Entries for text in memory. name stands in messages, and its folder
// is the first that is searched for included files.
func Parse(name string, text []byte, o clc.Options) ([]*kernels.Kernel, error) {
	full, options, err := assemble(name, text, o)
	if err != nil {
		return nil, err
	}
	src := &devices.Source{Name: filepath.Base(name), Language: devices.LangSYCL, Text: []byte(full), Options: options}
	functions := freefunc.Functions(full)
	var list []*kernels.Kernel
	var without []string
	for i := range functions {
		f := &functions[i]
		if !f.Kernel() {
			without = append(without, f.Name)
			continue
		}
		k, err := kernel(f, src)
		if err != nil {
			return nil, err
		}
		list = append(list, k)
	}
	if len(list) == 0 {
		msg := "it has no kernel: a function with SYCL_EXT_ONEAPI_FUNCTION_PROPERTY((sycl::ext::oneapi::experimental::nd_range_kernel<1>))"
		if len(without) > 0 {
			msg += "; without that it has " + strings.Join(without, ", ")
		}
		return nil, &clc.Error{Pos: kernels.Pos{File: name}, Msg: msg}
	}
	return list, nil
}

// kernel makes a kernel of a function.
func kernel(f *freefunc.Function, src *devices.Source) (*kernels.Kernel, error) {
	k := &kernels.Kernel{
		Name:     f.Name,
		Doc:      fmt.Sprintf("%s of %s", f.Name, src.Name),
		Variants: []kernels.Variant{{Language: devices.LangSYCL, Source: src, Entry: f.Name}},
		NoSplit:  "which elements a kernel in SYCL C++ touches is not followed",
	}
	pos := kernels.Pos{File: f.File, Line: f.Line}
	for i, p := range f.Params {
		param := kernels.Param{Name: p.Name, Pos: pos}
		if param.Name == "" {
			param.Name = fmt.Sprintf("arg%d", i)
		}
		element := p.Type
		switch p.Kind {
		case freefunc.Pointer:
			param.Kind, param.Mode = kernels.Buffer, kernels.ReadWrite
			if p.Const {
				param.Mode = kernels.Read
			}
		case freefunc.Local:
			param.Kind, element = kernels.Local, argument(p.Type)
		case freefunc.Value:
			param.Kind = kernels.Value
		default:
			return nil, &clc.Error{Pos: pos, Msg: fmt.Sprintf("kernel %s: parameter %q (%s): only pointers, plain values and sycl::local_accessor can be passed", f.Name, param.Name, p.Type)}
		}
		t, ok := typeOf(element)
		if !ok {
			return nil, &clc.Error{Pos: pos, Msg: fmt.Sprintf("kernel %s: parameter %q: the layout of the type %s is not known here; take a scalar, a sycl::vec, or a pointer to one", f.Name, param.Name, element)}
		}
		param.Type = t
		k.Params = append(k.Params, param)
	}
	return k, nil
}
