package tandem_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/devices/cpu"
	"github.com/tandemrun/tandem/kernels"
	tandem "github.com/tandemrun/tandem/runtime"
)

// goKernel makes a one-dimensional kernel from a Go function.
func goKernel(name string, f devices.GoFunc, params ...kernels.Param) *kernels.Kernel {
	return &kernels.Kernel{Name: name, Params: params,
		Variants: []kernels.Variant{{Language: devices.LangGo, Entry: name,
			Source: &devices.Source{Name: name, Language: devices.LangGo, Go: map[string]devices.GoFunc{name: f}}}},
		Infer: func(c *kernels.Call) error {
			for _, a := range c.Args {
				if a.Array != nil {
					c.SetRange(a.Array.Elements())
					return nil
				}
			}
			return nil
		}}
}

func param(name string, mode kernels.Access) kernels.Param {
	return kernels.Param{Name: name, Kind: kernels.Buffer, Type: kernels.Scalar(devices.Int32), Mode: mode, Band: kernels.PerItem(1)}
}

var (
	// add computes y += x.
	add = goKernel("add", func(r devices.Range, a *devices.Args) {
		x, y := devices.Slice[int32](a, 0), devices.Slice[int32](a, 1)
		for i := r.Lo[0]; i < r.Hi[0]; i++ {
			y[i] += x[i]
		}
	}, param("x", kernels.Read), param("y", kernels.ReadWrite))
	// set writes v everywhere.
	set = goKernel("set", func(r devices.Range, a *devices.Args) {
		y, v := devices.Slice[int32](a, 0), devices.Value[int32](a, 1)
		for i := r.Lo[0]; i < r.Hi[0]; i++ {
			y[i] = v
		}
	}, param("y", kernels.Write), kernels.Param{Name: "v", Kind: kernels.Value, Type: kernels.Scalar(devices.Int32)})
	// boom panics when it reaches work-item at.
	boom = goKernel("boom", func(r devices.Range, a *devices.Args) {
		at := devices.Value[int32](a, 1)
		if int(at) >= r.Lo[0] && int(at) < r.Hi[0] {
			panic("boom")
		}
	}, param("y", kernels.ReadWrite), kernels.Param{Name: "at", Kind: kernels.Value, Type: kernels.Scalar(devices.Int32)})
)

func open(t testing.TB, c tandem.Config) *tandem.Session {
	t.Helper()
	if c.Drivers == nil {
		c.Drivers = []devices.Driver{cpu.Driver{Workers: 2}}
	}
	s, err := tandem.Open(context.Background(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return s
}

func values[T devices.Number](t testing.TB, x *tandem.Slice[T]) []T {
	t.Helper()
	v, err := x.Values(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func submit(t testing.TB, s *tandem.Session, g *tandem.Graph) *tandem.Run {
	t.Helper()
	r, err := s.Submit(context.Background(), g)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestChain(t *testing.T) {
	s := open(t, tandem.Config{})
	x, y := tandem.SliceOf(s, []int32{1, 2, 3}), tandem.SliceOf(s, []int32{10, 20, 30})
	g := tandem.NewGraph()
	g.Add(add, x, y)
	g.Add(add, y, x)
	g.Add(add, x, y)
	if err := submit(t, s, g).Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := values(t, y); fmt.Sprint(got) != "[23 46 69]" {
		t.Errorf("y = %v", got)
	}
	// The same graph again, without building it anew.
	if err := submit(t, s, g).Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := values(t, x); fmt.Sprint(got) != "[47 94 141]" {
		t.Errorf("x = %v after the second run", got)
	}
}

// TestRandomGraphs compares random graphs with the same operations done one
// after the other on plain slices.
func TestRandomGraphs(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	s := open(t, tandem.Config{})
	for range 30 {
		const n, bufs = 17, 5
		var model [bufs][n]int32
		slices := make([]*tandem.Slice[int32], bufs)
		for i := range slices {
			slices[i] = tandem.NewSlice[int32](s, n)
		}
		var runs []*tandem.Run
		for range 3 { // several graphs in flight over the same buffers
			g := tandem.NewGraph()
			for range 40 {
				a, b := rng.IntN(bufs), rng.IntN(bufs)
				if rng.IntN(4) == 0 || a == b {
					v := int32(rng.IntN(100))
					g.Add(set, slices[a], v)
					for i := range n {
						model[a][i] = v
					}
					continue
				}
				g.Add(add, slices[a], slices[b])
				for i := range n {
					model[b][i] += model[a][i]
				}
			}
			runs = append(runs, submit(t, s, g))
		}
		for _, r := range runs {
			if err := r.Wait(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		for i := range slices {
			if got := values(t, slices[i]); fmt.Sprint(got) != fmt.Sprint(model[i][:]) {
				t.Fatalf("buffer %d = %v, want %v", i, got, model[i])
			}
			if err := slices[i].Buffer().Free(); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func TestFailureCancelsDependents(t *testing.T) {
	s := open(t, tandem.Config{})
	x, y, z := tandem.NewSlice[int32](s, 100), tandem.NewSlice[int32](s, 100), tandem.NewSlice[int32](s, 100)
	g := tandem.NewGraph()
	g.Add(set, z, int32(7)).Named("independent")
	g.Add(boom, x, int32(50)).Named("bad")
	g.Add(add, x, y).Named("dependent")
	err := submit(t, s, g).Wait(t.Context())
	var te *tandem.TaskError
	if !errors.As(err, &te) || te.Task != "bad" || te.Device != "cpu:0" {
		t.Fatalf("err = %v, want a TaskError of bad on cpu:0", err)
	}
	if got := values(t, z); got[99] != 7 {
		t.Errorf("the independent task wrote %d, want 7", got[99])
	}
	var ue *tandem.UndefinedError
	if _, err := y.Values(t.Context()); !errors.As(err, &ue) {
		t.Errorf("reading what the cancelled task should have written: %v, want an UndefinedError", err)
	}
	// The session stays usable, and writing the buffer anew mends it.
	g = tandem.NewGraph()
	g.Add(set, y, int32(1))
	if err := submit(t, s, g).Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := values(t, y); got[0] != 1 {
		t.Errorf("y = %v", got[0])
	}
}

func TestCycle(t *testing.T) {
	s := open(t, tandem.Config{})
	x := make([]*tandem.Slice[int32], 4)
	for i := range x {
		x[i] = tandem.NewSlice[int32](s, 4)
	}
	g := tandem.NewGraph()
	a := g.Add(set, x[0], int32(1)).Named("a")
	b := g.Add(set, x[1], int32(1)).Named("b").After(a)
	c := g.Add(set, x[2], int32(1)).Named("c").After(b)
	g.Add(set, x[3], int32(1)).Named("outside").After(c)
	a.After(c)
	_, err := s.Submit(t.Context(), g)
	var ce *tandem.CycleError
	if !errors.As(err, &ce) || fmt.Sprint(ce.Tasks) != "[b c a]" && fmt.Sprint(ce.Tasks) != "[a b c]" && fmt.Sprint(ce.Tasks) != "[c a b]" {
		t.Fatalf("err = %v, want the ring a, b, c", err)
	}
	g = tandem.NewGraph()
	solo := g.Add(set, x[0], int32(1)).Named("solo")
	solo.After(solo)
	if _, err := s.Submit(t.Context(), g); !errors.As(err, &ce) || fmt.Sprint(ce.Tasks) != "[solo]" {
		t.Fatalf("err = %v, want the ring solo", err)
	}
}

func TestAfterLater(t *testing.T) {
	s := open(t, tandem.Config{})
	x := tandem.NewSlice[int32](s, 1)
	y := tandem.NewSlice[int32](s, 1)
	var order []string
	note := func(name string) *kernels.Kernel {
		return goKernel(name, func(devices.Range, *devices.Args) { order = append(order, name) }, param("y", kernels.Write))
	}
	g := tandem.NewGraph()
	first := g.Add(note("late"), x)
	second := g.Add(note("early"), y)
	first.After(second)
	if err := submit(t, s, g).Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	if fmt.Sprint(order) != "[early late]" {
		t.Errorf("order = %v", order)
	}
}

func TestCancel(t *testing.T) {
	s := open(t, tandem.Config{})
	x := tandem.NewSlice[int32](s, 1)
	started, release := make(chan struct{}), make(chan struct{})
	block := goKernel("block", func(devices.Range, *devices.Args) { close(started); <-release }, param("y", kernels.ReadWrite))
	g := tandem.NewGraph()
	g.Add(block, x)
	for range 1000 { // more than a device takes at once
		g.Add(set, x, int32(5))
	}
	r := submit(t, s, g)
	<-started
	cause := errors.New("enough")
	r.Cancel(cause)
	close(release)
	if err := r.Wait(t.Context()); !errors.Is(err, cause) {
		t.Fatalf("err = %v, want the cause", err)
	}
	if done, total := r.Progress(); done < 1 || done > 500 || total != 1001 {
		t.Errorf("progress %d of %d, want few of 1001", done, total)
	}
	var ue *tandem.UndefinedError
	if _, err := x.Values(t.Context()); !errors.As(err, &ue) {
		t.Errorf("err = %v, want an UndefinedError", err)
	}
}

func TestTimeout(t *testing.T) {
	s, err := tandem.Open(t.Context(), tandem.Config{Drivers: []devices.Driver{cpu.Driver{Workers: 1}}})
	if err != nil {
		t.Fatal(err)
	}
	x := tandem.NewSlice[int32](s, 1)
	release := make(chan struct{})
	stuck := goKernel("stuck", func(devices.Range, *devices.Args) { <-release }, param("y", kernels.ReadWrite))
	g := tandem.NewGraph()
	g.Add(stuck, x).Timeout(20 * time.Millisecond)
	g.Add(set, x, int32(5))
	r := submit(t, s, g)
	if err := r.Wait(t.Context()); !errors.Is(err, devices.ErrTimeout) {
		t.Fatalf("err = %v, want ErrTimeout", err)
	}
	if _, err := s.Submit(t.Context(), g); !errors.Is(err, devices.ErrUnsupported) {
		t.Errorf("submitting to the hung device: %v, want a PlanError", err)
	}
	if err := s.Close(); !errors.Is(err, devices.ErrTimeout) {
		t.Errorf("Close = %v, want ErrTimeout", err)
	}
	close(release)
}

func TestRepeat(t *testing.T) {
	s := open(t, tandem.Config{})
	x, one := tandem.NewSlice[int32](s, 3), tandem.SliceOf(s, []int32{1, 1, 1})
	g := tandem.NewGraph()
	g.Add(add, one, x).Repeat(20000)
	if err := submit(t, s, g).Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := values(t, x); got[2] != 20000 {
		t.Errorf("x = %v, want 20000", got)
	}
	if n := s.Stats()[0].Tasks; n != 20000 {
		t.Errorf("%d launches, want 20000", n)
	}
}

func TestUpdateIsOrdered(t *testing.T) {
	s := open(t, tandem.Config{})
	x, y := tandem.SliceOf(s, []int32{1}), tandem.NewSlice[int32](s, 1)
	g := tandem.NewGraph()
	g.Add(add, x, y)
	for range 100 {
		submit(t, s, g)
		if err := x.Update(t.Context(), func(v []int32) error { v[0]++; return nil }); err != nil {
			t.Fatal(err)
		}
	}
	if got := values(t, y); got[0] != 5050 {
		t.Errorf("y = %d, want the sum 5050", got[0])
	}
}

func TestFaultsOfAGraphComeTogether(t *testing.T) {
	s := open(t, tandem.Config{})
	x := tandem.NewSlice[float32](s, 3)
	g := tandem.NewGraph()
	g.Add(add, x, x)
	g.Add(set, tandem.NewSlice[int32](s, -1), int32(0))
	_, err := s.Submit(t.Context(), g)
	for _, want := range []string{"kernel add: x: is an array of int (int32)", "shape (-1,) has a negative size"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("err = %v\nwant it to hold %q", err, want)
		}
	}
}
