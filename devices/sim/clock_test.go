package sim_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/devices/devicetest"
	"github.com/tandemrun/tandem/devices/sim"
)

// balanced takes 1 ms for each of upload, launch and download of 1000 bytes.
func balanced(copyEngines int) sim.Spec {
	link := devices.Link{Bandwidth: 1e6}
	return sim.Spec{CopyEngines: copyEngines, Upload: link, Download: link, Kernels: map[string]sim.KernelSpec{"*": {ItemsPerSecond: 1e6}}}
}

// TestClock runs four chunks through upload, launch and download and knows
// when each is over.
func TestClock(t *testing.T) {
	for _, c := range []struct {
		engines                    int
		uploads, launches, returns []string
	}{
		{0, // everything on one engine, in the order of readiness
			[]string{"0s-1ms", "2ms-3ms", "5ms-6ms", "8ms-9ms"},
			[]string{"1ms-2ms", "4ms-5ms", "7ms-8ms", "10ms-11ms"},
			[]string{"3ms-4ms", "6ms-7ms", "9ms-10ms", "11ms-12ms"}},
		{1,
			[]string{"0s-1ms", "1ms-2ms", "2ms-3ms", "4ms-5ms"},
			[]string{"1ms-2ms", "2ms-3ms", "3ms-4ms", "5ms-6ms"},
			[]string{"3ms-4ms", "5ms-6ms", "6ms-7ms", "7ms-8ms"}},
		{2,
			[]string{"0s-1ms", "1ms-2ms", "2ms-3ms", "3ms-4ms"},
			[]string{"1ms-2ms", "2ms-3ms", "3ms-4ms", "4ms-5ms"},
			[]string{"2ms-3ms", "3ms-4ms", "4ms-5ms", "5ms-6ms"}},
	} {
		for range 20 { // the same every time
			r := newRig(t, driver(t, balanced(c.engines)), 0)
			r.driver.Hold()
			var ups, runs, downs []devices.Event
			var back [][]byte
			for i := range 4 {
				b, m, n := r.alloc(1000), r.host(1000), r.host(1000)
				m[7] = byte(10 * i)
				ups = append(ups, r.up(b, m))
				runs = append(runs, r.launch(b, ups[i]))
				downs = append(downs, r.down(b, n, runs[i]))
				back = append(back, n)
			}
			r.driver.Release()
			for i := range 4 {
				r.wantSpan("upload", ups[i], c.uploads[i])
				r.wantSpan("launch", runs[i], c.launches[i])
				r.wantSpan("download", downs[i], c.returns[i])
				if back[i][7] != byte(10*i+1) || back[i][8] != 1 {
					t.Errorf("chunk %d came back as %v", i, back[i][7:9])
				}
			}
			if t.Failed() {
				t.Fatalf("with %d copy engines", c.engines)
			}
		}
	}
}

func TestCosts(t *testing.T) {
	for name, c := range map[string]struct {
		spec sim.Spec
		want string // of a launch of 1000 work-items on 1000 bytes
	}{
		"nothing said":          {sim.Spec{}, "0s-0s"},
		"one flop an item":      {sim.Spec{Flops: 1e6}, "0s-1ms"},
		"the buffer's bytes":    {sim.Spec{Flops: 1e9, Bandwidth: 5e5}, "0s-2ms"},
		"latency":               {sim.Spec{Flops: 1e6, LaunchLatency: 2 * ms}, "0s-3ms"},
		"by name":               {sim.Spec{Kernels: map[string]sim.KernelSpec{"increment": {Time: 5 * ms}, "*": {Time: 7 * ms}}}, "0s-5ms"},
		"star":                  {sim.Spec{Kernels: map[string]sim.KernelSpec{"other": {Time: 5 * ms}, "*": {Time: 7 * ms}}}, "0s-7ms"},
		"sum":                   {sim.Spec{Flops: 1e6, Bandwidth: 1e6, Kernels: map[string]sim.KernelSpec{"*": {Time: ms, ItemsPerSecond: 1e6, FlopsPerItem: 2, BytesPerItem: 3}}}, "0s-5ms"},
		"slow":                  {sim.Spec{Flops: 1e6, LaunchLatency: ms, Slowdown: 3}, "0s-4ms"},
		"throttled all along":   {sim.Spec{Flops: 1e6, Throttle: []sim.Window{{0, 10 * ms, 4}}}, "0s-4ms"},
		"throttled in between":  {sim.Spec{Flops: 1e5, Throttle: []sim.Window{{7 * ms, 8 * ms, 2}, {2 * ms, 4 * ms, 4}}}, "0s-12ms"},
		"throttled too late":    {sim.Spec{Flops: 1e6, Throttle: []sim.Window{{1 * ms, 4 * ms, 4}}}, "0s-1ms"},
		"latency before window": {sim.Spec{Flops: 1e6, LaunchLatency: 2 * ms, Throttle: []sim.Window{{0, 2 * ms, 4}}}, "0s-3ms"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, driver(t, c.spec), 0)
			r.wantSpan("the launch", r.launch(r.alloc(1000)), c.want)
		})
	}
}

// TestPart: a part of a launch takes its part of the time, the bytes of the
// buffers included.
func TestPart(t *testing.T) {
	r := newRig(t, driver(t, sim.Spec{Bandwidth: 1e6}), 0)
	b := r.alloc(1000)
	nd := devices.NDRange{Dims: 1, Size: [3]int{250}, Offset: [3]int{500}, Whole: [3]int{1000}}
	e := r.keep(r.q[0].Launch(&devices.Launch{Kernel: r.kernel, Range: nd, Args: []devices.Arg{{Buffer: b}}}, nil))
	r.wantSpan("a quarter", e, "0s-250µs")
}

func TestNoise(t *testing.T) {
	times := func(seed uint64) (all []time.Duration) {
		r := newRig(t, driver(t, sim.Spec{Flops: 1e6, Noise: sim.Noise{Spread: 0.1, Seed: seed}}), 0)
		b := r.alloc(1000)
		for range 200 {
			e := r.launch(b)
			r.span(e)
			at, _ := e.Times()
			all = append(all, at.Run())
		}
		return all
	}
	a, again, other := times(1), times(1), times(2)
	same, low, sum := 0, 0, time.Duration(0)
	for i := range a {
		if a[i] != again[i] {
			t.Fatalf("launch %d took %v and then %v with one seed", i, a[i], again[i])
		}
		if a[i] == other[i] {
			same++
		}
		if a[i] < ms {
			low++
		}
		sum += max(a[i]-ms, ms-a[i])
	}
	if mean := sum / 200; same > 2 || low < 60 || low > 140 || mean < 50*time.Microsecond || mean > 120*time.Microsecond {
		t.Errorf("%d times equal with another seed, %d of 200 below the middle, mean deviation %v", same, low, mean)
	}
}

func TestHold(t *testing.T) {
	r := newRig(t, driver(t, balanced(2)), 0)
	clock, ok := devices.As[devices.Clocked](r.dev)
	if !ok {
		t.Fatal("the device has no clock")
	}
	clock.Hold()
	clock.Hold()
	e := r.launch(r.alloc(1000))
	clock.Release()
	for range 1000 {
		runtime.Gosched()
	}
	if done, _ := e.Done(); done || clock.Now() != 0 {
		t.Fatalf("while the clock is held the launch is done: %v, and it is %v", done, clock.Now())
	}
	clock.Release()
	r.wantSpan("the launch", e, "0s-1ms")
	if r.driver.Now() != ms {
		t.Errorf("the clock says %v, want 1ms", r.driver.Now())
	}
}

// TestTwoDevices share a clock; each has engines of its own.
func TestTwoDevices(t *testing.T) {
	slow := balanced(2)
	slow.Slowdown = 3
	d := driver(t, balanced(2), slow)
	a, b := newRig(t, d, 0), newRig(t, d, 1)
	d.Hold()
	e, f := a.launch(a.alloc(1000)), b.launch(b.alloc(1000))
	d.Release()
	a.wantSpan("the fast one", e, "0s-1ms")
	b.wantSpan("the slow one", f, "0s-3ms")
	a.wantSpan("the next", a.launch(a.alloc(500)), "3ms-3.5ms")
}

func TestPeer(t *testing.T) {
	spec := balanced(2)
	spec.Peer = &devices.Link{Latency: ms, Bandwidth: 1e6}
	d := driver(t, spec, balanced(2))
	a, b := newRig(t, d, 0), newRig(t, d, 1)
	pa, _ := devices.As[devices.PeerCopier](a.dev)
	pb, _ := devices.As[devices.PeerCopier](b.dev)
	if !pa.CanCopyFrom(b.dev) || pa.CanCopyFrom(a.dev) || pb.CanCopyFrom(a.dev) {
		t.Errorf("a from b %v, a from a %v, b from a %v; want true, false, false", pa.CanCopyFrom(b.dev), pa.CanCopyFrom(a.dev), pb.CanCopyFrom(a.dev))
	}
	from, to, m := b.alloc(1000), a.alloc(1000), a.host(1000)
	b.span(b.launch(from)) // it holds ones, or one more than what was there
	c := &devices.Copy{Kind: devices.DeviceToDevice, Src: from, Dst: to, Size: 1000}
	a.wantSpan("the peer copy", a.keep(a.q[devices.Upload].Copy(c, nil)), "1ms-3ms")
	a.span(a.down(to, m))
	if m[0] != 1 || m[999] != 1 {
		t.Errorf("the peer copy brought %d and %d, want ones", m[0], m[999])
	}
	if _, err := b.q[0].Copy(&devices.Copy{Kind: devices.DeviceToDevice, Src: to, Dst: from, Size: 1000}, nil); !errors.Is(err, devices.ErrInvalid) {
		t.Errorf("a peer copy without a link: %v, want ErrInvalid", err)
	}
}

func TestLost(t *testing.T) {
	spec := balanced(2)
	spec.LostAt = 2500 * time.Microsecond
	d := driver(t, spec, balanced(2))
	r, other := newRig(t, d, 0), newRig(t, d, 1)
	b, m := r.alloc(1000), r.host(1000)
	d.Hold()
	var events []devices.Event
	for range 4 {
		events = append(events, r.launch(b))
	}
	independent := r.up(r.alloc(2000), r.host(2000)) // done at 2 ms
	waiting := r.up(b, m, events[3])
	there := other.launch(other.alloc(3000))
	d.Release()
	r.wantSpan("the first", events[0], "0s-1ms")
	r.wantSpan("the second", events[1], "1ms-2ms")
	r.wantSpan("the upload", independent, "0s-2ms")
	for i, e := range append(events[2:], waiting) {
		err := devices.Wait(context.Background(), e)
		if !errors.Is(err, devices.ErrDeviceLost) || !strings.Contains(err.Error(), "sim:0") || !strings.Contains(err.Error(), "2.5ms") {
			t.Errorf("command %d: %v, want sim:0 lost at 2.5ms", i+2, err)
		}
		if at, _ := e.Times(); at.End != 2500*time.Microsecond {
			t.Errorf("command %d ended at %v, want 2.5ms", i+2, at.End)
		}
	}
	other.wantSpan("a launch on the other device", there, "0s-3ms")
	if _, err := r.dev.Alloc(1); !errors.Is(err, devices.ErrDeviceLost) {
		t.Errorf("Alloc on a lost device: %v", err)
	}
	if _, err := r.q[0].Copy(&devices.Copy{Kind: devices.HostToDevice, Dst: b, Host: m, Size: 1}, nil); !errors.Is(err, devices.ErrDeviceLost) {
		t.Errorf("Copy on a lost device: %v", err)
	}
	if _, err := d.Open(t.Context(), 0); !errors.Is(err, devices.ErrDeviceLost) {
		t.Errorf("Open of a lost device: %v", err)
	}
}

func TestMemory(t *testing.T) {
	spec := balanced(2)
	spec.Memory, spec.MaxAlloc, spec.OutOfMemory = 10000, 6000, []sim.Window{{From: 1 * ms, To: 2 * ms}}
	r := newRig(t, driver(t, spec), 0)
	refused := func(n int64, words ...string) {
		t.Helper()
		_, err := r.dev.Alloc(n)
		if !errors.Is(err, devices.ErrOutOfMemory) {
			t.Fatalf("Alloc(%d) at %v: %v, want ErrOutOfMemory", n, r.driver.Now(), err)
		}
		for _, w := range words {
			if !strings.Contains(err.Error(), w) {
				t.Errorf("the error %q does not say %q", err, w)
			}
		}
	}
	refused(6001, "sim:0", "6001", "6000")
	b := r.alloc(6000)
	refused(4001, "4001", "6000", "10000")
	if free := r.dev.Info().MemoryFree; free != 4000 {
		t.Errorf("%d bytes free, want 4000", free)
	}
	one := r.alloc(1000)
	r.span(r.launch(one))
	refused(1, "1ms", "2ms")
	r.span(r.launch(one))
	r.alloc(1)
	if err := b.Free(); err != nil {
		t.Fatal(err)
	}
	r.alloc(6000)
}

// TestGoexit: a kernel that ends its goroutine ends neither the device nor
// others' commands.
func TestGoexit(t *testing.T) {
	devicetest.CheckGoroutines(t)
	r := newRig(t, driver(t, balanced(2)), 0)
	p, err := r.dev.Compile(t.Context(), &devices.Source{Name: "exit", Language: devices.LangGo, Go: map[string]devices.GoFunc{
		"exit": func(devices.Range, *devices.Args) { runtime.Goexit() }}})
	if err != nil {
		t.Fatal(err)
	}
	k, _ := p.Kernel("exit")
	defer func() { _, _ = k.Close(), p.Close() }()
	b := r.alloc(1000)
	r.driver.Hold()
	bad := r.keep(r.q[devices.Upload].Launch(&devices.Launch{Kernel: k, Range: devices.NDRange{Dims: 1, Size: [3]int{1000}}}, nil))
	good := r.launch(b)
	r.driver.Release()
	var pe *sim.PanicError
	if err := devices.Wait(t.Context(), bad); !errors.As(err, &pe) || pe.Value != nil || pe.Kernel != "exit" || !strings.Contains(err.Error(), "Goexit") {
		t.Errorf("err = %v, want a PanicError about Goexit", err)
	}
	r.wantSpan("the good one", good, "0s-1ms")
	r.wantSpan("one after it", r.launch(b), "2ms-3ms")
}

// TestReopen: the clock goes on over the devices' lives, and nothing of them
// is left when all are closed.
func TestReopen(t *testing.T) {
	devicetest.CheckGoroutines(t)
	d := driver(t, balanced(2))
	for i := range 50 {
		t.Run("", func(t *testing.T) {
			r := newRig(t, d, 0)
			r.span(r.launch(r.alloc(1000)))
			if want := time.Duration(i+1) * ms; d.Now() != want {
				t.Errorf("the clock says %v, want %v", d.Now(), want)
			}
		})
	}
}
