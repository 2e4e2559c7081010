// Package opencl reaches devices through OpenCL. The library is found when the
// program runs, never linked; OpenCL 1.2 is the floor and newer calls are used
// where they are there.
//
// Environment: TANDEM_OPENCL_LIBRARY names the library to load;
// OCL_ICD_VENDORS, OCL_ICD_FILENAMES, POCL_DEVICES and the other variables of
// the loader and the vendors keep their meaning. OpenCL libraries read theirs
// when they are first used, so a Driver sets those it needs (see
// Driver.MaxHostThreads and Driver.Child) in the process's environment before
// it loads the library, and never one that the user has set to something
// else.
package opencl

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/devices/internal/buildcache"
)

const backend = "opencl"

// LibraryVariable is the environment variable that names the OpenCL library
// to load in place of the system's.
const LibraryVariable = "TANDEM_OPENCL_LIBRARY"

// Driver is the OpenCL driver. The zero value is ready to use; the fields must
// not change after the first call, and a Driver must not be copied after it.
type Driver struct {
	// Library is the file name or path of the OpenCL library. Empty: what
	// LibraryVariable says, otherwise the system's.
	Library string

	// Vendor says that Library is one vendor's implementation itself and not a
	// loader: the list of vendors' libraries does not matter for it.
	Vendor bool

	// CacheDir is the folder for compiled programs and probe verdicts. Empty:
	// buildcache.Dir, which is TANDEM_CACHE_DIR or "tandem" in the user's cache
	// directory.
	CacheDir string

	// Child is the path of a program that calls RunProbeChild before anything
	// else, usually os.Executable's. It is run to ask the vendor libraries
	// first, so that one that crashes, hangs or exits does so there; such a
	// library is then left out and named in Backend.Warnings. Empty: the
	// libraries are asked in this process.
	Child string

	// ProbeTimeout bounds one run of Child. 0 is 4 seconds: a library that hangs
	// costs that twice, once among the others and once alone.
	ProbeTimeout time.Duration

	// MaxHostThreads bounds the threads of an OpenCL implementation that runs
	// on the host's cores (PoCL's POCL_MAX_PTHREAD_COUNT, the Intel runtime's
	// CL_CONFIG_CPU_TBB_NUM_WORKERS, unless they are set): in a container with a
	// CPU quota it would start one for each core of the machine. 0 leaves it as
	// it is.
	MaxHostThreads int

	// Beside is an OpenCL implementation to use beside those that the system's
	// list of vendors names. The zero value is none. It has no effect with
	// Vendor, nor where the loader looks at the registry in place of files
	// (Windows, macOS).
	Beside Installation

	mu     sync.Mutex
	loaded *library // nil before the first load that succeeded
}

// Name is "opencl".
func (d *Driver) Name() string { return backend }

// Probe lists the devices of all platforms but FPGAs, which FPGAs lists. See
// devices.Driver.
func (d *Driver) Probe(ctx context.Context) devices.Backend { return d.probe(ctx, selection{}) }

func (d *Driver) probe(ctx context.Context, sel selection) devices.Backend {
	b := devices.Backend{Name: sel.backend(), Tried: d.libraryNames()}
	lib, err := d.library(ctx)
	if err != nil {
		b.Reason, b.Hint = err, d.loadHint(err)
		return b
	}
	found := lib.list(sel)
	b.Library = lib.api.lib.Path()
	b.Version = strings.Join(found.versions, "; ")
	if !sel.fpgas || d.Vendor { // else Probe has said so
		b.Warnings = append(b.Warnings, lib.warnings...)
	}
	b.Warnings = append(b.Warnings, found.warnings...)
	for _, dev := range found.devices {
		b.Devices = append(b.Devices, dev.info)
	}
	if err := found.absent(); err != nil {
		b.Reason, b.Hint = err, installHint()
		return b
	}
	b.Available = true
	return b
}

// Open opens a device by its ordinal. See devices.Driver.
func (d *Driver) Open(ctx context.Context, ordinal int) (devices.Device, error) {
	return d.openOrdinal(ctx, ordinal, selection{})
}

func (d *Driver) openOrdinal(ctx context.Context, ordinal int, sel selection) (devices.Device, error) {
	lib, err := d.library(ctx)
	if err != nil {
		return nil, err
	}
	found := lib.list(sel)
	if err := found.absent(); err != nil {
		return nil, err
	}
	last := sel.first + len(found.devices) - 1
	if ordinal < sel.first || ordinal > last {
		return nil, fmt.Errorf("%s:%d: there is no such device, only %[1]s:%[3]d to %[1]s:%[4]d: %[5]w",
			sel.backend(), ordinal, sel.first, last, devices.ErrInvalid)
	}
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	if d.Vendor {
		defer manyWorkers()()
	}
	return openDevice(lib.api, found.devices[ordinal-sel.first], d.builds())
}

// cacheRoot is the folder below which the driver keeps files; "" for none.
func (d *Driver) cacheRoot() string {
	if d.CacheDir != "" {
		return d.CacheDir
	}
	return buildcache.Dir()
}

func (d *Driver) builds() *buildcache.Cache {
	return buildcache.Open(under(d.cacheRoot(), "builds"), 0)
}

func (d *Driver) timeout() time.Duration {
	if d.ProbeTimeout > 0 {
		return d.ProbeTimeout
	}
	return 4 * time.Second
}

// loadHint is what to do about a library that did not load.
func (d *Driver) loadHint(err error) string {
	var load *devices.LoadError
	if !errors.As(err, &load) {
		return ""
	}
	if d.customLibrary() != "" {
		return "check the path in " + LibraryVariable + ", or unset it to use the system's library"
	}
	return installHint()
}

func installHint() string {
	switch runtime.GOOS {
	case "linux":
		return "apt-get install pocl-opencl-icd ocl-icd-libopencl1 (the host's cores), or the GPU vendor's OpenCL driver"
	case "windows":
		return "install the GPU vendor's driver, which brings OpenCL.dll"
	}
	return "install an OpenCL runtime"
}
