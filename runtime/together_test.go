package tandem_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/devices/cpu"
	"github.com/tandemrun/tandem/devices/devicetest"
	"github.com/tandemrun/tandem/devices/fpga"
	"github.com/tandemrun/tandem/devices/opencl"
	"github.com/tandemrun/tandem/kernels"
	"github.com/tandemrun/tandem/kernels/clc"
	tandem "github.com/tandemrun/tandem/runtime"
)

const stagesText = `
#pragma OPENCL EXTENSION cl_intel_channels : enable
channel int in __attribute__((depth(64)));
channel int out __attribute__((depth(64)));
__attribute__((max_global_work_dim(0)))
__kernel void feed(__global const int *x, int n) { for (int i = 0; i < n; i++) write_channel_intel(in, x[i]); }
__attribute__((max_global_work_dim(0)))
__kernel void scale(int n, int by) { for (int i = 0; i < n; i++) write_channel_intel(out, by * read_channel_intel(in)); }
__attribute__((max_global_work_dim(0)))
__kernel void drain(__global int *y, int n) { for (int i = 0; i < n; i++) y[i] = read_channel_intel(out); }
__attribute__((reqd_work_group_size(4, 1, 1)))
__kernel void fixed(__global int *y) { y[get_global_id(0)] = 1; }
__kernel void bump(__global int *y, int n) { for (int i = 0; i < n; i++) y[i] += 1; }
`

// stages are the kernels of stagesText by name.
func stages(t *testing.T) map[string]*kernels.Kernel {
	t.Helper()
	list, err := clc.Parse("stages.cl", []byte(stagesText), clc.Options{})
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]*kernels.Kernel{}
	for _, k := range list {
		all[k.Name] = k
	}
	return all
}

var one = devices.NDRange{Dims: 1, Size: [3]int{1}}

// fpgaSession has the host's cores and an FPGA that runs kernels together.
func fpgaSession(t *testing.T, c tandem.Config) *tandem.Session {
	t.Helper()
	v := fpga.VendorEmulation()
	if v == nil {
		devicetest.Require(t, "fpga-emu", errors.New("Intel's FPGA emulation is not installed"))
	}
	t.Setenv("CL_CONFIG_CPU_TBB_NUM_WORKERS", "1") // meant for OpenCL on the host's cores
	c.Drivers, c.Devices = []devices.Driver{cpu.Driver{}, &fpga.Driver{Devices: 1, Vendors: []*opencl.Driver{v}}}, "cpu,fpga"
	s, err := tandem.Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return s
}

// counting is 0, 1, 2 ... in a buffer.
func counting(t *testing.T, s *tandem.Session, n int) *tandem.Slice[int32] {
	t.Helper()
	b := tandem.NewSlice[int32](s, n)
	if err := b.Update(t.Context(), func(x []int32) error {
		for i := range x {
			x[i] = int32(i)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return b
}

func read(t *testing.T, b *tandem.Slice[int32]) []int32 {
	t.Helper()
	v, err := b.Values(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// TestTogetherStages runs three kernels that send numbers to each other, several
// times and in several runs at once: none may take what is another's.
func TestTogetherStages(t *testing.T) {
	var mu sync.Mutex
	began := map[int64][]tandem.LaunchEvent{}
	s := fpgaSession(t, tandem.Config{Observer: tandem.Observer{Launched: func(e tandem.LaunchEvent) {
		mu.Lock()
		defer mu.Unlock()
		began[e.Run] = append(began[e.Run], e)
	}}})
	k := stages(t)
	const n, rounds = 1000, 4
	type part struct {
		run *tandem.Run
		y   [rounds]*tandem.Slice[int32]
	}
	var parts []part
	for p := range 3 {
		x := counting(t, s, n)
		g := tandem.NewGraph()
		var pt part
		for r := range rounds {
			pt.y[r] = tandem.NewSlice[int32](s, n)
			before := g.AddRange(k["bump"], one, x, int32(n)) // on the same device, before the three
			a := g.AddRange(k["feed"], one, x, int32(n))
			b := g.AddRange(k["scale"], one, int32(n), int32(10*p+r+1)).After(before)
			c := g.AddRange(k["drain"], one, pt.y[r], int32(n))
			g.Together(c, a, b)
			g.Add(add, pt.y[r], pt.y[r])
		}
		run, err := s.Submit(t.Context(), g)
		if err != nil {
			t.Fatal(err)
		}
		pt.run = run
		parts = append(parts, pt)
	}
	for p, pt := range parts {
		if err := pt.run.Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
		for r, y := range pt.y {
			for i, v := range read(t, y) {
				if want := int32(2 * (10*p + r + 1) * (i + r + 1)); v != want {
					t.Fatalf("run %d, round %d: number %d is %d, want %d", p, r, i, v, want)
				}
			}
		}
	}
	mu.Lock()
	defer mu.Unlock()
	for run, events := range began {
		queues := map[string]map[string]bool{}
		for _, e := range events {
			if e.Err != nil {
				t.Errorf("run %d: %+v", run, e)
			}
			if name := e.Kernel; name == "feed" || name == "scale" || name == "drain" {
				if queues[name] == nil {
					queues[name] = map[string]bool{}
				}
				queues[name][e.Device+" "+e.Queue] = true
				if !strings.HasPrefix(e.Device, "fpga:") {
					t.Errorf("%s ran on %s", name, e.Device)
				}
			}
		}
		if len(queues) != 3 {
			t.Errorf("run %d: only %v were seen", run, queues)
		}
	}
}

// TestTogetherRefusedLaunch has the device refuse one of the launches: none of
// the others may be left waiting for what will never come.
func TestTogetherRefusedLaunch(t *testing.T) {
	s := fpgaSession(t, tandem.Config{})
	k := stages(t)
	x, y := counting(t, s, 6), tandem.NewSlice[int32](s, 6)
	g := tandem.NewGraph()
	a := g.AddRange(k["feed"], one, x, int32(6))
	b := g.AddRange(k["scale"], one, int32(6), int32(2))
	c := g.AddRange(k["fixed"], devices.NDRange{Dims: 1, Size: [3]int{6}}, y)
	g.Together(a, b, c)
	err := s.Run(t.Context(), g)
	var te *tandem.TaskError
	if !errors.As(err, &te) || te.Task != "fixed" || !errors.Is(err, devices.ErrInvalid) || !strings.Contains(err.Error(), "[4 1 1]") {
		t.Fatalf("got %v, want the group size of fixed", err)
	}
	// The device is as good as before, and its channels are empty.
	y = tandem.NewSlice[int32](s, 6)
	g = tandem.NewGraph()
	g.Together(g.AddRange(k["feed"], one, x, int32(6)), g.AddRange(k["scale"], one, int32(6), int32(3)), g.AddRange(k["drain"], one, y, int32(6)))
	if err := s.Run(t.Context(), g); err != nil {
		t.Fatal(err)
	}
	if got := read(t, y); !slices.Equal(got, []int32{0, 3, 6, 9, 12, 15}) {
		t.Errorf("after the failure: %v", got)
	}
}

// TestTogetherFailedInput has what one of the group needs fail.
func TestTogetherFailedInput(t *testing.T) {
	s := fpgaSession(t, tandem.Config{})
	k := stages(t)
	x, y := counting(t, s, 6), tandem.NewSlice[int32](s, 6)
	g := tandem.NewGraph()
	g.Add(boom, x, int32(2))
	g.Together(g.AddRange(k["feed"], one, x, int32(6)), g.AddRange(k["scale"], one, int32(6), int32(2)), g.AddRange(k["drain"], one, y, int32(6)))
	err := s.Run(t.Context(), g)
	if err == nil || !strings.Contains(err.Error(), "boom") {
		t.Fatalf("got %v, want boom's failure", err)
	}
	if _, err := y.Values(t.Context()); err == nil {
		t.Error("what the group should have computed can be read")
	}
}

// TestTogetherLimit runs a group with time limits, and looks at its plan.
func TestTogetherLimit(t *testing.T) {
	s := fpgaSession(t, tandem.Config{})
	k := stages(t)
	x, y := counting(t, s, 6), tandem.NewSlice[int32](s, 6)
	g := tandem.NewGraph()
	a := g.AddRange(k["feed"], one, x, int32(6))
	b := g.AddRange(k["scale"], one, int32(6), int32(2))
	c := g.AddRange(k["drain"], one, y, int32(6))
	g.Together(a, b, c)
	for _, task := range []tandem.Task{a, b, c} {
		task.Timeout(time.Minute)
	}
	if err := s.Run(t.Context(), g); err != nil {
		t.Fatal(err)
	}
	p, err := s.Plan(t.Context(), g)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Schedule().Validate(p.Problem()); err != nil {
		t.Error(err)
	}
	for i, d := range p.Decisions() {
		if len(d.Chosen) != 1 || d.Chosen[0].Device != "fpga:1" || !strings.Contains(d.Reason, "run together") {
			t.Errorf("task %d: %+v, %s", i, d.Chosen, d.Reason)
		}
	}
}

// TestTogetherImpossible has groups that no session can run.
func TestTogetherImpossible(t *testing.T) {
	s, err := tandem.Open(t.Context(), tandem.Config{Drivers: []devices.Driver{cpu.Driver{}}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	x, y, z := tandem.NewSlice[int32](s, 8), tandem.NewSlice[int32](s, 8), tandem.NewSlice[int32](s, 8)
	for name, c := range map[string]struct {
		build func(g *tandem.Graph)
		words []string
	}{
		"data": {func(g *tandem.Graph) {
			g.Together(g.Add(set, x, int32(1)).Named("a"), g.Add(add, x, y).Named("b"))
		}, []string{`"a" and "b" are to run together`, `"b" waits for "a"`, "share buffer", "channel"}},
		"request": {func(g *tandem.Graph) {
			a, b := g.Add(set, x, int32(1)).Named("a"), g.Add(set, y, int32(1)).Named("b")
			g.Together(a, b.After(a))
		}, []string{`"b" waits for "a"`}},
		"ring": {func(g *tandem.Graph) {
			a := g.Add(set, x, int32(1)).Named("a")
			b := g.Add(add, x, y).Named("b")
			g.Together(a, g.Add(add, y, z).Named("c"))
			_ = b
		}, []string{"a + c", "b"}},
		"shares": {func(g *tandem.Graph) {
			g.Together(g.Add(set, x, int32(1)).Named("a").Split(0.5, 0.5), g.Add(set, y, int32(1)))
		}, []string{`"a" cannot be divided into 2 shares`}},
		"repeat": {func(g *tandem.Graph) {
			g.Together(g.Add(set, x, int32(1)).Named("a").Repeat(2), g.Add(set, y, int32(1)).Named("b").Repeat(3))
		}, []string{`"b" is repeated 3 times, "a" 2 times`}},
		"alone": {func(g *tandem.Graph) { g.Together(g.Add(set, x, int32(1))) }, []string{"at least two tasks"}},
		"twice": {func(g *tandem.Graph) {
			a := g.Add(set, x, int32(1)).Named("a")
			g.Together(a, a)
		}, []string{`"a" is named twice`}},
		"two groups": {func(g *tandem.Graph) {
			a := g.Add(set, x, int32(1)).Named("a")
			g.Together(a, g.Add(set, y, int32(1)))
			g.Together(a, g.Add(set, z, int32(1)))
		}, []string{`"a" runs together with others already`}},
		"another graph": {func(g *tandem.Graph) {
			g.Together(g.Add(set, x, int32(1)), tandem.NewGraph().Add(set, y, int32(1)))
		}, []string{"same graph"}},
		"no device": {func(g *tandem.Graph) {
			g.Together(g.Add(set, x, int32(1)).Named("a"), g.Add(set, y, int32(1)))
		}, []string{"cpu:0 is not sure to run kernels at the same time", "2 are to run together"}},
	} {
		g := tandem.NewGraph()
		c.build(g)
		err := s.Run(t.Context(), g)
		if err == nil {
			t.Errorf("%s: ran", name)
			continue
		}
		for _, w := range c.words {
			if !strings.Contains(err.Error(), w) {
				t.Errorf("%s: %q does not say %q", name, err, w)
			}
		}
	}
}

// TestTogetherSources has kernels of two programs, and more kernels than a
// device runs at a time.
func TestTogetherSources(t *testing.T) {
	s := fpgaSession(t, tandem.Config{})
	k, other := stages(t), stages(t)
	x, y := counting(t, s, 6), tandem.NewSlice[int32](s, 6)
	g := tandem.NewGraph()
	g.Together(g.AddRange(k["feed"], one, x, int32(6)), g.AddRange(other["drain"], one, y, int32(6)))
	if err := s.Run(t.Context(), g); !errors.Is(err, devices.ErrUnsupported) || !strings.Contains(fmt.Sprint(err), "different sources") {
		t.Errorf("kernels of two sources: %v", err)
	}
	g = tandem.NewGraph()
	var all []tandem.Task
	for range 17 {
		all = append(all, g.AddRange(k["scale"], one, int32(0), int32(1)))
	}
	g.Together(all...)
	if err := s.Run(t.Context(), g); !errors.Is(err, devices.ErrUnsupported) || !strings.Contains(fmt.Sprint(err), "at most 16 kernels") {
		t.Errorf("17 kernels at a time: %v", err)
	}
}
