package tandem_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/devices/cpu"
	"github.com/tandemrun/tandem/devices/fault"
	tandem "github.com/tandemrun/tandem/runtime"
)

// faulty makes each device that ordinals names fail as planned.
type faulty struct {
	devices.Driver
	plans map[int]fault.Plan
}

func (f faulty) Open(ctx context.Context, ordinal int) (devices.Device, error) {
	d, err := f.Driver.Open(ctx, ordinal)
	if p, ok := f.plans[ordinal]; err == nil && ok {
		return fault.Wrap(d, p), nil
	}
	return d, err
}

func faultSession(t *testing.T, plans map[int]fault.Plan, seen *atomic.Int64) *tandem.Session {
	return open(t, tandem.Config{
		Drivers: []devices.Driver{cpu.Driver{Workers: 1}, faulty{discrete{Driver: cpu.Driver{Workers: 1}, n: 2}, plans}},
		Observer: tandem.Observer{Faulted: func(e tandem.FaultEvent) {
			seen.Add(1)
		}},
	})
}

// TestLostDeviceIsRecomputed loses a device in the middle of a chain of updates
// in place, whose results lie nowhere else.
// Lost on the way home, they are computed again from what the copy has not
// overwritten yet.
func TestLostDeviceIsRecomputed(t *testing.T) {
	recomputed := 0
	for lostAt := 8; lostAt < 40; lostAt++ {
		var seen atomic.Int64
		s := faultSession(t, map[int]fault.Plan{0: {LostAt: lostAt}}, &seen)
		x, y := tandem.SliceOf(s, []int32{1, 2, 3}), tandem.NewSlice[int32](s, 3)
		g := tandem.NewGraph()
		want := []int32{1, 2, 3}
		acc := make([]int32, 3)
		for range 8 {
			g.Add(add, x, y).On("discrete:0") // y += x
			g.Add(add, y, x).On("discrete:0") // x += y
			for i := range want {
				acc[i] += want[i]
				want[i] += acc[i]
			}
		}
		if err := submit(t, s, g).Wait(t.Context()); err != nil {
			t.Fatalf("lost at call %d: %v", lostAt, err)
		}
		got, err := x.Values(t.Context())
		switch {
		case err != nil:
			t.Fatalf("lost at call %d: %v", lostAt, err)
		case fmt.Sprint(got) != fmt.Sprint(want):
			t.Fatalf("lost at call %d: x = %v, want %v", lostAt, got, want)
		}
		if seen.Load() > 0 {
			recomputed++
		}
		if seen.Load() == 0 && lostAt < 15 {
			t.Errorf("lost at call %d: nobody was told", lostAt)
		}
	}
	if recomputed < 5 {
		t.Errorf("a device was lost in %d runs that came out right, want more", recomputed)
	}
}

func TestNothingLeft(t *testing.T) {
	s := open(t, tandem.Config{Drivers: []devices.Driver{faulty{discrete{Driver: cpu.Driver{Workers: 1}, n: 1}, map[int]fault.Plan{0: {LostAt: 8}}}}})
	x, y := tandem.SliceOf(s, []int32{1, 2, 3}), tandem.NewSlice[int32](s, 3)
	g := tandem.NewGraph()
	for range 8 {
		g.Add(add, x, y)
	}
	err := submit(t, s, g).Wait(t.Context())
	var te *tandem.TaskError
	if !errors.As(err, &te) || !errors.Is(err, devices.ErrDeviceLost) || te.Device != "discrete:0" {
		t.Fatalf("err = %v, want a TaskError with ErrDeviceLost", err)
	}
}

// TestFaultRandom runs random graphs, a random failure in each: the bytes are
// the same as without, or the error is a typed one; never a wrong success.
func TestFaultRandom(t *testing.T) {
	graphs := 1000
	if testing.Short() {
		graphs = 100
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("%d graphs, seed %d", graphs, seed)
	right, failed, injected := 0, 0, 0
	for n := range graphs {
		rng := rand.New(rand.NewPCG(seed, uint64(n)))
		plan := fault.Plan{Seed: seed}
		pinned := int64(n%2) << 20
		opened := 4 + 2*(n%2) // calls until the session is open
		switch rng.IntN(4) {
		case 0:
			plan.LostAt = opened + rng.IntN(60)
		case 1:
			plan.Rules = []fault.Rule{{Op: fault.Launch, Nth: 1 + rng.IntN(20), Later: rng.IntN(2) == 0, Err: devices.ErrDeviceLost}}
		case 2:
			plan.Rules = []fault.Rule{{Op: fault.Copy, Nth: 1 + rng.IntN(20), Later: rng.IntN(2) == 0, Err: devices.ErrDeviceLost}}
		case 3:
			plan.Rules = []fault.Rule{{Nth: opened + rng.IntN(40), Later: rng.IntN(2) == 0, Err: []error{devices.ErrOutOfMemory, devices.ErrInvalid}[rng.IntN(2)]}}
		}
		var struck atomic.Bool
		plan.Report = func(fault.Injection) { struck.Store(true) }
		s, err := tandem.Open(t.Context(), tandem.Config{
			Drivers: []devices.Driver{cpu.Driver{Workers: 1},
				faulty{discrete{Driver: cpu.Driver{Workers: 1}, n: 2, pinned: pinned}, map[int]fault.Plan{rng.IntN(2): plan}}},
		})
		if err != nil {
			if !typed(err) {
				t.Fatalf("graph %d of seed %d: open: %v", n, seed, err)
			}
			failed++
			continue
		}
		bufs, model := make([]*tandem.Slice[int32], 4), make([][]int32, 4)
		for i := range bufs {
			bufs[i], model[i] = tandem.NewSlice[int32](s, 8), make([]int32, 8)
			if err := bufs[i].Update(t.Context(), func(v []int32) error {
				for k := range v {
					v[k] = int32(rng.IntN(10))
				}
				copy(model[i], v)
				return nil
			}); err != nil {
				t.Fatal(err)
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		r, err := s.Submit(ctx, randomGraph(rng, bufs, model, 20))
		if err == nil {
			err = r.Wait(ctx)
		}
		for i := range bufs {
			if err != nil {
				break
			}
			var got []int32
			if got, err = bufs[i].Values(ctx); err == nil && fmt.Sprint(got) != fmt.Sprint(model[i]) {
				t.Fatalf("graph %d of seed %d: buffer %d = %v, want %v", n, seed, i, got, model[i])
			}
		}
		if ctx.Err() != nil {
			t.Fatalf("graph %d of seed %d hangs", n, seed)
		}
		cancel()
		switch {
		case err == nil:
			right++
		case !typed(err):
			t.Fatalf("graph %d of seed %d: untyped error %v", n, seed, err)
		default:
			failed++
		}
		if struck.Load() {
			injected++
		}
		_ = s.Close() // a device that failed may have something to say
	}
	t.Logf("%d faults injected: %d graphs right all the same, %d with a typed error", injected, right, failed)
	if injected == 0 || right == 0 || failed == 0 {
		t.Error("the faults did not strike as they should")
	}
}

// typed reports whether err names what failed and its class.
func typed(err error) bool {
	var te *tandem.TaskError
	var pe *tandem.PlanError
	var ue *tandem.UndefinedError
	class := false
	for _, c := range []error{devices.ErrDeviceLost, devices.ErrOutOfMemory, devices.ErrInvalid, devices.ErrUnavailable, devices.ErrUnsupported} {
		class = class || errors.Is(err, c)
	}
	return class && (errors.As(err, &te) || errors.As(err, &pe) || errors.As(err, &ue)) || errors.Is(err, devices.ErrDeviceLost)
}

// TestStandInIsAsked loses one of two devices that a task asks for: the other
// one takes its place, not one that comes before them and was not asked for.
func TestStandInIsAsked(t *testing.T) {
	var mu sync.Mutex
	ran := map[string]int{}
	s := open(t, tandem.Config{
		Drivers: []devices.Driver{cpu.Driver{Workers: 1}, faulty{discrete{Driver: cpu.Driver{Workers: 1}, n: 2},
			map[int]fault.Plan{0: {Rules: []fault.Rule{{Op: fault.Launch, Nth: 3, Err: devices.ErrDeviceLost}}}}}},
		Observer: tandem.Observer{Launched: func(e tandem.LaunchEvent) {
			if e.Err == nil {
				mu.Lock()
				ran[e.Device]++
				mu.Unlock()
			}
		}},
	})
	x, y := tandem.SliceOf(s, []int32{1, 2, 3}), tandem.NewSlice[int32](s, 3)
	g := tandem.NewGraph()
	for range 6 {
		g.Add(add, x, y).On("discrete").NoSplit()
	}
	if err := s.Run(t.Context(), g); err != nil {
		t.Fatal(err)
	}
	if got := values(t, y); fmt.Sprint(got) != "[6 12 18]" {
		t.Errorf("y = %v, want [6 12 18]", got)
	}
	mu.Lock()
	defer mu.Unlock()
	if ran["cpu:0"] != 0 || ran["discrete:0"]+ran["discrete:1"] != 6 || ran["discrete:1"] < 4 && ran["discrete:0"] > 0 {
		t.Errorf("launches %v, want none on cpu:0 and 4 or more where the device was not lost", ran)
	}
}
