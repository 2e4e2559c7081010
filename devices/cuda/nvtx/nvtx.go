// Package nvtx speaks to NVIDIA's profilers through NVTX, their library of
// annotations (libnvToolsExt), which is found when the program runs and never
// linked. Under Nsight Systems or Nsight Compute ranges and marks appear on the
// time line beside the GPU's own work; without a profiler they cost some
// nanoseconds each and do nothing.
package nvtx

import (
	"fmt"
	"os"
	"path/filepath"
	goruntime "runtime"
	"strings"
	"unsafe"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/devices/internal/dl"
)

// LibraryVariable is the environment variable that names the NVTX library to
// load in place of those that are found.
const LibraryVariable = "TANDEM_NVTX_LIBRARY"

// injectionVariable is set by a profiler for the programs that it starts.
const injectionVariable = "NVTX_INJECTION64_PATH"

// maxText bounds the bytes of one annotation.
const maxText = 4096

// A Library is a loaded NVTX. Its methods may be called from any goroutine.
type Library struct {
	lib                         *dl.Library
	mark, rangeStart, rangeStop uintptr
}

// A Range is one that has begun and not ended.
type Range uint64

// Profiled reports whether a profiler started this program, or the user has
// named a library: otherwise nobody would see annotations.
func Profiled() bool {
	return os.Getenv(injectionVariable) != "" || os.Getenv(LibraryVariable) != ""
}

// Open loads NVTX. That there is none is a *devices.LoadError, which lists
// what was tried and wraps devices.ErrUnavailable.
func Open() (*Library, error) {
	names := candidates()
	failed := func(err error) (*Library, error) {
		return nil, &devices.LoadError{Driver: "nvtx", Tried: names, Err: fmt.Errorf("%w: %w", err, devices.ErrUnavailable)}
	}
	lib, err := dl.Open(names...)
	if err != nil {
		return failed(err)
	}
	l := &Library{lib: lib}
	for name, to := range map[string]*uintptr{"nvtxMarkA": &l.mark, "nvtxRangeStartA": &l.rangeStart, "nvtxRangeEnd": &l.rangeStop} {
		if *to, err = lib.Lookup(name); err != nil {
			return failed(err)
		}
	}
	return l, nil
}

// candidates are the libraries to try, in order.
func candidates() []string {
	if name := os.Getenv(LibraryVariable); name != "" {
		return []string{name}
	}
	if goruntime.GOOS == "windows" {
		return []string{"nvToolsExt64_1.dll"}
	}
	const name = "libnvToolsExt.so.1"
	list := []string{name}
	for _, variable := range []string{"CUDA_PATH", "CUDA_HOME"} {
		if root := os.Getenv(variable); root != "" {
			list = append(list, filepath.Join(root, "lib64", name))
		}
	}
	for _, variable := range []string{"VIRTUAL_ENV", "CONDA_PREFIX"} {
		root := os.Getenv(variable)
		if root == "" {
			continue
		}
		wheels, err := os.ReadDir(filepath.Join(root, "lib"))
		if err != nil {
			continue
		}
		for _, e := range wheels {
			if strings.HasPrefix(e.Name(), "python3") {
				list = append(list, filepath.Join(root, "lib", e.Name(), "site-packages/nvidia/nvtx/lib", name))
			}
		}
	}
	return append(list, "/usr/local/cuda/lib64/"+name)
}

// Path is the file that was loaded, as far as the system tells.
func (l *Library) Path() string { return l.lib.Path() }

// cText is a zero-terminated copy of text, cut to what a profiler shows.
func cText(text string) []byte {
	if i := strings.IndexByte(text, 0); i >= 0 {
		text = text[:i]
	}
	return append([]byte(text[:min(len(text), maxText)]), 0)
}

// Mark notes that something has happened now.
func (l *Library) Mark(text string) {
	dl.Call(l.mark, uintptr(unsafe.Pointer(&cText(text)[0])))
}

// Start begins a range, which may end on another thread.
func (l *Library) Start(text string) Range {
	return Range(dl.Call(l.rangeStart, uintptr(unsafe.Pointer(&cText(text)[0]))))
}

// End ends a range.
func (l *Library) End(r Range) { dl.Call(l.rangeStop, uintptr(r)) }
