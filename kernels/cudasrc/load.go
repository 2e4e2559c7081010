package cudasrc

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/kernels"
	"github.com/tandemrun/tandem/kernels/clc"
)

// predefined are macros that NVRTC sets and that sources ask for.
var predefined = []clc.Define{
	{Name: "__CUDACC__", Value: "1"}, {Name: "__CUDACC_RTC__", Value: "1"}, {Name: "__NVCC__", Value: "1"}, {Name: "__cplusplus", Value: "201703L"},
}

// Bounds on what is read. A source beyond them is refused.
const (
	maxFileBytes = 4 << 20
	maxKernels   = 1000
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
		return nil, &clc.Error{Pos: pos, Msg: "the source holds several kernels, name one of them: " + strings.Join(names, ", ")}
	}
	msg := fmt.Sprintf("the source holds no kernel %q; it has %s", entry, strings.Join(names, ", "))
	if near := kernels.Nearest(entry, names); near != "" {
		msg += fmt.Sprintf("; did you mean %q?", near)
	}
	return nil, &clc.Error{Pos: pos, Msg: msg}
}

// Entries reads all kernels of a file, in the order of their definition. The
// kernels that can be used are returned also when others cannot: the error
// then joins what is wrong with those, each a *clc.Error. A file without
// kernels is an error.
func Entries(path string, o clc.Options) ([]*kernels.Kernel, error) {
	text, err := readFile(path)
	if err != nil {
		return nil, fmt.Errorf("cannot read the kernel's source: %w", err)
	}
	return Parse(path, text, o)
}

func readFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	st, err := f.Stat()
	switch {
	case err != nil:
		return nil, err
	case !st.Mode().IsRegular():
		return nil, fmt.Errorf("%s is no regular file", path)
	}
	b, err := io.ReadAll(io.LimitReader(f, maxFileBytes+1))
	if err == nil && len(b) > maxFileBytes {
		err = fmt.Errorf("%s has more than the %d bytes that a source may have", path, maxFileBytes)
	}
	return b, err
}

// Parse is Entries for text in memory. name stands in messages, and its folder
// is the first that is searched for included files.
func Parse(name string, text []byte, o clc.Options) ([]*kernels.Kernel, error) {
	f, err := clc.Preprocess(name, text, o, predefined)
	if err != nil {
		return nil, err
	}
	src := &devices.Source{Name: filepath.Base(name), Language: devices.LangCUDA, Text: []byte(f.Text), Options: f.Options}
	r := &reader{toks: f.Tokens, aliases: map[string][]clc.Token{}, structs: map[string]structure{}, enums: map[string]bool{}}
	r.read()
	var list []*kernels.Kernel
	var errs []error
	for _, fn := range r.functions {
		if !fn.global {
			continue
		}
		if len(list)+len(errs) >= maxKernels {
			errs = append(errs, &clc.Error{Pos: kernels.Pos{File: name}, Msg: fmt.Sprintf("the source holds more than %d kernels", maxKernels)})
			break
		}
		k, err := r.kernel(fn, src)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		list = append(list, k)
	}
	list, errs = withoutOverloads(list, errs)
	if len(list)+len(errs) == 0 {
		msg := "the source holds no kernel: a function that is __global__ and has a body"
		if len(r.templates) > 0 {
			msg += fmt.Sprintf("; of the template %s the source makes no instance (template __global__ void %s<float>(…);)", r.templates[0], r.templates[0])
		}
		errs = append(errs, &clc.Error{Pos: kernels.Pos{File: name}, Msg: msg})
	}
	return list, errors.Join(errs...)
}

// withoutOverloads takes kernels out that share a name and differ in their
// parameters.
func withoutOverloads(list []*kernels.Kernel, errs []error) ([]*kernels.Kernel, []error) {
	byName := map[string][]*kernels.Kernel{}
	var order []string
	for _, k := range list {
		if byName[k.Name] == nil {
			order = append(order, k.Name)
		}
		byName[k.Name] = append(byName[k.Name], k)
	}
	var kept []*kernels.Kernel
	for _, name := range order {
		same := byName[name]
		if len(same) == 1 {
			kept = append(kept, same[0])
			continue
		}
		texts := make([]string, len(same))
		for i, k := range same {
			texts[i] = k.Signature()
			if len(k.Params) > 0 {
				texts[i] += fmt.Sprintf(" (line %d)", k.Params[0].Pos.Line)
			}
		}
		pos := kernels.Pos{File: same[0].Variants[0].Source.Name}
		if len(same[1].Params) > 0 {
			pos = same[1].Params[0].Pos
		}
		errs = append(errs, &clc.Error{Pos: pos, Msg: fmt.Sprintf("kernel %s is overloaded, and its name does not say which one is meant: %s; give them different names", name, strings.Join(texts, ", "))})
	}
	return kept, errs
}

// kernel makes a kernel of a function.
func (r *reader) kernel(fn *function, src *devices.Source) (*kernels.Kernel, error) {
	k := &kernels.Kernel{
		Name:     fn.name,
		Doc:      fmt.Sprintf("%s of %s", fn.name, src.Name),
		Variants: []kernels.Variant{{Language: devices.LangCUDA, Source: src, Entry: fn.name}},
		NoSplit:  "which elements a kernel in CUDA C touches is not followed",
	}
	var errs []error
	seen := map[string]bool{}
	for i, toks := range fn.params {
		p, why := r.param(toks)
		if p.Name == "" {
			p.Name = fmt.Sprintf("arg%d", i)
		}
		if why == "" && seen[p.Name] {
			why = "is there twice"
		}
		seen[p.Name] = true
		if why != "" {
			errs = append(errs, &clc.Error{Pos: p.Pos, Msg: fmt.Sprintf("kernel %s: parameter %q %s", fn.name, p.Name, why)})
		}
		k.Params = append(k.Params, p)
	}
	if s := r.sharedOf(fn); s != nil {
		t, ok := r.typeOf(s.elem)
		if !ok {
			t = kernels.Scalar(devices.Uint8) // its size is given in bytes anyway
		}
		k.Params = append(k.Params, kernels.Param{Name: s.name, Kind: kernels.Local, Type: t, Pos: s.pos})
	}
	return k, errors.Join(errs...)
}
