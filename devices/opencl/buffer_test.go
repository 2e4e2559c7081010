package opencl

import (
	"encoding/binary"
	"errors"
	"testing"

	"github.com/tandemrun/tandem/devices"
)

func TestImportHost(t *testing.T) {
	d := open(t, 0)
	if !d.info.UnifiedMemory {
		t.Skip("the device has memory of its own")
	}
	q := newQueue(t, d)
	k := kernelOf(t, compile(t, d, "__kernel void k(__global int *x) { x[get_global_id(0)] *= 2; }"), "k")
	const n = 10_000
	m := host(t, 4*n)
	b, err := d.ImportHost(m)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Free()
	for round := range 2 {
		// The second round takes the path of a device that is not the host's
		// cores.
		d.info.HostCoherent = round == 0
		for i := range n {
			binary.NativeEndian.PutUint32(m[4*i:], uint32(i+round))
		}
		transfer(t, q, &devices.Copy{Kind: devices.SyncToDevice, Dst: b, Size: 4 * n})
		launch(t, q, &devices.Launch{Kernel: k, Range: devices.NDRange{Dims: 1, Size: [3]int{n}}, Args: []devices.Arg{{Buffer: b}}})
		transfer(t, q, &devices.Copy{Kind: devices.SyncToHost, Dst: b, Size: 4 * n})
		for i, v := range ints(m) {
			if v != int32(2*(i+round)) {
				t.Fatalf("round %d: item %d is %d, want %d", round, i, v, 2*(i+round))
			}
		}
	}
	if got := d.Info().MemoryFree; got != d.info.MemoryTotal {
		t.Errorf("%d bytes are free after importing, want all %d", got, d.info.MemoryTotal)
	}
	if _, err := d.ImportHost(m[4:]); !errors.Is(err, devices.ErrUnsupported) {
		t.Errorf("memory in the middle of a page: %v", err)
	}
	d.info.UnifiedMemory = false
	if _, err := d.ImportHost(m); !errors.Is(err, devices.ErrUnsupported) {
		t.Errorf("a device with memory of its own: %v", err)
	}
	d.info.UnifiedMemory = true
	if _, err := q.Copy(&devices.Copy{Kind: devices.SyncToHost, Dst: alloc(t, d, 4), Size: 4}, nil); !errors.Is(err, devices.ErrInvalid) {
		t.Errorf("a buffer that was not imported: %v", err)
	}
}

func TestOutOfMemory(t *testing.T) {
	d := open(t, 0)
	for _, size := range []int64{d.info.MaxAlloc + 1, 1 << 60} {
		if _, err := d.Alloc(size); !errors.Is(err, devices.ErrOutOfMemory) {
			t.Errorf("Alloc(%d): %v", size, err)
		}
	}
	var held []devices.Buffer
	for {
		b, err := d.Alloc(d.info.MaxAlloc)
		if err != nil {
			if !errors.Is(err, devices.ErrOutOfMemory) {
				t.Error(err)
			}
			break
		}
		held = append(held, b)
	}
	if want := int(d.info.MemoryTotal / d.info.MaxAlloc); len(held) > want {
		t.Errorf("%d buffers of %d bytes, the device has %d bytes", len(held), d.info.MaxAlloc, d.info.MemoryTotal)
	}
	for _, b := range held {
		if err := b.Free(); err != nil {
			t.Error(err)
		}
	}
	if got := d.Info().MemoryFree; got != d.info.MemoryTotal {
		t.Errorf("%d bytes are free, want %d", got, d.info.MemoryTotal)
	}
}

func TestLeaks(t *testing.T) {
	driver := need(t)
	dd, err := driver.Open(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	d := dd.(*device)
	p, err := d.Compile(t.Context(), &devices.Source{Name: "k.cl", Language: devices.LangOpenCL, Text: []byte("__kernel void k(__global int *x) { x[0] = 1; }")})
	if err != nil {
		t.Fatal(err)
	}
	k, err := p.Kernel("k")
	if err != nil {
		t.Fatal(err)
	}
	b, _ := d.Alloc(4)
	if _, err := d.Alloc(8); err != nil {
		t.Fatal(err)
	}
	q, _ := d.NewQueue(devices.Upload)
	if _, err := q.Launch(&devices.Launch{Kernel: k, Range: devices.NDRange{Dims: 1, Size: [3]int{1}}, Args: []devices.Arg{{Buffer: b}}}, nil); err != nil {
		t.Fatal(err)
	}
	var leak *devices.LeakError
	if err := d.Close(); !errors.As(err, &leak) {
		t.Fatalf("got %v, want a *LeakError", err)
	}
	want := map[string]int{"buffer": 2, "queue": 1, "event": 1, "kernel": 1, "program": 1}
	if len(leak.Open) != len(want) {
		t.Errorf("open %v, want %v", leak.Open, want)
	}
	for kind, n := range want {
		if leak.Open[kind] != n {
			t.Errorf("%d %s(s), want %d", leak.Open[kind], kind, n)
		}
	}
	if err := d.Close(); err != nil {
		t.Errorf("second Close: %v", err)
	}
	if _, err := d.Alloc(4); !errors.Is(err, devices.ErrClosed) {
		t.Errorf("Alloc after Close: %v", err)
	}
	for _, err := range []error{q.Close(), k.Close(), p.Close(), b.Free()} {
		if err != nil {
			t.Errorf("closing after the device: %v", err)
		}
	}
}

func TestDivide(t *testing.T) {
	d := open(t, 0)
	if d.info.SubDevices < 2 {
		t.Skip("the device cannot be cut")
	}
	parts, err := d.Divide([]int{1, 1})
	if err != nil {
		t.Fatal(err)
	}
	for i, part := range parts {
		info := part.Info()
		if info.ComputeUnits != 1 || info.PhysicalID != d.info.PhysicalID || info.ID != d.info.ID+[]string{".0", ".1"}[i] {
			t.Errorf("part %d: %+v", i, info)
		}
	}
	if n := d.open[kindDevice].Load(); n != 2 {
		t.Errorf("%d sub-devices are open, want 2", n)
	}
	t.Run("work", func(t *testing.T) {
		for i, part := range parts {
			q := newQueue(t, part)
			k := kernelOf(t, compile(t, part, "__kernel void k(__global int *x, int v) { x[get_global_id(0)] = v + get_global_id(0); }"), "k")
			x := alloc(t, part, 4*1000)
			launch(t, q, &devices.Launch{Kernel: k, Range: devices.NDRange{Dims: 1, Size: [3]int{1000}}, Args: []devices.Arg{{Buffer: x}, i32(int32(i))}})
			if got := ints(download(t, q, x)); got[0] != int32(i) || got[999] != int32(999+i) {
				t.Errorf("part %d: x[0] = %d, x[999] = %d", i, got[0], got[999])
			}
		}
	})
	for _, part := range parts {
		if err := part.Close(); err != nil {
			t.Error(err)
		}
	}
	for _, counts := range [][]int{nil, {0, 1}, {-1}, {d.info.ComputeUnits, 1}} {
		if _, err := d.Divide(counts); !errors.Is(err, devices.ErrInvalid) {
			t.Errorf("Divide(%v): %v", counts, err)
		}
	}
}
