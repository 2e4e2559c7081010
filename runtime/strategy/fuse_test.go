package strategy_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/devices/sim"
	"github.com/tandemrun/tandem/kernels"
	tandem "github.com/tandemrun/tandem/runtime"
	"github.com/tandemrun/tandem/runtime/strategy"
)

// chainOf adds count tasks of k, each on the result of the one before, and
// returns them with the last buffer.
func chainOf(s *tandem.Session, g *tandem.Graph, k *kernels.Kernel, count, size int) (all []tandem.Task, last *tandem.Slice[int32]) {
	last = tandem.NewSlice[int32](s, size)
	for range count {
		next := tandem.NewSlice[int32](s, size)
		all = append(all, g.Add(k, last, next))
		last = next
	}
	return all, last
}

// links of 1 ms for 1024 int32.
var oneMs = devices.Link{Bandwidth: 4096 * 1e3}

// TestFuse has a chain of 4 tasks: 5 ms each on the host's side, 3 ms on a
// device to which the input moves for 1 ms. There it ends after 13 ms, with one
// upload; a chain of a single task stays, where it ends after 4 ms and not 5.
func TestFuse(t *testing.T) {
	far := sim.Spec{CopyEngines: 2, Upload: oneMs, Download: oneMs, Kernels: map[string]sim.KernelSpec{"inc": {Time: 3 * ms}}}
	s := machine(t, takes(map[string]time.Duration{"inc": 5 * ms}), far)
	warm(t, s, stages(inc), 1024)
	base := s.Stats()[1]
	g := tandem.NewGraph()
	all, last := chainOf(s, g, inc, 4, 1024)
	device, err := strategy.Fuse(t.Context(), s, g, all...)
	if err != nil || device != "sim:1" {
		t.Fatalf("fused on %q, %v, want sim:1", device, err)
	}
	if got := run(t, s, g); got != 13*ms {
		t.Errorf("makespan %v, want 13ms", got)
	}
	if d := s.Stats()[1]; d.BytesH2D-base.BytesH2D != 4096 || d.Tasks-base.Tasks != 4 {
		t.Errorf("%d bytes up and %d tasks, want 4096 and 4", d.BytesH2D-base.BytesH2D, d.Tasks-base.Tasks)
	}
	if v := values(t, last); v[0] != 4 || v[1023] != 4 {
		t.Errorf("result %d … %d, want 4", v[0], v[1023])
	}
}

// TestFuseWaits has the faster device busy with another task: the chain goes to
// the slower one if it is done earlier there.
func TestFuseWaits(t *testing.T) {
	s := machine(t,
		takes(map[string]time.Duration{"inc": 2 * ms, "square": 10 * ms}),
		takes(map[string]time.Duration{"inc": 3 * ms}))
	warm(t, s, stages(inc, square), 64)
	for _, c := range []struct {
		tasks int
		want  string
		ends  time.Duration
	}{
		{3, "sim:1", 10 * ms},  // 9 ms there, 16 behind the other task
		{12, "sim:0", 34 * ms}, // 36 ms there
	} {
		g := tandem.NewGraph()
		g.Add(square, tandem.NewSlice[int32](s, 64), tandem.NewSlice[int32](s, 64)).On("sim:0")
		all, _ := chainOf(s, g, inc, c.tasks, 64)
		device, err := strategy.Fuse(t.Context(), s, g, all...)
		if err != nil || device != c.want {
			t.Errorf("%d tasks fused on %q, %v, want %s", c.tasks, device, err, c.want)
		}
		if got := run(t, s, g); got != c.ends {
			t.Errorf("%d tasks end after %v, want %v", c.tasks, got, c.ends)
		}
	}
}

// TestFuseKeepsOrder fuses tasks that share nothing: they run in the order
// given, on the device that one of them is restricted to.
func TestFuseKeepsOrder(t *testing.T) {
	var order []int32
	note := step("inc", func(x int32) int32 { order = append(order, x); return x })
	s := machine(t, takes(map[string]time.Duration{"inc": ms}), takes(map[string]time.Duration{"inc": 4 * ms}))
	g := tandem.NewGraph()
	var all []tandem.Task
	for i := range 5 {
		all = append(all, g.Add(note, tandem.SliceOf(s, []int32{int32(4 - i)}), tandem.NewSlice[int32](s, 1)))
	}
	all[3].On("sim:1")
	slices.Reverse(all)
	device, err := strategy.Fuse(t.Context(), s, g, all...)
	if err != nil || device != "sim:1" {
		t.Fatalf("fused on %q, %v, want sim:1", device, err)
	}
	if got := run(t, s, g); got != 20*ms {
		t.Errorf("makespan %v, want 20ms", got)
	}
	for i, v := range order {
		if v != int32(i) || len(order) != 5 {
			t.Fatalf("ran in order %v, want 0 to 4", order)
		}
	}
}

func TestFuseRefuses(t *testing.T) {
	s := machine(t, takes(nil), takes(nil))
	g := tandem.NewGraph()
	if _, err := strategy.Fuse(t.Context(), s, g); !errors.Is(err, devices.ErrInvalid) {
		t.Errorf("no tasks: %v", err)
	}
	all, _ := chainOf(s, g, inc, 2, 8)
	all[0].On("sim:0")
	all[1].On("sim:1")
	_, err := strategy.Fuse(t.Context(), s, g, all...)
	var pe *tandem.PlanError
	if !errors.As(err, &pe) || pe.Task != "inc+inc#2" || len(pe.Tried) != 2 || !strings.Contains(err.Error(), "sim:1 is not among the devices asked for (sim:0)") {
		t.Errorf("tasks for different devices: %v, want a plan error with both", err)
	}
}
