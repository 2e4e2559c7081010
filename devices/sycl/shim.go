package sycl

import (
	"bytes"
	"context"
	_ "embed" // the shim's source
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/devices/internal/buildcache"
	"github.com/tandemrun/tandem/devices/sycl/find"
)

//go:embed shim/shim.cpp
var shimSource []byte

// ShimVariable is the environment variable that names a shim that was built
// before, which is then used as it is.
const ShimVariable = "TANDEM_SYCL_SHIM"

// compilers are the C++ compilers to try when CXX names none.
var compilers = [...]string{"g++", "clang++", "icpx", "c++"}

// compiler is the command that compiles C++: a program and arguments that come
// first.
func compiler() ([]string, error) {
	if cxx := strings.Fields(os.Getenv("CXX")); len(cxx) > 0 {
		path, err := exec.LookPath(cxx[0])
		if err != nil {
			return nil, &missingError{fmt.Sprintf("CXX names the C++ compiler %s, which is not there", cxx[0]), "set CXX to a C++17 compiler, or unset it"}
		}
		return append([]string{path}, cxx[1:]...), nil
	}
	for _, name := range compilers {
		if path, err := exec.LookPath(name); err == nil {
			return []string{path}, nil
		}
	}
	return nil, &missingError{
		fmt.Sprintf("no C++ compiler (%s) is there to build the shim, and %s names none that was built before", strings.Join(compilers[:], ", "), ShimVariable),
		"apt-get install g++, or build the shim elsewhere with `tandem sycl build -o FILE` and set " + ShimVariable,
	}
}

// shim is the path of a shim for the runtime, which is built if there is none
// in the cache.
func (d *Driver) shim(ctx context.Context, r find.Runtime) (string, error) {
	if path := os.Getenv(ShimVariable); path != "" {
		if _, err := os.Stat(path); err != nil {
			return "", &missingError{fmt.Sprintf("%s names a shim that cannot be read: %v", ShimVariable, err), "build it with `tandem sycl build -o " + path + "`, or unset " + ShimVariable}
		}
		return path, nil
	}
	cxx, err := compiler()
	if err != nil {
		return "", err
	}
	key := buildcache.MakeKey("sycl shim 1", string(shimSource), strings.Join(cxx, " "), stamp(cxx[0]), stamp(r.SYCL), r.Include, stamp(filepath.Join(r.Include, "sycl", "version.hpp")))
	dir := filepath.Join(d.cacheRoot(), "sycl")
	path := filepath.Join(dir, "libtandem-sycl-"+hex.EncodeToString(key[:8])+".so")
	if d.cacheRoot() != "" {
		if _, err := os.Stat(path); err == nil {
			return path, nil
		}
		if err := os.MkdirAll(dir, 0o700); err == nil {
			err := compileShim(ctx, cxx, r, path)
			if err == nil || !errors.Is(err, os.ErrPermission) {
				return path, err
			}
		}
	}
	// No cache, or none that can be written: for this process alone.
	dir, err = os.MkdirTemp("", "tandem-sycl-")
	if err != nil {
		return "", fmt.Errorf("sycl: a folder for the shim: %w: %w", err, devices.ErrUnavailable)
	}
	path = filepath.Join(dir, "libtandem-sycl.so")
	return path, compileShim(ctx, cxx, r, path)
}

// BuildShim compiles the shim for the SYCL runtime of this machine and writes
// it to the file out, for TANDEM_SYCL_SHIM; an empty out stands for the cache,
// where a driver finds it by itself. It returns the file and the runtime that
// it was built for.
func BuildShim(ctx context.Context, out string) (string, find.Runtime, error) {
	r, ok := find.SYCL()
	if !ok {
		return "", r, &missingError{"no SYCL runtime (libsycl.so) is there", installHint()}
	}
	if out == "" {
		path, err := (&Driver{}).shim(ctx, r)
		return path, r, err
	}
	cxx, err := compiler()
	if err != nil {
		return "", r, err
	}
	return out, r, compileShim(ctx, cxx, r, out)
}

// Hint is what to do about an error of this package, "" for nothing known: the
// command that brings what is missing.
func Hint(err error) string { return hintOf(err) }

// BuildProgram compiles a program in C++ that links to the SYCL runtime of this
// machine, and writes it to the file out: what the bridge can be compared with.
// What is missing for that is an error like BuildShim's.
func BuildProgram(ctx context.Context, source []byte, out string) error {
	r, ok := find.SYCL()
	if !ok {
		return &missingError{"no SYCL runtime (libsycl.so) is there", installHint()}
	}
	cxx, err := compiler()
	if err != nil {
		return err
	}
	args := []string{"-Wl,--disable-new-dtags"} // the path is for what the runtime needs, too
	if r.OpenCL != "" {
		args = append(args, r.OpenCL)
	} else {
		args = append(args, "-l:libOpenCL.so.1")
	}
	return compileCXX(ctx, cxx, r, "program", source, out, args...)
}

// compileShim compiles the shim.
func compileShim(ctx context.Context, cxx []string, r find.Runtime, path string) error {
	return compileCXX(ctx, cxx, r, "shim", shimSource, path, "-shared", "-fPIC", "-fvisibility=hidden", "-ldl", "-lpthread")
}

// compileTimeout bounds the C++ compiler, which takes some seconds.
const compileTimeout = 5 * time.Minute

// compileCXX compiles a source next to path and renames what comes out, so that
// nobody ever loads half a file.
func compileCXX(ctx context.Context, cxx []string, r find.Runtime, what string, text []byte, path string, more ...string) error {
	if r.Include == "" {
		return &missingError{fmt.Sprintf("the SYCL runtime %s has no headers (sycl/sycl.hpp)", r.SYCL),
			"install the headers of the same version (in the wheels: intel-sycl-rt), or set " + ShimVariable + " to a shim that was built elsewhere"}
	}
	dir, err := os.MkdirTemp(filepath.Dir(path), ".build-")
	if err != nil {
		return fmt.Errorf("sycl: build the %s %s: %w: %w", what, path, err, devices.ErrUnavailable)
	}
	defer os.RemoveAll(dir)
	source, object := filepath.Join(dir, what+".cpp"), filepath.Join(dir, what)
	if err := os.WriteFile(source, text, 0o600); err != nil {
		return fmt.Errorf("sycl: build the %s: %w: %w", what, err, devices.ErrUnavailable)
	}
	bounded, cancel := context.WithTimeout(ctx, compileTimeout)
	defer cancel()
	args := append(cxx[1:len(cxx):len(cxx)], "-std=c++17", "-O2", "-w", "-DSYCL_DISABLE_FSYCL_SYCLHPP_WARNING", "-I"+r.Include,
		source, "-o", object, r.SYCL, "-Wl,-rpath,"+r.LibDir, "-Wl,--allow-shlib-undefined")
	cmd := exec.CommandContext(bounded, cxx[0], append(args, more...)...)
	cmd.WaitDelay = time.Second
	var log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &log, &log
	if err := cmd.Run(); err != nil {
		if cause := context.Cause(ctx); cause != nil {
			return cause
		}
		return &devices.CompileError{Source: what + ".cpp", Device: backend, Log: log.String(),
			Err: fmt.Errorf("%s: %w: %w", strings.Join(cxx, " "), err, devices.ErrUnavailable)}
	}
	if err := os.Rename(object, path); err != nil {
		return fmt.Errorf("sycl: build the %s: %w: %w", what, err, devices.ErrUnavailable)
	}
	return nil
}

// stamp identifies the state of a file: path, size, time of last change.
func stamp(path string) string {
	info, err := os.Stat(path)
	if err != nil {
		return path + " absent"
	}
	return fmt.Sprintf("%s %d %d", path, info.Size(), info.ModTime().UnixNano())
}
