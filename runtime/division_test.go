package tandem_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/devices/cpu"
	"github.com/tandemrun/tandem/kernels"
	"github.com/tandemrun/tandem/partitioner/costmodel"
	tandem "github.com/tandemrun/tandem/runtime"
)

// rugged is a kernel whose work-items differ: those in the middle take far
// longer than the others.
func rugged(n int, calls *atomic.Int64) *kernels.Kernel {
	k := goKernel("rugged", func(r devices.Range, a *devices.Args) {
		y := devices.Slice[int32](a, 0)
		for i := r.Lo[0]; i < r.Hi[0]; i++ {
			rounds := 40
			if i > n/3 && i < n/2 {
				rounds = 6000
			}
			v := uint32(i)
			for range rounds {
				v = v*1664525 + 1013904223
			}
			y[i] += int32(v>>1) + 1
		}
		calls.Add(int64(r.Hi[0] - r.Lo[0]))
	}, param("y", kernels.ReadWrite))
	k.Work = func(*kernels.Call) kernels.Work { return kernels.Work{Flops: 1e9} }
	return k
}

// TestPieceByPiece has a task that two devices take in pieces: every work-item
// runs once and gives what it gives on one device, the pieces cover the task
// without a gap, the last are smaller than the first, an observer can tell when
// the task is over, and the model learns of the task as a whole.
func TestPieceByPiece(t *testing.T) {
	const n = 1 << 16
	var calls atomic.Int64
	k := rugged(n, &calls)
	run := func(selector string, times int, ob tandem.Observer, m *costmodel.Model) []int32 {
		s, err := tandem.Open(t.Context(), tandem.Config{Drivers: []devices.Driver{twins{cpu.Driver{Workers: 1}}}, Devices: selector, Observer: ob, Model: m})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		y := tandem.NewSlice[int32](s, n)
		g := tandem.NewGraph()
		g.Add(k, y)
		for range times {
			if err := s.Run(t.Context(), g); err != nil {
				t.Fatal(err)
			}
		}
		var got []int32
		if err := y.Read(t.Context(), func(v []int32) error { got = slices.Clone(v); return nil }); err != nil {
			t.Fatal(err)
		}
		return got
	}
	const times = 4
	want := run("twin:0", times, tandem.Observer{}, &costmodel.Model{})
	calls.Store(0)
	var mu sync.Mutex
	pieces := map[int64][]tandem.LaunchEvent{}
	m := &costmodel.Model{}
	got := run("", times, tandem.Observer{Launched: func(e tandem.LaunchEvent) {
		mu.Lock()
		pieces[e.Run] = append(pieces[e.Run], e)
		mu.Unlock()
	}}, m)
	if !slices.Equal(got, want) {
		t.Error("in pieces it gives something else than on one device")
	}
	if calls.Load() != times*n {
		t.Errorf("%d work-items ran, want %d", calls.Load(), times*n)
	}
	if len(pieces) != times {
		t.Fatalf("%d runs, want %d", len(pieces), times)
	}
	for run, list := range pieces {
		over := 0
		for i, e := range list {
			if i+1 == e.Parts {
				over++
			}
		}
		if over != 1 || list[len(list)-1].Parts != len(list) {
			t.Errorf("run %d: %d of %d launches were the last by number", run, over, len(list))
		}
		slices.SortFunc(list, func(a, b tandem.LaunchEvent) int { return a.Range.Offset[0] - b.Range.Offset[0] })
		at, on := 0, map[string]bool{}
		for _, e := range list {
			if e.Range.Offset[0] != at {
				t.Fatalf("run %d: a piece begins at %d, want %d", run, e.Range.Offset[0], at)
			}
			at += e.Range.Size[0]
			on[e.Device] = true
		}
		if at != n || len(on) != 2 {
			t.Errorf("run %d: pieces up to %d of %d on %d devices, want all on 2", run, at, n, len(on))
		}
		largest := slices.MaxFunc(list, func(a, b tandem.LaunchEvent) int { return a.Range.Size[0] - b.Range.Size[0] })
		if last := list[len(list)-1]; last.Range.Size[0] >= largest.Range.Size[0] {
			t.Errorf("run %d: the last piece has %d work-items, the largest %d", run, last.Range.Size[0], largest.Range.Size[0])
		}
	}
	entries := m.Entries()
	if len(entries) == 0 {
		t.Fatal("the model has learnt nothing")
	}
	for _, e := range entries {
		for _, p := range e.Points {
			if p.Size.Items != n {
				t.Errorf("%s: learnt of %v work-items, want the task's %d", e.Key.Device, p.Size.Items, n)
			}
		}
	}
}

// TestPiecesOfACancelledRun cancels a run while its task is handed out: no
// more pieces start, the run says why it ended, and what the task was to write
// is undefined.
func TestPiecesOfACancelledRun(t *testing.T) {
	const n = 1 << 16
	cause := errors.New("enough")
	var r *tandem.Run
	started, gate := make(chan struct{}), make(chan struct{})
	var once sync.Once
	k := goKernel("slow", func(rg devices.Range, a *devices.Args) {
		once.Do(func() { close(started) })
		<-gate
		y := devices.Slice[int32](a, 0)
		for i := rg.Lo[0]; i < rg.Hi[0]; i++ {
			y[i] = 1
		}
	}, param("y", kernels.Write))
	k.Work = func(*kernels.Call) kernels.Work { return kernels.Work{Flops: 1e9} }
	s, err := tandem.Open(t.Context(), tandem.Config{Drivers: []devices.Driver{twins{cpu.Driver{Workers: 1}}}, Model: &costmodel.Model{}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	y := tandem.NewSlice[int32](s, n)
	g := tandem.NewGraph()
	g.Add(k, y)
	if r, err = s.Submit(t.Context(), g); err != nil {
		t.Fatal(err)
	}
	<-started
	r.Cancel(cause)
	close(gate)
	if err := r.Wait(t.Context()); !errors.Is(err, cause) {
		t.Errorf("the run ended with %v, want %v", err, cause)
	}
	if done, total := r.Progress(); done != 0 || total != 1 {
		t.Errorf("%d of %d tasks are done, want 0 of 1", done, total)
	}
	if err := y.Read(context.Background(), func([]int32) error { return nil }); err == nil {
		t.Error("what a cancelled task was to write can be read")
	}
}
