package bench

import (
	"context"
	"errors"
	"time"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/kernels"
	tandem "github.com/tandemrun/tandem/runtime"
)

// withOpenCL is k with a variant in OpenCL C.
func withOpenCL(k *kernels.Kernel, text string) *kernels.Kernel {
	src := &devices.Source{Name: k.Name + ".cl", Language: devices.LangOpenCL, Text: []byte(text)}
	k.Variants = append(k.Variants, kernels.Variant{Language: devices.LangOpenCL, Entry: k.Name, Source: src})
	return k
}

const nopCL = "__kernel void nop(__global int *x) {}\n"

// LaunchCost runs a chain of empty launches on each device: microseconds per
// launch through tandem, planned before, and that over the same by hand; and
// four chains that are independent of each other. launch.chain.us and
// launch.chains4.us are those of OpenCL.
func LaunchCost(ctx context.Context, o Options) (all []Result, err error) {
	list, err := o.devices(ctx, devices.LangGo, devices.LangOpenCL)
	if err != nil {
		return nil, err
	}
	for _, f := range list {
		by, through, err := launchChain(ctx, &o, f)
		if err != nil {
			return nil, err
		}
		four, err := launchChains(ctx, &o, f, 4)
		if err != nil {
			return nil, err
		}
		all = append(all,
			Result{"launch.chain." + f.info.Backend + ".us", through, "us", "lower"},
			Result{"launch.chain." + f.info.Backend + ".over_hand", through / by, "ratio", "lower"},
			Result{"launch.chains4." + f.info.Backend + ".us", four, "us", "lower"})
		if f.info.Backend == "opencl" {
			all = append(all, Result{"launch.chain.us", through, "us", "lower"}, Result{"launch.chains4.us", four, "us", "lower"})
		}
	}
	return all, nil
}

func launchChain(ctx context.Context, o *Options, f found) (byHand, through float64, err error) {
	k := withOpenCL(nop(1), nopCL)
	n, times := pick(o, 10_000, 500), pick(o, 5, 2)
	h, err := newHand(ctx, f.driver, k, 64)
	if err != nil {
		return 0, 0, err
	}
	defer func() { err = errors.Join(err, h.close()) }()
	s, err := f.open(ctx, tandem.Config{})
	if err != nil {
		return 0, 0, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	x, g := tandem.NewSlice[int32](s, 64), tandem.NewGraph()
	for range n {
		g.Add(k, x)
	}
	plan, err := s.Plan(ctx, g)
	if err != nil {
		return 0, 0, err
	}
	best := [2]time.Duration{time.Hour, time.Hour}
	for range times {
		start := time.Now()
		if err := h.run(ctx, n, 0); err != nil {
			return 0, 0, err
		}
		best[0] = min(best[0], time.Since(start))
		start = time.Now()
		r, err := s.Start(ctx, plan)
		if err != nil {
			return 0, 0, err
		}
		if err := r.Wait(ctx); err != nil {
			return 0, 0, err
		}
		best[1] = min(best[1], time.Since(start))
	}
	us := func(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e3 / float64(n) }
	return us(best[0]), us(best[1]), nil
}

// launchChains runs chains of launches that take turns, each over an array of
// its own: microseconds per launch.
func launchChains(ctx context.Context, o *Options, f found, chains int) (us float64, err error) {
	k := withOpenCL(nop(1), nopCL)
	n := pick(o, 10_000, 500)
	s, err := f.open(ctx, tandem.Config{})
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	g := tandem.NewGraph()
	x := make([]*tandem.Slice[int32], chains)
	for i := range x {
		x[i] = tandem.NewSlice[int32](s, 64)
	}
	for i := range n {
		g.Add(k, x[i%chains])
	}
	plan, err := s.Plan(ctx, g)
	if err != nil {
		return 0, err
	}
	best := time.Hour
	for range pick(o, 5, 2) + 1 { // the first compiles
		start := time.Now()
		if err := runPlan(ctx, s, plan); err != nil {
			return 0, err
		}
		best = min(best, time.Since(start))
	}
	return float64(best.Nanoseconds()) / 1e3 / float64(n), nil
}
