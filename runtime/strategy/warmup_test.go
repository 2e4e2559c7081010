package strategy_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/kernels"
	"github.com/tandemrun/tandem/kernels/library"
	tandem "github.com/tandemrun/tandem/runtime"
	"github.com/tandemrun/tandem/runtime/strategy"
)

func ctx() context.Context { return context.Background() }

// TestWarmUp has kernels whose times no data sheet tells. Before, predictions
// are guesses; after, they are the very times. Buffers stay as they are, nothing
// is left allocated, and calls that are alike run once.
func TestWarmUp(t *testing.T) {
	s := machine(t,
		takes(map[string]time.Duration{"double": 3 * ms, "inc": 7 * ms}),
		takes(map[string]time.Duration{"double": 5 * ms, "inc": 2 * ms}))
	x, y := tandem.SliceOf(s, []int32{1, 2, 3}), tandem.SliceOf(s, []int32{4, 5, 6})
	g := tandem.NewGraph()
	for range 10 {
		g.Add(double, x, y)
		g.Add(inc, y, x)
	}
	predicted := func() (all []time.Duration, source string) {
		p, err := s.Plan(t.Context(), g)
		if err != nil {
			t.Fatal(err)
		}
		for task := range 2 {
			for _, e := range p.Problem().Tasks[task].Cost {
				all, source = append(all, e.Run), e.Source
			}
		}
		return all, source
	}
	if _, source := predicted(); source == "history" {
		t.Errorf("predictions come from history before anything ran")
	}
	if err := strategy.WarmUp(t.Context(), s, g); err != nil {
		t.Fatal(err)
	}
	got, source := predicted()
	if want := []time.Duration{3 * ms, 5 * ms, 7 * ms, 2 * ms}; !slices.Equal(got, want) || source != "history" {
		t.Errorf("predictions %v from %s, want %v from history", got, source, want)
	}
	if got, want := tasks(s), []int64{6, 6}; !slices.Equal(got, want) {
		t.Errorf("launches by device %v, want three of each kernel", got)
	}
	if a, b := values(t, x), values(t, y); !slices.Equal(a, []int32{1, 2, 3}) || !slices.Equal(b, []int32{4, 5, 6}) {
		t.Errorf("buffers %v and %v, want them untouched", a, b)
	}
}

// TestWarmUpAfterShortLaunches: devices that have run thousands of short
// launches, of which the cost model is told few, tell it all of a kernel that
// they never ran.
func TestWarmUpAfterShortLaunches(t *testing.T) {
	const us = time.Microsecond
	s := machine(t,
		takes(map[string]time.Duration{"double": 10 * us, "inc": 70 * us}),
		takes(map[string]time.Duration{"double": 10 * us, "inc": 20 * us}))
	x, y := tandem.SliceOf(s, []int32{1, 2, 3}), tandem.SliceOf(s, []int32{4, 5, 6})
	for _, id := range []string{"sim:0", "sim:1"} {
		many := tandem.NewGraph()
		for range 1001 {
			many.Add(double, x, y).On(id)
		}
		if err := s.Run(t.Context(), many); err != nil {
			t.Fatal(err)
		}
	}
	g := tandem.NewGraph()
	g.Add(inc, x, y)
	if err := strategy.WarmUp(t.Context(), s, g); err != nil {
		t.Fatal(err)
	}
	p, err := s.Plan(t.Context(), g)
	if err != nil {
		t.Fatal(err)
	}
	for d, want := range []time.Duration{70 * us, 20 * us} {
		if e := p.Problem().Tasks[0].Cost[d]; e.Run != want || e.Source != "history" {
			t.Errorf("device %d: %v from %s, want %v from history", d, e.Run, e.Source, want)
		}
	}
}

// TestWarmUpOfSteps warms up a kernel of two steps, and the plan that follows is
// exact: 16 ms for both.
func TestWarmUpOfSteps(t *testing.T) {
	s := machine(t, takes(map[string]time.Duration{"*": 8 * ms}))
	x, sum := tandem.SliceOf(s, make([]int32, 1<<16)), tandem.NewSlice[int64](s, 1)
	g := tandem.NewGraph()
	g.Add(library.VectorSumI32, x, sum)
	if err := strategy.WarmUp(t.Context(), s, g); err != nil {
		t.Fatal(err)
	}
	p, err := s.Plan(t.Context(), g)
	if err != nil || g.Len() != 2 || p.Predicted != 16*ms {
		t.Errorf("%d steps predicted to take %v, %v, want 2 in 16ms", g.Len(), p.Predicted, err)
	}
}

// TestWarmUpFails has a kernel that panics on zeros: each device is named, and
// the kernel after it is warmed up all the same.
func TestWarmUpFails(t *testing.T) {
	boom := step("square", func(x int32) int32 {
		if x == 0 {
			panic("zero")
		}
		return x
	})
	s := machine(t, takes(map[string]time.Duration{"inc": ms}), takes(map[string]time.Duration{"inc": ms}))
	x, y := tandem.SliceOf(s, []int32{1}), tandem.SliceOf(s, []int32{1})
	g := tandem.NewGraph()
	g.Add(boom, x, y)
	g.Add(inc, x, y)
	err := strategy.WarmUp(t.Context(), s, g)
	var te *tandem.TaskError
	if !errors.As(err, &te) || !strings.Contains(err.Error(), "warm-up on sim:0: ") || !strings.Contains(err.Error(), "warm-up on sim:1: ") {
		t.Errorf("err = %v, want a task error for each device", err)
	}
	if got, want := tasks(s), []int64{3, 3}; !slices.Equal(got, want) {
		t.Errorf("launches by device %v, want %v of the kernel that works", got, want)
	}

	foreign := *inc
	foreign.Variants = []kernels.Variant{{Language: devices.LangPTX, Source: &devices.Source{}, Entry: "inc"}}
	g = tandem.NewGraph()
	g.Add(&foreign, x, y)
	var pe *tandem.PlanError
	if err := strategy.WarmUp(t.Context(), s, g); !errors.As(err, &pe) {
		t.Errorf("a kernel that nothing runs: %v, want a plan error", err)
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	g = tandem.NewGraph()
	g.Add(inc, x, y)
	if err := strategy.WarmUp(cancelled, s, g); !errors.Is(err, context.Canceled) {
		t.Errorf("with a context that is over: %v", err)
	}
	if err := strategy.WarmUp(t.Context(), s, tandem.NewGraph()); err != nil {
		t.Errorf("an empty graph: %v", err)
	}
}
