package fpga

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/devices/internal/dl"
)

// library is the shared library of a kernel. It stays loaded.
type library struct {
	create, run, free uintptr
}

// destroy frees a model.
func (l *library) destroy(model uintptr) { dl.Call(l.free, model) }

// load loads a kernel's library. Its file is gone afterwards.
func load(binary []byte) (*library, error) {
	dir, err := os.MkdirTemp("", "tandem-fpga-")
	if err != nil {
		return nil, fmt.Errorf("library: %w", err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "kernel.so")
	if err := os.WriteFile(path, binary, 0o700); err != nil {
		return nil, fmt.Errorf("library: %w", err)
	}
	lib, err := dl.Open(path)
	if err != nil {
		return nil, fmt.Errorf("library: %w", err)
	}
	l := &library{}
	var size uintptr
	for symbol, to := range map[string]*uintptr{"tandem_new": &l.create, "tandem_run": &l.run, "tandem_free": &l.free, "tandem_job_size": &size} {
		if *to, err = lib.Lookup(symbol); err != nil {
			return nil, fmt.Errorf("library: %w", err)
		}
	}
	if n := dl.Call(size); n != uintptr(jobSize) {
		return nil, fmt.Errorf("library: a job has %d bytes there and %d here: %w", n, jobSize, devices.ErrInvalid)
	}
	return l, nil
}
