package pipeline

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/kernels"
	"github.com/tandemrun/tandem/kernels/binary"
)

// readBinary reads a program in a vendor's format, once, and takes a kernel of
// it whose parameters are not known yet.
func (r *reader) readBinary(f map[string]*node, name, entry, path string) *kernels.Kernel {
	if entry == "" {
		r.add(f["file"], path+".file", "%s does not tell which kernels it has", clip(name)).Hint = "add entry: NAME"
		return nil
	}
	for _, key := range []string{"options", "include", "defines"} {
		if f[key] != nil {
			r.add(f[key], path+"."+key, "%s is built already: there is nothing left to say with %s", clip(name), key)
			return nil
		}
	}
	full := r.p.resolve(name)
	file := r.binaries[full]
	if file == nil {
		var err error
		file, err = binary.Load(full)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			r.add(f["file"], path+".file", "there is no file %s", full).Hint = nearFile(full)
			return nil
		case err != nil:
			r.add(f["file"], path+".file", "%v", err).Err = err
			return nil
		}
		r.binaries[full] = file
	}
	return file.Kernel(entry, nil)
}

// isBinary reports whether the parameters of a kernel are to be stated.
func isBinary(k *kernels.Kernel) bool {
	return k != nil && len(k.Variants) == 1 && k.Variants[0].Language == devices.LangBinary
}

// stateParams takes the parameters of a kernel in binary form from the arguments
// of the step: modes of buffers and types of values have to be there.
func (r *reader) stateParams(st *step) {
	k := *st.kernel
	k.Params = nil
	for i, a := range st.args {
		p := kernels.Param{Name: a.name}
		if p.Name == "" {
			p.Name = fmt.Sprintf("arg%d", i)
		}
		switch {
		case a.buf != nil:
			p.Kind, p.Type, p.Mode = kernels.Buffer, kernels.Scalar(a.buf.array.DType), a.mode
			if a.mode == 0 {
				r.add(a.at, a.path, "a binary does not tell what its kernel does with a buffer").Hint = fmt.Sprintf("write {buf: %s, mode: r}, w or rw", a.buf.array.Name)
			}
		case a.local != nil:
			p.Kind, p.Type = kernels.Local, kernels.Scalar(devices.Uint8)
		case a.bytes != nil:
			p.Kind, p.Type = kernels.Value, kernels.Type{Name: "bytes", Size: len(a.bytes), Align: 1}
		default:
			var ok bool
			p.Kind = kernels.Value
			if p.Type, ok = kernels.ParseType(a.typ); !ok {
				f := r.add(a.at, a.path, "a binary does not tell the types of its kernel's values, and %q is no type of a number or vector", clip(a.typ))
				if a.typ == "" {
					f.Msg = "a binary does not tell the types of its kernel's values"
				}
				f.Hint = "write {val: ..., type: int}; a struct goes as {bytes: FILE}"
			}
		}
		k.Params = append(k.Params, p)
	}
	st.kernel = &k
}
