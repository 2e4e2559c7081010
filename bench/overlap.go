package bench

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/devices/cpu"
	"github.com/tandemrun/tandem/devices/sim"
	tandem "github.com/tandemrun/tandem/runtime"
	"github.com/tandemrun/tandem/runtime/observe"
)

// chunkItems is the number of int32 in a chunk of the overlap problem.
const chunkItems = 16384

// Overlap runs independent tasks on a simulated device on which uploading a
// task's input, computing, and downloading its output take 1 ms each, and a
// chain of tasks on the host's cores.
//
// makespan_over_bound is the makespan over the longest of all uploads, all
// computing and all downloads; hidden_ratio the part of the copying time in
// which the device computed. chain_overhead is how much longer a chain of
// tasks takes than the same launches enqueued by hand, less 1; there is nothing
// to overlap in it.
func Overlap(ctx context.Context, o Options) ([]Result, error) {
	makespan, bound, hidden, err := overlapped(ctx, 200)
	if err != nil {
		return nil, err
	}
	o.note("overlap: makespan %v, bound %v", makespan, bound)
	virtual, err := chainOnSim(ctx, 200)
	if err != nil {
		return nil, err
	}
	chain, err := chainOnCores(ctx, &o)
	if err != nil {
		return nil, err
	}
	return []Result{
		{"overlap.makespan_over_bound", makespan.Seconds() / bound.Seconds(), "ratio", "lower"},
		{"overlap.hidden_ratio", hidden, "ratio", "higher"},
		{"overlap.chain_overhead", chain, "ratio", "lower"},
		{"overlap.chain_overhead_sim", virtual, "ratio", "lower"},
	}, nil
}

// balanced is a device that takes 1 ms to upload, compute and download a chunk,
// and some latency for each launch.
func balanced(latency time.Duration) (*sim.Driver, error) {
	link := devices.Link{Bandwidth: 4 * chunkItems * 1e3}
	return sim.New(sim.Description{Devices: []sim.Spec{
		{LaunchLatency: latency, CopyEngines: 2, Upload: link, Download: link, Flops: chunkItems * 1e3},
	}})
}

// overlapped runs tasks whose results come back to the host.
func overlapped(ctx context.Context, tasks int) (makespan, bound time.Duration, hidden float64, err error) {
	d, err := balanced(0)
	if err != nil {
		return 0, 0, 0, err
	}
	var rec observe.Recorder
	s, err := tandem.Open(ctx, tandem.Config{Drivers: []devices.Driver{d}, Observer: rec.Observer(), Calibrations: d.Calibrations()})
	if err != nil {
		return 0, 0, 0, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	f := affine()
	g := tandem.NewGraph().Named("overlap")
	var out []*tandem.Slice[int32]
	for i := range tasks {
		x, y := tandem.NewSlice[int32](s, chunkItems), tandem.NewSlice[int32](s, chunkItems)
		if err := x.Update(ctx, func(v []int32) error { v[i] = int32(i); return nil }); err != nil {
			return 0, 0, 0, err
		}
		g.Add(f, x, y)
		g.Return(y)
		out = append(out, y)
	}
	r, err := s.Submit(ctx, g)
	if err != nil {
		return 0, 0, 0, err
	}
	if err := r.Wait(ctx); err != nil {
		return 0, 0, 0, err
	}
	for i := range out {
		v, err := out[i].Values(ctx)
		if err != nil {
			return 0, 0, 0, err
		}
		if v[i] != int32(3*i+1) || i > 0 && v[0] != 1 {
			return 0, 0, 0, fmt.Errorf("overlap: chunk %d holds %d at %d, want %d", i, v[i], i, 3*i+1)
		}
	}
	return r.Makespan(), time.Duration(tasks) * time.Millisecond, observe.HiddenRatio(rec.Recording()), nil
}

// chainOnSim is the overhead of a chain of launches on a simulated device, in
// virtual time.
func chainOnSim(ctx context.Context, tasks int) (overhead float64, err error) {
	const latency = 10 * time.Microsecond
	d, err := balanced(latency)
	if err != nil {
		return 0, err
	}
	s, err := tandem.Open(ctx, tandem.Config{Drivers: []devices.Driver{d}, Calibrations: d.Calibrations()})
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	k, x := step(), tandem.NewSlice[int32](s, chunkItems)
	g := tandem.NewGraph().Named("chain")
	for range tasks {
		g.Add(k, x)
	}
	r, err := s.Submit(ctx, g)
	if err != nil {
		return 0, err
	}
	if err := r.Wait(ctx); err != nil {
		return 0, err
	}
	byHand := time.Millisecond + time.Duration(tasks)*(latency+time.Millisecond) // one upload
	return r.Makespan().Seconds()/byHand.Seconds() - 1, nil
}

// chainOnCores is the overhead of a chain of tasks of some 1 ms on the host's
// cores, planning included, against the same launches by hand. Both run in
// turns and the best of each counts: what else the machine does only adds.
func chainOnCores(ctx context.Context, o *Options) (overhead float64, err error) {
	const workers, items = 1, 1024
	tasks, times := pick(o, 32, 16), pick(o, 25, 3)
	byHand, err := newHand(ctx, cpu.Driver{Workers: workers}, spin(), items)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, byHand.close()) }()
	s, err := tandem.Open(ctx, tandem.Config{Drivers: []devices.Driver{cpu.Driver{Workers: workers}}})
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()

	rounds := int32(64)
	for ; rounds < 1<<20; rounds *= 2 {
		start := time.Now()
		if err := byHand.run(ctx, 1, rounds); err != nil {
			return 0, err
		}
		if time.Since(start) > 800*time.Microsecond {
			break
		}
	}
	k, x := spin(), tandem.NewSlice[int32](s, items)
	g := tandem.NewGraph().Named("chain")
	for range tasks {
		g.Add(k, x, rounds)
	}
	best := [2]time.Duration{time.Hour, time.Hour}
	for range times {
		start := time.Now()
		if err := byHand.run(ctx, tasks, rounds); err != nil {
			return 0, err
		}
		best[0] = min(best[0], time.Since(start))
		start = time.Now()
		if err := s.Run(ctx, g); err != nil {
			return 0, err
		}
		best[1] = min(best[1], time.Since(start))
	}
	o.note("overlap: a chain of %d tasks takes %v, by hand %v", tasks, best[1], best[0])
	return best[1].Seconds()/best[0].Seconds() - 1, nil
}
