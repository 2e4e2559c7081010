package sycl

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/devices/internal/dl"
	"github.com/tandemrun/tandem/devices/sycl/find"
)

// library is a loaded shim with the runtime below it.
type library struct {
	api      *api
	runtime  find.Runtime
	warnings []string
	relay    *relay
}

// library loads the runtime once. A failure is tried again at the next call:
// the user may have installed what was missing in between.
func (d *Driver) library(ctx context.Context) (*library, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.loaded != nil {
		return d.loaded, nil
	}
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	r, shim, err := d.prepare(ctx)
	if err != nil {
		return nil, err
	}
	warnings := d.prepareEnvironment(r)
	if err := d.askInChild(ctx, r, shim); err != nil {
		return nil, err
	}
	a, err := load(r, shim)
	if err != nil {
		return nil, err
	}
	lib := &library{api: a, runtime: r, warnings: warnings}
	lib.relay = startRelay(a)
	d.loaded = lib
	return lib, nil
}

// prepare finds the runtime and sees to it that there is a shim for it.
func (d *Driver) prepare(ctx context.Context) (find.Runtime, string, error) {
	r, ok := find.SYCL()
	if !ok {
		var tried []string
		for _, p := range find.Places() {
			tried = append(tried, p.String())
		}
		return r, "", &devices.LoadError{Driver: backend, Tried: tried,
			Err: &missingError{"no SYCL runtime (libsycl.so) is there", installHint()}}
	}
	shim, err := d.shim(ctx, r)
	return r, shim, err
}

// The environment variables that are set for the runtime.
const (
	filenamesVariable = "OCL_ICD_FILENAMES" // of the Khronos OpenCL loader: libraries beside the system's list
	workersVariable   = "CL_CONFIG_CPU_TBB_NUM_WORKERS"
)

// prepareEnvironment sets what the libraries read when they are first used:
// where Intel's OpenCL is, and how many threads it may start.
func (d *Driver) prepareEnvironment(r find.Runtime) (warnings []string) {
	set := func(name, value string) {
		if err := os.Setenv(name, value); err != nil {
			warnings = append(warnings, fmt.Sprintf("%s cannot be set: %v", name, err))
		}
	}
	if r.IntelOpenCL != "" {
		list := os.Getenv(filenamesVariable)
		if !slices.Contains(strings.Split(list, string(os.PathListSeparator)), r.IntelOpenCL) {
			if list != "" {
				list += string(os.PathListSeparator)
			}
			set(filenamesVariable, list+r.IntelOpenCL)
		}
		if other := loadedOpenCL(); other != "" && (r.OpenCL == "" || !sameFile(other, r.OpenCL)) && !mapped("libintelocl.so") {
			warnings = append(warnings, fmt.Sprintf("the OpenCL loader %s was in use before the SYCL runtime: it does not know %s, which opencl.Driver's field Beside would name", other, r.IntelOpenCL))
		}
	}
	if d.MaxHostThreads > 0 && os.Getenv(workersVariable) == "" {
		set(workersVariable, strconv.Itoa(d.MaxHostThreads))
	}
	return warnings
}

// load loads the runtime's libraries by their full path, those first that the
// others need, and then the shim. A process has one OpenCL loader: where one is
// in use, the runtime and the shim take that.
func load(r find.Runtime, shim string) (*api, error) {
	order := slices.Clone(r.Preload)
	if r.OpenCL != "" && loadedOpenCL() == "" {
		order = append(order, r.OpenCL)
	}
	order = append(order, r.SYCL, shim)
	var last *dl.Library
	for _, path := range order {
		lib, err := dl.Open(path)
		if err != nil {
			if slices.Contains(r.Preload, path) {
				continue // the next one says what it lacks, if it does
			}
			return nil, &devices.LoadError{Driver: backend, Tried: order, Err: fmt.Errorf("%w: %w", err, devices.ErrUnavailable)}
		}
		last = lib
	}
	return bind(last)
}

// maps are the files that are mapped into this process, where that can be
// read.
func maps() []string {
	if runtime.GOOS != "linux" {
		return nil
	}
	b, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		return nil
	}
	var list []string
	for line := range strings.Lines(string(b)) {
		if i := strings.IndexByte(line, '/'); i >= 0 {
			list = append(list, strings.TrimSpace(line[i:]))
		}
	}
	return slices.Compact(list)
}

// mapped reports whether a library of that name is loaded.
func mapped(name string) bool {
	return slices.ContainsFunc(maps(), func(path string) bool { return strings.Contains(path, "/"+name) })
}

func sameFile(a, b string) bool {
	x, err := os.Stat(a)
	if err != nil {
		return false
	}
	y, err := os.Stat(b)
	return err == nil && os.SameFile(x, y)
}

// loadedOpenCL is the path of the OpenCL loader in use, "" for none.
func loadedOpenCL() string {
	for _, path := range maps() {
		if strings.Contains(path, "/libOpenCL.so") {
			return path
		}
	}
	return ""
}
