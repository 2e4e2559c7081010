package sycl

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/devices/internal/buildcache"
	"github.com/tandemrun/tandem/devices/sycl/find"
)

// absent probes and wants a reason with the words, and a hint.
func absent(t *testing.T, d *Driver, words, hint string) {
	t.Helper()
	b := d.Probe(t.Context())
	if b.Available || len(b.Devices) != 0 || b.Name != "sycl" {
		t.Fatalf("available %v with %d devices", b.Available, len(b.Devices))
	}
	if !errors.Is(b.Reason, devices.ErrUnavailable) || b.Reason == devices.ErrUnavailable || !strings.Contains(b.Reason.Error(), words) {
		t.Errorf("the reason is %v, want %q", b.Reason, words)
	}
	if !strings.Contains(b.Hint, hint) {
		t.Errorf("the hint is %q, want %q", b.Hint, hint)
	}
	if _, err := d.Open(t.Context(), 0); !errors.Is(err, devices.ErrUnavailable) {
		t.Errorf("Open: %v", err)
	}
}

// TestNoRuntime needs nothing on the machine.
func TestNoRuntime(t *testing.T) {
	empty := t.TempDir()
	t.Setenv(find.RootVariable, empty)
	absent(t, &Driver{}, empty, "pip install intel-sycl-rt")
	if load, ok := errors.AsType[*devices.LoadError]((&Driver{}).Probe(t.Context()).Reason); !ok || len(load.Tried) != 1 {
		t.Errorf("the reason does not list the places that were tried: %+v", load)
	}
}

// bareRoot names a folder with the runtime's libraries and nothing else as the
// runtime.
func bareRoot(t *testing.T) {
	t.Helper()
	need(t)
	r, _ := find.SYCL()
	dir := t.TempDir()
	if err := os.Symlink(r.LibDir, filepath.Join(dir, "lib")); err != nil {
		t.Fatal(err)
	}
	t.Setenv(find.RootVariable, dir)
}

func TestNoHeaders(t *testing.T) {
	bareRoot(t)
	t.Setenv(buildcache.DirVariable, t.TempDir())
	if r, _ := find.SYCL(); r.Include != "" {
		t.Skipf("the system has the headers too: %s", r.Include)
	}
	absent(t, &Driver{}, "has no headers (sycl/sycl.hpp)", ShimVariable)
	// A shim from elsewhere is all it takes, but it has to be there.
	out := filepath.Join(t.TempDir(), "shim.so")
	t.Setenv(ShimVariable, out)
	absent(t, &Driver{}, ShimVariable+" names a shim that cannot be read", "tandem sycl build -o "+out)
}

func TestNoCompiler(t *testing.T) {
	need(t)
	t.Setenv(buildcache.DirVariable, t.TempDir())
	t.Setenv("PATH", t.TempDir())
	t.Setenv("CXX", "")
	absent(t, &Driver{}, "no C++ compiler (g++, clang++, icpx, c++)", "apt-get install g++")
	t.Setenv("CXX", "no-such-compiler -O2")
	absent(t, &Driver{}, "CXX names the C++ compiler no-such-compiler", "set CXX")
}

func TestPrebuiltShim(t *testing.T) {
	need(t)
	cxx, err := compiler()
	if err != nil {
		t.Skip(err)
	}
	out := filepath.Join(t.TempDir(), "my shim.so")
	path, r, err := BuildShim(t.Context(), out)
	if err != nil {
		t.Fatalf("%+v (%v)", err, cxx)
	}
	if path != out || r.SYCL == "" {
		t.Errorf("BuildShim says %q for %q", path, r.SYCL)
	}
	t.Setenv(ShimVariable, out)
	t.Setenv("PATH", "")
	if b := (&Driver{}).Probe(t.Context()); !b.Available {
		t.Errorf("with a prebuilt shim and no compiler: %v", b.Reason)
	}
	// One that does not load.
	if err := os.WriteFile(out+".bad", []byte("no library"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv(ShimVariable, out+".bad")
	absent(t, &Driver{}, "my shim.so.bad", "")
}

func TestShimDoesNotCompile(t *testing.T) {
	need(t)
	r, _ := find.SYCL()
	r.Include = t.TempDir()
	cxx, err := compiler()
	if err != nil {
		t.Skip(err)
	}
	out := filepath.Join(t.TempDir(), "shim.so")
	err = compileShim(t.Context(), cxx, r, out)
	ce, ok := errors.AsType[*devices.CompileError](err)
	if !ok || !errors.Is(err, devices.ErrUnavailable) || !strings.Contains(ce.Log, "sycl/sycl.hpp") {
		t.Errorf("got %v, want a compile error about sycl/sycl.hpp", err)
	}
	if list, _ := os.ReadDir(filepath.Dir(out)); len(list) != 0 {
		t.Errorf("files left behind: %v", list)
	}
}

// TestBrokenRuntime has libraries that break the process which loads them.
func TestBrokenRuntime(t *testing.T) {
	cc, err := exec.LookPath("cc")
	if err != nil {
		t.Skip("no C compiler: a library that breaks cannot be built")
	}
	for _, c := range []struct{ name, body, words string }{
		{"abort", "abort();", "SIGABRT"},
		{"crash", "*(volatile int *)8 = 1;", "SIGSEGV"},
		{"exit", "_exit(0);", "exit status 0"},
		{"hang", "for (;;) pause();", "no answer within"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			lib := filepath.Join(dir, "lib", "libsycl.so.9")
			if err := os.MkdirAll(filepath.Dir(lib), 0o700); err != nil {
				t.Fatal(err)
			}
			source := filepath.Join(dir, "broken.c")
			text := "#include <stdlib.h>\n#include <unistd.h>\n__attribute__((constructor)) static void broken(void) { " + c.body + " }\n"
			if err := os.WriteFile(source, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			if out, err := exec.Command(cc, "-shared", "-fPIC", "-o", lib, source).CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			t.Setenv(find.RootVariable, dir)
			t.Setenv(ShimVariable, lib)
			t.Setenv(buildcache.DirVariable, t.TempDir())
			d := &Driver{Child: os.Args[0]}
			if c.name == "hang" {
				d.ProbeTimeout = 500 * time.Millisecond
			}
			absent(t, d, c.words, find.RootVariable)
		})
	}
}

func TestChild(t *testing.T) {
	need(t)
	t.Setenv(buildcache.DirVariable, t.TempDir())
	if old := buildcache.Dir(); old == "" {
		t.Fatal("no cache folder")
	}
	first := &Driver{Child: os.Args[0], ProbeTimeout: time.Minute}
	shim, err := first.shim(t.Context(), mustFind(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv(ShimVariable, shim)
	if b := first.Probe(t.Context()); !b.Available {
		t.Fatalf("%v", b.Reason)
	}
	// The verdict holds: a child that does not exist any more is not run.
	second := &Driver{Child: filepath.Join(t.TempDir(), "gone")}
	if b := second.Probe(t.Context()); !b.Available {
		t.Errorf("%v", b.Reason)
	}
}

func mustFind(t *testing.T) find.Runtime {
	t.Helper()
	r, ok := find.SYCL()
	if !ok {
		t.Fatal("no runtime")
	}
	return r
}

// TestWithoutSharedMemory: what cannot be used is named, with the reason.
func TestWithoutSharedMemory(t *testing.T) {
	f := readFacts("name\tpthread\nplatform\tPortable Computing Language\nbackend\topencl\nkind\tcpu\nusm_device\t0\n")
	if why := f.unusable(); !strings.Contains(why, "unified shared memory") {
		t.Errorf("a device without it is unusable because %q", why)
	}
	d := need(t)
	b := d.Probe(t.Context())
	list, err := d.loaded.api.describe()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range list {
		usable := slices.ContainsFunc(b.Devices, func(i devices.Info) bool { return i.Name == f["name"] && i.Platform == f["platform"] })
		named := strings.Contains(strings.Join(b.Notes, "\n"), f["name"]+" ("+f["platform"]+")")
		if usable == named || usable != f.flag("usm_device") {
			t.Errorf("%s of %s: a device %v, in a note %v, shared memory %q", f["name"], f["platform"], usable, named, f["usm_device"])
		}
	}
}

func TestDescribe(t *testing.T) {
	f := readFacts("name\tA GPU\nbackend\tlevel-zero\nkind\tgpu\nunits\t96\npci\t0000:03:00.0\nuuid\t868080560800000003000000000000ff\nusm_device\t1\nbuilds_spirv\t1\nbuilds_opencl\t1\nmax_items\t64 32 16\nfp64\t1\nbase_align_bits\t1024\nmax_group\t1024\n")
	info, tr := f.device()
	if info.Kind != devices.KindGPU || info.PhysicalID != "pci:0000:03:00.0" || info.ComputeUnits != 96 || !info.FP64 || info.FP16 ||
		info.BaseAlign != 128 || info.MaxItemSizes != [3]int{64, 32, 16} || info.HostCoherent || info.UnifiedMemory || tr.native || info.Queues != 4 {
		t.Errorf("read %+v, %+v", info, tr)
	}
	if info.UUID != "86808056-0800-0000-0300-0000000000ff" {
		t.Errorf("UUID %q", info.UUID)
	}
	if got := f.unusable(); got != "" {
		t.Errorf("unusable: %q", got)
	}
}
