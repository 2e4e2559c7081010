package sycl

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tandemrun/tandem/devices"
)

const userLibrarySource = `
#include <tandem/sycl.hpp>

// tile fills dst with copies of a pattern, by doubling: each copy needs the one
// before it.
static void tile(sycl::queue &q, const int *pattern, int *dst, int n, tandem::range r) {
  const size_t total = r.global[0] * sizeof(int);
  size_t have = n * sizeof(int);
  if (n <= 0 || have > total)
    throw std::invalid_argument("a pattern of " + std::to_string(n) + " does not fit into " + std::to_string(r.global[0]));
  q.memcpy(dst, pattern, have);
  while (have < total) {
    const size_t step = std::min(have, total - have);
    q.memcpy(reinterpret_cast<char *>(dst) + have, dst, step);
    have += step;
  }
}
TANDEM_SYCL_FUNCTION(tile)

static void broken(sycl::queue &) { throw std::runtime_error("broken on purpose"); }
TANDEM_SYCL_FUNCTION(broken)
`

// buildLibrary compiles a library of SYCL functions.
func buildLibrary(t *testing.T, d *device, source string) []byte {
	t.Helper()
	cxx, err := compiler()
	if err != nil || d.lib.runtime.Include == "" {
		t.Skipf("a library cannot be built here: %v", err)
	}
	dir := t.TempDir()
	file, out := filepath.Join(dir, "f.cpp"), filepath.Join(dir, "libf.so")
	if err := os.WriteFile(file, []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	args := append(cxx[1:len(cxx):len(cxx)], "-std=c++17", "-O0", "-shared", "-fPIC", "-DSYCL_DISABLE_FSYCL_SYCLHPP_WARNING",
		"-I"+d.lib.runtime.Include, "-Iinclude", file, "-o", out, d.lib.runtime.SYCL, "-Wl,--allow-shlib-undefined")
	if log, err := exec.CommandContext(t.Context(), cxx[0], args...).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, log)
	}
	b, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestUserLibrary(t *testing.T) {
	d := open(t)
	p := compile(t, d, &devices.Source{Name: "libf.so", Language: LangLibrary, Text: buildLibrary(t, d, userLibrarySource)})
	q, other := newQueue(t, d), newQueue(t, d)
	pattern, dst := filled(t, q, []int32{5, 6, 7}), filled(t, q, make([]int32, 1000))
	k := kernelOf(t, p, "tile")

	// It waits for another queue's command, and the next one waits for it.
	before, err := other.Copy(&devices.Copy{Kind: devices.DeviceToDevice, Src: dst, SrcOffset: 2000, Dst: dst, Size: 2000}, nil)
	if err != nil {
		t.Fatal(err)
	}
	args := []devices.Arg{{Buffer: pattern}, {Buffer: dst}, num(int32(3))}
	e, err := q.Launch(&devices.Launch{Kernel: k, Range: line(1000, 0), Args: args}, []devices.Event{before})
	if err != nil {
		t.Fatal(err)
	}
	before.Release()
	out := make([]byte, 4000)
	read, err := other.Copy(&devices.Copy{Kind: devices.DeviceToHost, Src: dst, Host: out, Size: 4000}, []devices.Event{e})
	wait(t, read, err)
	e.Release()
	for i, got := range devices.View[int32](out) {
		if want := int32(5 + i%3); got != want {
			t.Fatalf("dst[%d] = %d, want %d", i, got, want)
		}
	}

	for _, c := range []struct {
		entry string
		args  []devices.Arg
		words string
	}{
		{"tile", args[:2], "takes 3 arguments, 2 were given"},
		{"tile", []devices.Arg{args[0], args[1], num(int64(3))}, "argument 2: it takes 4 bytes, 8 were given"},
		{"tile", []devices.Arg{args[0], num(int32(1)), num(int32(3))}, "argument 1: it takes a buffer"},
		{"tile", []devices.Arg{args[0], args[1], num(int32(3000))}, "a pattern of 3000 does not fit into 1000"},
		{"broken", nil, "broken on purpose"},
	} {
		e, err := q.Launch(&devices.Launch{Kernel: kernelOf(t, p, c.entry), Range: line(1000, 0), Args: c.args}, nil)
		if err == nil {
			e.Release()
			t.Errorf("%s: no error, want %q", c.entry, c.words)
		} else if !errors.Is(err, devices.ErrInvalid) || !strings.Contains(err.Error(), c.words) {
			t.Errorf("%s: %v, want %q", c.entry, err, c.words)
		}
	}
	if _, err := p.Kernel("absent"); !errors.Is(err, devices.ErrInvalid) || !strings.Contains(err.Error(), `"absent"`) {
		t.Errorf("Kernel(absent): %v", err)
	}
	// The queue is still good.
	if got := contents[int32](t, q, pattern); !slices.Equal(got, []int32{5, 6, 7}) {
		t.Errorf("the pattern holds %v", got)
	}
}

func TestNoLibrary(t *testing.T) {
	d := open(t)
	_, err := d.Compile(t.Context(), &devices.Source{Name: "x.so", Language: LangLibrary, Text: []byte("not a library")})
	if _, ok := errors.AsType[*devices.CompileError](err); !ok || !strings.Contains(err.Error(), "x.so") {
		t.Errorf("got %v, want a compile error about x.so", err)
	}
}
