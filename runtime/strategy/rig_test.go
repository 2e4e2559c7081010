package strategy_test

import (
	"context"
	"testing"
	"time"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/devices/devicetest"
	"github.com/tandemrun/tandem/devices/sim"
	"github.com/tandemrun/tandem/kernels"
	tandem "github.com/tandemrun/tandem/runtime"
	"github.com/tandemrun/tandem/runtime/strategy"
)

const ms = time.Millisecond

// machine opens a session on described devices.
func machine(t *testing.T, specs ...sim.Spec) *tandem.Session {
	t.Helper()
	devicetest.CheckGoroutines(t)
	d, err := sim.New(sim.Description{Devices: specs})
	if err != nil {
		t.Fatal(err)
	}
	s, err := tandem.Open(context.Background(), tandem.Config{Drivers: []devices.Driver{d}, Calibrations: d.Calibrations()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// takes describes a device in the host's memory on which launches take the
// given times, by kernel.
func takes(times map[string]time.Duration) sim.Spec {
	spec := sim.Spec{Unified: true, Kernels: map[string]sim.KernelSpec{}}
	for name, d := range times {
		spec.Kernels[name] = sim.KernelSpec{Time: d}
	}
	return spec
}

// step is a kernel that makes f(x) of each element x.
func step(name string, f func(int32) int32) *kernels.Kernel {
	param := func(name string, mode kernels.Access) kernels.Param {
		return kernels.Param{Name: name, Kind: kernels.Buffer, Type: kernels.Scalar(devices.Int32), Mode: mode, Band: kernels.PerItem(1)}
	}
	run := func(r devices.Range, a *devices.Args) {
		x, y := devices.Slice[int32](a, 0), devices.Slice[int32](a, 1)
		for i := r.Lo[0]; i < r.Hi[0]; i++ {
			y[i] = f(x[i])
		}
	}
	return &kernels.Kernel{Name: name, Params: []kernels.Param{param("x", kernels.Read), param("y", kernels.Write)},
		Variants: []kernels.Variant{{Language: devices.LangGo, Entry: name,
			Source: &devices.Source{Name: name, Language: devices.LangGo, Go: map[string]devices.GoFunc{name: run}}}},
		Infer: func(c *kernels.Call) error {
			c.SetRange(c.Array("x").Elements())
			return nil
		}}
}

var (
	double = step("double", func(x int32) int32 { return 2 * x })
	inc    = step("inc", func(x int32) int32 { return x + 1 })
	square = step("square", func(x int32) int32 { return x * x })
)

// stages makes a chain of kernels from array to array.
func stages(all ...*kernels.Kernel) (chain []strategy.Stage) {
	for _, k := range all {
		chain = append(chain, strategy.Stage{Kernel: k})
	}
	return chain
}

// inputs are count buffers of size elements, with i in all of the i-th, and as
// many outputs.
func inputs(s *tandem.Session, count, size int) (in, out []*tandem.Buffer) {
	for i := range count {
		v := make([]int32, size)
		for j := range v {
			v[j] = int32(i)
		}
		in = append(in, tandem.SliceOf(s, v).Buffer())
		out = append(out, tandem.NewSlice[int32](s, size).Buffer())
	}
	return in, out
}

// run runs g and returns its makespan on the devices' clock.
func run(t *testing.T, s *tandem.Session, g *tandem.Graph) time.Duration {
	t.Helper()
	r, err := s.Submit(t.Context(), g)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	return r.Makespan()
}

// check compares each buffer with f of its number.
func check(t *testing.T, out []*tandem.Buffer, f func(int32) int32) {
	t.Helper()
	for i, b := range out {
		got, err := strategy.Gather[int32](t.Context(), []*tandem.Buffer{b})
		if err != nil {
			t.Fatal(err)
		}
		for j, v := range got {
			if v != f(int32(i)) {
				t.Fatalf("output %d holds %d at %d, want %d", i, v, j, f(int32(i)))
			}
		}
	}
}

// warm rehearses the chain on one input.
func warm(t *testing.T, s *tandem.Session, chain []strategy.Stage, size int) {
	t.Helper()
	in, out := inputs(s, 1, size)
	g := tandem.NewGraph()
	made, err := strategy.DataParallel(s, g, chain, in, out)
	if err != nil {
		t.Fatal(err)
	}
	if err := strategy.WarmUp(t.Context(), s, g); err != nil {
		t.Fatal(err)
	}
	if err := made.Free(); err != nil {
		t.Fatal(err)
	}
}

// tasks is how many launches each device has run.
func tasks(s *tandem.Session) (n []int64) {
	for _, d := range s.Stats() {
		n = append(n, d.Tasks)
	}
	return n
}

// since is b − a, entry by entry.
func since(b, a []int64) []int64 {
	d := make([]int64, len(b))
	for i := range d {
		d[i] = b[i] - a[i]
	}
	return d
}
