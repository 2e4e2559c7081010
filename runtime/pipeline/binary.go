package pipeline

import (
	"errors"
	"io/fs"

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
