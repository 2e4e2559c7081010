package tandem_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/devices/fault"
	"github.com/tandemrun/tandem/devices/sim"
	"github.com/tandemrun/tandem/kernels"
	tandem "github.com/tandemrun/tandem/runtime"
	"github.com/tandemrun/tandem/runtime/observe"
)

// machine is a simulated one.
func machine(t testing.TB, specs ...sim.Spec) *sim.Driver {
	t.Helper()
	d, err := sim.New(sim.Description{Devices: specs})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// blur has each row of y the sum of the rows of x around it.
var blur = func() *kernels.Kernel {
	k := goKernel("blur", func(r devices.Range, a *devices.Args) {
		x, y := devices.Slice[int32](a, 0), devices.Slice[int32](a, 1)
		w := r.Global[0]
		for j := r.Lo[1]; j < r.Hi[1]; j++ {
			for i := r.Lo[0]; i < r.Hi[0]; i++ {
				sum := x[j*w+i]
				if j > 0 {
					sum += x[(j-1)*w+i]
				}
				if j+1 < len(x)/w {
					sum += x[(j+1)*w+i]
				}
				y[j*w+i] = sum
			}
		}
	}, param("x", kernels.Read), param("y", kernels.Write))
	k.Params[0].Band, k.Params[1].Band = kernels.Rows("x", 1), kernels.Rows("y", 0)
	return k
}()

// gather computes y[i] = x[n-1-i], which needs all of x for any part of y.
var gather = func() *kernels.Kernel {
	k := goKernel("gather", func(r devices.Range, a *devices.Args) {
		x, y := devices.Slice[int32](a, 0), devices.Slice[int32](a, 1)
		for i := r.Lo[0]; i < r.Hi[0]; i++ {
			y[i] = x[len(x)-1-i]
		}
	}, param("x", kernels.Read), param("y", kernels.Write))
	k.Params[0].Band = nil
	return k
}()

// TestWindows has arrays that are larger than the largest buffer of a device, or
// than its memory: the launches are cut, and the results are right.
func TestWindows(t *testing.T) {
	const w, h, n = 1000, 500, 500_000 // 2 MB each
	link := devices.Link{Latency: time.Microsecond, Bandwidth: 1e9}
	for name, spec := range map[string]sim.Spec{
		"largest buffer": {MaxAlloc: 300_000, Memory: 64 << 20},
		"memory":         {Memory: 1 << 20},
		"both arrays":    {Memory: 3_000_000},
		"staged":         {MaxAlloc: 300_000, Memory: 64 << 20, Pinned: 8 << 20, Pageable: 3},
		"host's memory":  {MaxAlloc: 300_000, Unified: true},
	} {
		t.Run(name, func(t *testing.T) {
			spec.Upload, spec.Download, spec.CopyEngines = link, link, 2
			var mu sync.Mutex
			launches := 0
			d := machine(t, spec)
			s := open(t, tandem.Config{Drivers: []devices.Driver{d}, Calibrations: d.Calibrations(), Observer: tandem.Observer{
				Launched: func(e tandem.LaunchEvent) { mu.Lock(); launches++; mu.Unlock() }}})
			x, y, z := tandem.NewSlice[int32](s, h, w), tandem.NewSlice[int32](s, h, w), tandem.NewSlice[int32](s, h, w)
			data := make([]int32, n)
			for i := range data {
				data[i] = int32(i * 7 % 1001)
			}
			if err := x.Update(t.Context(), func(v []int32) error { copy(v, data); return nil }); err != nil {
				t.Fatal(err)
			}
			g := tandem.NewGraph()
			g.AddRange(blur, tandem.Range(w, h), x, y)
			g.Add(add, x, y).Repeat(3)
			g.Add(double, y, z)
			if err := s.Run(t.Context(), g); err != nil {
				t.Fatal(err)
			}
			want := slices.Clone(data)
			for i := range want {
				if i >= w {
					want[i] += data[i-w]
				}
				if i+w < n {
					want[i] += data[i+w]
				}
				want[i] = 2 * (want[i] + 3*data[i])
			}
			for i, v := range values(t, z) {
				if v != want[i] {
					t.Fatalf("z[%d] = %d, want %d", i, v, want[i])
				}
			}
			st := s.Stats()[0]
			mu.Lock()
			defer mu.Unlock()
			if launches < 10 || st.Tasks != 5 {
				t.Errorf("%d launches for %d tasks, want several for each of 5", launches, st.Tasks)
			}
			// blur and add read x, add reads and writes y, double reads y, z is
			// written; of x the rows around each part travel too.
			const one = int64(4 * n)
			switch {
			case spec.Unified && (st.BytesH2D != 0 || st.BytesD2H != 0 || st.BytesZeroCopy < 10*one || st.BytesZeroCopy > 11*one):
				t.Errorf("%d bytes up, %d down, %d on the host's own pages", st.BytesH2D, st.BytesD2H, st.BytesZeroCopy)
			case !spec.Unified && (st.BytesH2D < 8*one || st.BytesH2D > 9*one || st.BytesD2H != 5*one):
				t.Errorf("%d bytes up and %d down, want %d to %d and %d", st.BytesH2D, st.BytesD2H, 8*one, 9*one, 5*one)
			case spec.Pinned > 0 && st.BytesStaged != st.BytesH2D+st.BytesD2H:
				t.Errorf("%d bytes staged of %d up and %d down", st.BytesStaged, st.BytesH2D, st.BytesD2H)
			}
		})
	}
}

// TestWindowsOverlap has a launch on windows whose filling, computing and
// emptying take the same time: they hide behind each other.
func TestWindowsOverlap(t *testing.T) {
	const n = 1 << 25 // 128 MiB
	link := devices.Link{Bandwidth: 4 * n}
	d := machine(t, sim.Spec{Memory: 32 << 20, CopyEngines: 2, Upload: link, Download: link, Flops: n})
	var rec observe.Recorder
	s := open(t, tandem.Config{Drivers: []devices.Driver{d}, Calibrations: d.Calibrations(), Observer: rec.Observer()})
	x, y := tandem.NewSlice[int32](s, n), tandem.NewSlice[int32](s, n)
	g := tandem.NewGraph()
	g.Add(double, x, y)
	r := submit(t, s, g)
	if err := r.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	parts := len(rec.Recording().Launches)
	ratio := r.Makespan().Seconds()
	if want := 1 + 2.5/float64(parts); parts < 8 || ratio > want {
		t.Errorf("%d parts take %.3f of what computing takes, want at most %.3f", parts, ratio, want)
	}
}

// TestWindowsRefused has tasks that cannot be cut: they are refused with both
// numbers before anything runs.
func TestWindowsRefused(t *testing.T) {
	d := machine(t, sim.Spec{MaxAlloc: 300_000, Memory: 64 << 20}, sim.Spec{MaxAlloc: 4096, Memory: 8192})
	ran := 0
	s := open(t, tandem.Config{Drivers: []devices.Driver{d}, Observer: tandem.Observer{Launched: func(tandem.LaunchEvent) { ran++ }}})
	x, y := tandem.NewSlice[int32](s, 500_000).Named("x"), tandem.NewSlice[int32](s, 500_000)
	g := tandem.NewGraph()
	g.Add(set, y, int32(1)).On("sim:0")
	g.Add(gather, x, y)
	_, err := s.Submit(t.Context(), g)
	var pe *tandem.PlanError
	if !errors.As(err, &pe) || ran > 0 {
		t.Fatalf("err = %v after %d launches, want a PlanError before any", err, ran)
	}
	for _, want := range []string{
		`sim:0 takes buffers of at most 300000 bytes, "x" has 2000000; it cannot be cut: which elements of "x" a work-item touches is not known`,
		`sim:1 takes buffers of at most 4096 bytes, "x" has 2000000`,
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("err = %v\nwant one with %s", err, want)
		}
	}
}

// TestWindowsFault runs random graphs over a device that is too small for the
// arrays, loses it at a random call, and finishes on the other one.
func TestWindowsFault(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	const graphs = 60
	t.Logf("%d graphs, seed %d", graphs, seed)
	lost, right := 0, 0
	for i := range graphs {
		rng := rand.New(rand.NewPCG(seed, uint64(i)))
		var struck atomic.Bool
		plan := fault.Plan{LostAt: 10 + rng.IntN(300), Report: func(fault.Injection) { struck.Store(true) }}
		if i%3 == 0 {
			plan = fault.Plan{Rules: []fault.Rule{{Op: []fault.Op{fault.Launch, fault.Copy}[rng.IntN(2)], Nth: 1 + rng.IntN(40), Later: true, Err: devices.ErrDeviceLost}}, Report: plan.Report}
		}
		d := machine(t, sim.Spec{MaxAlloc: 40_000, Memory: 128_000, Pinned: int64(i%2) << 20}, sim.Spec{})
		s, err := tandem.Open(t.Context(), tandem.Config{Drivers: []devices.Driver{faulty{d, map[int]fault.Plan{0: plan}}}})
		if err != nil {
			t.Fatal(err)
		}
		const n = 25_000 // 100 kB
		bufs, model := make([]*tandem.Slice[int32], 3), make([][]int32, 3)
		for k := range bufs {
			bufs[k], model[k] = tandem.NewSlice[int32](s, n), make([]int32, n)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		g := tandem.NewGraph()
		for range 8 {
			a, b := rng.IntN(3), rng.IntN(3)
			on := []string{"sim:0", "sim:0", "sim:1", ""}[rng.IntN(4)]
			if a == b {
				g.Add(set, bufs[a], int32(i)).On(on)
				for k := range model[a] {
					model[a][k] = int32(i)
				}
				continue
			}
			g.Add(add, bufs[a], bufs[b]).On(on)
			for k := range model[b] {
				model[b][k] += model[a][k]
			}
		}
		err = s.Run(ctx, g)
		for k := range bufs {
			if err != nil {
				break
			}
			var got []int32
			if got, err = bufs[k].Values(ctx); err == nil && !slices.Equal(got, model[k]) {
				t.Fatalf("graph %d of seed %d: buffer %d is wrong", i, seed, k)
			}
		}
		switch {
		case ctx.Err() != nil:
			t.Fatalf("graph %d of seed %d hangs", i, seed)
		case err == nil:
			right++
		case !typed(err):
			t.Fatalf("graph %d of seed %d: untyped error %v", i, seed, err)
		default:
			t.Logf("graph %d: %v", i, err)
		}
		cancel()
		if struck.Load() {
			lost++
		}
		_ = s.Close()
	}
	t.Logf("%d devices lost, %d graphs right", lost, right)
	if lost < graphs/2 || right < graphs*9/10 {
		t.Errorf("%d devices were lost, %d graphs right, want more", lost, right)
	}
}
