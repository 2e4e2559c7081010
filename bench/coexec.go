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

func sharedJobs(o *Options) []shared {
	n, m, side := pick(o, 1<<21, 1<<16), pick(o, 768, 128), pick(o, 1024, 256)
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
// is mandelbrot. cold_over_best is how the first launch of a session that knows
// nothing compares with the best device alone, the worst kernel.
func Coexec(ctx context.Context, o Options) ([]Result, error) {
	results, err := coexecOnSim(ctx)
	if err != nil {
		return nil, err
	}
	d, err := o.halves(ctx)
	if err != nil || d == nil {
		return results, err
	}
	regular, irregular, cold := 1e9, 1e9, 0.0
	for _, j := range sharedJobs(&o) {
		fast, err := timeShared(ctx, &o, d, "halves:0", j)
		if err != nil {
			return nil, fmt.Errorf("coexec: %s on the fast half: %w", j.name, err)
		}
		slow, err := timeShared(ctx, &o, d, "halves:1", j)
		if err != nil {
			return nil, fmt.Errorf("coexec: %s on the slow half: %w", j.name, err)
		}
		both, err := timeShared(ctx, &o, d, "", j)
		if err != nil {
			return nil, fmt.Errorf("coexec: %s on both halves: %w", j.name, err)
		}
		efficiency := 1 / both.warm.Seconds() / (1/fast.warm.Seconds() + 1/slow.warm.Seconds())
		over := both.cold.Seconds() / min(fast.cold, slow.cold).Seconds()
		o.note("coexec: %s: %v and %v alone, %v together: efficiency %.3f; first launch %v, alone %v: %.2f times", j.name,
			fast.warm, slow.warm, both.warm, efficiency, both.cold, min(fast.cold, slow.cold), over)
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

// sharedTimes are a launch's times from submitting it to having the result on
// the host.
type sharedTimes struct {
	cold time.Duration // the first launch of a model that knows nothing
	warm time.Duration // median of those that come later
}

func timeShared(ctx context.Context, o *Options, d devices.Driver, selector string, j shared) (t sharedTimes, err error) {
	model := &costmodel.Model{}
	s, err := tandem.Open(ctx, tandem.Config{Drivers: []devices.Driver{d}, Devices: selector, Model: model})
	if err != nil {
		return t, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	g := tandem.NewGraph()
	out := j.add(g, s)
	// What the first launch compiles is no part of its time.
	plan, err := s.Plan(ctx, g)
	if err != nil {
		return t, err
	}
	if err := compileOnly(ctx, s, plan, model); err != nil {
		return t, err
	}
	var warm []time.Duration
	for i := range pick(o, 13, 4) {
		start := time.Now()
		if err := s.Run(ctx, g); err != nil {
			return t, err
		}
		if err := out.Read(ctx, func([]byte) error { return nil }); err != nil {
			return t, err
		}
		took := time.Since(start)
		switch {
		case i == 0:
			t.cold = took
		case i >= pick(o, 4, 2):
			warm = append(warm, took)
		}
	}
	slices.Sort(warm)
	t.warm = warm[len(warm)/2]
	return t, nil
}

// compileOnly has the plan's kernels compiled: Start does that first. What the
// model learnt from launches that were faster than the cancellation is
// forgotten.
func compileOnly(ctx context.Context, s *tandem.Session, p *tandem.Plan, m *costmodel.Model) error {
	r, err := s.Start(ctx, p)
	if err != nil {
		return err
	}
	r.Cancel(nil)
	if err := r.Wait(ctx); err != nil && !errors.Is(err, context.Canceled) {
		return err
	}
	m.Forget(func(costmodel.Key) bool { return true })
	return ctx.Err()
}

// halves finds a device that can be divided into two of one compute unit each:
// an OpenCL device for CPUs if there is one, else the host's cores. nil: there
// is none, which is noted.
func (o *Options) halves(ctx context.Context) (devices.Driver, error) {
	list, err := o.devices(ctx, devices.LangGo, devices.LangOpenCL)
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(list, func(a, b found) int { return rank(a) - rank(b) })
	for _, f := range list {
		if f.info.Kind == devices.KindCPU && f.info.ComputeUnits >= 2 {
			o.note("coexec: two parts of %s (%s)", f.info.ID, f.info.Name)
			return &halves{from: f}, nil
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
