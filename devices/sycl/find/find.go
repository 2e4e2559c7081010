// Package find looks for a SYCL runtime on the machine: what a oneAPI
// installation, a conda environment, a Python virtual environment or a folder
// filled by pip holds. It only looks at files, and loads nothing.
//
// The parts of such a runtime find each other only when they are loaded by
// their full path and in the right order, which a Runtime gives; nobody has to
// set LD_LIBRARY_PATH.
package find

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// RootVariable is the environment variable that names the folder of the SYCL
// runtime: the one that has lib and include in it.
const RootVariable = "TANDEM_SYCL_ROOT"

// FPGARootVariable is the environment variable that names the folder of
// Intel's FPGA emulation: the one that has lib in it.
const FPGARootVariable = "TANDEM_FPGA_ROOT"

// A Runtime is a SYCL runtime that was found. A part that is not there is "".
type Runtime struct {
	Root   string // the folder; "" where the system's loader finds the library itself
	From   string // what named it: "TANDEM_SYCL_ROOT", "VIRTUAL_ENV", ..., "library path"
	LibDir string // the folder of the libraries

	Include string // the folder with sycl/sycl.hpp
	SYCL    string // path of libsycl.so.N
	OpenCL  string // path of the OpenCL loader that comes with it
	JIT     string // path of the compiler for SYCL C++ at run time

	// IntelOpenCL is the path of Intel's OpenCL implementation for CPUs, an
	// ICD. What its own .icd file says is of no use: the one in the wheel names
	// a folder that does not exist.
	IntelOpenCL string

	// Preload are the paths of the libraries that have to be loaded before
	// OpenCL and SYCL, in this order: those need them and do not say where
	// they are.
	Preload []string
}

// A Place is where Find looked.
type Place struct {
	Path string
	From string
}

func (p Place) String() string { return p.Path + " (" + p.From + ")" }

// Places are the folders in which Find looks, the first first.
func Places() []Place {
	var list []Place
	add := func(from string, paths ...string) {
		for _, p := range paths {
			if p != "" && !slices.ContainsFunc(list, func(q Place) bool { return q.Path == p }) {
				list = append(list, Place{p, from})
			}
		}
	}
	if root := os.Getenv(RootVariable); root != "" {
		// Who names a folder means that one and no other.
		return []Place{{root, RootVariable}}
	}
	add("CMPLR_ROOT", os.Getenv("CMPLR_ROOT"))
	if root := os.Getenv("ONEAPI_ROOT"); root != "" {
		add("ONEAPI_ROOT", filepath.Join(root, "compiler", "latest"), filepath.Join(root, "latest"))
	}
	add("CONDA_PREFIX", os.Getenv("CONDA_PREFIX"))
	add("VIRTUAL_ENV", os.Getenv("VIRTUAL_ENV"))
	for _, dir := range filepath.SplitList(os.Getenv("LD_LIBRARY_PATH")) {
		add("library path", dir)
	}
	for _, pattern := range []string{"/usr/local/lib", "/usr/lib/*-linux-gnu", "/usr/lib64", "/usr/lib"} {
		found, _ := filepath.Glob(pattern)
		add("library path", found...)
	}
	add("usual place", "/opt/intel/oneapi/compiler/latest")
	return list
}

// SYCL finds the first runtime of Places. The second result is false when
// there is none.
func SYCL() (Runtime, bool) {
	for _, p := range Places() {
		if r, ok := At(p); ok && r.SYCL != "" {
			return r, true
		}
	}
	return Runtime{}, false
}

// IntelOpenCL finds the first of Places that has Intel's OpenCL implementation
// for CPUs, an ICD that the system's list of OpenCL vendors does not name. The
// second result is false when there is none.
func IntelOpenCL() (Runtime, bool) {
	for _, p := range Places() {
		if r, ok := At(p); ok && r.IntelOpenCL != "" {
			return r, true
		}
	}
	return Runtime{}, false
}

// FPGAEmulation is the path of Intel's OpenCL platform that emulates FPGAs, ""
// for none. A folder that FPGARootVariable names is the only one that counts,
// otherwise it is the first of Places that has it.
func FPGAEmulation() string {
	places := Places()
	if root := os.Getenv(FPGARootVariable); root != "" {
		places = []Place{{root, FPGARootVariable}}
	}
	for _, p := range places {
		for _, sub := range libraryFolders {
			if path := existing(filepath.Join(p.Path, sub), "libintelocl_emu.so"); path != "" {
				return path
			}
		}
	}
	return ""
}

// libraryFolders are where the libraries of an installation lie below its root.
var libraryFolders = [...]string{"lib", "lib64", "linux/lib", "linux/lib/x64", ""}

// preloaded are the libraries of Runtime.Preload: Intel's compiler's own.
var preloaded = [...]string{"libintlc.so.5", "libirng.so", "libimf.so", "libsvml.so"}

// At looks at one place. The second result is false when nothing of a SYCL
// runtime is there.
func At(p Place) (Runtime, bool) {
	r := Runtime{Root: p.Path, From: p.From}
	for _, sub := range libraryFolders {
		dir := filepath.Join(p.Path, sub)
		sycl, intel := newest(dir, "libsycl.so"), existing(dir, "libintelocl.so")
		if sycl == "" && intel == "" {
			continue
		}
		r.LibDir, r.SYCL, r.IntelOpenCL = dir, sycl, intel
		r.OpenCL = existing(dir, "libOpenCL.so.1")
		r.JIT = existing(dir, "libsycl-jit.so")
		for _, name := range preloaded {
			if path := existing(dir, name); path != "" {
				r.Preload = append(r.Preload, path)
			}
		}
		break
	}
	if r.LibDir == "" {
		return Runtime{}, false
	}
	for _, dir := range []string{
		filepath.Join(p.Path, "include"), filepath.Join(p.Path, "linux", "include"),
		filepath.Join(r.LibDir, "..", "include"), "/usr/local/include", "/usr/include",
	} {
		if existing(dir, "sycl/sycl.hpp") != "" {
			r.Include = filepath.Clean(dir)
			break
		}
	}
	return r, true
}

func existing(dir, name string) string {
	path := filepath.Join(dir, name)
	if _, err := os.Stat(path); err != nil {
		return ""
	}
	return path
}

// newest is the file name.N with the largest N, or name itself. Versions with
// points in them are the same library under its full name.
func newest(dir, name string) string {
	files, _ := filepath.Glob(filepath.Join(dir, name+".*"))
	best, path := -1, ""
	for _, f := range files {
		n, err := strconv.Atoi(strings.TrimPrefix(filepath.Base(f), name+"."))
		if err == nil && n > best {
			best, path = n, f
		}
	}
	if path == "" {
		return existing(dir, name)
	}
	return path
}
