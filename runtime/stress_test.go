package tandem_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/kernels"
	tandem "github.com/tandemrun/tandem/runtime"
)

// gate makes a kernel that stands still until open is called.
func gate(name string) (k *kernels.Kernel, started <-chan struct{}, open func()) {
	at, free := make(chan struct{}), make(chan struct{})
	return goKernel(name, func(devices.Range, *devices.Args) { close(at); <-free }, param("y", kernels.ReadWrite)), at, func() { close(free) }
}

// soon is a context that fails a test that hangs.
func soon(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeoutCause(t.Context(), 20*time.Second, errors.New("it hangs"))
	t.Cleanup(cancel)
	return ctx
}

// TestWaitedForWhileMoreIsIssued has another device wait for a launch that runs,
// while one more is issued behind it: the end of the latter is noticed too.
func TestWaitedForWhileMoreIsIssued(t *testing.T) {
	for n := range 20 {
		s := open(t, threeDevices(0))
		x, y, z := tandem.NewSlice[int32](s, 4), tandem.NewSlice[int32](s, 4), tandem.NewSlice[int32](s, 4)
		still, started, release := gate("still")
		g := tandem.NewGraph()
		g.Add(still, x).On("discrete:0")
		a := submit(t, s, g)
		<-started
		g = tandem.NewGraph()
		slow := goKernel("slow", func(devices.Range, *devices.Args) { time.Sleep(2 * time.Millisecond) }, param("y", kernels.ReadWrite))
		for range 1 + n%5 {
			g.Add(slow, y).On("discrete:0")
		}
		g.Add(add, x, z).On("discrete:1")
		b := submit(t, s, g)
		release()
		for _, r := range []*tandem.Run{a, b} {
			if err := r.Wait(soon(t)); err != nil {
				t.Fatalf("round %d: %v", n, err)
			}
		}
	}
}

// TestFailureOfAnotherRun has a run fail while another one waits for its result,
// and a third one only for its end.
func TestFailureOfAnotherRun(t *testing.T) {
	for _, on := range []string{"cpu", "discrete:0"} {
		s := open(t, threeDevices(0))
		w, x, y := tandem.NewSlice[int32](s, 4), tandem.NewSlice[int32](s, 4), tandem.NewSlice[int32](s, 4)
		still, started, release := gate("still")
		g := tandem.NewGraph()
		g.Add(still, w).On("cpu")
		g.Add(boom, x, int32(0)).On("cpu").Named("bad").After()
		g.Add(add, w, x).On("cpu")
		_ = started
		a := submit(t, s, g)
		<-started
		g = tandem.NewGraph()
		g.Add(add, x, y).On(on).Named("needs")
		b := submit(t, s, g)
		g = tandem.NewGraph()
		g.Add(set, x, int32(3)).On(on)
		c := submit(t, s, g)
		release()
		if err := a.Wait(soon(t)); err == nil {
			t.Fatal("the run with the panic succeeded")
		}
		err := b.Wait(soon(t))
		var te *tandem.TaskError
		if !errors.As(err, &te) {
			t.Errorf("%s: the run that needs what failed: %v, want a TaskError", on, err)
		}
		if err := c.Wait(soon(t)); err != nil {
			t.Errorf("%s: the run that overwrites what failed: %v", on, err)
		}
		if got, err := x.Values(soon(t)); err != nil || fmt.Sprint(got) != "[3 3 3 3]" {
			t.Errorf("%s: x = %v, %v", on, got, err)
		}
	}
}
