package tandem_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/devices/cpu"
	"github.com/tandemrun/tandem/devices/sim"
	"github.com/tandemrun/tandem/kernels"
	tandem "github.com/tandemrun/tandem/runtime"
	"github.com/tandemrun/tandem/runtime/observe"
)

// TestStaging runs random graphs over devices that pin host memory: with
// enough of it, with a little, and with less than is of use.
func TestStaging(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	for name, pinned := range map[string]int64{"plenty": 64 << 20, "little": 300 << 10, "none": 64 << 10} {
		t.Run(name, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, uint64(pinned)))
			var mu sync.Mutex
			var told []tandem.FaultEvent
			staged := map[string]int{}
			s := open(t, tandem.Config{
				Drivers: []devices.Driver{cpu.Driver{Workers: 1}, discrete{Driver: cpu.Driver{Workers: 1}, n: 2, pinned: pinned}},
				Observer: tandem.Observer{
					Faulted: func(e tandem.FaultEvent) { mu.Lock(); told = append(told, e); mu.Unlock() },
					Copied: func(e tandem.CopyEvent) {
						mu.Lock()
						staged[e.Queue]++
						mu.Unlock()
						if e.Times.End < e.Times.Start || e.Err == nil && e.Times.End == 0 {
							t.Errorf("a copy from %v to %v", e.Times.Start, e.Times.End)
						}
					},
				},
			})
			const n, count = 50_000, 6 // 200 KB each: uploads are staged too
			bufs, model := make([]*tandem.Slice[int32], count), make([][]int32, count)
			for i := range bufs {
				bufs[i], model[i] = tandem.NewSlice[int32](s, n), make([]int32, n)
			}
			for range 5 {
				var runs []*tandem.Run
				for range 2 {
					runs = append(runs, submit(t, s, randomGraph(rng, bufs, model, 30)))
				}
				for _, r := range runs {
					if err := r.Wait(t.Context()); err != nil {
						t.Fatal(err)
					}
				}
				for i := range bufs {
					got := values(t, bufs[i])
					for k := range got {
						if got[k] != model[i][k] {
							t.Fatalf("buffer %d holds %d at %d, want %d", i, got[k], k, model[i][k])
						}
					}
				}
			}
			mu.Lock()
			defer mu.Unlock()
			if staged["staged-upload"] == 0 || staged["staged-download"] == 0 || staged["download#0"] != 0 {
				t.Errorf("copies by queue: %v, want all downloads and the large uploads staged", staged)
			}
			for i, d := range s.Stats() {
				switch {
				case i == 0 && d.BytesStaged != 0:
					t.Errorf("%s shares the host's memory, but staged %d bytes", d.ID, d.BytesStaged)
				case i > 0 && name == "plenty" && (d.BytesStaged == 0 || d.BytesStaged < d.BytesD2H || d.BytesStaged > d.BytesD2H+d.BytesH2D):
					t.Errorf("%s staged %d of %d bytes up and %d down, want all down and most up", d.ID, d.BytesStaged, d.BytesH2D, d.BytesD2H)
				case i > 0 && name == "none" && d.BytesStaged != 0:
					t.Errorf("%s staged %d bytes without pinned memory", d.ID, d.BytesStaged)
				}
			}
			if want := map[string]int{"plenty": 0, "little": 2, "none": 2}[name]; len(told) != want {
				t.Errorf("told %d times that pinned memory is short, want once for each of %d devices: %v", len(told), want, told)
			}
			for _, e := range told {
				if e.Task != -1 || !errors.Is(e.Err, devices.ErrOutOfMemory) || !strings.Contains(e.Action, "ordinary memory") {
					t.Errorf("told %+v", e)
				}
			}
		})
	}
}

// double computes y = 2x.
var double = goKernel("double", func(r devices.Range, a *devices.Args) {
	x, y := devices.Slice[int32](a, 0), devices.Slice[int32](a, 1)
	for i := r.Lo[0]; i < r.Hi[0]; i++ {
		y[i] = 2 * x[i]
	}
}, param("x", kernels.Read), param("y", kernels.Write))

// TestStagedOverlap has tasks whose upload, computing and download take the same
// time each, all of it through pinned memory, on a virtual clock: nothing but
// the first upload and the last download shows.
func TestStagedOverlap(t *testing.T) {
	const items, tasks = 1 << 18, 100 // 1 MiB in 1 ms
	link := devices.Link{Latency: 10 * time.Microsecond, Bandwidth: 4 * items * 1e3}
	machine, err := sim.New(sim.Description{Devices: []sim.Spec{
		{CopyEngines: 2, LaunchLatency: 5 * time.Microsecond, Upload: link, Download: link, Flops: items * 1e3, Pinned: 16 << 20, Pageable: 3}}})
	if err != nil {
		t.Fatal(err)
	}
	var rec observe.Recorder
	s := open(t, tandem.Config{Drivers: []devices.Driver{machine}, Calibrations: machine.Calibrations(), Observer: rec.Observer()})
	g := tandem.NewGraph()
	var out []*tandem.Slice[int32]
	for i := range tasks {
		x, y := tandem.NewSlice[int32](s, items), tandem.NewSlice[int32](s, items)
		if err := x.Update(t.Context(), func(v []int32) error { v[i] = int32(i); return nil }); err != nil {
			t.Fatal(err)
		}
		g.Add(double, x, y)
		g.Return(y)
		out = append(out, y)
	}
	r := submit(t, s, g)
	if err := r.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	d := s.Stats()[0]
	if want := int64(tasks * items * 4); d.BytesH2D != want || d.BytesD2H != want || d.BytesStaged != 2*want {
		t.Errorf("%d bytes up, %d down, %d staged, want %d, %d and %d", d.BytesH2D, d.BytesD2H, d.BytesStaged, want, want, 2*want)
	}
	ratio, hidden := r.Makespan().Seconds()/(tasks*link.Time(4*items)).Seconds(), observe.HiddenRatio(rec.Recording())
	if ratio > 1.05 || hidden < 0.95 {
		t.Errorf("makespan over bound %.3f, hidden ratio %.3f, want at most 1.05 and at least 0.95", ratio, hidden)
	}
	t.Logf("makespan over bound %.4f, hidden ratio %.4f", ratio, hidden)
	for i := range out {
		if v := values(t, out[i]); v[i] != int32(2*i) {
			t.Fatalf("result %d holds %s at %d, want %d", i, fmt.Sprint(v[i]), i, 2*i)
		}
	}
}
