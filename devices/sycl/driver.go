// Package sycl reaches devices through SYCL: whatever the back ends of the
// SYCL runtime on the machine reach, CPUs through Intel's OpenCL runtime among
// them. Nothing is linked: the runtime is found when the program runs (package
// find), and a shim of one C++ file (shim/shim.cpp) is compiled against its
// headers on first use and kept.
//
// Kernels come as OpenCL C, SPIR-V, SYCL C++ that is compiled at run time, and
// as functions of a shared library that submit to a sycl::queue themselves
// (include/tandem/sycl.hpp).
//
// Environment: TANDEM_SYCL_ROOT names the runtime's folder, TANDEM_SYCL_SHIM a
// shim that was built before, CXX the C++ compiler. ONEAPI_DEVICE_SELECTOR and
// the other variables of the runtime keep their meaning. Before the runtime is
// loaded, OCL_ICD_FILENAMES gets the path of Intel's OpenCL for CPUs where that
// came with the runtime, beside what the user has set.
package sycl

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/devices/internal/buildcache"
	"github.com/tandemrun/tandem/devices/sycl/find"
)

const backend = "sycl"

// Driver is the SYCL driver. The zero value is ready to use; the fields must
// not change after the first call, and a Driver must not be copied after it.
type Driver struct {
	// CacheDir is the folder for the shim, compiled programs and probe
	// verdicts. Empty: buildcache.Dir, which is TANDEM_CACHE_DIR or "tandem" in
	// the user's cache directory.
	CacheDir string

	// Child is the path of a program that calls RunProbeChild before anything
	// else, usually os.Executable's. It is run to load the runtime first, so
	// that one that crashes, hangs or exits does so there. Empty: the runtime
	// is loaded in this process at once.
	Child string

	// ProbeTimeout bounds one run of Child. 0 is 20 seconds.
	ProbeTimeout time.Duration

	// MaxHostThreads bounds the threads of Intel's OpenCL runtime on the host's
	// cores (CL_CONFIG_CPU_TBB_NUM_WORKERS, unless that is set). 0 leaves it as
	// it is.
	MaxHostThreads int

	plain bool // events by SYCL alone, as on back ends other than OpenCL

	mu     sync.Mutex
	loaded *library // nil before the first load that succeeded
}

// Name is "sycl".
func (d *Driver) Name() string { return backend }

// Probe lists the devices that can be used. One that the runtime shows and
// that lacks what the driver needs is a note. See devices.Driver.
func (d *Driver) Probe(ctx context.Context) devices.Backend {
	b := devices.Backend{Name: backend}
	for _, p := range find.Places() {
		b.Tried = append(b.Tried, p.String())
	}
	lib, err := d.library(ctx)
	if err != nil {
		b.Reason, b.Hint = err, hintOf(err)
		return b
	}
	b.Library, b.Version = lib.runtime.SYCL, lib.api.runtimeVersion()
	found, err := lib.list()
	b.Warnings, b.Notes = slices.Clone(lib.warnings), found.unusable
	if err != nil {
		b.Reason, b.Hint = err, hintOf(err)
		return b
	}
	for _, l := range found.devices {
		b.Devices = append(b.Devices, l.info)
	}
	b.Available = true
	return b
}

// Open opens a device by its ordinal. See devices.Driver.
func (d *Driver) Open(ctx context.Context, ordinal int) (devices.Device, error) {
	lib, err := d.library(ctx)
	if err != nil {
		return nil, err
	}
	found, err := lib.list()
	if err != nil {
		return nil, err
	}
	if ordinal < 0 || ordinal >= len(found.devices) {
		return nil, fmt.Errorf("sycl:%d: there is no such device, only sycl:0 to sycl:%d: %w",
			ordinal, len(found.devices)-1, devices.ErrInvalid)
	}
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	return openDevice(lib, found.devices[ordinal], d.cacheRoot(), d.plain)
}

// cacheRoot is the folder below which the driver keeps files; "" for none.
func (d *Driver) cacheRoot() string {
	if d.CacheDir != "" {
		return d.CacheDir
	}
	return buildcache.Dir()
}

func (d *Driver) timeout() time.Duration {
	if d.ProbeTimeout > 0 {
		return d.ProbeTimeout
	}
	return 20 * time.Second
}

// A missingError says which part of what the driver needs is not there, and
// how to get it. It wraps devices.ErrUnavailable.
type missingError struct {
	what, hint string
}

func (e *missingError) Error() string { return e.what + ": " + devices.ErrUnavailable.Error() }
func (e *missingError) Unwrap() error { return devices.ErrUnavailable }

// hintOf is what to do about err.
func hintOf(err error) string {
	if m, ok := errors.AsType[*missingError](err); ok {
		return m.hint
	}
	return ""
}

// installHint is the command that brings a runtime with its headers.
func installHint() string {
	if runtime.GOOS != "linux" {
		return "install Intel oneAPI and set CMPLR_ROOT to its compiler folder"
	}
	return "python3 -m venv ~/sycl && ~/sycl/bin/pip install intel-sycl-rt intel-opencl-rt intel-cmplr-lib-ur && export " + find.RootVariable + "=~/sycl"
}
