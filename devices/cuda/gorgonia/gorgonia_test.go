package gorgonia

import (
	"context"
	"errors"
	"os"
	"runtime"
	"testing"
	"time"
	"unsafe"

	"gorgonia.org/cu"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/devices/cpu"
	"github.com/tandemrun/tandem/devices/cuda"
	"github.com/tandemrun/tandem/kernels/library"
	tandem "github.com/tandemrun/tandem/runtime"
)

// TestMain says what the tests need: they are linked with a libcuda, and tandem
// has to load the same one.
func TestMain(m *testing.M) {
	if os.Getenv(cuda.LibraryVariable) == "" {
		os.Stderr.WriteString("the tests are for the double: see .ci/gorgonia\n")
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// made is a context that cu made, current on the test's thread.
func made(t *testing.T) cu.CUContext {
	t.Helper()
	runtime.LockOSThread()
	t.Cleanup(runtime.UnlockOSThread)
	dev, err := cu.GetDevice(0)
	if err != nil {
		t.Fatal(err)
	}
	ctx, err := dev.MakeContext(cu.SchedAuto)
	if err != nil {
		t.Fatal(err)
	}
	if err := cu.SetCurrentContext(ctx); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ctx.Destroy() })
	return ctx
}

// filled is device memory of cu's that holds v.
func filled(t *testing.T, v []float32) cu.DevicePtr {
	t.Helper()
	mem, err := cu.MemAlloc(int64(4 * len(v)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cu.MemFree(mem) })
	if err := cu.MemcpyHtoD(mem, unsafe.Pointer(&v[0]), int64(4*len(v))); err != nil {
		t.Fatal(err)
	}
	return mem
}

func contents(t *testing.T, mem cu.DevicePtr, n int) []float32 {
	t.Helper()
	v := make([]float32, n)
	if err := cu.MemcpyDtoH(unsafe.Pointer(&v[0]), mem, int64(4*n)); err != nil {
		t.Fatal(err)
	}
	return v
}

func bounded(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// TestDevice: a device in cu's context works on cu's memory where it is, and cu
// on its.
func TestDevice(t *testing.T) {
	own := made(t)
	mem := filled(t, []float32{1, 2, 3, 4})
	d, err := Driver(own).Open(bounded(t), 0)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	back, err := Context(d)
	if err != nil || back != own {
		t.Errorf("the device works in %v (%v), want %v", back, err, own)
	}
	src, err := Buffer(d, mem, 16)
	if err != nil {
		t.Fatal(err)
	}
	defer src.Free()
	dst, err := d.Alloc(16)
	if err != nil {
		t.Fatal(err)
	}
	defer dst.Free()
	q, err := d.NewQueue(devices.Compute)
	if err != nil {
		t.Fatal(err)
	}
	defer q.Close()
	e, err := q.Copy(&devices.Copy{Kind: devices.DeviceToDevice, Src: src, SrcOffset: 8, Dst: dst, Size: 8}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Release()
	if err := devices.Wait(bounded(t), e); err != nil {
		t.Fatal(err)
	}
	p, err := Pointer(dst)
	if err != nil {
		t.Fatal(err)
	}
	if got := contents(t, p, 2); got[0] != 3 || got[1] != 4 {
		t.Errorf("cu reads %v from tandem's buffer, want 3 and 4", got)
	}
	if now, err := cu.CurrentContext(); err != nil || now != own {
		t.Errorf("the current context is %v (%v), want %v", now, err, own)
	}
}

// TestSession: a session computes on bytes that come from cu and go back.
func TestSession(t *testing.T) {
	own := made(t)
	x, y := filled(t, []float32{1, 2, 3, 4, 5}), filled(t, make([]float32, 5))
	ctx := bounded(t)
	driver := Driver(own)
	if b := driver.Probe(ctx); len(b.Devices) != 1 || b.Devices[0].UUID == "" {
		t.Fatalf("the driver shows %+v (%v)", b.Devices, b.Reason)
	}
	s, err := tandem.Open(ctx, tandem.Config{Drivers: []devices.Driver{cpu.Driver{}, driver}, Devices: "cuda,cpu"})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	a := tandem.NewSlice[float32](s, 5)
	b := tandem.NewSlice[float32](s, 5)
	if err := Load(ctx, a.Buffer(), own, x); err != nil {
		t.Fatal(err)
	}
	g := tandem.NewGraph()
	g.Add(library.VectorScale, float32(10), a, b).On("cuda:0")
	r, err := s.Submit(ctx, g)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Wait(ctx); err != nil {
		t.Fatal(err)
	}
	if err := Store(ctx, own, y, b.Buffer()); err != nil {
		t.Fatal(err)
	}
	for i, v := range contents(t, y, 5) {
		if want := float32(10 * (i + 1)); v != want {
			t.Errorf("element %d is %v, want %v", i, v, want)
		}
	}
}

func TestForeign(t *testing.T) {
	d, err := cpu.Driver{}.Open(bounded(t), 0)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if _, err := Context(d); !errors.Is(err, devices.ErrInvalid) {
		t.Errorf("the context of a CPU: %v", err)
	}
	if _, err := Buffer(d, 4096, 8); !errors.Is(err, devices.ErrInvalid) {
		t.Errorf("device memory of a CPU: %v", err)
	}
}
