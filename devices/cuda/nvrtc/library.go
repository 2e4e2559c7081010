package nvrtc

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"unsafe"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/devices/internal/buildcache"
	"github.com/tandemrun/tandem/devices/internal/dl"
)

// Options say which library to open and where to keep its results.
type Options struct {
	// Driver is the CUDA version that the installed driver supports
	// (cuDriverGetVersion: 12040 is 12.4). The newest NVRTC that is not newer
	// is taken. If there is none, one of the same major version is, whose
	// PTX the driver refuses but whose cubins it loads (minor version
	// compatibility, CUDA 11 and later). Zero: the newest NVRTC there is.
	Driver Version

	// CacheDir is the folder for compiled programs. Default: "nvrtc" in tandem's
	// cache folder, which TANDEM_CACHE_DIR names.
	CacheDir string
}

// A Library is a loaded NVRTC. It stays loaded until the process ends; its
// methods may be called from any goroutine.
type Library struct {
	lib     *dl.Library
	version Version
	archs   []int
	cache   *buildcache.Cache
	fn      functions
}

// functions are the addresses of the library's functions. Those that a library
// of CUDA 11.2 lacks are 0.
type functions struct {
	version, create, destroy, compile       uintptr
	addName, lowered                        uintptr
	logSize, log, ptxSize, ptx, errorString uintptr
	cubinSize, cubin, archCount, archs      uintptr
}

// Open finds and loads an NVRTC. That there is none is a *devices.LoadError,
// which lists what was tried and wraps devices.ErrUnavailable.
func Open(o Options) (*Library, error) {
	failed := &devices.LoadError{Driver: "nvrtc"}
	var why []error
	var newer *Library // of the driver's major version
	for _, c := range candidates() {
		failed.Tried = append(failed.Tried, c.path)
		if limit := o.Driver.Major; limit > 0 && c.major > limit {
			why = append(why, fmt.Errorf("%s is newer than the driver, which supports CUDA %v", filepath.Base(c.path), o.Driver))
			continue
		}
		l, err := load(c.path)
		switch {
		case err != nil:
			why = append(why, err)
		case o.Driver == Version{} || !o.Driver.Less(l.version):
			l.cache = cacheAt(o.CacheDir)
			return l, nil
		case l.version.Major == o.Driver.Major && newer == nil:
			newer = l
		default:
			why = append(why, fmt.Errorf("%s is NVRTC %v, newer than the driver, which supports CUDA %v", c.path, l.version, o.Driver))
		}
	}
	if newer != nil {
		newer.cache = cacheAt(o.CacheDir)
		return newer, nil
	}
	if len(why) == 0 {
		why = append(why, errors.New("there is no NVRTC for this system"))
	}
	failed.Err = fmt.Errorf("%w: %w", errors.Join(why...), devices.ErrUnavailable)
	if len(why) > 1 {
		texts := make([]string, len(why))
		for i, e := range why {
			texts[i] = e.Error()
		}
		failed.Err = fmt.Errorf("%s: %w", strings.Join(texts, "; "), devices.ErrUnavailable)
	}
	return nil, failed
}

// Hint says how to get an NVRTC, for a person who has none.
const Hint = "install CUDA, or `pip install nvidia-cuda-nvrtc` in a virtual environment and activate it, or name the library in " + LibraryVariable

func cacheAt(dir string) *buildcache.Cache {
	if dir == "" {
		if root := buildcache.Dir(); root != "" {
			dir = filepath.Join(root, "nvrtc")
		}
	}
	return buildcache.Open(dir, 0)
}

// load loads one library and asks for its version.
func load(path string) (*Library, error) {
	lib, err := dl.Open(path)
	if err != nil {
		return nil, err
	}
	l := &Library{lib: lib}
	needed := []struct {
		to   *uintptr
		name string
	}{
		{&l.fn.version, "nvrtcVersion"}, {&l.fn.create, "nvrtcCreateProgram"}, {&l.fn.destroy, "nvrtcDestroyProgram"},
		{&l.fn.compile, "nvrtcCompileProgram"}, {&l.fn.addName, "nvrtcAddNameExpression"}, {&l.fn.lowered, "nvrtcGetLoweredName"},
		{&l.fn.logSize, "nvrtcGetProgramLogSize"}, {&l.fn.log, "nvrtcGetProgramLog"},
		{&l.fn.ptxSize, "nvrtcGetPTXSize"}, {&l.fn.ptx, "nvrtcGetPTX"}, {&l.fn.errorString, "nvrtcGetErrorString"},
		{&l.fn.cubinSize, "nvrtcGetCUBINSize"}, {&l.fn.cubin, "nvrtcGetCUBIN"},
		{&l.fn.archCount, "nvrtcGetNumSupportedArchs"}, {&l.fn.archs, "nvrtcGetSupportedArchs"},
	}
	for _, n := range needed {
		if *n.to, err = lib.Lookup(n.name); err != nil {
			return nil, fmt.Errorf("%w: NVRTC of CUDA 11.2 or later is needed", err)
		}
	}
	major, minor := new(int32), new(int32)
	if err := l.check("nvrtcVersion", dl.Call(l.fn.version, uintptr(unsafe.Pointer(major)), uintptr(unsafe.Pointer(minor)))); err != nil {
		return nil, err
	}
	l.version = Version{int(*major), int(*minor)}
	count := new(int32)
	if err := l.check("nvrtcGetNumSupportedArchs", dl.Call(l.fn.archCount, uintptr(unsafe.Pointer(count)))); err != nil {
		return nil, err
	}
	if *count <= 0 || *count > 1000 {
		return nil, fmt.Errorf("%s: nvrtcGetNumSupportedArchs says %d", path, *count)
	}
	list := make([]int32, *count)
	if err := l.check("nvrtcGetSupportedArchs", dl.Call(l.fn.archs, uintptr(unsafe.Pointer(&list[0])))); err != nil {
		return nil, err
	}
	for _, a := range list {
		l.archs = append(l.archs, int(a))
	}
	return l, nil
}

// Version is the library's version.
func (l *Library) Version() Version { return l.version }

// Path is the file that was loaded, as far as the system tells.
func (l *Library) Path() string { return l.lib.Path() }

// Archs are the compute capabilities that the library compiles for, 75 for
// 7.5, rising. The slice is the caller's.
func (l *Library) Archs() []int { return append([]int(nil), l.archs...) }

// Arch is the newest compute capability that the library compiles for and that
// a device of the given one executes, as PTX; 0 if all are newer.
func (l *Library) Arch(device int) int {
	best := 0
	for _, a := range l.archs {
		if a <= device && a > best {
			best = a
		}
	}
	return best
}

// check turns a result code into an error.
func (l *Library) check(call string, code uintptr) error {
	c := int32(code)
	if c == statusSuccess {
		return nil
	}
	symbol, sentinel := status(c)
	if symbol == "" {
		symbol = dl.Text(dl.Call(l.fn.errorString, uintptr(c)))
	}
	return &devices.StatusError{Driver: "nvrtc", Call: call, Code: int64(c), Symbol: symbol, Err: sentinel}
}
