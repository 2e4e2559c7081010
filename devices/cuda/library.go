package cuda

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	goruntime "runtime"
	"strings"
	"sync"
	"unsafe"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/devices/internal/buildcache"
	"github.com/tandemrun/tandem/devices/internal/dl"
	"github.com/tandemrun/tandem/devices/internal/probechild"
)

// library is a loaded CUDA driver library.
type library struct {
	api   *api
	relay *relay
	cache string // folder for what NVRTC compiles; "": its own default

	mu        sync.Mutex
	compilers *compilers // once NVRTC was found
}

// listed is a device that was found and not opened.
type listed struct {
	handle int32 // CUdevice
	info   devices.Info
	traits traits
}

// listing is what the library shows at the moment.
type listing struct {
	devices  []listed
	version  string
	warnings []string
}

func (d *Driver) customLibrary() string {
	if d.Library != "" {
		return d.Library
	}
	return os.Getenv(LibraryVariable)
}

// libraryNames are the names to try, in order.
func (d *Driver) libraryNames() []string {
	if name := d.customLibrary(); name != "" {
		return []string{name}
	}
	switch goruntime.GOOS {
	case "windows":
		return []string{"nvcuda.dll"}
	case "darwin":
		return []string{"libcuda.dylib"}
	}
	names := []string{"libcuda.so.1"}
	if wsl := "/usr/lib/wsl/lib/libcuda.so.1"; exists(wsl) {
		names = append(names, wsl)
	}
	return names
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// library loads the library once. A failure is tried again at the next call:
// the user may have installed it in between.
func (d *Driver) library(ctx context.Context) (*library, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.loaded != nil {
		return d.loaded, nil
	}
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	if err := d.askInChild(ctx); err != nil {
		return nil, err
	}
	a, err := load(d.libraryNames())
	if err != nil {
		return nil, err
	}
	d.loaded = &library{api: a, relay: processRelay()}
	if d.CacheDir != "" {
		d.loaded.cache = filepath.Join(d.CacheDir, "nvrtc")
	}
	return d.loaded, nil
}

func load(names []string) (*api, error) {
	lib, err := dl.Open(names...)
	if err == nil {
		var a *api
		if a, err = bind(lib); err == nil {
			return a, nil
		}
	}
	if !errors.Is(err, devices.ErrUnavailable) {
		err = fmt.Errorf("%w: %w", err, devices.ErrUnavailable)
	}
	return nil, &devices.LoadError{Driver: backend, Tried: names, Err: err}
}

// childReport is what a probe child found.
type childReport struct {
	Devices int    `json:"devices"`
	Error   string `json:"error,omitempty"` // the library says no: not the child's failure
}

// RunProbeChild asks the CUDA driver library and reports whether it did. A
// program whose path is a Driver's Child calls it before anything else and
// returns at once when it is true. It does nothing unless a Driver of the
// parent process started the program for that.
func RunProbeChild() (handled bool) {
	return probechild.Answer(backend, func() any {
		a, err := load((&Driver{}).libraryNames())
		if err != nil {
			return childReport{Error: err.Error()}
		}
		found, err := (&library{api: a}).list(0)
		if err != nil {
			return childReport{Error: err.Error()}
		}
		return childReport{Devices: len(found.devices)}
	})
}

// askInChild finds out whether the library can be asked without harm. Without
// a GPU's device nodes it is not worth a child: the library, if there is one,
// looks for them and gives up.
func (d *Driver) askInChild(ctx context.Context) error {
	if d.Child == "" || d.customLibrary() == "" && !mayHaveGPU() {
		return nil
	}
	// A verdict holds until something about the driver changes.
	cache := buildcache.Open(d.folder("probe"), 1<<20)
	key := buildcache.MakeKey("cuda probe 1", d.customLibrary(), stamp(d.customLibrary()), moduleVersion("/proc"),
		os.Getenv(visibleVariable), os.Getenv("LD_LIBRARY_PATH"))
	if _, sound := cache.Get(key); sound {
		return nil
	}
	var report childReport
	err := probechild.Ask(ctx, d.Child, backend, d.timeout(), &report, LibraryVariable+"="+d.customLibrary())
	var broken *probechild.BrokenError
	switch {
	case errors.As(err, &broken):
		names := d.libraryNames()
		return &devices.LoadError{Driver: backend, Tried: names, Err: fmt.Errorf("%s: %w: %w", strings.Join(names, ", "), err, devices.ErrUnavailable)}
	case context.Cause(ctx) != nil:
		return context.Cause(ctx)
	case err == nil && report.Error == "":
		cache.Put(key, buildcache.Entry{})
	}
	return nil // what the child reported comes again, as an error; a child that cannot run is as good as none
}

// mayHaveGPU reports whether the system has a node of NVIDIA's driver, or of
// Windows' where this Linux runs below it.
func mayHaveGPU() bool {
	return goruntime.GOOS == "windows" || exists("/dev/nvidiactl") || exists("/dev/nvidia0") || exists("/dev/dxg") || exists("/dev/nvhost-ctrl-gpu") || exists("/dev/nvmap")
}

// stamp changes when a file does.
func stamp(path string) string {
	info, err := os.Stat(path)
	if err != nil {
		return ""
	}
	return fmt.Sprint(info.Size(), info.ModTime().UnixNano())
}

// folder is one of the driver's folders in the cache; "" for none.
func (d *Driver) folder(name string) string {
	root := d.CacheDir
	if root == "" {
		root = buildcache.Dir()
	}
	if root == "" {
		return ""
	}
	return filepath.Join(root, name)
}

// list starts the library, if need be, and describes its devices, or the one
// device of a context that is given.
func (l *library) list(context uintptr) (*listing, error) {
	a, found := l.api, &listing{}
	if code := a.call(a.init, 0); code != success {
		return found, absent(code, "cuInit(0)")
	}
	version, n := new(int32), new(int32)
	if code := a.call(a.driverGetVersion, uintptr(unsafe.Pointer(version))); code != success {
		return found, absent(code, "cuDriverGetVersion")
	}
	found.version = fmt.Sprintf("CUDA %d.%d", *version/1000, *version%1000/10)
	if code := a.call(a.deviceGetCount, uintptr(unsafe.Pointer(n))); code != success {
		return found, absent(code, "cuDeviceGetCount")
	}
	only := int32(-1)
	if context != 0 {
		var err error
		if only, err = a.deviceOf(context); err != nil {
			return found, err
		}
	}
	compilers := l.findCompilers(int(*version))
	found.warnings = append(found.warnings, compilers.warnings...)
	module := moduleVersion("/proc")
	for i := range int(*n) {
		handle := new(int32)
		if code := a.call(a.deviceGet, uintptr(unsafe.Pointer(handle)), uintptr(i)); code != success {
			found.warnings = append(found.warnings, fmt.Sprintf("GPU %d cannot be asked (%s) and is left out", i, symbol(code)))
			continue
		}
		if only >= 0 && *handle != only {
			continue
		}
		dev := a.describe(*handle)
		if a.attribute(*handle, attrComputeMode) == computeModeProhibited {
			found.warnings = append(found.warnings, fmt.Sprintf("%s (%s) is in the compute mode that forbids its use and is left out: nvidia-smi -c 0", dev.info.Name, dev.info.UUID))
			continue
		}
		dev.info.Ordinal = len(found.devices)
		dev.info.ID = fmt.Sprintf("%s:%d", backend, dev.info.Ordinal)
		dev.info.APIVersion = found.version
		if dev.info.DriverVersion = module; module == "" {
			dev.info.DriverVersion = found.version
		}
		dev.info.Languages = compilers.languages()
		dev.traits.compilers = compilers
		dev.traits.cudaVersion = int(*version)
		found.devices = append(found.devices, dev)
	}
	if len(found.devices) == 0 {
		return found, absent(codeNoDevice, fmt.Sprintf("cuDeviceGetCount: %d GPUs, none usable", *n))
	}
	return found, nil
}

// findCompilers finds NVRTC once. A failure is tried again at the next call: the
// user may have installed it in between.
func (l *library) findCompilers(cudaVersion int) *compilers {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.compilers == nil || l.compilers.nvrtc == nil {
		l.compilers = findCompilers(cudaVersion, l.cache)
	}
	return l.compilers
}

// absent is the error of a library that has no device to offer.
func absent(code int32, call string) error {
	err := failed(code, "%s", call).(*devices.StatusError)
	if !errors.Is(err, devices.ErrUnavailable) {
		err.Err = devices.ErrUnavailable
	}
	if code == codeNoDevice {
		if why := hiddenReason(); why != "" {
			return fmt.Errorf("%s: %w", why, err)
		}
	}
	return err
}
