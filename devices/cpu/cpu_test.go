package cpu_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/devices/cpu"
	"github.com/tandemrun/tandem/devices/devicetest"
)

func run(t *testing.T, q devices.Queue, k devices.Kernel, items int, args ...devices.Arg) (devices.Times, error) {
	t.Helper()
	ev, err := q.Launch(&devices.Launch{Kernel: k, Range: devices.NDRange{Dims: 1, Size: [3]int{items}}, Args: args}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer ev.Release()
	err = devices.Wait(t.Context(), ev)
	times, _ := ev.Times()
	return times, err
}

// TestWorkersTogether has each work-item wait for all others: it ends only if
// every worker takes one, however long each of them lasts.
func TestWorkersTogether(t *testing.T) {
	devicetest.CheckGoroutines(t)
	const workers = 5
	var running atomic.Int32
	meet := func(r devices.Range, _ *devices.Args) {
		running.Add(1)
		for running.Load() < workers && t.Context().Err() == nil {
			runtime.Gosched()
		}
	}
	_, q, k := opened(t, workers, meet)
	if _, err := run(t, q, k, workers); err != nil {
		t.Fatal(err)
	}
	if n := running.Load(); n != workers {
		t.Errorf("%d calls, want one for each of %d workers", n, workers)
	}
}

// TestMisjudged runs a kernel that was always short and suddenly is not: the
// others still come to help.
func TestMisjudged(t *testing.T) {
	devicetest.CheckGoroutines(t)
	var long atomic.Bool
	var first, others atomic.Int32
	f := func(r devices.Range, _ *devices.Args) {
		if !long.Load() {
			return
		}
		if first.Add(1) == 1 { // the chunk that nobody could help with
			for start := time.Now(); time.Since(start) < time.Millisecond; {
				runtime.Gosched()
			}
			return
		}
		others.Add(1)
		for others.Load() < 2 && t.Context().Err() == nil {
			runtime.Gosched()
		}
	}
	_, q, k := opened(t, 2, f)
	for range 50 {
		if _, err := run(t, q, k, 1000); err != nil {
			t.Fatal(err)
		}
	}
	long.Store(true)
	if _, err := run(t, q, k, 1000); err != nil {
		t.Fatal(err)
	}
}

func TestPanic(t *testing.T) {
	devicetest.CheckGoroutines(t)
	cause := errors.New("a cause")
	for name, c := range map[string]struct {
		f    devices.GoFunc
		says string
		as   func(err error) bool
	}{
		"string": {func(devices.Range, *devices.Args) { panic("oh dear") }, "panic: oh dear", nil},
		"error":  {func(devices.Range, *devices.Args) { panic(cause) }, "panic: a cause", func(err error) bool { return errors.Is(err, cause) }},
		"index": {func(r devices.Range, a *devices.Args) { _ = a.Bytes(0)[r.Hi[0]] }, "index out of range", func(err error) bool {
			_, ok := errors.AsType[runtime.Error](err)
			return ok
		}},
		"goexit": {func(devices.Range, *devices.Args) { runtime.Goexit() }, "runtime.Goexit was called", nil},
	} {
		for _, items := range []int{1, 64} {
			t.Run(fmt.Sprintf("%s/items=%d", name, items), func(t *testing.T) {
				_, q, k := opened(t, 3, c.f)
				for range 5 { // more often than there are workers
					_, err := run(t, q, k, items, devices.Arg{Value: make([]byte, 1)})
					pe, ok := errors.AsType[*cpu.PanicError](err)
					if !ok {
						t.Fatalf("the launch gave %v, want a *PanicError", err)
					}
					for _, want := range []string{"cpu:0", "kernel f", "work-items [", c.says} {
						if !strings.Contains(err.Error(), want) {
							t.Errorf("the error %q does not say %q", err, want)
						}
					}
					if r := pe.Range; r.Hi[0] <= r.Lo[0] || r.Hi[0] > items {
						t.Errorf("the range of the panic is %+v", r)
					}
					if c.as != nil && !c.as(err) {
						t.Errorf("the error %v does not unwrap to what the kernel panicked with", err)
					}
					full := fmt.Sprintf("%+v", err)
					if name != "goexit" && (!strings.Contains(full, "cpu_test.TestPanic.func") || strings.Contains(full, "(*worker)")) {
						t.Errorf("the stack should be the kernel's frames only:\n%s", full)
					}
				}
			})
		}
	}
}

// TestAfterPanic shows that one failed chunk neither loses the others'
// workers nor the launch behind it.
func TestAfterPanic(t *testing.T) {
	devicetest.CheckGoroutines(t)
	var calls atomic.Int32
	_, q, k := opened(t, 4, func(r devices.Range, _ *devices.Args) {
		if calls.Add(1)%101 == 3 { // a launch may be many calls
			panic("one in a hundred")
		}
	})
	failed := 0
	for range 200 {
		if _, err := run(t, q, k, 1000); err != nil {
			failed++
		}
	}
	if failed == 0 || failed == 200 {
		t.Errorf("%d of 200 launches failed", failed)
	}
}

func TestDivide(t *testing.T) {
	devicetest.CheckGoroutines(t)
	d, err := cpu.Driver{Workers: 6}.Open(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	div, ok := devices.As[devices.Divider](d)
	if !ok {
		t.Fatal("the device does not divide")
	}
	for counts, says := range map[[2]int]string{{4, 3}: "7 compute units asked for", {0, 1}: "a part of 0", {-1, 2}: "a part of -1", {7, 1}: "a part of 7"} {
		if _, err := div.Divide(counts[:]); !errors.Is(err, devices.ErrInvalid) || !strings.Contains(err.Error(), says) {
			t.Errorf("Divide(%v) gave %v, want one that says %q", counts, err, says)
		}
	}
	if _, err := div.Divide(nil); !errors.Is(err, devices.ErrInvalid) {
		t.Errorf("Divide(nil) gave %v", err)
	}
	parts, err := div.Divide([]int{1, 2})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := div.Divide([]int{4}); !errors.Is(err, devices.ErrInvalid) {
		t.Errorf("dividing 4 off 6 of which 3 are in parts gave %v", err)
	}
	more, err := div.Divide([]int{3})
	if err != nil {
		t.Fatal(err)
	}
	for i, p := range append(parts, more...) {
		info := p.Info()
		if want := fmt.Sprintf("cpu:0.%d", i); info.ID != want || info.ComputeUnits != i+1 || info.Queues != i+1 || info.PhysicalID != "cpu:0" {
			t.Errorf("part %d is %q with %d compute units, %d queues, physical id %q; want %q, %d", i, info.ID, info.ComputeUnits, info.Queues, info.PhysicalID, want, i+1)
		}
	}
	// A part takes nothing of the whole.
	b, err := d.Alloc(16)
	if err != nil {
		t.Fatal(err)
	}
	q, err := parts[1].NewQueue(devices.Upload)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := q.Copy(&devices.Copy{Kind: devices.HostToDevice, Dst: b, Host: make([]byte, 16), Size: 16}, nil); !errors.Is(err, devices.ErrInvalid) {
		t.Errorf("a copy to the whole's buffer on a part's queue gave %v", err)
	}
	for _, c := range []interface{ Close() error }{q, parts[0], parts[1]} {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
	_ = b.Free()
	leak, ok := errors.AsType[*devices.LeakError](d.Close())
	if !ok || len(leak.Open) != 1 || leak.Open["device"] != 1 {
		t.Errorf("closing the whole with a part open gave %v", leak)
	}
	if err := more[0].Close(); err != nil {
		t.Error(err)
	}
}

// TestParts holds a part to the kit.
func TestParts(t *testing.T) {
	devicetest.Run(t, devicetest.Options{Driver: partDriver{}, Kernels: devicetest.GoKernels(), Skip: map[string]string{
		"probe-twice": "the part is not the device that is probed",
	}})
}

// partDriver opens a part of two workers of a device of three.
type partDriver struct{}

func (partDriver) Name() string { return "cpu" }

func (partDriver) Probe(ctx context.Context) devices.Backend {
	return cpu.Driver{Workers: 3}.Probe(ctx)
}

func (partDriver) Open(ctx context.Context, ordinal int) (devices.Device, error) {
	d, err := cpu.Driver{Workers: 3}.Open(ctx, ordinal)
	if err != nil {
		return nil, err
	}
	div, _ := devices.As[devices.Divider](d)
	parts, err := div.Divide([]int{2})
	if err != nil {
		return nil, err
	}
	return &part{parts[0], d}, nil
}

type part struct {
	devices.Device
	whole devices.Device
}

func (p *part) Unwrap() devices.Device { return p.Device }

func (p *part) Close() error {
	err := p.Device.Close()
	return errors.Join(err, p.whole.Close())
}

func TestImportUnaligned(t *testing.T) {
	d, _, _ := opened(t, 1, nothing)
	m, _ := devices.As[devices.HostMapper](d)
	if _, err := m.ImportHost(make([]byte, 64)[1:]); !errors.Is(err, devices.ErrUnsupported) || !strings.Contains(err.Error(), "cpu:0: ImportHost(63 bytes") {
		t.Errorf("importing unaligned memory gave %v", err)
	}
}

func TestCompileCancelled(t *testing.T) {
	d, _, _ := opened(t, 1, nothing)
	ctx, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("enough")
	cancel(cause)
	if _, err := d.Compile(ctx, devicetest.GoKernels()); !errors.Is(err, cause) {
		t.Errorf("Compile with a cancelled context gave %v, want its cause", err)
	}
}
