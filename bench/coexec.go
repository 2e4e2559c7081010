package bench

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/devices/cpu"
	"github.com/tandemrun/tandem/devices/sim"
	"github.com/tandemrun/tandem/kernels/library"
	"github.com/tandemrun/tandem/partitioner/costmodel"
	tandem "github.com/tandemrun/tandem/runtime"
)

// slowFactor is how much slower the second device is.
const slowFactor = 3

// shared is a kernel over much data that is divided over the devices.
type shared struct {
	name    string
	regular bool
	add     func(g *tandem.Graph, s *tandem.Session) *tandem.Buffer // its result
}

// sharedJobs take up to tenths of a second on the fast half: handing a launch out
// piece by piece costs the same however long it is. The matrices' rows are no
// multiple of a page's quarter: with 1536 columns lines fall on each other in the
// caches, and one core alone takes 0.2 or 1 s, as the pages lie.
func sharedJobs(o *Options) []shared {
	n, m, side := pick(o, 1<<23, 1<<16), pick(o, 1000, 128), pick(o, 2048, 256)
	return []shared{
		{"blackscholes", true, func(g *tandem.Graph, s *tandem.Session) *tandem.Buffer {
			call := filled(s, n)
			g.Add(library.FinanceBlackScholes, filled(s, n), filled(s, n), filled(s, n), call, filled(s, n), float32(0.02), float32(0.3))
			return call.Buffer()
		}},
		{"gemm", true, func(g *tandem.Graph, s *tandem.Session) *tandem.Buffer {
			c := filled(s, m, m)
			g.Add(library.LinalgGemm, tandem.Named("a", filled(s, m, m)), tandem.Named("b", filled(s, m, m)), tandem.Named("c", c))
			return c.Buffer()
		}},
		{"mandelbrot", false, func(g *tandem.Graph, s *tandem.Session) *tandem.Buffer {
			out := tandem.NewSlice[uint16](s, side, side)
			g.Add(library.FractalMandelbrot, tandem.Named("dst", out))
			return out.Buffer()
		}},
	}
}

// Coexec divides one large launch over two devices of one core each, the
// second slowed down to a third, and compares with each of them alone: speed of
// both together over the sum of their speeds. Inputs begin on the host and the
// output ends there. regular is the worse of blackscholes and gemm, irregular
// is mandelbrot. cold_over_best is how a launch of which the model knows nothing
// compares with the best device alone, the worst kernel.
//
// The sides take turns, and the best time of each counts: whatever else runs on
// the machine takes more from two cores than from one. What two cores share, the
// way to memory above all, is not taken out: a kernel that one core alone could
// keep it busy with cannot come near 1.
func Coexec(ctx context.Context, o Options) ([]Result, error) {
	results, err := coexecOnSim(ctx)
	if err != nil {
		return nil, err
	}
	from, err := o.halves(ctx)
	if err != nil || from == nil {
		return results, err
	}
	regular, irregular, cold := 1e9, 1e9, 0.0
	for _, j := range sharedJobs(&o) {
		t, err := timeShared(ctx, &o, from, j)
		if err != nil {
			return nil, fmt.Errorf("coexec: %s: %w", j.name, err)
		}
		efficiency := 1 / t.both.Seconds() / (1/t.fast.Seconds() + 1/t.slow.Seconds())
		over := t.cold.Seconds() / min(t.fast, t.slow).Seconds()
		o.note("coexec: %s: %v and %v alone, %v together: efficiency %.3f; with nothing known %v: %.2f times the best alone", j.name,
			t.fast, t.slow, t.both, efficiency, t.cold, over)
		cold = max(cold, over)
		if j.regular {
			regular = min(regular, efficiency)
		} else {
			irregular = min(irregular, efficiency)
		}
	}
	return append(results,
		Result{"coexec.regular.efficiency", regular, "ratio", "higher"},
		Result{"coexec.irregular.efficiency", irregular, "ratio", "higher"},
		Result{"coexec.cold_over_best", cold, "ratio", "lower"},
	), nil
}

// coexecOnSim is the same in virtual time, for a kernel that takes 100 ms on
// the fast one of two devices: what the decisions cost, without what the
// machine adds.
func coexecOnSim(ctx context.Context) ([]Result, error) {
	const items = 1 << 20
	fast := sim.Spec{Kind: devices.KindCPU, Unified: true, LaunchLatency: 10 * time.Microsecond, Flops: items * 10}
	slow := fast
	slow.Slowdown = slowFactor
	// measure runs the task some times and gives the first and the last time.
	measure := func(specs ...sim.Spec) (cold, warm time.Duration, err error) {
		d, err := sim.New(sim.Description{Devices: specs})
		if err != nil {
			return 0, 0, err
		}
		// No calibration: the speeds are to be learnt.
		s, err := tandem.Open(ctx, tandem.Config{Drivers: []devices.Driver{d}})
		if err != nil {
			return 0, 0, err
		}
		defer func() { err = errors.Join(err, s.Close()) }()
		x, y := tandem.NewSlice[int32](s, items), tandem.NewSlice[int32](s, items)
		g := tandem.NewGraph()
		g.Add(affine(), x, y)
		for i := range 6 {
			r, err := s.Submit(ctx, g)
			if err != nil {
				return 0, 0, err
			}
			if err := r.Wait(ctx); err != nil {
				return 0, 0, err
			}
			if warm = r.Makespan(); i == 0 {
				cold = warm
			}
		}
		return cold, warm, nil
	}
	coldFast, warmFast, err := measure(fast)
	if err != nil {
		return nil, err
	}
	_, warmSlow, err := measure(slow)
	if err != nil {
		return nil, err
	}
	cold, warm, err := measure(fast, slow)
	if err != nil {
		return nil, err
	}
	return []Result{
		{"coexec.sim.efficiency", 1 / warm.Seconds() / (1/warmFast.Seconds() + 1/warmSlow.Seconds()), "ratio", "higher"},
		{"coexec.sim.cold_over_best", cold.Seconds() / coldFast.Seconds(), "ratio", "lower"},
	}, nil
}

// sharedTimes are the best times from submitting a launch to having its result
// on the host.
type sharedTimes struct {
	fast, slow, both time.Duration // once the model knows the launch
	cold             time.Duration // on both, by a model that knows nothing
}

// sharedSide is a session that runs a launch on some of two halves.
type sharedSide struct {
	session *tandem.Session
	model   *costmodel.Model
	graph   *tandem.Graph
	out     *tandem.Buffer
	best    *time.Duration
	forget  bool // before each launch
}

// open makes the side's session; the halves are its own.
func (side *sharedSide) open(ctx context.Context, from found, selector string, j shared) (err error) {
	side.model = &costmodel.Model{}
	side.session, err = tandem.Open(ctx, tandem.Config{Drivers: []devices.Driver{&halves{from: from}}, Devices: selector, Model: side.model})
	if err != nil {
		return err
	}
	side.graph = tandem.NewGraph()
	side.out = j.add(side.graph, side.session)
	return nil
}

// run is one launch.
func (side *sharedSide) run(ctx context.Context) (time.Duration, error) {
	if side.forget {
		side.model.Forget(func(costmodel.Key) bool { return true })
	}
	start := time.Now()
	if err := side.session.Run(ctx, side.graph); err != nil {
		return 0, err
	}
	err := side.out.Read(ctx, func([]byte) error { return nil })
	return time.Since(start), err
}

// timeShared has the sides take turns. The first rounds compile, touch pages and
// teach the model, and do not count.
func timeShared(ctx context.Context, o *Options, from *found, j shared) (t sharedTimes, err error) {
	sides := []sharedSide{{best: &t.fast}, {best: &t.slow}, {best: &t.both}, {best: &t.cold, forget: true}}
	for i, selector := range []string{"halves:0", "halves:1", "", ""} {
		if err := sides[i].open(ctx, *from, selector, j); err != nil {
			return t, err
		}
		defer func() { err = errors.Join(err, sides[i].session.Close()) }()
	}
	first := pick(o, 4, 1)
	for round := range pick(o, 16, 3) {
		for i := range sides {
			side := &sides[i]
			took, err := side.run(ctx)
			if err != nil {
				return t, err
			}
			if round == first || round > first && took < *side.best {
				*side.best = took
			}
		}
	}
	return t, nil
}

// halves finds a device that can be divided into two of one compute unit each:
// an OpenCL device for CPUs if there is one, else the host's cores. nil: there
// is none, which is noted.
func (o *Options) halves(ctx context.Context) (*found, error) {
	list, err := o.devices(ctx, devices.LangGo, devices.LangOpenCL)
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(list, func(a, b found) int { return rank(a) - rank(b) })
	for _, f := range list {
		if f.info.Kind == devices.KindCPU && f.info.ComputeUnits >= 2 {
			o.note("coexec: two parts of %s (%s)", f.info.ID, f.info.Name)
			return &f, nil
		}
	}
	o.note("coexec is left out: no device of two cores that could be divided")
	return nil, nil
}

func rank(f found) int {
	if _, own := f.driver.(cpu.Driver); own {
		return 1
	}
	return 0
}
