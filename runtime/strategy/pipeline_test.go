package strategy_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/devices/sim"
	"github.com/tandemrun/tandem/kernels"
	tandem "github.com/tandemrun/tandem/runtime"
	"github.com/tandemrun/tandem/runtime/strategy"
)

var item = kernels.Array{DType: devices.Int32, Shape: []int64{64}}

// pipeline lays a warmed-up chain out.
func pipeline(t *testing.T, s *tandem.Session, chain []strategy.Stage, depth int) *strategy.Pipeline {
	t.Helper()
	warm(t, s, chain, 64)
	p, err := strategy.PipelineParallel(t.Context(), s, chain, item, depth)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(p.Free(), p.Free()); err != nil {
			t.Error(err)
		}
	})
	return p
}

// through adds count items to a graph and returns its makespan.
func through(t *testing.T, s *tandem.Session, p *strategy.Pipeline, count int, f func(int32) int32) time.Duration {
	t.Helper()
	in, out := inputs(s, count, 64)
	g := tandem.NewGraph()
	for i := range in {
		p.Add(g, in[i], out[i])
	}
	makespan := run(t, s, g)
	check(t, out, f)
	return makespan
}

// threeStages computes (2x+1)².
func threeStages(x int32) int32 { return (2*x + 1) * (2*x + 1) }

// TestPipeline has stages of 1, 2 and 3 ms on two devices that are alike. The
// best cut is behind the second: 3 ms each. n items take 3(n+1) ms.
func TestPipeline(t *testing.T) {
	spec := takes(map[string]time.Duration{"double": ms, "inc": 2 * ms, "square": 3 * ms})
	s := machine(t, spec, spec)
	p := pipeline(t, s, stages(double, inc, square), 0)
	want := []strategy.Group{{Device: "sim:0", First: 0, Last: 2, Cycle: 3 * ms}, {Device: "sim:1", First: 2, Last: 3, Cycle: 3 * ms}}
	if fmt.Sprint(p.Groups) != fmt.Sprint(want) || p.Cycle() != 3*ms {
		t.Errorf("groups %v, want %v", p.Groups, want)
	}
	if got := through(t, s, p, 50, threeStages); got != 153*ms {
		t.Errorf("50 items take %v, want 153ms", got)
	}
}

// TestPipelineUnequal has a device that is fast at the last stage only, in the
// middle of the list: it gets that stage.
func TestPipelineUnequal(t *testing.T) {
	s := machine(t,
		takes(map[string]time.Duration{"double": 4 * ms, "inc": 4 * ms, "square": 40 * ms}),
		takes(map[string]time.Duration{"double": 30 * ms, "inc": 30 * ms, "square": 5 * ms}),
		takes(map[string]time.Duration{"double": 6 * ms, "inc": 8 * ms, "square": 90 * ms}))
	p := pipeline(t, s, stages(double, inc, square), 2)
	want := []strategy.Group{{Device: "sim:2", First: 0, Last: 1, Cycle: 6 * ms}, {Device: "sim:0", First: 1, Last: 2, Cycle: 4 * ms},
		{Device: "sim:1", First: 2, Last: 3, Cycle: 5 * ms}}
	if fmt.Sprint(p.Groups) != fmt.Sprint(want) {
		t.Errorf("groups %v, want %v", p.Groups, want)
	}
	if got := through(t, s, p, 20, threeStages); got != (20*6+4+5)*ms {
		t.Errorf("20 items take %v, want 129ms", got)
	}
}

// TestPipelineMemory has rings of the asked depth whatever the number of items,
// on devices with memory of their own, and moves every item once on each way.
// With one buffer between the devices they wait for each other.
func TestPipelineMemory(t *testing.T) {
	link := devices.Link{Bandwidth: 4 * 64 * 1e3} // 1 ms an item
	spec := sim.Spec{CopyEngines: 2, Upload: link, Download: link, Kernels: map[string]sim.KernelSpec{"*": {Time: 4 * ms}}}
	for _, c := range []struct {
		depth int
		bytes int64
		want  time.Duration
	}{
		// A cycle of 8 ms; the first item passes two groups, and four copies lie before,
		// between and behind them.
		{2, 2*256 + 2*256, (29*8 + 2*8 + 4) * ms},
		// The buffer between the devices is filled (4 ms), moved (2 ms) and used up
		// (4 ms) before it is filled again.
		{1, 256 + 2*256, (29*10 + 2*8 + 4) * ms},
	} {
		t.Run(fmt.Sprintf("depth=%d", c.depth), func(t *testing.T) {
			s := machine(t, spec, spec)
			p := pipeline(t, s, stages(double, inc, square, inc), c.depth)
			if len(p.Groups) != 2 || p.Groups[0].Last != 2 || p.Cycle() != 8*ms {
				t.Fatalf("groups %v, want two of two stages and 8ms", p.Groups)
			}
			if p.Bytes() != c.bytes {
				t.Errorf("%d bytes between the stages, want %d", p.Bytes(), c.bytes)
			}
			before := s.Stats()
			got := through(t, s, p, 30, func(x int32) int32 { return threeStages(x) + 1 })
			if got != c.want {
				t.Errorf("30 items take %v, want %v", got, c.want)
			}
			for d, now := range s.Stats() {
				up, down := now.BytesH2D-before[d].BytesH2D, now.BytesD2H-before[d].BytesD2H
				if up != 30*256 || down != 30*256 {
					t.Errorf("%s: %d bytes up and %d down, want %d each", now.ID, up, down, 30*256)
				}
			}
		})
	}
}

// TestPipelineCountsCopies has a second device that computes faster but whose
// copies are slower than that: it is not used.
func TestPipelineCountsCopies(t *testing.T) {
	slow := devices.Link{Latency: 20 * ms, Bandwidth: 1e9}
	far := sim.Spec{CopyEngines: 2, Upload: slow, Download: slow, Kernels: map[string]sim.KernelSpec{"*": {Time: ms}}}
	s := machine(t, takes(map[string]time.Duration{"double": 5 * ms, "inc": 5 * ms}), far)
	p := pipeline(t, s, stages(double, inc), 2)
	if len(p.Groups) != 1 || p.Groups[0].Device != "sim:0" || p.Cycle() != 10*ms {
		t.Errorf("groups %v, want all on sim:0", p.Groups)
	}
}

// TestStream sends 100 items through a pipeline in order, with memory for a few.
func TestStream(t *testing.T) {
	spec := takes(map[string]time.Duration{"double": ms, "inc": 2 * ms, "square": 3 * ms})
	s := machine(t, spec, spec)
	p := pipeline(t, s, stages(double, inc, square), 2)
	next := 0
	fed := 0
	most := 0
	feed := func(i int, mem []byte) (bool, error) {
		if i == 100 {
			return false, nil
		}
		if i != fed {
			t.Errorf("item %d fed, want %d", i, fed)
		}
		fed++
		most = max(most, fed-next)
		for j := range devices.View[int32](mem) {
			devices.View[int32](mem)[j] = int32(i + j)
		}
		return true, nil
	}
	take := func(i int, mem []byte) error {
		if i != next {
			t.Errorf("item %d taken, want %d", i, next)
		}
		next++
		for j, v := range devices.View[int32](mem) {
			if v != threeStages(int32(i+j)) {
				return fmt.Errorf("item %d holds %d at %d, want %d", i, v, j, threeStages(int32(i+j)))
			}
		}
		return nil
	}
	for range 2 { // a pipeline can be used again
		next, fed = 0, 0
		if err := p.Stream(t.Context(), feed, take); err != nil {
			t.Fatal(err)
		}
		if fed != 100 || next != 100 || most != 4 {
			t.Errorf("%d items fed, %d taken, at most %d under way, want 100, 100 and 4", fed, next, most)
		}
	}
	for _, d := range s.Stats() {
		if d.Tasks < 200 {
			t.Errorf("%s ran %d launches, want its stages of 200 items", d.ID, d.Tasks)
		}
	}
}

// TestStreamEnds has streams of no items, with errors from each side, from a
// kernel and from the context.
func TestStreamEnds(t *testing.T) {
	boom := step("inc", func(x int32) int32 {
		if x == 10 {
			panic("ten")
		}
		return x
	})
	spec := takes(map[string]time.Duration{"double": ms, "inc": ms})
	s := machine(t, spec, spec)
	p := pipeline(t, s, stages(double, boom), 2)
	errFeed, errTake := errors.New("no more input"), errors.New("disk full")
	taken := 0
	counting := func(int, []byte) error { taken++; return nil }
	fill := func(mem []byte, v int) {
		for j := range devices.View[int32](mem) {
			devices.View[int32](mem)[j] = int32(v)
		}
	}
	if err := p.Stream(t.Context(), func(int, []byte) (bool, error) { return false, nil }, counting); err != nil || taken != 0 {
		t.Errorf("no items: %v, %d taken", err, taken)
	}
	err := p.Stream(t.Context(), func(i int, mem []byte) (bool, error) {
		fill(mem, 0)
		if i == 7 {
			return false, errFeed
		}
		return true, nil
	}, counting)
	if !errors.Is(err, errFeed) {
		t.Errorf("err = %v, want that of feed", err)
	}
	err = p.Stream(t.Context(), func(_ int, mem []byte) (bool, error) { fill(mem, 0); return true, nil }, func(i int, _ []byte) error {
		if i == 3 {
			return errTake
		}
		return nil
	})
	if !errors.Is(err, errTake) {
		t.Errorf("err = %v, want that of take", err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	stop := errors.New("stopped by hand")
	err = p.Stream(ctx, func(i int, mem []byte) (bool, error) {
		fill(mem, 0)
		if i == 9 {
			cancel(stop)
		}
		return true, nil
	}, counting)
	if !errors.Is(err, stop) {
		t.Errorf("err = %v, want the cause of the context's end", err)
	}
	err = p.Stream(t.Context(), func(i int, mem []byte) (bool, error) { fill(mem, i); return i < 20, nil }, counting)
	var te *tandem.TaskError
	if !errors.As(err, &te) || !strings.HasPrefix(err.Error(), "item 5: ") || te.Device != "sim:1" {
		t.Errorf("err = %v, want the task of item 5 on sim:1", err)
	}
	// The pipeline can still be used.
	taken = 0
	err = p.Stream(t.Context(), func(i int, mem []byte) (bool, error) { fill(mem, 1); return i < 20, nil }, counting)
	if err != nil || taken != 20 {
		t.Errorf("after failures: %v, %d taken", err, taken)
	}
}

func TestPipelineRefuses(t *testing.T) {
	s := machine(t, takes(nil))
	if _, err := strategy.PipelineParallel(t.Context(), s, nil, item, 2); !errors.Is(err, devices.ErrInvalid) {
		t.Errorf("no stages: %v", err)
	}
	if _, err := strategy.PipelineParallel(t.Context(), s, stages(inc), item, -1); !errors.Is(err, devices.ErrInvalid) {
		t.Errorf("negative depth: %v", err)
	}
	foreign := *inc
	foreign.Variants = []kernels.Variant{{Language: devices.LangPTX, Source: &devices.Source{}, Entry: "inc"}}
	_, err := strategy.PipelineParallel(t.Context(), s, stages(double, &foreign), item, 2)
	var pe *tandem.PlanError
	if !errors.As(err, &pe) || pe.Task != "inc" {
		t.Errorf("a stage that nothing runs: %v, want a plan error that names it", err)
	}
}

// TestPipelineLosesADevice has the second device fail in the middle of a run:
// its stages are done elsewhere, and a graph planned after that says what is
// missing.
func TestPipelineLosesADevice(t *testing.T) {
	spec := takes(map[string]time.Duration{"double": ms, "inc": 2 * ms, "square": 3 * ms})
	broken := spec
	broken.LostAt = 50 * ms // the warm-up takes 24 ms
	s := machine(t, spec, broken)
	p := pipeline(t, s, stages(double, inc, square), 2)
	if len(p.Groups) != 2 {
		t.Fatalf("groups %v, want two", p.Groups)
	}
	if got := through(t, s, p, 30, threeStages); got <= 93*ms {
		t.Errorf("30 items take %v with a device lost, want more than the 93ms with both", got)
	}
	in, out := inputs(s, 1, 64)
	g := tandem.NewGraph()
	p.Add(g, in[0], out[0])
	_, err := s.Submit(t.Context(), g)
	var pe *tandem.PlanError
	if !errors.As(err, &pe) || !strings.Contains(err.Error(), "sim:1 is out of use: the device was lost") {
		t.Errorf("after the loss: %v, want a plan error that names the device", err)
	}
}

// TestStreamLosesADevice has the second device fail while a stream is under
// way: every item arrives all the same.
func TestStreamLosesADevice(t *testing.T) {
	spec := takes(map[string]time.Duration{"double": ms, "inc": 2 * ms, "square": 3 * ms})
	broken := spec
	broken.LostAt = 60 * ms
	s := machine(t, spec, broken)
	p := pipeline(t, s, stages(double, inc, square), 2)
	taken := 0
	err := p.Stream(t.Context(), func(i int, mem []byte) (bool, error) {
		for j := range devices.View[int32](mem) {
			devices.View[int32](mem)[j] = int32(i)
		}
		return i < 60, nil
	}, func(i int, mem []byte) error {
		taken++
		for j, v := range devices.View[int32](mem) {
			if v != threeStages(int32(i)) {
				return fmt.Errorf("item %d holds %d at %d, want %d", i, v, j, threeStages(int32(i)))
			}
		}
		return nil
	})
	if err != nil || taken != 60 {
		t.Errorf("%d of 60 items taken, %v", taken, err)
	}
	if d := s.Stats(); d[0].Tasks < 100 || d[1].Tasks == 0 {
		t.Errorf("%d and %d launches, want most on the first device and some on the second", d[0].Tasks, d[1].Tasks)
	}
}
