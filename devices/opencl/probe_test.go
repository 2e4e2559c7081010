package opencl

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/devices/devicetest"
)

func TestProbe(t *testing.T) {
	driver := need(t)
	b := driver.Probe(t.Context())
	if !b.Available || b.Reason != nil || b.Name != "opencl" || b.Library == "" || !strings.Contains(b.Version, "OpenCL") || len(b.Devices) == 0 {
		t.Fatalf("%+v", b)
	}
	again := driver.Probe(t.Context())
	if len(again.Devices) != len(b.Devices) {
		t.Fatalf("%d devices, then %d", len(b.Devices), len(again.Devices))
	}
	for i, d := range b.Devices {
		if d.ID != fmt.Sprintf("opencl:%d", i) || d.Ordinal != i || again.Devices[i].ID != d.ID || again.Devices[i].Name != d.Name {
			t.Errorf("device %d: %s %q, then %s %q", i, d.ID, d.Name, again.Devices[i].ID, again.Devices[i].Name)
		}
		if d.Name == "" || d.PhysicalID == "" || d.ComputeUnits < 1 || d.MemoryTotal <= 0 || d.MaxAlloc <= 0 || d.MaxAlloc > d.MemoryTotal ||
			d.LocalMemory <= 0 || d.BaseAlign < 16 || d.BaseAlign > 4096 || d.MaxWorkGroup < 1 || d.MaxItemSizes[0] < 1 || d.Queues < 1 ||
			!slices.Contains(d.Languages, devices.LangBinary) {
			t.Errorf("%+v", d)
		}
		if d.Kind == devices.KindCPU && (d.PhysicalID != "cpu:0" || d.Queues != 2 && !strings.HasPrefix(d.Platform, "Intel")) {
			t.Errorf("host cores: physical id %q, %d queues", d.PhysicalID, d.Queues)
		}
	}
	if _, err := driver.Open(t.Context(), len(b.Devices)); !errors.Is(err, devices.ErrInvalid) || !strings.Contains(err.Error(), fmt.Sprintf("opencl:%d", len(b.Devices)-1)) {
		t.Errorf("an ordinal too high: %v", err)
	}
}

func TestAbsentLibrary(t *testing.T) {
	t.Setenv(LibraryVariable, "")
	d := &Driver{Library: "/nonexistent/libOpenCL.so.1"}
	b := d.Probe(t.Context())
	var load *devices.LoadError
	if b.Available || !errors.Is(b.Reason, devices.ErrUnavailable) || !errors.As(b.Reason, &load) || len(b.Tried) != 1 || b.Hint == "" {
		t.Errorf("%+v", b)
	}
	if _, err := d.Open(t.Context(), 0); !errors.Is(err, devices.ErrUnavailable) || !strings.Contains(err.Error(), "/nonexistent/libOpenCL.so.1") {
		t.Errorf("Open: %v", err)
	}
	t.Setenv(LibraryVariable, "/nonexistent/other.so")
	if got := (&Driver{}).libraryNames(); len(got) != 1 || got[0] != "/nonexistent/other.so" {
		t.Errorf("with %s set: %v", LibraryVariable, got)
	}
	if runtime.GOOS == "linux" && !strings.Contains(installHint(), "apt-get install pocl-opencl-icd ocl-icd-libopencl1") {
		t.Errorf("hint %q", installHint())
	}
}

// notOpenCL is a library that loads and is no OpenCL.
func TestNotOpenCL(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("needs a library that is on every Linux")
	}
	d := &Driver{Library: "libm.so.6"}
	if b := d.Probe(t.Context()); !errors.Is(b.Reason, devices.ErrUnavailable) || !strings.Contains(b.Reason.Error(), "clGetPlatformIDs") {
		t.Errorf("%v", b.Reason)
	}
}

// vendorFolder makes a folder of .icd files.
func vendorFolder(t *testing.T, entries map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, library := range entries {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(library+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// goodVendor is a vendor library that works.
func goodVendor(t *testing.T) string {
	t.Helper()
	need(t)
	list := icds()
	for _, i := range list {
		if strings.Contains(i.Library, "pocl") {
			return i.Library
		}
	}
	devicetest.Require(t, backend, fmt.Errorf("PoCL is not among %v", list))
	return ""
}

// brokenVendor is a vendor library that, asked for its platforms, crashes (1),
// never answers (2), ends the process (3) or aborts it (4).
const brokenVendor = `
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static int ask(unsigned n, void **p, unsigned *count) {
#if HOW == 1
  *(volatile int *)8 = 1;
#elif HOW == 2
  for (;;) pause();
#elif HOW == 3
  _exit(0);
#else
  abort();
#endif
  return -1001;
}
void *clGetExtensionFunctionAddress(const char *name) { return strcmp(name, "clIcdGetPlatformIDsKHR") ? 0 : (void *)ask; }
int clIcdGetPlatformIDsKHR(unsigned n, void **p, unsigned *count) { return ask(n, p, count); }
int clGetPlatformInfo(void *p, unsigned i, size_t s, void *v, size_t *r) { return -30; }
`

func buildVendor(t *testing.T, name string, how int) string {
	t.Helper()
	cc, err := exec.LookPath("cc")
	if err != nil {
		t.Skip("no C compiler: a broken vendor library cannot be built")
	}
	dir := t.TempDir()
	src, lib := filepath.Join(dir, "vendor.c"), filepath.Join(dir, name)
	if err := os.WriteFile(src, []byte(brokenVendor), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(cc, "-shared", "-fPIC", fmt.Sprintf("-DHOW=%d", how), "-o", lib, src).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return lib
}

// TestBrokenVendors probes beside vendor libraries that break. The loader
// reads its list once in a process, so each case has a process of its own.
func TestBrokenVendors(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("vendor libraries are entries of the registry, or there is no loader")
	}
	for _, c := range []struct {
		name string
		how  int
		says string
	}{
		{"crash", 1, "signal 11"}, {"hang", 2, "no answer within"}, {"exit", 3, "ended the process"}, {"abort", 4, "signal 6"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if os.Getenv("TANDEM_TEST_ALONE") == "" {
				lib := buildVendor(t, "lib"+c.name+".so", c.how)
				inChild(t, vendorsVariable+"="+vendorFolder(t, map[string]string{"a_first.icd": lib, "z_pocl.icd": goodVendor(t)}),
					"TANDEM_CACHE_DIR="+filepath.Join(t.TempDir(), "cache"))
				return
			}
			self, err := os.Executable()
			if err != nil {
				t.Fatal(err)
			}
			driver := &Driver{Child: self, ProbeTimeout: 3 * time.Second}
			before := os.Getenv(vendorsVariable)
			b := driver.Probe(t.Context())
			if len(b.Devices) != 1 || b.Devices[0].Kind != devices.KindCPU {
				t.Fatalf("devices %v, reason %v, warnings %q", b.Devices, b.Reason, b.Warnings)
			}
			about := 0
			for _, w := range b.Warnings {
				if strings.Contains(w, "lib"+c.name+".so") {
					about++
					if !strings.Contains(w, c.says) {
						t.Errorf("warning %q does not say %q", w, c.says)
					}
				}
			}
			if about != 1 {
				t.Errorf("%d warnings about the library in %q, want 1", about, b.Warnings)
			}
			if got := os.Getenv(vendorsVariable); got != before {
				t.Errorf("%s is now %q", vendorsVariable, got)
			}
			// The second time the verdict comes from the disk: a child that cannot
			// be run is not needed.
			v, err := (&Driver{Child: "/nonexistent/child"}).askInChild(t.Context())
			if err != nil || len(v.Use) != 1 || len(v.Warnings) != len(b.Warnings) {
				t.Errorf("kept verdict %+v, %v", v, err)
			}
			d, err := driver.Open(t.Context(), 0)
			if err != nil {
				t.Fatal(err)
			}
			if err := d.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestVendorEntriesWithoutEffect(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("no .icd files")
	}
	if os.Getenv("TANDEM_TEST_ALONE") == "" {
		inChild(t, vendorsVariable+"="+vendorFolder(t, map[string]string{
			"a.icd": "/nonexistent/libvendor.so", "b.icd": "", "c.icd": "this is no library", "z.icd": goodVendor(t),
		}), "TANDEM_CACHE_DIR="+filepath.Join(t.TempDir(), "cache"))
		return
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	b := (&Driver{Child: self}).Probe(t.Context())
	if len(b.Devices) != 1 {
		t.Fatalf("devices %v, reason %v", b.Devices, b.Reason)
	}
	all := strings.Join(b.Warnings, "\n")
	for _, w := range []string{"/nonexistent/libvendor.so", "b.icd", "this is no library"} {
		if strings.Count(all, "without effect") != 3 || !strings.Contains(all, w) {
			t.Errorf("warnings %q do not name %q", b.Warnings, w)
		}
	}
}

// TestTwins has PoCL show three devices, two of them with one name, and its
// library listed twice.
func TestTwins(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("no .icd files")
	}
	if os.Getenv("TANDEM_TEST_ALONE") == "" {
		good := goodVendor(t)
		inChild(t, "POCL_DEVICES=pthread pthread basic", vendorsVariable+"="+vendorFolder(t, map[string]string{"a.icd": good, "b.icd": good}))
		return
	}
	driver := &Driver{}
	b := driver.Probe(t.Context())
	if len(b.Devices) != 3 {
		t.Fatalf("%d devices, want 3: %v", len(b.Devices), b.Reason)
	}
	ids, names := map[string]bool{}, map[string]int{}
	for _, d := range b.Devices {
		ids[d.ID] = true
		names[d.Name]++
	}
	if len(ids) != 3 || len(names) != 2 {
		t.Errorf("ids %v, names %v", ids, names)
	}
	if len(b.Warnings) != 1 || !strings.Contains(b.Warnings[0], "twice") {
		t.Errorf("warnings %q", b.Warnings)
	}
	for i := range b.Devices {
		d := openWith(t, driver, i)
		q, x := newQueue(t, d), alloc(t, d, 4*512)
		k := kernelOf(t, compile(t, d, "__kernel void twice(__global int *out) { int i = get_global_id(0); out[i] = 2 * i; }"), "twice")
		launch(t, q, &devices.Launch{Kernel: k, Range: devices.NDRange{Dims: 1, Size: [3]int{512}}, Args: []devices.Arg{{Buffer: x}}})
		sum := 0
		for _, v := range ints(download(t, q, x)) {
			sum += int(v)
		}
		if sum != 512*511 {
			t.Errorf("%s: sum %d, want %d", d.info.ID, sum, 512*511)
		}
	}
	// An event, a buffer and a kernel of one are none of the other.
	d, other := openWith(t, driver, 0), openWith(t, driver, 1)
	q := newQueue(t, d)
	if _, err := q.Copy(&devices.Copy{Kind: devices.SyncToHost, Dst: alloc(t, other, 4), Size: 4}, nil); !errors.Is(err, devices.ErrInvalid) || !strings.Contains(err.Error(), "opencl:1") {
		t.Errorf("the other twin's buffer: %v", err)
	}
}

// TestHostThreads bounds PoCL's threads unless the user did.
func TestHostThreads(t *testing.T) {
	if os.Getenv("TANDEM_TEST_ALONE") == "" {
		need(t)
		inChild(t)
		return
	}
	b := (&Driver{MaxHostThreads: 1}).Probe(t.Context())
	if len(b.Devices) == 0 || b.Devices[0].ComputeUnits != 1 {
		t.Errorf("%+v", b)
	}
}

// TestNoCacheFolder has a home that cannot be written: PoCL would show no
// device.
func TestNoCacheFolder(t *testing.T) {
	if os.Getenv("TANDEM_TEST_ALONE") == "" {
		need(t)
		inChild(t, "HOME=/proc/nonexistent", "XDG_CACHE_HOME=", "TANDEM_CACHE_DIR=")
		return
	}
	os.Unsetenv("POCL_CACHE_DIR")
	b := (&Driver{}).Probe(t.Context())
	if len(b.Devices) != 1 || len(b.Warnings) != 1 || !strings.Contains(b.Warnings[0], "PoCL") {
		t.Errorf("devices %v, reason %v, warnings %q", b.Devices, b.Reason, b.Warnings)
	}
}

func TestICDs(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("no .icd files")
	}
	t.Setenv(filenamesVariable, "/a/lib.so:libb.so")
	dir := vendorFolder(t, map[string]string{"two.icd": " libtwo.so \nsecond line", "one.icd": "/x/libone.so", "blank.icd": "", "other.txt": "no"})
	t.Setenv(vendorsVariable, dir)
	want := []icd{{"", "/a/lib.so"}, {"", "libb.so"}, {dir + "/blank.icd", ""}, {dir + "/one.icd", "/x/libone.so"}, {dir + "/two.icd", "libtwo.so"}}
	got := icds()
	if !slices.Equal(got, want) {
		t.Fatalf("got %v, want %v", got, want)
	}
	only := filepath.Join(t.TempDir(), "only")
	env, err := restriction(only, []icd{got[1], got[4]})
	if err != nil || !slices.Equal(env, []string{vendorsVariable + "=" + only, filenamesVariable + "=libb.so"}) {
		t.Errorf("restriction %q, %v", env, err)
	}
	t.Setenv(vendorsVariable, only)
	t.Setenv(filenamesVariable, "")
	if got := icds(); len(got) != 1 || got[0].Library != "libtwo.so" {
		t.Errorf("restricted to %v", got)
	}
	t.Setenv(vendorsVariable, dir+"/one.icd")
	if got := icds(); len(got) != 1 || got[0].Library != "/x/libone.so" {
		t.Errorf("a single file: %v", got)
	}
}
