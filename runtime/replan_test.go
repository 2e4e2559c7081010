package tandem_test

import (
	"sync"
	"testing"
	"time"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/devices/sim"
	"github.com/tandemrun/tandem/kernels"
	tandem "github.com/tandemrun/tandem/runtime"
)

// TestReplan has two devices that look alike, of which one is ten times slower
// than it says. The first tasks show it; the rest is planned again.
func TestReplan(t *testing.T) {
	const tasks, each = 100, 10 * time.Millisecond
	k := goKernel("work", func(devices.Range, *devices.Args) {}, param("x", kernels.ReadWrite))
	k.NoSplit = "the test counts whole tasks"
	k.Work = func(*kernels.Call) kernels.Work { return kernels.Work{Flops: 1e7} }
	d, err := sim.New(sim.Description{Devices: []sim.Spec{
		{Name: "honest", Flops: 1e9, Kernels: map[string]sim.KernelSpec{"work": {Time: each}}},
		{Name: "slow", Flops: 1e9, Kernels: map[string]sim.KernelSpec{"work": {Time: 10 * each}}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	ran := map[string]int{}
	planned := 0
	s := open(t, tandem.Config{Drivers: []devices.Driver{d}, Calibrations: d.Calibrations(), Observer: tandem.Observer{
		Launched: func(e tandem.LaunchEvent) { mu.Lock(); ran[e.Device]++; mu.Unlock() },
		Decided:  func(e tandem.DecisionEvent) { mu.Lock(); planned++; mu.Unlock() },
	}})
	g := tandem.NewGraph()
	for range tasks {
		g.Add(k, tandem.NewSlice[int32](s, 1))
	}
	r := submit(t, s, g)
	if err := r.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	static := tasks / 2 * 10 * each // half of the tasks on the slow device
	if r.Makespan() > static/2 {
		t.Errorf("makespan %v, want well below the %v of the first plan", r.Makespan(), static)
	}
	if ran["sim:1"] > tasks/4 {
		t.Errorf("tasks by device %v: the slow one was not relieved", ran)
	}
	if planned <= tasks {
		t.Error("no placement was decided again")
	}
	t.Logf("makespan %v, tasks %v, %d placements decided", r.Makespan(), ran, planned)
}
