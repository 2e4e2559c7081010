package main

import (
	"context"
	"errors"
	"time"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/devices/cuda/measure"
	"github.com/tandemrun/tandem/kernels/library"
	tandem "github.com/tandemrun/tandem/runtime"
)

// coexecute runs one large kernel on the host's cores, on the GPU, and on both
// together: how much faster both are than the better one alone, and how that
// compares with the sum of the two.
func coexecute(ctx context.Context, drivers []devices.Driver, quick bool) ([]measure.Figure, error) {
	side, rounds := 4096, 7
	if quick {
		side, rounds = 128, 3
	}
	took := map[string]time.Duration{}
	for _, selector := range []string{"cpu", "cuda:0", "cpu,cuda:0"} {
		least, err := mandelbrot(ctx, drivers, selector, side, rounds)
		if err != nil {
			return nil, err
		}
		took[selector] = least
	}
	cpu, gpu, both := took["cpu"].Seconds(), took["cuda:0"].Seconds(), took["cpu,cuda:0"].Seconds()
	return []measure.Figure{
		{Name: "coexec.gpu_over_cpu", Value: cpu / gpu, Unit: "ratio", Better: "higher"},
		{Name: "coexec.both_over_best", Value: min(cpu, gpu) / both, Unit: "ratio", Better: "higher"},
		{Name: "coexec.of_sum", Value: (1 / both) / (1/cpu + 1/gpu), Unit: "ratio", Better: "higher"},
	}, nil
}

// mandelbrot is the shortest time of several runs in one session, which learns
// from one to the next.
func mandelbrot(ctx context.Context, drivers []devices.Driver, selector string, side, rounds int) (least time.Duration, err error) {
	s, err := tandem.Open(ctx, tandem.Config{Drivers: drivers, Devices: selector})
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	out := tandem.NewSlice[uint16](s, side, side)
	g := tandem.NewGraph()
	g.Add(library.FractalMandelbrot, tandem.Named("dst", out))
	least = 1 << 62
	for range rounds {
		start := time.Now()
		r, err := s.Submit(ctx, g)
		if err != nil {
			return 0, err
		}
		if err := r.Wait(ctx); err != nil {
			return 0, err
		}
		least = min(least, time.Since(start))
	}
	return least, nil
}
