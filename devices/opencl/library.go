package opencl

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/devices/internal/dl"
	"unsafe"
)

// library is a loaded OpenCL library with what was noticed while loading it.
type library struct {
	api      *api
	last     string // the platform to list after all others; "": by name
	warnings []string
}

// platform is one vendor's implementation.
type platform struct {
	id                    uintptr
	name, vendor, version string
}

// listed is a device that was found and not opened.
type listed struct {
	id       uintptr
	platform platform
	info     devices.Info
	traits   traits
}

// listing is what the library shows at the moment.
type listing struct {
	devices   []listed
	platforms int
	versions  []string // of the platforms
	warnings  []string
	code      int32 // of clGetPlatformIDs
	sel       selection
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
	switch runtime.GOOS {
	case "windows":
		return []string{"OpenCL.dll"}
	case "darwin":
		return []string{"/System/Library/Frameworks/OpenCL.framework/OpenCL"}
	}
	names := []string{"libOpenCL.so.1", "libOpenCL.so"}
	if d.Beside.Loader != "" {
		names = append(names, d.Beside.Loader)
	}
	return names
}

// library loads the OpenCL library once. A failure is tried again at the next
// call: the user may have installed it in between.
func (d *Driver) library(ctx context.Context) (*library, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.loaded != nil {
		return d.loaded, nil
	}
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	if d.Vendor {
		return d.vendorLibrary(ctx)
	}
	warnings := d.prepareEnvironment()
	verdict, err := d.askInChild(ctx)
	if err != nil {
		return nil, err
	}
	d.Beside.load()
	a, err := loadOnly(d.libraryNames(), verdict.Use)
	if err != nil {
		return nil, err
	}
	d.loaded = &library{api: a, last: d.Beside.Platform, warnings: append(warnings, verdict.Warnings...)}
	return d.loaded, nil
}

// loadOnly loads the library in a way that makes it look at some vendors'
// entries only; nil is all. A loader reads its list once, in the first call:
// after that the environment is put back, for the programs that this one
// starts.
func loadOnly(names []string, only []icd) (*api, error) {
	if only != nil {
		dir, err := os.MkdirTemp("", "tandem-vendors-")
		if err != nil {
			return nil, fmt.Errorf("opencl: a folder for the list of sound vendor libraries: %w: %w", err, devices.ErrUnavailable)
		}
		defer os.RemoveAll(dir)
		env, err := restriction(dir, only)
		if err != nil {
			return nil, fmt.Errorf("opencl: list of sound vendor libraries: %w: %w", err, devices.ErrUnavailable)
		}
		defer setEnvironment(env)()
	}
	a, err := load(names)
	if err != nil {
		return nil, err
	}
	_, _ = a.platforms()
	return a, nil
}

// setEnvironment sets variables ("NAME=value"; an empty value unsets) and
// returns what puts the old ones back.
func setEnvironment(env []string) (restore func()) {
	old := make([]func(), 0, len(env))
	for _, e := range env {
		name, value, _ := strings.Cut(e, "=")
		if was, set := os.LookupEnv(name); set {
			old = append(old, func() { _ = os.Setenv(name, was) })
		} else {
			old = append(old, func() { _ = os.Unsetenv(name) })
		}
		if value == "" {
			_ = os.Unsetenv(name)
		} else {
			_ = os.Setenv(name, value)
		}
	}
	return func() {
		for _, f := range old {
			f()
		}
	}
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

// prepareEnvironment sets what the implementations for the host's cores read
// when they are loaded: the number of their threads, and for PoCL a folder it
// can write to, without which it shows a platform and no device.
func (d *Driver) prepareEnvironment() (warnings []string) {
	const cache = "POCL_CACHE_DIR"
	for _, threads := range [...]string{"POCL_MAX_PTHREAD_COUNT", intelWorkers} {
		if _, set := os.LookupEnv(threads); !set && d.MaxHostThreads > 0 {
			_ = os.Setenv(threads, strconv.Itoa(d.MaxHostThreads))
		}
	}
	if _, set := os.LookupEnv(cache); set || runtime.GOOS == "windows" {
		return nil
	}
	usual, err := os.UserCacheDir()
	if err == nil && writable(usual) {
		return nil
	}
	for _, dir := range []string{
		under(d.cacheRoot(), "pocl"),
		filepath.Join(os.TempDir(), "tandem-pocl-"+strconv.Itoa(os.Geteuid())),
	} {
		if dir != "" && writable(dir) && os.Chmod(dir, 0o700) == nil {
			_ = os.Setenv(cache, dir)
			return []string{fmt.Sprintf("the user's cache directory cannot be written, PoCL's kernels are cached in %s", dir)}
		}
	}
	return nil
}

// writable reports whether files can be made in dir, which is created if need
// be.
func writable(dir string) bool {
	if os.MkdirAll(dir, 0o700) != nil {
		return false
	}
	f, err := os.CreateTemp(dir, ".tandem-*")
	if err != nil {
		return false
	}
	_ = f.Close()
	return os.Remove(f.Name()) == nil
}

// under is a folder below root; none below none.
func under(root, name string) string {
	if root == "" {
		return ""
	}
	return filepath.Join(root, name)
}

// handles asks one of the functions that list platforms or devices.
func handles(list func(n, out, count uintptr) int32) ([]uintptr, int32) {
	n := new(uint32)
	var pin runtime.Pinner
	defer pin.Unpin()
	pin.Pin(n)
	if code := list(0, 0, uintptr(unsafe.Pointer(n))); code != success || *n == 0 {
		return nil, code
	}
	ids := make([]uintptr, *n)
	pin.Pin(&ids[0])
	code := list(uintptr(*n), uintptr(unsafe.Pointer(&ids[0])), uintptr(unsafe.Pointer(n)))
	if code != success {
		return nil, code
	}
	return ids[:min(int(*n), len(ids))], success
}

func (a *api) platforms() ([]platform, int32) {
	ids, code := handles(func(n, out, count uintptr) int32 { return a.call(a.getPlatformIDs, n, out, count) })
	list := make([]platform, len(ids))
	for i, id := range ids {
		list[i] = platform{id, platformFact(a, id, platformName), platformFact(a, id, platformVendor), platformFact(a, id, platformVersion)}
	}
	return list, code
}

func (a *api) deviceIDs(p platform) ([]uintptr, int32) {
	return handles(func(n, out, count uintptr) int32 {
		return a.call(a.getDeviceIDs, p.id, deviceTypeAll, n, out, count)
	})
}

// comparePlatforms orders by name and version; the platform called last comes
// last.
func comparePlatforms(x, y platform, last string) int {
	if x.name != y.name && (x.name == last || y.name == last) {
		if x.name == last {
			return 1
		}
		return -1
	}
	return strings.Compare(x.name+"\x00"+x.version, y.name+"\x00"+y.version)
}

// list describes the devices of a selection. The loader finds platforms in the
// order of a folder's entries: sorted by name they have the same ordinals in
// every run. What is wrong with a platform is said once, in the list of those
// that are no FPGAs.
func (l *library) list(sel selection) *listing {
	a := l.api
	platforms, code := a.platforms()
	found := &listing{platforms: len(platforms), code: code, sel: sel}
	slices.SortStableFunc(platforms, func(x, y platform) int { return comparePlatforms(x, y, l.last) })
	seen := map[uintptr]bool{}
	twins := map[string]bool{}
	for _, p := range platforms {
		ids, code := a.deviceIDs(p)
		if len(ids) == 0 {
			found.warn("platform %q has no device (%s)", p.name, symbol(code))
			if strings.Contains(p.name, "Portable Computing Language") {
				found.warn("PoCL shows no device when it cannot write its cache: set POCL_CACHE_DIR to a folder that can be written")
			}
			continue
		}
		if seen[ids[0]] {
			found.warn("platform %q is listed twice, by two entries of one vendor library: its devices are shown once", p.name)
			continue
		}
		var list []listed
		foreign := 0 // devices that the selection leaves out
		print := []string{p.name, p.version}
		for _, id := range ids {
			seen[id] = true
			info, t := describe(a, id, p)
			print = append(print, info.Name, info.UUID, info.PCI)
			if sel.fpgas != (info.Kind == devices.KindFPGA) {
				foreign++
				continue
			}
			if avail := (fact{a, id}); !avail.flag(deviceAvailable) {
				found.warn("%s says that it is not available and is left out", info.Name)
				continue
			}
			list = append(list, listed{id, p, info, t})
		}
		key := strings.Join(print, "\x00")
		if twins[key] {
			found.warn("platform %q is listed twice with the same devices, by two copies of one vendor library: they are shown once", p.name)
			continue
		}
		twins[key] = true
		if foreign == len(ids) {
			found.platforms--
			continue
		}
		found.versions = append(found.versions, p.version)
		found.devices = append(found.devices, list...)
	}
	sel.number(found.devices)
	return found
}

func (f *listing) warn(format string, args ...any) {
	if f.sel.fpgas {
		return
	}
	f.warnings = append(f.warnings, fmt.Sprintf(format, args...))
}

// absent says why there is no device, nil when there is one.
func (f *listing) absent() error {
	switch {
	case len(f.devices) > 0:
		return nil
	case f.sel.fpgas && f.platforms == 0:
		return fmt.Errorf("fpga: no vendor's OpenCL knows an FPGA: %w", devices.ErrUnavailable)
	case f.platforms == 0:
		return fmt.Errorf("opencl: the library is here but no vendor's driver for it (%s): %w", symbol(f.code), devices.ErrUnavailable)
	}
	return fmt.Errorf("%s: %d platform(s) without a usable device: %w", f.sel.backend(), f.platforms, devices.ErrUnavailable)
}

// nativeUint reads a handle or size that the library wrote.
func nativeUint(b []byte) uintptr { return uintptr(binary.NativeEndian.Uint64(b)) }
