package bench

import (
	"context"
	"errors"
	goruntime "runtime"
	"sync"
	"time"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/devices/cpu"
	"github.com/tandemrun/tandem/devices/hostmem"
	"github.com/tandemrun/tandem/kernels"
	tandem "github.com/tandemrun/tandem/runtime"
)

func triad() *kernels.Kernel {
	k := goKernel("triad", func(r devices.Range, args *devices.Args) {
		triadGo(devices.Slice[float32](args, 0)[r.Lo[0]:r.Hi[0]], devices.Slice[float32](args, 1)[r.Lo[0]:r.Hi[0]],
			devices.Slice[float32](args, 2)[r.Lo[0]:r.Hi[0]], devices.Value[float32](args, 3))
	}, array("a", devices.Float32, kernels.Write), array("b", devices.Float32, kernels.Read), array("c", devices.Float32, kernels.Read), number("s", devices.Float32))
	return withOpenCL(k, "__kernel void triad(__global float *a, __global const float *b, __global const float *c, float s) {\n"+
		"  size_t i = get_global_id(0);\n  a[i] = b[i] + s * c[i];\n}\n")
}

func triadGo(a, b, c []float32, s float32) {
	b, c = b[:len(a)], c[:len(a)]
	for i := range a {
		a[i] = b[i] + s*c[i]
	}
}

// Stream measures the triad a = b + s·c (McCalpin's STREAM) on each device:
// bytes per second through tandem, three arrays of together 1 GiB counted, and
// that over a loop in plain goroutines on the host's cores. stream.triad.gbps is
// the best device's.
func Stream(ctx context.Context, o Options) (all []Result, err error) {
	n, times := pick(&o, 1<<30/12, 1<<18), pick(&o, 7, 2)
	plain, err := plainTriad(n, times)
	if err != nil {
		return nil, err
	}
	list, err := o.devices(ctx, devices.LangGo, devices.LangOpenCL)
	if err != nil {
		return nil, err
	}
	best := 0.0
	for _, f := range list {
		rate, err := triadOn(ctx, f, n, times)
		if err != nil {
			return nil, err
		}
		best = max(best, rate)
		all = append(all,
			Result{"stream.triad." + f.info.Backend + ".gbps", rate / 1e9, "GB/s", "higher"},
			Result{"stream.triad." + f.info.Backend + ".over_plain_go", rate / plain, "ratio", "higher"})
	}
	if len(list) > 0 {
		all = append(all, Result{"stream.triad.gbps", best / 1e9, "GB/s", "higher"})
	}
	return all, nil
}

// plainTriad is the rate of goroutines, one for each core.
func plainTriad(n, times int) (rate float64, err error) {
	var v [3][]float32
	for i := range v {
		m, err := hostmem.Alloc(4 * int64(n))
		if err != nil {
			return 0, err
		}
		defer func() { err = errors.Join(err, hostmem.Free(m)) }()
		v[i] = devices.View[float32](m)
		for j := range v[i] {
			v[i][j] = 1
		}
	}
	workers, _ := cpu.Budget()
	workers = min(workers, goruntime.GOMAXPROCS(0))
	best := time.Hour
	for range times {
		start := time.Now()
		var wg sync.WaitGroup
		for w := range workers {
			lo, hi := n*w/workers, n*(w+1)/workers
			wg.Go(func() { triadGo(v[0][lo:hi], v[1][lo:hi], v[2][lo:hi], 3) })
		}
		wg.Wait()
		best = min(best, time.Since(start))
	}
	return 12 * float64(n) / best.Seconds(), nil
}

// triadOn is the best rate of a number of runs on a device.
func triadOn(ctx context.Context, f found, n, times int) (rate float64, err error) {
	t, err := newTriadRun(ctx, f, n)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, t.session.Close()) }()
	return t.best(ctx, times)
}

// triadRun is a triad on a device that can be run again and again.
type triadRun struct {
	session *tandem.Session
	graph   *tandem.Graph
	result  *tandem.Slice[float32]
}

// newTriadRun fills arrays of n numbers and runs the triad once: that compiles
// it, and touches the result's pages.
func newTriadRun(ctx context.Context, f found, n int) (t *triadRun, err error) {
	s, err := f.open(ctx, tandem.Config{})
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Close())
		}
	}()
	a, b, c := tandem.NewSlice[float32](s, n), tandem.NewSlice[float32](s, n), tandem.NewSlice[float32](s, n)
	for _, x := range []*tandem.Slice[float32]{b, c} {
		if err := x.Update(ctx, func(v []float32) error {
			for i := range v {
				v[i] = 1
			}
			return nil
		}); err != nil {
			return nil, err
		}
	}
	t = &triadRun{session: s, graph: tandem.NewGraph(), result: a}
	t.graph.Add(triad(), a, b, c, float32(3))
	return t, s.Run(ctx, t.graph)
}

// best is the best rate of a number of runs, in bytes per second, three arrays
// counted.
func (t *triadRun) best(ctx context.Context, times int) (rate float64, err error) {
	best := time.Hour
	for range times {
		start := time.Now()
		if err := t.session.Run(ctx, t.graph); err != nil {
			return 0, err
		}
		best = min(best, time.Since(start))
	}
	v, err := t.result.Values(ctx)
	if err == nil && (v[0] != 4 || v[len(v)-1] != 4) {
		err = errors.New("triad: wrong result")
	}
	return 12 * float64(t.result.Len()) / best.Seconds(), err
}
