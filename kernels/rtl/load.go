package rtl

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/devices/fpga/toolchain"
	"github.com/tandemrun/tandem/devices/fpga/verilog"
	"github.com/tandemrun/tandem/kernels"
)

// Options say how a source is read.
type Options struct {
	// Params are values of the source's Verilog parameters: numbers as Verilog
	// writes them, or text in quotes.
	Params map[string]string

	// Include are folders that included files and memory images are looked for
	// in, after the source's own.
	Include []string

	// Tools are the programs that the source is read with; yosys is the one
	// that is needed.
	Tools toolchain.Tools
}

// Load reads one kernel of a file. entry is the name of its module or of the
// kernel; it may be empty where the file has one kernel only. Faults of the
// source are *verilog.Error with file and line; a missing yosys is a
// *toolchain.MissingError.
func Load(ctx context.Context, path, entry string, o Options) (*kernels.Kernel, error) {
	all, err := Entries(ctx, path, o)
	if err != nil {
		return nil, err
	}
	return Pick(all, path, entry)
}

// Pick finds a kernel of a file among all of them, as Load does. That there is
// none of that name is devices.ErrInvalid and lists those there are.
func Pick(all []*kernels.Kernel, path, entry string) (*kernels.Kernel, error) {
	var names []string
	for _, k := range all {
		if k.Name == entry || k.Variants[0].Entry == entry {
			return k, nil
		}
		names = append(names, k.Variants[0].Entry)
	}
	if entry == "" && len(all) == 1 {
		return all[0], nil
	}
	if entry == "" {
		return nil, fmt.Errorf("%s has %d kernels, %s: say which: %w", path, len(all), strings.Join(names, ", "), devices.ErrInvalid)
	}
	hint := ""
	if n := kernels.Nearest(entry, names); n != "" {
		hint = fmt.Sprintf("; did you mean %q?", n)
	}
	return nil, fmt.Errorf("%s has no kernel %q, it has %s%s: %w", path, entry, strings.Join(names, ", "), hint, devices.ErrInvalid)
}

// Entries reads all kernels of a file, in the order of the source.
func Entries(ctx context.Context, path string, o Options) ([]*kernels.Kernel, error) {
	text, err := expand(path, o.Include)
	if err != nil {
		return nil, err
	}
	src := &devices.Source{Name: filepath.ToSlash(path), Language: devices.LangRTL, Text: []byte(text)}
	for _, name := range slices.Sorted(maps.Keys(o.Params)) {
		src.Options = append(src.Options, "-G"+name+"="+o.Params[name])
	}
	for _, folder := range append([]string{filepath.Dir(path)}, o.Include...) {
		abs, err := filepath.Abs(folder)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		src.Options = append(src.Options, "-I"+abs)
	}
	return fromSource(ctx, src, o)
}

// FromSource reads all kernels of a complete source, which the kernels keep.
// Its options -GNAME=VALUE and -IFOLDER count; those of o do not.
func FromSource(ctx context.Context, src *devices.Source, tools toolchain.Tools) ([]*kernels.Kernel, error) {
	params, folders := map[string]string{}, []string(nil)
	for _, opt := range src.Options {
		if name, v, ok := strings.Cut(strings.TrimPrefix(opt, "-G"), "="); ok && strings.HasPrefix(opt, "-G") {
			params[name] = v
		} else if dir, ok := strings.CutPrefix(opt, "-I"); ok {
			folders = append(folders, dir)
		}
	}
	return fromSource(ctx, src, Options{Params: params, Include: folders, Tools: tools})
}

func fromSource(ctx context.Context, src *devices.Source, o Options) ([]*kernels.Kernel, error) {
	var images []string
	for _, opt := range src.Options {
		if dir, ok := strings.CutPrefix(opt, "-I"); ok {
			images = append(images, dir)
		}
	}
	modules, err := verilog.Read(ctx, verilog.Request{File: src.Name, Text: string(src.Text), Set: o.Params, Images: images, Tools: o.Tools})
	if err != nil {
		return nil, err
	}
	var all []*kernels.Kernel
	for _, m := range modules {
		k, err := makeKernel(m, src)
		if err != nil {
			return nil, err
		}
		all = append(all, k)
	}
	return all, nil
}
