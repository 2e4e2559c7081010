package cuda

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"unsafe"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/devices/cuda/cudatest"
	"github.com/tandemrun/tandem/devices/devicetest"
	"github.com/tandemrun/tandem/devices/hostmem"
	"github.com/tandemrun/tandem/devices/internal/dl"
)

// rig is an open device with a queue, and what a test makes on it.
type rig struct {
	t      testing.TB
	driver *Driver
	d      *device
	q      *queue
}

// newRig opens device 0 of a driver. Everything is closed when the test ends.
func newRig(t testing.TB, driver *Driver) *rig {
	t.Helper()
	r := &rig{t: t, driver: driver}
	r.d = r.open(0)
	r.q = r.queue(r.d)
	return r
}

func (r *rig) open(ordinal int) *device {
	r.t.Helper()
	d, err := r.driver.Open(r.t.Context(), ordinal)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { _ = d.Close() })
	return d.(*device)
}

func (r *rig) queue(d *device) *queue {
	r.t.Helper()
	q, err := d.NewQueue(devices.Compute)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { _ = q.Close() })
	return q.(*queue)
}

// separate is a driver for a copy of the double with settings of its own.
func separate(t testing.TB, settings string) *Driver {
	t.Helper()
	if os.Getenv(realVariable) != "" {
		t.Skip("the test is about the double's settings")
	}
	need(t) // the double has what the driver needs
	text, err := os.ReadFile(cudatest.Build(t))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "libcuda.so.1")
	if err := os.WriteFile(path, text, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv(cudatest.Settings, settings)
	d := &Driver{Library: path, CacheDir: cacheDir}
	devicetest.Require(t, cudatest.Require, d.Probe(t.Context()).Reason)
	return d
}

// withCompiler skips t where there is no NVRTC.
func withCompiler(t testing.TB, d *Driver) *Driver {
	t.Helper()
	lib, err := d.library(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	devicetest.Require(t, "nvrtc", lib.findCompilers(13000).err)
	return d
}

// rules tells a double how to fail from now on, "" for not at all.
func rules(t testing.TB, d *Driver, text string) {
	t.Helper()
	lib, err := d.library(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	set, err := lib.api.lib.Lookup("tandemDoubleSet")
	if err != nil {
		t.Fatal(err)
	}
	z := append([]byte(text), 0)
	if code := int32(dl.Call(set, uintptr(unsafe.Pointer(&z[0])))); code != success {
		t.Fatalf("tandemDoubleSet(%q): %d", text, code)
	}
}

func (r *rig) program(language devices.Language, text string) devices.Program {
	r.t.Helper()
	p, err := r.d.Compile(r.t.Context(), &devices.Source{Name: "test.cu", Language: language, Text: []byte(text)})
	if err != nil {
		r.t.Fatalf("%+v", err)
	}
	r.t.Cleanup(func() { _ = p.Close() })
	return p
}

func (r *rig) kernel(p devices.Program, name string) devices.Kernel {
	r.t.Helper()
	k, err := p.Kernel(name)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { _ = k.Close() })
	return k
}

func (r *rig) wait(e devices.Event, err error) error {
	r.t.Helper()
	if err != nil {
		return err
	}
	defer e.Release()
	return devices.Wait(r.t.Context(), e)
}

func (r *rig) must(e devices.Event, err error) {
	r.t.Helper()
	if err := r.wait(e, err); err != nil {
		r.t.Fatal(err)
	}
}

// buffer is device memory that holds v.
func (r *rig) buffer(v []int32) devices.Buffer {
	r.t.Helper()
	b, err := r.d.Alloc(int64(4 * len(v)))
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { _ = b.Free() })
	r.write(b, v)
	return b
}

func (r *rig) memory(n int) []byte {
	r.t.Helper()
	m, err := hostmem.Alloc(int64(n))
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { _ = hostmem.Free(m) })
	return m
}

func (r *rig) write(b devices.Buffer, v []int32) {
	r.t.Helper()
	m := r.memory(4 * len(v))
	copy(m, devices.AsBytes(v))
	r.must(r.q.Copy(&devices.Copy{Kind: devices.HostToDevice, Dst: b, Host: m, Size: int64(len(m))}, nil))
}

func (r *rig) read(b devices.Buffer) []int32 {
	r.t.Helper()
	m := r.memory(int(b.Size()))
	r.must(r.q.Copy(&devices.Copy{Kind: devices.DeviceToHost, Src: b, Host: m, Size: b.Size()}, nil))
	return slices.Clone(devices.View[int32](m))
}

func (r *rig) launch(k devices.Kernel, nd devices.NDRange, args ...devices.Arg) (devices.Event, error) {
	return r.q.Launch(&devices.Launch{Kernel: k, Range: nd, Args: args}, nil)
}

func buf(b devices.Buffer) devices.Arg { return devices.Arg{Buffer: b} }

func num[T devices.Number](v T) devices.Arg { return devices.Arg{Value: devices.AsBytes([]T{v})} }

// blank is n numbers of -1.
func blank(n int) []int32 {
	v := make([]int32, n)
	for i := range v {
		v[i] = -1
	}
	return v
}
