// Package blas calls the tile operations of a BLAS library of the machine,
// OpenBLAS, that is found at run time and never linked. Kernels in Go use it
// where their results need not be the same bits on every device.
//
// Matrices are row-major. The library's own threads are turned off: a caller
// has as many calls in flight as it has cores. The calls follow the Fortran
// interface of the reference BLAS and LAPACK (Dongarra et al., "A Set of Level
// 3 Basic Linear Algebra Subprograms", 1990), whose arguments are all pointers
// and whose matrices are column-major: a row-major matrix is the transpose of a
// column-major one.
package blas

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/devices/internal/dl"
)

// LibraryVariable is the environment variable that names the library to load.
const LibraryVariable = "TANDEM_BLAS_LIBRARY"

// Real is a type of elements that the library computes with.
type Real interface{ float32 | float64 }

// A Library is a loaded BLAS. It stays loaded until the process ends. It is
// safe for concurrent use.
type Library struct {
	path    string
	config  string
	entries map[string]uintptr

	mu   sync.Mutex
	idle []*frame // not in use by a call
}

// functions are those that a usable library has, in single and double
// precision.
var functions = [...]string{"gemm", "syrk", "trsm", "potrf"}

// Open loads the library that the environment names, else OpenBLAS under its
// usual names, and turns its threads off. A failure is a *devices.LoadError
// with devices.ErrUnavailable.
func Open() (*Library, error) {
	names := libraryNames()
	l, err := open(names)
	if err != nil {
		return nil, &devices.LoadError{Driver: "blas", Tried: names, Err: err}
	}
	return l, nil
}

func libraryNames() []string {
	if name := os.Getenv(LibraryVariable); name != "" {
		return []string{name}
	}
	switch runtime.GOOS {
	case "windows":
		return []string{"libopenblas.dll", "openblas.dll"}
	case "darwin":
		return []string{"libopenblas.dylib", "/opt/homebrew/opt/openblas/lib/libopenblas.dylib", "/usr/local/opt/openblas/lib/libopenblas.dylib"}
	}
	return []string{"libopenblas.so.0", "libopenblas.so"}
}

func open(names []string) (*Library, error) {
	lib, err := dl.Open(names...)
	if err != nil {
		return nil, fmt.Errorf("%w (on Debian: apt-get install libopenblas0): %w", err, devices.ErrUnavailable)
	}
	l := &Library{path: lib.Path(), entries: map[string]uintptr{}}
	for _, f := range functions {
		for _, kind := range []string{"s", "d"} {
			if l.entries[kind+f], err = lib.Lookup(kind + f + "_"); err != nil {
				return nil, fmt.Errorf("%w: %w", err, devices.ErrUnavailable)
			}
		}
	}
	config, configErr := lib.Lookup("openblas_get_config")
	threads, threadsErr := lib.Lookup("openblas_set_num_threads")
	if err := errors.Join(configErr, threadsErr); err != nil {
		return nil, fmt.Errorf("%s is no OpenBLAS: %w: %w", l.path, err, devices.ErrUnavailable)
	}
	l.config = dl.Text(dl.Call(config))
	if strings.Contains(l.config, "USE64BITINT") {
		return nil, fmt.Errorf("%s is built for 64-bit integers (%s), want one for 32-bit integers: %w", l.path, l.config, devices.ErrUnavailable)
	}
	dl.Call(threads, 1)
	return l, nil
}

// Path is the file that was loaded, where the system tells.
func (l *Library) Path() string { return l.path }

// Config is what the library says about itself: version, options, processor.
func (l *Library) Config() string { return l.config }
