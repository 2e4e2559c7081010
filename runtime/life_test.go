package tandem_test

import (
	"context"
	"errors"
	"fmt"
	goruntime "runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/devices/cpu"
	"github.com/tandemrun/tandem/kernels"
	tandem "github.com/tandemrun/tandem/runtime"
)

// slowCompiler has the first compilation wait for the end of its context.
type slowCompiler struct {
	cpu.Driver
	began chan struct{}
	first *atomic.Bool
}

type slowDevice struct {
	devices.Device
	d slowCompiler
}

func (d slowDevice) Unwrap() devices.Device { return d.Device }

func (d slowCompiler) Open(ctx context.Context, ordinal int) (devices.Device, error) {
	dev, err := d.Driver.Open(ctx, ordinal)
	return slowDevice{dev, d}, err
}

func (d slowDevice) Compile(ctx context.Context, src *devices.Source) (devices.Program, error) {
	if d.d.first.CompareAndSwap(false, true) {
		close(d.d.began)
		<-ctx.Done()
		return nil, fmt.Errorf("compiling %s: %w", src.Name, context.Cause(ctx))
	}
	return d.Device.Compile(ctx, src)
}

// TestCompileForTwo has a caller wait for a compilation that another one gives
// up: it compiles for itself.
func TestCompileForTwo(t *testing.T) {
	d := slowCompiler{Driver: cpu.Driver{Workers: 1}, began: make(chan struct{}), first: new(atomic.Bool)}
	s := open(t, tandem.Config{Drivers: []devices.Driver{d}})
	x := tandem.NewSlice[int32](s, 4)
	run := func(ctx context.Context) error {
		g := tandem.NewGraph()
		g.Add(set, x, int32(1))
		return s.Run(ctx, g)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var both sync.WaitGroup
	both.Go(func() {
		if err := run(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("the caller that gave up: %v, want context.Canceled", err)
		}
	})
	<-d.began
	both.Go(func() {
		if err := run(soon(t)); err != nil {
			t.Errorf("the caller that did not: %v", err)
		}
	})
	cancel()
	both.Wait()
}

// TestFreeWaitsForSubmittedRuns frees a buffer right after a long graph that
// uses it was submitted.
func TestFreeWaitsForSubmittedRuns(t *testing.T) {
	s := open(t, tandem.Config{})
	x, y := tandem.SliceOf(s, []int32{1}), tandem.NewSlice[int32](s, 1)
	g := tandem.NewGraph()
	g.Add(add, x, y).Repeat(20000)
	r := submit(t, s, g)
	if err := x.Buffer().Free(); err != nil {
		t.Fatal(err)
	}
	if err := r.Wait(soon(t)); err != nil {
		t.Errorf("the run whose buffer was freed: %v", err)
	}
	if got := values(t, y); got[0] != 20000 {
		t.Errorf("y = %d, want 20000", got[0])
	}
	if _, err := s.Submit(t.Context(), g); !errors.Is(err, devices.ErrClosed) {
		t.Errorf("submitting it again: %v, want ErrClosed", err)
	}
}

// TestTemporariesGoWithTheirGraph runs many graphs with a composed kernel: what
// it needs in between is given back.
func TestTemporariesGoWithTheirGraph(t *testing.T) {
	var made atomic.Int64
	twice := &kernels.Kernel{Name: "twice", Params: []kernels.Param{param("x", kernels.Read), param("y", kernels.ReadWrite)},
		Infer: add.Infer,
		Compose: func(c *kernels.Call) ([]kernels.Step, error) {
			made.Add(1)
			temp := &kernels.Array{DType: devices.Int32, Shape: []int64{1 << 20}}
			return []kernels.Step{
				{Kernel: set, Args: []kernels.StepArg{kernels.TempArg(temp), kernels.ValueArg(int32(3))}},
				{Kernel: add, Range: tandem.Range(4), Args: []kernels.StepArg{kernels.TempArg(temp), kernels.OuterArg(1)}},
			}, nil
		}}
	s := open(t, tandem.Config{})
	x, y := tandem.NewSlice[int32](s, 4), tandem.NewSlice[int32](s, 4)
	left := tandem.Buffers(s) + 1 // the last graph may still be in somebody's hand
	for range 50 {
		g := tandem.NewGraph()
		g.Add(twice, x, y)
		if err := s.Run(soon(t), g); err != nil {
			t.Fatal(err)
		}
	}
	for ctx := soon(t); tandem.Buffers(s) > left; {
		goruntime.GC()
		if ctx.Err() != nil {
			t.Fatalf("%d buffers are left, want %d", tandem.Buffers(s), left)
		}
	}
	if got := values(t, y); got[3] != 150 || made.Load() != 50 {
		t.Errorf("y = %v after %d graphs, want 150 after 50", got, made.Load())
	}
}

// TestHostAccessThatDoesNotEnd has functions that panic, fail or are never
// called because their context ended: the buffer stays usable.
func TestHostAccessThatDoesNotEnd(t *testing.T) {
	s := open(t, tandem.Config{})
	x := tandem.SliceOf(s, []int32{1, 2})
	mustPanic := func(f func()) {
		defer func() {
			if recover() == nil {
				t.Error("the panic got lost")
			}
		}()
		f()
	}
	mustPanic(func() { _ = x.Read(soon(t), func([]int32) error { panic("while reading") }) })
	if got, err := x.Values(soon(t)); err != nil || fmt.Sprint(got) != "[1 2]" {
		t.Fatalf("x = %v, %v", got, err)
	}
	still, started, release := gate("still")
	g := tandem.NewGraph()
	g.Add(still, x)
	r := submit(t, s, g)
	<-started
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	never := func([]int32) error { t.Error("called although its context had ended"); return nil }
	if err := x.Update(ctx, never); !errors.Is(err, context.Canceled) {
		t.Errorf("err = %v, want context.Canceled", err)
	}
	release()
	if err := r.Wait(soon(t)); err != nil {
		t.Fatal(err)
	}
	if got, err := x.Values(soon(t)); err != nil || fmt.Sprint(got) != "[1 2]" {
		t.Fatalf("after an update that did not happen: x = %v, %v", got, err)
	}
	mustPanic(func() { _ = x.Update(soon(t), func([]int32) error { panic("while writing") }) })
	var ue *tandem.UndefinedError
	if _, err := x.Values(soon(t)); !errors.As(err, &ue) {
		t.Errorf("after half an update: %v, want an UndefinedError", err)
	}
}

// TestTimeoutCountsItsOwnLaunch has launches that each keep their limit, one
// behind the other on one queue.
func TestTimeoutCountsItsOwnLaunch(t *testing.T) {
	s := open(t, tandem.Config{})
	slow := goKernel("slow", func(devices.Range, *devices.Args) { time.Sleep(60 * time.Millisecond) }, param("y", kernels.ReadWrite))
	x := tandem.NewSlice[int32](s, 1)
	g := tandem.NewGraph()
	g.Add(slow, x).Repeat(8).Timeout(250 * time.Millisecond)
	if err := s.Run(soon(t), g); err != nil {
		t.Fatal(err)
	}
}

// TestHungDeviceGivesUpWhatWaits has a kernel exceed its limit while another run
// needs what it makes, and a third one does not.
func TestHungDeviceGivesUpWhatWaits(t *testing.T) {
	s, err := tandem.Open(t.Context(), threeDevices(0))
	if err != nil {
		t.Fatal(err)
	}
	x, y, z := tandem.NewSlice[int32](s, 4), tandem.NewSlice[int32](s, 4), tandem.NewSlice[int32](s, 4)
	still, started, release := gate("still")
	defer release()
	g := tandem.NewGraph()
	g.Add(still, x).On("discrete:0").Timeout(300 * time.Millisecond)
	a := submit(t, s, g)
	<-started
	g = tandem.NewGraph()
	g.Add(add, x, y).On("discrete:1")
	b := submit(t, s, g)
	g = tandem.NewGraph()
	g.Add(set, z, int32(4)).On("discrete:1")
	c := submit(t, s, g)
	for i, r := range []*tandem.Run{a, b} {
		if err := r.Wait(soon(t)); !errors.Is(err, devices.ErrTimeout) {
			t.Errorf("run %d: %v, want ErrTimeout", i+1, err)
		}
	}
	if err := c.Wait(soon(t)); err != nil {
		t.Errorf("a run that has nothing to do with it: %v", err)
	}
	if _, err := x.Values(soon(t)); !errors.Is(err, devices.ErrTimeout) {
		t.Errorf("reading what the kernel may still write: %v, want ErrTimeout", err)
	}
	if got, err := z.Values(soon(t)); err != nil || got[0] != 4 {
		t.Errorf("z = %v, %v", got, err)
	}
	if _, err := s.Submit(t.Context(), g); err != nil {
		t.Errorf("the other devices still work: %v", err)
	}
	if err := s.Close(); !errors.Is(err, devices.ErrTimeout) {
		t.Errorf("Close = %v, want ErrTimeout", err)
	}
}

// TestClosedSession uses a session, its buffers and graphs after Close.
func TestClosedSession(t *testing.T) {
	s := open(t, tandem.Config{})
	other := open(t, tandem.Config{})
	x := tandem.NewSlice[int32](s, 4)
	g := tandem.NewGraph()
	g.Add(set, x, int32(1))
	if _, err := other.Submit(t.Context(), g); !errors.Is(err, devices.ErrInvalid) {
		t.Errorf("a buffer of another session: %v, want ErrInvalid", err)
	}
	p, err := s.Plan(t.Context(), g)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for what, err := range map[string]error{
		"Submit": second(s.Submit(t.Context(), g)), "Start": second(s.Start(t.Context(), p)),
		"Values": second(x.Values(t.Context())), "NewBuffer": tandem.NewSlice[int32](s, 4).Buffer().Err(),
	} {
		if !errors.Is(err, devices.ErrClosed) {
			t.Errorf("%s: %v, want ErrClosed", what, err)
		}
	}
}

func second[T any](_ T, err error) error { return err }
