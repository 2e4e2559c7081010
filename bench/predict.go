package bench

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/kernels/library"
	"github.com/tandemrun/tandem/partitioner/costmodel"
	tandem "github.com/tandemrun/tandem/runtime"
)

// job is a kernel of a size that is run and predicted.
type job struct {
	name  string
	sizes []int // seen
	fresh []int // not seen
	add   func(g *tandem.Graph, s *tandem.Session, size int) tandem.Task
}

func jobs(o *Options) []job {
	scale := pick(o, 1, 8)
	f32 := filled
	return []job{
		{"saxpy", []int{1 << 18 / scale, 1 << 20 / scale, 1 << 22 / scale}, []int{1 << 19 / scale, 3 << 20 / scale},
			func(g *tandem.Graph, s *tandem.Session, n int) tandem.Task {
				return g.Add(library.VectorSaxpy, tandem.Named("a", float32(2)), tandem.Named("x", f32(s, n)), tandem.Named("y", f32(s, n)))
			}},
		{"blackscholes", []int{1 << 16 / scale, 1 << 18 / scale, 1 << 20 / scale}, []int{1 << 17 / scale, 3 << 18 / scale},
			func(g *tandem.Graph, s *tandem.Session, n int) tandem.Task {
				return g.Add(library.FinanceBlackScholes, f32(s, n), f32(s, n), f32(s, n), f32(s, n), f32(s, n), float32(0.02), float32(0.3))
			}},
		{"gemm", []int{128, 256, 384}, []int{192, 320},
			func(g *tandem.Graph, s *tandem.Session, n int) tandem.Task {
				return g.Add(library.LinalgGemm, tandem.Named("a", f32(s, n, n)), tandem.Named("b", f32(s, n, n)), tandem.Named("c", f32(s, n, n)))
			}},
		{"jacobi2d", []int{256, 512, 1024}, []int{384, 768},
			func(g *tandem.Graph, s *tandem.Session, n int) tandem.Task {
				return g.Add(library.StencilJacobi2D, tandem.Named("src", f32(s, n, n)), tandem.Named("dst", f32(s, n, n)))
			}},
	}
}

// filled is an array of small positive numbers, whose pages have been touched:
// what the system takes to hand out a page is not a kernel's time. What fails
// shows in the array's first use.
func filled(s *tandem.Session, n ...int) *tandem.Slice[float32] {
	x := tandem.NewSlice[float32](s, n...)
	_ = x.Update(context.Background(), func(v []float32) error {
		for i := range v {
			v[i] = 0.5 + float32(i%13)/8
		}
		return nil
	})
	return x
}

// runs remembers how long the launches of a run took on the device.
type runs struct {
	mu   sync.Mutex
	took []time.Duration
}

func (r *runs) observer() tandem.Observer {
	return tandem.Observer{Launched: func(e tandem.LaunchEvent) {
		r.mu.Lock()
		r.took = append(r.took, e.Times.Run())
		r.mu.Unlock()
	}}
}

// taken is the sum of the launches since the last call.
func (r *runs) taken() (sum time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, t := range r.took {
		sum += t
	}
	r.took = r.took[:0]
	return sum
}

// Predict compares predictions with what happens. seen.median_error is over
// sizes that ran three times before, unseen.median_error over sizes that did
// not, both relative to the real time of the task; makespan_error is the
// median over graphs of all kinds of tasks that ran before.
func Predict(ctx context.Context, o Options) ([]Result, error) {
	list, err := o.devices(ctx, devices.LangGo, devices.LangOpenCL)
	if err != nil {
		return nil, err
	}
	var seen, unseen, makespan []float64
	for _, f := range list {
		p := &predictions{o: &o, f: f}
		if err := p.measure(ctx); err != nil {
			return nil, fmt.Errorf("predict on %s: %w", f.info.ID, err)
		}
		o.note("predict: %s: seen %.1f %%, unseen %.1f %%, makespan %.1f %%", f.info.ID, 100*median(p.seen), 100*median(p.unseen), 100*median(p.makespan))
		seen, unseen, makespan = append(seen, p.seen...), append(unseen, p.unseen...), append(makespan, p.makespan...)
	}
	return []Result{
		{"predict.seen.median_error", median(seen), "ratio", "lower"},
		{"predict.unseen.median_error", median(unseen), "ratio", "lower"},
		{"predict.makespan_error", median(makespan), "ratio", "lower"},
	}, nil
}

func median(v []float64) float64 {
	if len(v) == 0 {
		return math.NaN()
	}
	s := slices.Sorted(slices.Values(v))
	return (s[(len(s)-1)/2] + s[len(s)/2]) / 2
}

// predictions are the errors on one device.
type predictions struct {
	o                      *Options
	f                      found
	session                *tandem.Session
	runs                   runs
	seen, unseen, makespan []float64
}

func (p *predictions) measure(ctx context.Context) (err error) {
	p.session, err = p.f.open(ctx, tandem.Config{Model: &costmodel.Model{}, Observer: p.runs.observer()})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.session.Close()) }()
	all := jobs(p.o)
	graphs := map[string][]*tandem.Graph{}
	for _, j := range all {
		for _, n := range j.sizes {
			g := tandem.NewGraph()
			j.add(g, p.session, n)
			graphs[j.name] = append(graphs[j.name], g)
			for range 4 { // one that compiles and touches pages, and three
				if err := p.session.Run(ctx, g); err != nil {
					return err
				}
			}
		}
	}
	for _, j := range all {
		for i := range j.sizes {
			for range pick(p.o, 5, 1) {
				if err := p.compare(ctx, graphs[j.name][i], &p.seen); err != nil {
					return err
				}
			}
		}
		// A size counts as seen once it has run, so each is compared once.
		for _, n := range j.fresh {
			g := tandem.NewGraph()
			j.add(g, p.session, n)
			if err := p.compare(ctx, g, &p.unseen); err != nil {
				return err
			}
		}
	}
	return p.wholeGraphs(ctx, all)
}

// compare runs a graph of one task and notes how far off the prediction was.
func (p *predictions) compare(ctx context.Context, g *tandem.Graph, errs *[]float64) error {
	plan, err := p.session.Plan(ctx, g)
	if err != nil {
		return err
	}
	predicted := plan.Problem().Tasks[0].Cost[0].Run
	p.runs.taken()
	r, err := p.session.Start(ctx, plan)
	if err != nil {
		return err
	}
	if err := r.Wait(ctx); err != nil {
		return err
	}
	if real := p.runs.taken(); real > 0 {
		*errs = append(*errs, math.Abs(predicted.Seconds()-real.Seconds())/real.Seconds())
	}
	return nil
}

// wholeGraphs compares makespans.
func (p *predictions) wholeGraphs(ctx context.Context, all []job) error {
	g := tandem.NewGraph()
	for range 4 {
		for _, j := range all {
			for _, n := range j.sizes {
				j.add(g, p.session, n)
			}
		}
	}
	for i := range pick(p.o, 6, 2) {
		plan, err := p.session.Plan(ctx, g)
		if err != nil {
			return err
		}
		r, err := p.session.Start(ctx, plan)
		if err != nil {
			return err
		}
		if err := r.Wait(ctx); err != nil {
			return err
		}
		if i > 0 { // the first touches pages
			real := r.Makespan().Seconds()
			p.makespan = append(p.makespan, math.Abs(plan.Predicted.Seconds()-real)/real)
		}
	}
	return nil
}
