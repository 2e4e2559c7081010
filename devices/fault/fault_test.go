package fault_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/devices/cpu"
	"github.com/tandemrun/tandem/devices/devicetest"
	"github.com/tandemrun/tandem/devices/fault"
)

// rig is a device that fails by a plan, with a queue, a buffer of 64 zeros and
// the kernels fill and mad_u32, all made before the plan began.
type rig struct {
	*fault.Device
	t    *testing.T
	q    devices.Queue
	b    devices.Buffer
	fill devices.Kernel
	mad  devices.Kernel
	made int // calls that making it took
}

func build(t *testing.T, p fault.Plan) *rig {
	t.Helper()
	devicetest.CheckGoroutines(t)
	inner, err := cpu.Driver{Workers: 2}.Open(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	const made = 5
	for i := range p.Rules {
		if r := &p.Rules[i]; r.Op == fault.Any && r.Nth > 0 {
			r.Nth += made
		}
	}
	if p.LostAt > 0 {
		p.LostAt += made
	}
	r := &rig{Device: fault.Wrap(inner, p), t: t, made: made}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	r.q, err = r.NewQueue(devices.Compute)
	must(err)
	r.b, err = r.Alloc(64)
	must(err)
	prog, err := r.Compile(t.Context(), devicetest.GoKernels())
	must(err)
	r.fill, err = prog.Kernel("fill")
	must(err)
	r.mad, err = prog.Kernel("mad_u32")
	must(err)
	t.Cleanup(func() {
		for _, c := range []interface{ Close() error }{r.q, r.fill, r.mad, prog} {
			must(c.Close())
		}
		must(r.b.Free())
		must(r.Close())
	})
	return r
}

func (r *rig) launch(v byte, wait ...devices.Event) (devices.Event, error) {
	return r.q.Launch(&devices.Launch{Kernel: r.fill, Range: devices.NDRange{Dims: 1, Size: [3]int{64}},
		Args: []devices.Arg{{Buffer: r.b}, {Value: []byte{v}}}}, wait)
}

func (r *rig) contents() []byte {
	r.t.Helper()
	m := make([]byte, 64)
	ev, err := r.q.Copy(&devices.Copy{Kind: devices.DeviceToHost, Src: r.b, Host: m, Size: 64}, nil)
	if err != nil {
		r.t.Fatal(err)
	}
	defer ev.Release()
	if err := devices.Wait(r.t.Context(), ev); err != nil {
		r.t.Fatal(err)
	}
	return m
}

func TestNth(t *testing.T) {
	r := build(t, fault.Plan{Rules: []fault.Rule{{Op: fault.Alloc, Nth: 3}}}) // the rig's was the first
	for i, want := range []bool{true, false, true, true} {
		b, err := r.Alloc(1000)
		if (err == nil) != want {
			t.Fatalf("Alloc %d: error %v", i+2, err)
		}
		if err != nil {
			if !errors.Is(err, devices.ErrOutOfMemory) || err.Error() != "cpu:0: Alloc (1000 bytes): injected fault at call 7: out of device memory" {
				t.Errorf("the fault is %v", err)
			}
			continue
		}
		_ = b.Free()
	}
	got := r.Injected()
	if len(got) != 1 || got[0].Op != fault.Alloc || got[0].Call != 7 || got[0].Rule != 0 || got[0].Later || got[0].Device != "cpu:0" {
		t.Errorf("Injected says %+v", got)
	}
	if s := got[0].String(); !strings.HasPrefix(s, "call 7: Alloc  on cpu:0 fails: cpu:0: Alloc") {
		t.Errorf("it prints as %q", s)
	}
}

func TestRules(t *testing.T) {
	other := errors.New("another class")
	for name, c := range map[string]struct {
		rule fault.Rule
		want string // of 8 launches of fill: x fails
		err  error
	}{
		"nth":           {fault.Rule{Op: fault.Launch, Nth: 2}, ".x......", devices.ErrOutOfMemory},
		"every":         {fault.Rule{Op: fault.Launch, Every: 3}, "..x..x..", devices.ErrOutOfMemory},
		"most":          {fault.Rule{Op: fault.Launch, Every: 1, Most: 2}, "xx......", devices.ErrOutOfMemory},
		"any":           {fault.Rule{Nth: 4}, "...x....", devices.ErrOutOfMemory},
		"name":          {fault.Rule{Op: fault.Launch, Name: "fill", Nth: 1}, "x.......", devices.ErrOutOfMemory},
		"another name":  {fault.Rule{Op: fault.Launch, Name: "mad_u32", Nth: 1}, "........", nil},
		"another op":    {fault.Rule{Op: fault.Copy, Every: 1}, "........", nil},
		"class":         {fault.Rule{Op: fault.Launch, Nth: 1, Err: other}, "x.......", other},
		"certain":       {fault.Rule{Op: fault.Launch, Probability: 1}, "xxxxxxxx", devices.ErrOutOfMemory},
		"never strikes": {fault.Rule{Op: fault.Launch}, "........", nil},
	} {
		t.Run(name, func(t *testing.T) {
			r := build(t, fault.Plan{Rules: []fault.Rule{c.rule}})
			got := ""
			for range 8 {
				ev, err := r.launch(1)
				if err == nil {
					ev.Release()
					got += "."
					continue
				}
				got += "x"
				if !errors.Is(err, c.err) || err == c.err {
					t.Errorf("the error is %v, want it to wrap %v", err, c.err)
				}
			}
			if got != c.want {
				t.Errorf("launches fail %s, want %s", got, c.want)
			}
		})
	}
}

// TestChance holds the faults of a seed to be the same in every run, about as
// many as asked for, and others for another seed.
func TestChance(t *testing.T) {
	strikes := func(seed uint64, goroutines int) (calls []int) {
		t.Run(fmt.Sprintf("seed=%d/goroutines=%d", seed, goroutines), func(t *testing.T) { calls = strike(t, seed, goroutines) })
		return calls
	}
	// Seeds with which the rig's own Alloc works.
	one, again, many, other := strikes(5, 1), strikes(5, 1), strikes(5, 4), strikes(7, 1)
	if len(one) < 180 || len(one) > 300 {
		t.Errorf("%d of 1200 calls failed, want about 240", len(one))
	}
	if !slices.Equal(one, again) || !slices.Equal(one, many) {
		t.Errorf("one seed gave %d, %d and, from four goroutines, %d faults, not all at the same calls", len(one), len(again), len(many))
	}
	if slices.Equal(one, other) {
		t.Error("two seeds gave the same faults")
	}
}

// TestLater has a launch fail after it was enqueued: it does not run, what
// waits for it fails with it, what does not still runs, in order.
func TestLater(t *testing.T) {
	var mu sync.Mutex
	var reported []fault.Injection
	r := build(t, fault.Plan{
		Rules:  []fault.Rule{{Op: fault.Launch, Nth: 2, Later: true, Err: devices.ErrTimeout}},
		Report: func(i fault.Injection) { mu.Lock(); reported = append(reported, i); mu.Unlock() },
	})
	var events []devices.Event
	enqueue := func(v byte, wait ...devices.Event) devices.Event {
		t.Helper()
		ev, err := r.launch(v, wait...)
		if err != nil {
			t.Fatal(err)
		}
		events = append(events, ev)
		return ev
	}
	first := enqueue(1)
	bad := enqueue(2, first)
	after := enqueue(3, bad)
	copied, err := r.q.Copy(&devices.Copy{Kind: devices.HostToDevice, Dst: r.b, Host: []byte{9}, Size: 1}, []devices.Event{first, after})
	if err != nil {
		t.Fatal(err)
	}
	events = append(events, copied)
	if got := r.contents(); got[0] != 1 || got[63] != 1 {
		t.Errorf("commands that had to be left out wrote %v", got)
	}
	want := "cpu:0: compute#1: Launch fill: injected fault at call 7: timed out"
	for i, ev := range []devices.Event{bad, after, copied} {
		if err := devices.Wait(t.Context(), ev); !errors.Is(err, devices.ErrTimeout) || err.Error() != want {
			t.Errorf("event %d ended with %v, want %s", i, err, want)
		}
		if done, err := ev.Done(); !done || err == nil || err.Error() != want {
			t.Errorf("event %d is done: %v, %v", i, done, err)
		}
		if times, err := ev.Times(); err != nil || times.End < times.Queued {
			t.Errorf("event %d has times %+v, %v", i, times, err)
		}
	}
	if err := devices.Wait(t.Context(), first); err != nil {
		t.Errorf("the launch before failed: %v", err)
	}
	fine := enqueue(4)
	if err := devices.Wait(t.Context(), fine); err != nil || r.contents()[5] != 4 {
		t.Errorf("a launch after it ended with %v", err)
	}
	for _, ev := range events {
		ev.Release()
	}
	if len(reported) != 1 || !reported[0].Later || reported[0].Name != "fill" || !errors.Is(reported[0].Err, devices.ErrTimeout) {
		t.Errorf("reported was %v", reported)
	}
}

func TestLost(t *testing.T) {
	r := build(t, fault.Plan{LostAt: 3})
	one, err := r.launch(1)
	if err != nil {
		t.Fatal(err)
	}
	two, err := r.launch(2, one)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		_, err := r.launch(3)
		if !errors.Is(err, devices.ErrDeviceLost) || err.Error() != fmt.Sprintf("cpu:0: compute#1: Launch fill: injected fault at call %d: device lost", r.made+3+i) {
			t.Errorf("Launch on a lost device gave %v", err)
		}
	}
	if _, err := r.Alloc(1); !errors.Is(err, devices.ErrDeviceLost) {
		t.Errorf("Alloc on a lost device gave %v", err)
	}
	if err := r.q.Flush(); !errors.Is(err, devices.ErrDeviceLost) {
		t.Errorf("Flush on a lost device gave %v", err)
	}
	for _, ev := range []devices.Event{one, two} {
		if err := devices.Wait(t.Context(), ev); err != nil {
			t.Errorf("what was enqueued before ended with %v", err)
		}
		ev.Release()
	}
}

func TestLose(t *testing.T) {
	r := build(t, fault.Plan{})
	if ev, err := r.launch(1); err != nil {
		t.Fatal(err)
	} else {
		ev.Release()
	}
	r.Lose()
	if _, err := r.launch(1); !errors.Is(err, devices.ErrDeviceLost) {
		t.Errorf("Launch on a lost device gave %v", err)
	}
}

func TestLostAfter(t *testing.T) {
	inner, err := cpu.Driver{Workers: 1}.Open(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	d := fault.Wrap(inner, fault.Plan{LostAfter: 1}) // a nanosecond
	for began := devices.Now(); devices.Now() <= began+time.Microsecond; {
	}
	if _, err := d.Alloc(1); !errors.Is(err, devices.ErrDeviceLost) {
		t.Errorf("Alloc after the time gave %v", err)
	}
	if err := d.Close(); err != nil {
		t.Errorf("closing a lost device gave %v", err)
	}
}

// TestImported passes an imported buffer, which no wrapper sees being made,
// through the wrapper.
func TestImported(t *testing.T) {
	r := build(t, fault.Plan{Rules: []fault.Rule{{Op: fault.Launch, Nth: 2, Later: true}}})
	m, ok := devices.As[devices.HostMapper](r)
	if !ok {
		t.Fatal("the ability does not show through")
	}
	mem := devices.AsBytes(make([]uint64, 8))
	b, err := m.ImportHost(mem)
	if err != nil {
		t.Fatal(err)
	}
	l := &devices.Launch{Kernel: r.mad, Range: devices.NDRange{Dims: 1, Size: [3]int{16}},
		Args: []devices.Arg{{Buffer: b}, {Value: []byte{1, 0, 0, 0}}, {Value: []byte{7, 0, 0, 0}}}}
	for i, fails := range []bool{false, true, false} {
		ev, err := r.q.Launch(l, nil)
		if err != nil {
			t.Fatal(err)
		}
		s, err := r.q.Copy(&devices.Copy{Kind: devices.SyncToHost, Dst: b, Size: 64}, []devices.Event{ev})
		if err != nil {
			t.Fatal(err)
		}
		if err := devices.Wait(t.Context(), s); (err != nil) != fails {
			t.Errorf("launch %d ended with %v", i, err)
		}
		ev.Release()
		s.Release()
	}
	if got := devices.View[uint32](mem); got[0] != 14 || got[15] != 14 {
		t.Errorf("the host's memory holds %v, want 14 everywhere", got)
	}
	if err := b.Free(); err != nil {
		t.Error(err)
	}
}

// TestDriverSeeds gives each device of a driver faults of its own.
func TestDriverSeeds(t *testing.T) {
	d := fault.Driver{Driver: cpu.Driver{Workers: 1}, Plan: fault.Plan{Seed: 1, Rules: []fault.Rule{{Op: fault.Alloc, Probability: 0.5}}}}
	if d.Name() != "cpu" || len(d.Probe(t.Context()).Devices) != 1 {
		t.Error("the driver below does not show")
	}
	if _, err := d.Open(t.Context(), math.MaxInt); !errors.Is(err, devices.ErrInvalid) {
		t.Errorf("Open of a bad ordinal gave %v", err)
	}
	dev, err := d.Open(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	failed := 0
	for range 100 {
		if b, err := dev.Alloc(1); err != nil {
			failed++
		} else {
			_ = b.Free()
		}
	}
	if failed < 25 || failed > 75 {
		t.Errorf("%d of 100 allocations failed, want about 50", failed)
	}
	if err := dev.Close(); err != nil {
		t.Error(err)
	}
}

// strike lists which of 1200 allocations fail.
func strike(t *testing.T, seed uint64, goroutines int) (calls []int) {
	r := build(t, fault.Plan{Seed: seed, Rules: []fault.Rule{{Op: fault.Alloc, Probability: 0.2}}})
	var all sync.WaitGroup
	for range goroutines {
		all.Go(func() {
			for range 1200 / goroutines {
				if b, err := r.Alloc(1); err == nil {
					_ = b.Free()
				}
			}
		})
	}
	all.Wait()
	for _, i := range r.Injected() {
		calls = append(calls, i.Call)
	}
	slices.Sort(calls)
	return calls
}
