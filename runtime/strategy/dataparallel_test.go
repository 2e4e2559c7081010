package strategy_test

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/devices/sim"
	tandem "github.com/tandemrun/tandem/runtime"
	"github.com/tandemrun/tandem/runtime/strategy"
)

// speeds are three devices on which both kernels of a chain take 1, 2 and 4 ms
// together.
func speeds() []sim.Spec {
	var all []sim.Spec
	for _, d := range []time.Duration{ms, 2 * ms, 4 * ms} {
		all = append(all, takes(map[string]time.Duration{"double": d / 4, "inc": d * 3 / 4}))
	}
	return all
}

// TestDataParallel has 28 batches on devices that do 1, 1/2 and 1/4 batch in a
// millisecond: 16, 8 and 4 of them take 16 ms, and nothing can be faster.
func TestDataParallel(t *testing.T) {
	s := machine(t, speeds()...)
	chain := stages(double, inc)
	warm(t, s, chain, 64)
	before := tasks(s)
	in, out := inputs(s, 28, 64)
	g := tandem.NewGraph()
	made, err := strategy.DataParallel(s, g, chain, in, out)
	if err != nil {
		t.Fatal(err)
	}
	if len(made) != 28 || g.Len() != 56 {
		t.Errorf("%d temporaries and %d tasks, want 28 and 56", len(made), g.Len())
	}
	if got := run(t, s, g); got != 16*ms {
		t.Errorf("makespan %v, want 16ms", got)
	}
	if got, want := since(tasks(s), before), []int64{32, 16, 8}; !slices.Equal(got, want) {
		t.Errorf("launches by device %v, want %v", got, want)
	}
	check(t, out, func(x int32) int32 { return 2*x + 1 })
	if err := errors.Join(made.Free(), made.Free()); err != nil {
		t.Error(err)
	}
}

// TestDataParallelShares deals 10 batches as 7, 0 and 3, each device with one
// temporary.
func TestDataParallelShares(t *testing.T) {
	s := machine(t, speeds()...)
	in, out := inputs(s, 10, 64)
	g := tandem.NewGraph()
	made, err := strategy.DataParallel(s, g, stages(double, inc), in, out, 0.7, 0, 0.3)
	if err != nil {
		t.Fatal(err)
	}
	if len(made) != 2 {
		t.Errorf("%d temporaries, want one for each of two devices", len(made))
	}
	if got := run(t, s, g); got != 12*ms {
		t.Errorf("makespan %v, want 12ms: three batches of 4 ms", got)
	}
	if got, want := tasks(s), []int64{14, 0, 6}; !slices.Equal(got, want) {
		t.Errorf("launches by device %v, want %v", got, want)
	}
	check(t, out, func(x int32) int32 { return 2*x + 1 })
}

// TestDataParallelHidesCopies has a device with memory of its own, on which
// uploading, computing and downloading a batch take 1 ms each.
func TestDataParallelHidesCopies(t *testing.T) {
	link := devices.Link{Bandwidth: 4 * 256 * 1e3}
	s := machine(t, sim.Spec{CopyEngines: 2, Upload: link, Download: link, Kernels: map[string]sim.KernelSpec{"inc": {Time: ms}}})
	in, out := inputs(s, 20, 256)
	g := tandem.NewGraph()
	if _, err := strategy.DataParallel(s, g, stages(inc), in, out); err != nil {
		t.Fatal(err)
	}
	if got := run(t, s, g); got != 22*ms {
		t.Errorf("makespan %v, want 22ms: 20 in each of three stages", got)
	}
	check(t, out, func(x int32) int32 { return x + 1 })
}

// TestScatterGather cuts 10 elements by 4, with a ragged end, and sends them
// through a chain with one set of temporaries.
func TestScatterGather(t *testing.T) {
	s := machine(t, speeds()...)
	v := []int32{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}
	in := strategy.Scatter(s, v, 4)
	if len(in) != 3 || in[2].Shape()[0] != 2 {
		t.Fatalf("%d batches, the last one %v, want 3 and 2 elements", len(in), in[len(in)-1].Shape())
	}
	out := strategy.Scatter(s, make([]int32, 10), 4)
	g := tandem.NewGraph()
	if _, err := strategy.DataParallel(s, g, stages(double, inc), in, out, 1, 0, 0); err != nil {
		t.Fatal(err)
	}
	run(t, s, g)
	got, err := strategy.Gather[int32](t.Context(), out)
	if want := []int32{1, 3, 5, 7, 9, 11, 13, 15, 17, 19}; err != nil || !slices.Equal(got, want) {
		t.Errorf("got %v, %v, want %v", got, err, want)
	}
	if _, err := strategy.Gather[float32](t.Context(), out); !errors.Is(err, devices.ErrInvalid) || !strings.Contains(err.Error(), "holds int32, gathered as float32") {
		t.Errorf("err = %v, want the two types", err)
	}
}

func TestDataParallelRefuses(t *testing.T) {
	s := machine(t, speeds()...)
	in, out := inputs(s, 2, 8)
	chain := stages(double)
	for _, c := range []struct {
		name   string
		chain  []strategy.Stage
		in     []*tandem.Buffer
		shares []float64
		want   string
	}{
		{"no stages", nil, in, nil, "a chain of no stages"},
		{"no kernel", make([]strategy.Stage, 1), in, nil, "stage 1 of 1 has no kernel"},
		{"lengths", chain, in[:1], nil, "1 inputs and 2 outputs"},
		{"count", chain, in, []float64{1}, "1 shares for 3 devices"},
		{"negative", chain, in, []float64{1, -1, 0}, "share 2 is -1"},
		{"not a number", chain, in, []float64{math.NaN(), 1, 1}, "share 1 is NaN"},
		{"all 0", chain, in, []float64{0, 0, 0}, "all 3 shares are 0"},
	} {
		g := tandem.NewGraph()
		_, err := strategy.DataParallel(s, g, c.chain, c.in, out, c.shares...)
		if !errors.Is(err, devices.ErrInvalid) || !strings.Contains(err.Error(), c.want) || g.Len() != 0 {
			t.Errorf("%s: err = %v and %d tasks, want %q and none", c.name, err, g.Len(), c.want)
		}
	}
}
