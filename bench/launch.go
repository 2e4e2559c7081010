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
// launch through tandem, planned before, and that over the same by hand.
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
		all = append(all,
			Result{"launch.chain." + f.info.Backend + ".us", through, "us", "lower"},
			Result{"launch.chain." + f.info.Backend + ".over_hand", through / by, "ratio", "lower"})
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
