// Package cuda reaches NVIDIA GPUs through their driver's own library,
// libcuda.so.1 (nvcuda.dll on Windows), which is found when the program runs
// and never linked. No CUDA toolkit is needed: CUDA C, and OpenCL C by way of
// package bridge, are compiled by NVRTC where that is found; PTX, cubin and
// fatbin are loaded as they are.
//
// Every device works in its GPU's primary context, the one that other
// libraries in the process share. The context is made current on the calling
// thread for the time of a call, and what was current before is put back.
//
// Environment: TANDEM_CUDA_LIBRARY names the library to load;
// CUDA_VISIBLE_DEVICES, CUDA_DEVICE_ORDER and the other variables of the
// vendor keep their meaning.
package cuda

import (
	"context"
	"errors"
	"fmt"
	goruntime "runtime"
	"sync"
	"time"

	"github.com/tandemrun/tandem/devices"
)

const backend = "cuda"

// LibraryVariable is the environment variable that names the CUDA driver
// library to load in place of the system's.
const LibraryVariable = "TANDEM_CUDA_LIBRARY"

// Driver is the CUDA driver. The zero value is ready to use; the fields must
// not change after the first call, and a Driver must not be copied after it.
type Driver struct {
	// Library is the file name or path of the CUDA driver library. Empty: what
	// LibraryVariable says, otherwise the system's.
	Library string

	// CacheDir is the folder for compiled programs. Empty: buildcache.Dir,
	// which is TANDEM_CACHE_DIR or "tandem" in the user's cache directory.
	CacheDir string

	// Child is the path of a program that calls RunProbeChild before anything
	// else, usually os.Executable's. It is run to ask the library first, so
	// that one that crashes, hangs or exits does so there. Empty: the library
	// is asked in this process.
	Child string

	// ProbeTimeout bounds one run of Child. 0 is 20 seconds: a GPU whose
	// persistence mode is off takes its time to wake up.
	ProbeTimeout time.Duration

	// Context, where set, is a CUcontext that the caller made and keeps until
	// every device of the driver is closed. The driver then shows the GPU that
	// it is of and no other, as its device 0, and works in that context in
	// place of the GPU's primary one. Library has to be the one that made it.
	Context uintptr

	mu     sync.Mutex
	loaded *library // nil before the first load that succeeded
}

var _ devices.Driver = (*Driver)(nil)

// Name is "cuda".
func (d *Driver) Name() string { return backend }

// Probe lists the GPUs that the driver library shows. See devices.Driver.
func (d *Driver) Probe(ctx context.Context) devices.Backend {
	b := devices.Backend{Name: backend, Tried: d.libraryNames()}
	lib, err := d.library(ctx)
	if err != nil {
		b.Reason, b.Hint = err, d.hint(err)
		return b
	}
	b.Library = lib.api.lib.Path()
	found, err := lib.list(d.Context)
	b.Version, b.Warnings = found.version, found.warnings
	if err != nil {
		b.Reason, b.Hint = err, d.hint(err)
		return b
	}
	for _, l := range found.devices {
		b.Devices = append(b.Devices, l.info)
	}
	b.Available = true
	return b
}

// Open opens a GPU by its ordinal. See devices.Driver. A primary context that
// an earlier failure has left unusable is made anew, if nobody else in the
// process holds it.
func (d *Driver) Open(ctx context.Context, ordinal int) (devices.Device, error) {
	lib, err := d.library(ctx)
	if err != nil {
		return nil, err
	}
	found, err := lib.list(d.Context)
	if err != nil {
		return nil, err
	}
	if ordinal < 0 || ordinal >= len(found.devices) {
		return nil, fmt.Errorf("cuda:%d: there is no such device, only cuda:0 to cuda:%d: %w",
			ordinal, len(found.devices)-1, devices.ErrInvalid)
	}
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	return openDevice(lib, found.devices[ordinal], d.Context)
}

func (d *Driver) timeout() time.Duration {
	if d.ProbeTimeout > 0 {
		return d.ProbeTimeout
	}
	return 20 * time.Second
}

// hint is what to do about a library that does not load or shows no device.
func (d *Driver) hint(err error) string {
	var load *devices.LoadError
	var status *devices.StatusError
	switch {
	case errors.As(err, &load) && d.customLibrary() != "":
		return "check the path in " + LibraryVariable + ", or unset it to use the system's library"
	case errors.As(err, &load):
		return installHint()
	case errors.As(err, &status):
		return statusHint(int32(status.Code))
	}
	return ""
}

func installHint() string {
	switch goruntime.GOOS {
	case "linux":
		return "for an NVIDIA GPU: install its driver (Debian: apt-get install nvidia-driver libcuda1); in a container: run it with --gpus all"
	case "windows":
		return "for an NVIDIA GPU: install NVIDIA's driver, which brings nvcuda.dll"
	}
	return "there are no CUDA drivers for " + goruntime.GOOS
}

// statusHint is what to do about a library that does not start.
func statusHint(code int32) string {
	switch code {
	case codeNoDevice:
		if hint := hiddenHint(); hint != "" {
			return hint
		}
		return "see whether nvidia-smi lists a GPU and whether /dev/nvidiactl and /dev/nvidia0 may be opened"
	case 34:
		return "the library is the toolkit's stub for linking; take the driver's libcuda.so.1 before it in the search path"
	case 802:
		return "the GPUs' fabric is not ready: systemctl start nvidia-fabricmanager"
	case 803, 804:
		return "libcuda.so.1 and the kernel module are of different versions: reboot or reload the module after an update"
	case 46:
		return "another process holds the GPU in exclusive mode: nvidia-smi -c 0, or wait for it"
	case 999:
		return "the kernel module does not answer: modprobe nvidia_uvm, or after a suspend reload it"
	}
	return "see what nvidia-smi says"
}
