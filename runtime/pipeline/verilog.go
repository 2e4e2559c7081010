package pipeline

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/devices/fpga/toolchain"
	"github.com/tandemrun/tandem/devices/fpga/verilog"
	"github.com/tandemrun/tandem/kernels"
	"github.com/tandemrun/tandem/kernels/clc"
	"github.com/tandemrun/tandem/kernels/rtl"
)

// readRTL reads the kernels of a Verilog file. What are macros in C are
// parameters there; an option sets one as Verilator would have it, -GNAME=VALUE.
func readRTL(path string, o clc.Options) ([]*kernels.Kernel, error) {
	ro := rtl.Options{Params: map[string]string{}, Include: o.Include}
	for _, d := range o.Defines {
		v := strings.TrimSpace(d.Value)
		if v == "" {
			v = "1"
		}
		ro.Params[d.Name] = v
	}
	for _, opt := range o.Options {
		name, v, ok := strings.Cut(strings.TrimPrefix(opt, "-G"), "=")
		if !ok || !strings.HasPrefix(opt, "-G") {
			return nil, fmt.Errorf("option %q: a Verilog source takes -GNAME=VALUE for its parameters: %w", clip(opt), devices.ErrInvalid)
		}
		ro.Params[name] = v
	}
	// The tools are bounded in time; reading a pipeline has no context.
	return rtl.Entries(context.Background(), path, ro)
}

// pickRTL finds the kernel of a Verilog source; nil after a fault.
func (r *reader) pickRTL(src *source, f map[string]*node, name, entry, path string) *kernels.Kernel {
	at, where := f["entry"], path+".entry"
	if at == nil || src.err != nil {
		at, where = f["file"], path+".file"
	}
	if src.err == nil {
		k, err := rtl.Pick(src.good, name, entry)
		if err == nil {
			return k
		}
		r.add(at, where, "%s", strings.TrimSuffix(err.Error(), ": "+devices.ErrInvalid.Error())).Err = err
		return nil
	}
	if errors.Is(src.err, fs.ErrNotExist) {
		r.add(at, where, "there is no file %s", src.path).Hint = nearFile(src.path)
		return nil
	}
	for _, e := range flatten(src.err) {
		var ve *verilog.Error
		switch hint, missing := toolchain.IsMissing(e); {
		case missing:
			fault := r.add(at, where, "%s: %v", name, e)
			fault.Err, fault.Hint = e, hint
		case errors.As(e, &ve) && ve.Line > 0:
			r.put(&Fault{File: ve.File, Line: ve.Line, Column: ve.Column, Msg: ve.Msg, Err: e,
				Hint: fmt.Sprintf("%s of %s line %d uses it", where, r.file, at.line)})
		default:
			r.add(at, where, "%s: %v", name, e).Err = e
		}
	}
	return nil
}
