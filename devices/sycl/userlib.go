package sycl

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/devices/internal/buildcache"
	"github.com/tandemrun/tandem/devices/internal/dl"
)

// userLibrary is a shared library whose functions submit to a sycl::queue.
type userLibrary struct {
	lib *dl.Library
}

// openUserLibrary loads a library from its bytes: it is written to a file,
// named by its contents, so that a changed library is loaded beside the old
// one. It finds libsycl because that is loaded already.
func (d *device) openUserLibrary(src *devices.Source) (*userLibrary, error) {
	if !bytes.HasPrefix(src.Text, []byte("\x7fELF")) {
		return nil, d.compileError(src, "", fmt.Errorf("the file is no shared library: %w", devices.ErrInvalid))
	}
	path, err := d.keepLibrary(src.Text)
	if err != nil {
		return nil, fmt.Errorf("%s: load %s: %w: %w", d.info.ID, src.Name, err, devices.ErrUnavailable)
	}
	lib, err := dl.Open(path)
	if err != nil {
		return nil, d.compileError(src, err.Error(), fmt.Errorf("%w: %w", err, devices.ErrInvalid))
	}
	return &userLibrary{lib}, nil
}

// keepLibrary writes a library below the cache folder, or to a temporary one.
func (d *device) keepLibrary(content []byte) (string, error) {
	key := buildcache.MakeKey("sycl library 1", string(content))
	name := "lib" + hex.EncodeToString(key[:16]) + ".so"
	dir, err := "", errors.New("there is no cache folder")
	if d.root != "" {
		dir = filepath.Join(d.root, "sycl")
		err = os.MkdirAll(dir, 0o700)
	}
	if err == nil {
		path := filepath.Join(dir, name)
		if old, rerr := os.ReadFile(path); rerr == nil && bytes.Equal(old, content) {
			return path, nil
		}
		if err = writeFile(dir, path, content); err == nil {
			return path, nil
		}
	}
	if dir, err = os.MkdirTemp("", "tandem-sycl-"); err != nil {
		return "", err
	}
	path := filepath.Join(dir, name)
	return path, writeFile(dir, path, content)
}

// writeFile writes a file under another name and renames it.
func writeFile(dir, path string, content []byte) error {
	f, err := os.CreateTemp(dir, "new-*.tmp")
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return err
}

// libraryKernel finds a function of a library. Its arguments and its range are
// its own business: it looks at them when it is called.
func (p *program) libraryKernel(entry string) (devices.Kernel, error) {
	address, err := p.library.lib.Lookup(entry)
	if err != nil || entry == "" {
		return nil, fmt.Errorf("%s: %s has no function %q (it has to be extern \"C\" and visible): %w", p.d.info.ID, p.src.Name, entry, devices.ErrInvalid)
	}
	k := &kernel{d: p.d, p: p, entry: entry, function: address, anyArgs: true, info: devices.KernelInfo{Entry: entry}}
	k.rules = p.rules(entry, k.info)
	k.rules.NonUniform = true // the function gets the range as it is
	p.d.open[kindKernel].Add(1)
	return k, nil
}
