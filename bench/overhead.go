package bench

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	goruntime "runtime"
	"slices"
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
// one long chain; 64 chains in turn; two or three random buffers of 64, each
// read or written with probability 1/2; 63 tasks between single ones.
func patterns() []pattern {
	one := devices.NDRange{Dims: 1, Size: [3]int{1}}
	random := func(n int) func(g *tandem.Graph, k *kernels.Kernel, x []*tandem.Slice[int32], _ int, rng *rand.Rand) {
		return func(g *tandem.Graph, k *kernels.Kernel, x []*tandem.Slice[int32], _ int, rng *rand.Rand) {
			var chosen [3]int
			var args [3]any
			for i := 0; i < n; {
				h := rng.IntN(handles)
				if slices.Contains(chosen[:i], h) {
					continue
				}
				chosen[i] = h
				if args[i] = x[h]; rng.IntN(2) == 0 {
					args[i] = tandem.In(x[h])
				}
				i++
			}
			g.Add(k, args[:n]...)
		}
	}
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
		{"rw2", 2, random(2)},
		{"rw3", 3, random(3)},
		{"forkjoin", 2, func(g *tandem.Graph, k *kernels.Kernel, x []*tandem.Slice[int32], i int, _ *rand.Rand) {
			if at := i % handles; at < handles-1 {
				g.Add(k, tandem.In(x[0]), x[1+at])
			} else { // everything meets in x[0]
				g.Add(k, x[0], x[1])
			}
		}},
	}
}

// sizeName writes 10000 as "10k" and 1000000 as "1M".
func sizeName(n int) string {
	if n%1_000_000 == 0 {
		return fmt.Sprintf("%dM", n/1_000_000)
	}
	return fmt.Sprintf("%dk", n/1000)
}

// longest is how long one run of an overhead measurement may take, by what the
// smaller graph took.
const longest = 30 * time.Second

// Overhead measures what an empty task costs from adding it to the end of the
// run, planning included, in microseconds, and how many bytes of heap it keeps
// while it waits. "1w" is with one worker; growth is the time of a task in the
// largest graph over that in the smallest.
func Overhead(ctx context.Context, o Options) (all []Result, err error) {
	sizes := pick(&o, []int{10_000, 100_000, 1_000_000}, []int{1000, 10_000})
	full, err := overheadSession(ctx, &o, cpu.Driver{}, sizes, true)
	if err != nil {
		return nil, err
	}
	if workers, _ := cpu.Budget(); workers == 1 {
		return full, nil
	}
	if os.Getenv(cpu.EnvWorkers) != "" {
		o.note("overhead with one worker is left out: %s is set", cpu.EnvWorkers)
		return full, nil
	}
	single, err := overheadSession(ctx, &o, cpu.Driver{Workers: 1}, sizes[1:2], false)
	return append(full, single...), err
}

// overheadSession measures all patterns in a session of its own: with the bytes
// of a task where it is that of all workers.
func overheadSession(ctx context.Context, o *Options, d cpu.Driver, sizes []int, whole bool) (all []Result, err error) {
	s, err := tandem.Open(ctx, tandem.Config{Drivers: []devices.Driver{d}})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	x := make([]*tandem.Slice[int32], handles)
	for i := range x {
		x[i] = tandem.NewSlice[int32](s, 1)
	}
	for _, p := range patterns() {
		first, before := 0.0, 0.0
		for i, n := range sizes {
			if expect := time.Duration(before * float64(n) * 1e3); expect > longest {
				o.note("overhead: %s, %d tasks: left out, it would take %v", p.name, n, expect)
				continue
			}
			us, err := overheadOf(ctx, o, s, p, x, n)
			if err != nil {
				return nil, err
			}
			if before = us; i == 0 {
				first = us
			} else if i == len(sizes)-1 {
				all = append(all, Result{"overhead." + p.name + ".growth", us / first, "ratio", "lower"})
			}
			name := fmt.Sprintf("overhead.%s.%s.us_per_task", p.name, sizeName(n))
			if !whole {
				name = fmt.Sprintf("overhead.%s.%s.1w.us_per_task", p.name, sizeName(n))
			}
			all = append(all, Result{name, us, "us", "lower"})
		}
		if !whole {
			continue
		}
		bytes, err := pendingBytes(ctx, s, p, x, sizes[1], o.seed())
		if err != nil {
			return nil, err
		}
		all = append(all, Result{fmt.Sprintf("overhead.%s.%s.bytes_per_task", p.name, sizeName(sizes[1])), bytes, "B", "lower"})
	}
	return all, nil
}

// overheadOf is the best of several runs.
func overheadOf(ctx context.Context, o *Options, s *tandem.Session, p pattern, x []*tandem.Slice[int32], n int) (us float64, err error) {
	k := nop(p.args)
	best := time.Hour
	var parts [3]time.Duration
	times := pick(o, 7, 1) // as often as the peers do
	if n > 100_000 {
		times = min(times, 2)
	}
	for range times {
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
		if err := runPlan(ctx, s, plan); err != nil {
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

// runPlan runs a plan and waits for it.
func runPlan(ctx context.Context, s *tandem.Session, p *tandem.Plan) error {
	r, err := s.Start(ctx, p)
	if err != nil {
		return err
	}
	return r.Wait(ctx)
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

// Replay runs planned graphs again, without building or planning anything:
// microseconds per task, and that over building, planning and running anew.
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
	n, times := pick(&o, 100_000, 2000), pick(&o, 5, 2)
	for _, p := range patterns() {
		k := nop(p.args)
		build := func() *tandem.Graph {
			rng := rand.New(rand.NewPCG(o.seed(), 0))
			g := tandem.NewGraph()
			for i := range n {
				p.add(g, k, x, i, rng)
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
			if err := runPlan(ctx, s, plan); err != nil {
				return nil, err
			}
			best[1] = min(best[1], time.Since(start))
		}
		all = append(all,
			Result{fmt.Sprintf("replay.%s.%s.us_per_task", p.name, sizeName(n)), float64(best[1].Nanoseconds()) / 1e3 / float64(n), "us", "lower"},
			Result{fmt.Sprintf("replay.%s.%s.over_first", p.name, sizeName(n)), best[1].Seconds() / best[0].Seconds(), "ratio", "lower"})
	}
	return all, nil
}
