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
	"github.com/tandemrun/tandem/kernels"
	tandem "github.com/tandemrun/tandem/runtime"
)

// gate makes a kernel that stands still until open is called.
func gate(name string) (k *kernels.Kernel, started <-chan struct{}, open func()) {
	at, free := make(chan struct{}), make(chan struct{})
	var once sync.Once // several workers may come
	return goKernel(name, func(devices.Range, *devices.Args) { once.Do(func() { close(at) }); <-free }, param("y", kernels.ReadWrite)), at, func() { close(free) }
}

// soon is a context that fails a test that hangs.
func soon(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeoutCause(t.Context(), 20*time.Second, errors.New("it hangs"))
	t.Cleanup(cancel)
	return ctx
}

// TestWaitedForWhileMoreIsIssued has another device wait for a launch that runs,
// while one more is issued behind it: the end of the latter is noticed too.
func TestWaitedForWhileMoreIsIssued(t *testing.T) {
	for n := range 20 {
		s := open(t, threeDevices(0))
		x, y, z := tandem.NewSlice[int32](s, 4), tandem.NewSlice[int32](s, 4), tandem.NewSlice[int32](s, 4)
		still, started, release := gate("still")
		g := tandem.NewGraph()
		g.Add(still, x).On("discrete:0")
		a := submit(t, s, g)
		<-started
		g = tandem.NewGraph()
		slow := goKernel("slow", func(devices.Range, *devices.Args) { time.Sleep(2 * time.Millisecond) }, param("y", kernels.ReadWrite))
		for range 1 + n%5 {
			g.Add(slow, y).On("discrete:0")
		}
		g.Add(add, x, z).On("discrete:1")
		b := submit(t, s, g)
		release()
		for _, r := range []*tandem.Run{a, b} {
			if err := r.Wait(soon(t)); err != nil {
				t.Fatalf("round %d: %v", n, err)
			}
		}
	}
}

// TestFailureOfAnotherRun has a run fail while another one waits for its result,
// and a third one only for its end.
func TestFailureOfAnotherRun(t *testing.T) {
	for _, on := range []string{"cpu", "discrete:0"} {
		s := open(t, threeDevices(0))
		w, x, y := tandem.NewSlice[int32](s, 4), tandem.NewSlice[int32](s, 4), tandem.NewSlice[int32](s, 4)
		still, started, release := gate("still")
		g := tandem.NewGraph()
		g.Add(still, w).On("cpu")
		g.Add(boom, x, int32(0)).On("cpu").Named("bad")
		g.Add(add, w, x).On("cpu")
		a := submit(t, s, g)
		<-started
		g = tandem.NewGraph()
		g.Add(add, x, y).On(on).Named("needs")
		b := submit(t, s, g)
		g = tandem.NewGraph()
		g.Add(set, x, int32(3)).On(on)
		c := submit(t, s, g)
		release()
		if err := a.Wait(soon(t)); err == nil {
			t.Fatal("the run with the panic succeeded")
		}
		err := b.Wait(soon(t))
		var te *tandem.TaskError
		if !errors.As(err, &te) {
			t.Errorf("%s: the run that needs what failed: %v, want a TaskError", on, err)
		}
		if err := c.Wait(soon(t)); err != nil {
			t.Errorf("%s: the run that overwrites what failed: %v", on, err)
		}
		if got, err := x.Values(soon(t)); err != nil || fmt.Sprint(got) != "[3 3 3 3]" {
			t.Errorf("%s: x = %v, %v", on, got, err)
		}
	}
}

// TestSkippedOnTheDevice has a launch fail on a queue where others wait for it
// already, for its result or for its end only.
func TestSkippedOnTheDevice(t *testing.T) {
	s := open(t, tandem.Config{})
	x, y := tandem.NewSlice[int32](s, 4), tandem.NewSlice[int32](s, 4)
	still, started, release := gate("still")
	g := tandem.NewGraph()
	g.Add(still, x)
	g.Add(boom, x, int32(0)).Named("bad")
	a := submit(t, s, g)
	<-started
	g = tandem.NewGraph()
	g.Add(set, x, int32(3))
	g.Add(add, x, y)
	b := submit(t, s, g)
	release()
	if err := a.Wait(soon(t)); err == nil {
		t.Error("the run with the panic succeeded")
	}
	if err := b.Wait(soon(t)); err != nil {
		t.Errorf("the run that overwrites what failed: %v", err)
	}
	if got, err := y.Values(soon(t)); err != nil || fmt.Sprint(got) != "[3 3 3 3]" {
		t.Errorf("y = %v, %v", got, err)
	}
}

// TestCancelledCopyIsShared cancels a run whose copy another run uses too.
func TestCancelledCopyIsShared(t *testing.T) {
	s := open(t, threeDevices(0))
	x, y, z := tandem.SliceOf(s, []int32{1, 2, 3, 4}), tandem.NewSlice[int32](s, 4), tandem.NewSlice[int32](s, 4)
	still, started, release := gate("still")
	var runs []*tandem.Run
	for n := range 3 {
		g := tandem.NewGraph()
		switch n {
		case 0:
			g.Add(still, x).On("cpu")
		case 1:
			g.Add(add, x, y).On("discrete:0") // x is copied when the first run is over
		case 2:
			g.Add(add, x, z).On("discrete:0")
		}
		runs = append(runs, submit(t, s, g))
	}
	<-started
	runs[1].Cancel(nil)
	release()
	for n, r := range runs {
		if err := r.Wait(soon(t)); (n == 1) != errors.Is(err, context.Canceled) || n != 1 && err != nil {
			t.Errorf("run %d: %v", n, err)
		}
	}
	if got, err := z.Values(soon(t)); err != nil || fmt.Sprint(got) != "[1 2 3 4]" {
		t.Errorf("z = %v, %v", got, err)
	}
}

// TestRepeatEndsWithCancel cancels a task that has a million repetitions to go.
func TestRepeatEndsWithCancel(t *testing.T) {
	s := open(t, tandem.Config{})
	x, y := tandem.NewSlice[int32](s, 4), tandem.NewSlice[int32](s, 4)
	still, started, release := gate("still")
	g := tandem.NewGraph()
	g.Add(still, x)
	g.Add(add, x, y).Repeat(100_000_000)
	r := submit(t, s, g)
	<-started
	r.Cancel(nil)
	release()
	if err := r.Wait(soon(t)); !errors.Is(err, context.Canceled) {
		t.Fatalf("err = %v, want context.Canceled", err)
	}
	var ue *tandem.UndefinedError
	if _, err := y.Values(soon(t)); !errors.As(err, &ue) {
		t.Errorf("y: %v, want an UndefinedError", err)
	}
}

// TestFailedLoweringLeavesOutputsUndefined has a task for which there is no
// memory: nobody may take what its output held before for its result.
func TestFailedLoweringLeavesOutputsUndefined(t *testing.T) {
	var seen atomic.Int64
	s := faultSession(t, map[int]fault.Plan{1: {Rules: []fault.Rule{{Op: fault.Alloc, Every: 1}}}}, &seen)
	x, y := tandem.NewSlice[int32](s, 1000), tandem.NewSlice[int32](s, 1000)
	g := tandem.NewGraph()
	g.Add(add, x, y).On("discrete:1")
	a := submit(t, s, g)
	g = tandem.NewGraph()
	g.Add(add, y, x).On("cpu")
	b := submit(t, s, g)
	if err := a.Wait(soon(t)); !errors.Is(err, devices.ErrOutOfMemory) {
		t.Errorf("err = %v, want ErrOutOfMemory", err)
	}
	if err := b.Wait(soon(t)); !errors.Is(err, devices.ErrOutOfMemory) {
		t.Errorf("what depends on it: %v, want ErrOutOfMemory", err)
	}
}

// TestEvictionSavesTheRest evicts a buffer of which one half is undefined.
func TestEvictionSavesTheRest(t *testing.T) {
	const n = 1000
	s := open(t, threeDevices(2*4*n))
	x, y, z := tandem.NewSlice[int32](s, n), tandem.NewSlice[int32](s, n), tandem.NewSlice[int32](s, n)
	g := tandem.NewGraph()
	g.AddRange(set, tandem.Range(n/2), x, int32(7)).On("discrete:0")
	if err := s.Run(soon(t), g); err != nil {
		t.Fatal(err)
	}
	// The kernel is told a range that begins at work-item n/2.
	late := tandem.Range(n / 2)
	late.Offset[0] = n / 2
	g = tandem.NewGraph()
	g.AddRange(boom, late, x, int32(n/2)).On("discrete:0")
	if err := s.Run(soon(t), g); err == nil {
		t.Fatal("the panic went unnoticed")
	}
	g = tandem.NewGraph()
	g.Add(add, y, z).On("discrete:0") // there is room for two
	if err := s.Run(soon(t), g); err != nil {
		t.Fatal(err)
	}
	g = tandem.NewGraph()
	g.AddRange(add, tandem.Range(n/2), x, z).On("cpu")
	if err := s.Run(soon(t), g); err != nil {
		t.Fatal(err)
	}
	got, err := z.Values(soon(t))
	if err != nil || got[0] != 7 || got[n/2-1] != 7 || got[n/2] != 0 {
		t.Errorf("z = %v, %v", got[:4], err)
	}
}

// TestSubmittersAndClose has several goroutines submit, read, update, cancel and
// free while the session is closed: every error is one that this explains.
func TestSubmittersAndClose(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	for round := range 30 {
		s, err := tandem.Open(t.Context(), threeDevices(3*4*16))
		if err != nil {
			t.Fatal(err)
		}
		shared := []*tandem.Slice[int32]{tandem.NewSlice[int32](s, 16), tandem.NewSlice[int32](s, 16), tandem.NewSlice[int32](s, 16), tandem.NewSlice[int32](s, 16)}
		var all sync.WaitGroup
		var began sync.WaitGroup
		began.Add(4)
		for who := range 4 {
			all.Go(func() {
				rng := rand.New(rand.NewPCG(seed, uint64(round*4+who)))
				var once sync.Once
				defer once.Do(began.Done)
				for n := range 20 {
					if n == 5 {
						once.Do(began.Done)
					}
					own := tandem.NewSlice[int32](s, 16)
					g := tandem.NewGraph()
					for range 1 + rng.IntN(6) {
						a, b := shared[rng.IntN(4)], shared[rng.IntN(4)]
						if rng.IntN(3) == 0 {
							b = own
						}
						if a == b {
							g.Add(set, a, int32(n))
						} else {
							g.Add(add, a, b).On([]string{"", "cpu", "discrete:0", "discrete:1"}[rng.IntN(4)])
						}
					}
					r, err := s.Submit(t.Context(), g)
					if err == nil {
						if rng.IntN(5) == 0 {
							r.Cancel(nil)
						}
						if rng.IntN(2) == 0 {
							err = r.Wait(soon(t))
						}
					}
					if err == nil && rng.IntN(2) == 0 {
						err = shared[rng.IntN(4)].Update(soon(t), func(v []int32) error { v[0]++; return nil })
					}
					if err == nil && rng.IntN(2) == 0 {
						err = own.Buffer().Free()
					}
					if err != nil && !errors.Is(err, devices.ErrClosed) && !errors.Is(err, context.Canceled) {
						t.Errorf("round %d: %v", round, err)
						return
					}
				}
			})
		}
		began.Wait()
		if err := s.Close(); err != nil {
			t.Errorf("round %d: close: %v", round, err)
		}
		all.Wait()
	}
}

// TestPressureAndLoss runs random graphs on devices with room for few buffers,
// one of which is lost: making room and recovery do not wait for each other.
func TestPressureAndLoss(t *testing.T) {
	graphs := 300
	if testing.Short() {
		graphs = 50
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	right, failed := 0, 0
	for n := range graphs {
		rng := rand.New(rand.NewPCG(seed, uint64(n)))
		lost := fault.Plan{LostAt: 10 + rng.IntN(150)}
		s, err := tandem.Open(t.Context(), tandem.Config{
			Drivers: []devices.Driver{cpu.Driver{Workers: 1},
				faulty{discrete{Driver: cpu.Driver{Workers: 1}, n: 2}, map[int]fault.Plan{rng.IntN(2): lost}}},
			MemoryLimit: map[string]int64{"discrete:0": 3 * 32, "discrete:1": 4 * 32},
		})
		if err != nil {
			t.Fatal(err)
		}
		bufs, model := make([]*tandem.Slice[int32], 7), make([][]int32, 7)
		for i := range bufs {
			bufs[i], model[i] = tandem.NewSlice[int32](s, 8), make([]int32, 8)
		}
		ctx := soon(t)
		var runs []*tandem.Run
		for range 3 {
			r, err := s.Submit(ctx, randomGraph(rng, bufs, model, 25))
			if err != nil {
				if !typed(err) {
					t.Fatalf("graph %d of seed %d: %v", n, seed, err)
				}
				break
			}
			runs = append(runs, r)
		}
		ok := len(runs) == 3
		for _, r := range runs {
			if err := r.Wait(ctx); err != nil {
				ok = false
				if !typed(err) {
					t.Fatalf("graph %d of seed %d: %v", n, seed, err)
				}
			}
		}
		for i := range bufs {
			if !ok {
				break
			}
			got, err := bufs[i].Values(ctx)
			if err != nil {
				ok = false
				if !typed(err) {
					t.Fatalf("graph %d of seed %d: %v", n, seed, err)
				}
			} else if fmt.Sprint(got) != fmt.Sprint(model[i]) {
				t.Fatalf("graph %d of seed %d: buffer %d = %v, want %v", n, seed, i, got, model[i])
			}
		}
		if ok {
			right++
		} else {
			failed++
		}
		_ = s.Close() // a device that is lost may have something to say
	}
	t.Logf("%d graphs right, %d with a typed error", right, failed)
	// What an earlier run left on the lost device alone cannot be computed again.
	if right < graphs/5 {
		t.Errorf("%d of %d graphs right, want at least a fifth", right, graphs)
	}
}

// TestPassedOverKeepsOrder cancels a run whose write would come between a launch
// that still runs and a write of another run: the latter waits for the launch.
func TestPassedOverKeepsOrder(t *testing.T) {
	s := open(t, threeDevices(0))
	x := tandem.NewSlice[int32](s, 4)
	free, at := make(chan struct{}), make(chan struct{})
	var over atomic.Bool
	late := goKernel("late", func(r devices.Range, a *devices.Args) {
		close(at)
		<-free
		over.Store(true)
	}, param("x", kernels.Read))
	early := atomic.Bool{}
	look := goKernel("look", func(r devices.Range, a *devices.Args) {
		if !over.Load() {
			early.Store(true)
		}
	}, param("x", kernels.Write))
	g := tandem.NewGraph()
	g.Add(late, x).On("discrete:0").NoSplit()
	a := submit(t, s, g)
	<-at
	g = tandem.NewGraph()
	g.Add(set, x, int32(1)).On("discrete:0").NoSplit()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	b, err := s.Submit(ctx, g)
	if err == nil {
		t.Fatalf("submitted with a context that has ended: %v", b)
	}
	b = submit(t, s, g)
	b.Cancel(nil)
	g = tandem.NewGraph()
	g.Add(look, x).On("discrete:1").NoSplit()
	c := submit(t, s, g)
	time.AfterFunc(20*time.Millisecond, func() { close(free) }) // what would come too early has time to
	for n, r := range []*tandem.Run{a, b, c} {
		if err := r.Wait(soon(t)); n != 1 && err != nil {
			t.Errorf("run %d: %v", n+1, err)
		}
	}
	if early.Load() {
		t.Error("the last run wrote while the first one still read")
	}
}
