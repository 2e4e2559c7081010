package bench

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	goruntime "runtime"
	"time"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/devices/cpu"
	"github.com/tandemrun/tandem/kernels"
	tandem "github.com/tandemrun/tandem/runtime"
)

// nop does nothing with n arrays that it reads and writes.
func nop(n int) *kernels.Kernel {
	var params []kernels.Param
	for i := range n {
		params = append(params, array(fmt.Sprintf("x%d", i), devices.Int32, kernels.ReadWrite))
	}
	return goKernel("nop", func(devices.Range, *devices.Args) {}, params...)
}

// handles is how many buffers the patterns with random ones choose from.
const handles = 64

// pattern is a shape of graph: add adds task i.
type pattern struct {
	name string
	args int // buffers of each task
	add  func(g *tandem.Graph, k *kernels.Kernel, x []*tandem.Slice[int32], i int, rng *rand.Rand)
}

// patterns are the shapes whose tasks are measured: none depends on another;
// one long chain; 64 chains in turn; two or three random buffers of 64, read
// and written; 62 tasks between single ones.
func patterns() []pattern {
	one := devices.NDRange{Dims: 1, Size: [3]int{1}}
	return []pattern{
		{"independent", 0, func(g *tandem.Graph, k *kernels.Kernel, _ []*tandem.Slice[int32], _ int, _ *rand.Rand) {
			g.AddRange(k, one)
		}},
		{"chain", 1, func(g *tandem.Graph, k *kernels.Kernel, x []*tandem.Slice[int32], _ int, _ *rand.Rand) {
			g.Add(k, x[0])
		}},
		{"rrchain", 1, func(g *tandem.Graph, k *kernels.Kernel, x []*tandem.Slice[int32], i int, _ *rand.Rand) {
			g.Add(k, x[i%handles])
		}},
		{"rw2", 2, func(g *tandem.Graph, k *kernels.Kernel, x []*tandem.Slice[int32], _ int, rng *rand.Rand) {
			a := rng.IntN(handles)
			b := (a + 1 + rng.IntN(handles-1)) % handles
			g.Add(k, x[a], x[b])
		}},
		{"rw3", 3, func(g *tandem.Graph, k *kernels.Kernel, x []*tandem.Slice[int32], _ int, rng *rand.Rand) {
			p := rng.Perm(handles)
			g.Add(k, x[p[0]], x[p[1]], x[p[2]])
		}},
		{"forkjoin", 2, func(g *tandem.Graph, k *kernels.Kernel, x []*tandem.Slice[int32], i int, _ *rand.Rand) {
			if at := i % handles; at < handles-1 {
				g.Add(k, tandem.In(x[0]), x[1+at])
			} else { // everything meets in x[0]
				g.Add(k, x[0], x[1])
			}
		}},
	}
}

// Overhead measures what an empty task costs from adding it to the end of the
// run, planning included, in microseconds, and how many bytes of heap it keeps
// while it waits.
func Overhead(ctx context.Context, o Options) (all []Result, err error) {
	s, err := tandem.Open(ctx, tandem.Config{Drivers: []devices.Driver{cpu.Driver{}}})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	x := make([]*tandem.Slice[int32], handles)
	for i := range x {
		x[i] = tandem.NewSlice[int32](s, 1)
	}
	for _, p := range patterns() {
		for _, n := range pick(&o, []int{10_000, 100_000}, []int{1000}) {
			us, err := overheadOf(ctx, &o, s, p, x, n)
			if err != nil {
				return nil, err
			}
			name := fmt.Sprintf("overhead.%s.%dk.us_per_task", p.name, n/1000)
			all = append(all, Result{name, us, "us", "lower"})
		}
		bytes, err := pendingBytes(ctx, s, p, x, pick(&o, 100_000, 2000), o.seed())
		if err != nil {
			return nil, err
		}
		all = append(all, Result{"overhead." + p.name + ".bytes_per_task", bytes, "B", "lower"})
	}
	return all, nil
}

// overheadOf is the best of several runs.
func overheadOf(ctx context.Context, o *Options, s *tandem.Session, p pattern, x []*tandem.Slice[int32], n int) (us float64, err error) {
	k := nop(p.args)
	best := time.Hour
	var parts [3]time.Duration
	for range pick(o, 3, 1) {
		rng := rand.New(rand.NewPCG(o.seed(), 0))
		goruntime.GC()
		start := time.Now()
		g := tandem.NewGraph()
		for i := range n {
			p.add(g, k, x, i, rng)
		}
		built := time.Now()
		plan, err := s.Plan(ctx, g)
		if err != nil {
			return 0, err
		}
		planned := time.Now()
		r, err := s.Start(ctx, plan)
		if err != nil {
			return 0, err
		}
		if err := r.Wait(ctx); err != nil {
			return 0, err
		}
		if took := time.Since(start); took < best {
			best = took
			parts = [3]time.Duration{built.Sub(start), planned.Sub(built), start.Add(took).Sub(planned)}
		}
	}
	per := func(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e3 / float64(n) }
	o.note("overhead: %s, %d tasks: %.2f us each: build %.2f, plan %.2f, run %.2f", p.name, n, per(best), per(parts[0]), per(parts[1]), per(parts[2]))
	return per(best), nil
}

// pendingBytes is the heap that each task keeps while a first one blocks all.
func pendingBytes(ctx context.Context, s *tandem.Session, p pattern, x []*tandem.Slice[int32], n int, seed uint64) (float64, error) {
	release := make(chan struct{})
	gate := goKernel("gate", func(devices.Range, *devices.Args) { <-release }, array("x", devices.Int32, kernels.Write))
	rng := rand.New(rand.NewPCG(seed, 0))
	var before, after goruntime.MemStats
	goruntime.GC()
	goruntime.ReadMemStats(&before)
	g := tandem.NewGraph()
	first := g.Add(gate, x[0])
	k := nop(p.args)
	for i := range n {
		p.add(g, k, x, i, rng)
	}
	_ = first
	r, err := s.Submit(ctx, g)
	if err != nil {
		close(release)
		return 0, err
	}
	goruntime.GC()
	goruntime.ReadMemStats(&after)
	close(release)
	if err := r.Wait(ctx); err != nil {
		return 0, err
	}
	goruntime.KeepAlive(g)
	return (float64(after.HeapAlloc) - float64(before.HeapAlloc)) / float64(n), nil
}

// Replay submits a graph again and again, and builds and plans it anew each
// time: microseconds per task, and the first over the second.
func Replay(ctx context.Context, o Options) (all []Result, err error) {
	s, err := tandem.Open(ctx, tandem.Config{Drivers: []devices.Driver{cpu.Driver{}}})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	x := make([]*tandem.Slice[int32], handles)
	for i := range x {
		x[i] = tandem.NewSlice[int32](s, 1)
	}
	n, times := pick(&o, 10_000, 500), pick(&o, 5, 2)
	k := nop(2)
	build := func() *tandem.Graph {
		rng := rand.New(rand.NewPCG(o.seed(), 0))
		g := tandem.NewGraph()
		for i := range n {
			patterns()[3].add(g, k, x, i, rng)
		}
		return g
	}
	plan, err := s.Plan(ctx, build())
	if err != nil {
		return nil, err
	}
	best := [2]time.Duration{time.Hour, time.Hour}
	for range times {
		start := time.Now()
		if err := s.Run(ctx, build()); err != nil {
			return nil, err
		}
		best[0] = min(best[0], time.Since(start))
		start = time.Now()
		r, err := s.Start(ctx, plan)
		if err != nil {
			return nil, err
		}
		if err := r.Wait(ctx); err != nil {
			return nil, err
		}
		best[1] = min(best[1], time.Since(start))
	}
	us := func(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e3 / float64(n) }
	return []Result{
		{"replay.us_per_task", us(best[1]), "us", "lower"},
		{"replay.over_build", best[1].Seconds() / best[0].Seconds(), "ratio", "lower"},
	}, nil
}
