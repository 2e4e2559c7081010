package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"time"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/devices/cpu"
	tandem "github.com/tandemrun/tandem/runtime"
	"github.com/tandemrun/tandem/runtime/observe"
)

// Cold starts the program that o.Program names for one vector.add over arrays
// of 1 MiB on the host's cores, and again: milliseconds from the start of the
// process to its end.
func Cold(ctx context.Context, o Options) ([]Result, error) {
	if o.Program == "" {
		o.note("cold is left out: it needs the tandem program")
		return nil, nil
	}
	var all []time.Duration
	for range pick(&o, 15, 3) + 1 { // the first one warms the caches
		const array = "float32[262144]"
		cmd := exec.CommandContext(ctx, o.Program, "exec", "vector.add", "--devices", "cpu", "--json", "--repeat", "1",
			"--arg", "x="+array, "--arg", "y="+array, "--arg", "z="+array)
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		start := time.Now()
		out, err := cmd.Output()
		took := time.Since(start)
		if err != nil {
			return nil, fmt.Errorf("%s: %w\n%s", cmd, err, &stderr)
		}
		if !bytes.Contains(out, []byte("vector.add")) {
			return nil, fmt.Errorf("%s: the answer says nothing of vector.add:\n%s", cmd, out)
		}
		all = append(all, took)
	}
	all = all[1:]
	slices.Sort(all)
	ms := func(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e6 }
	return []Result{
		{"cold.exec.median_ms", ms(all[len(all)/2]), "ms", "lower"},
		{"cold.exec.best_ms", ms(all[0]), "ms", "lower"},
	}, nil
}

// Idle opens every device, runs something on each so that all is set up, and
// then asks for nothing: the part of one core that the process takes.
func Idle(ctx context.Context, o Options) (all []Result, err error) {
	if _, ok := processTime(); !ok {
		o.note("idle is left out: this system does not tell what a process takes")
		return nil, nil
	}
	list, err := o.devices(ctx, devices.LangGo, devices.LangOpenCL)
	if err != nil {
		return nil, err
	}
	var sessions []*tandem.Session
	defer func() {
		for _, s := range sessions {
			err = errors.Join(err, s.Close())
		}
	}()
	for _, f := range list {
		s, err := f.open(ctx, tandem.Config{})
		if err != nil {
			return nil, err
		}
		sessions = append(sessions, s)
		x, g := tandem.NewSlice[int32](s, 64), tandem.NewGraph()
		g.Add(withOpenCL(nop(1), nopCL), x)
		if err := s.Run(ctx, g); err != nil {
			return nil, err
		}
	}
	wait := func(d time.Duration) error {
		t := time.NewTimer(d)
		defer t.Stop()
		select {
		case <-t.C:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	// Workers look around for a while before they sleep, and so do vendors'.
	if err := wait(pick(&o, time.Second, 100*time.Millisecond)); err != nil {
		return nil, err
	}
	before, _ := processTime()
	start := time.Now()
	if err := wait(pick(&o, 3*time.Second, 300*time.Millisecond)); err != nil {
		return nil, err
	}
	after, _ := processTime()
	return []Result{{"idle.core_share", (after - before).Seconds() / time.Since(start).Seconds(), "ratio", "lower"}}, nil
}

// Tracing runs independent tasks of ten microseconds with a recorder of every
// event and without: the time of one over that of the other.
func Tracing(ctx context.Context, o Options) ([]Result, error) {
	n, rounds := pick(&o, 100_000, 2000), int32(0)
	perUS, _ := roundsPerMicrosecond()
	rounds = int32(10 * perUS)
	best := [2]time.Duration{time.Hour, time.Hour}
	for range pick(&o, 3, 2) {
		for traced := range best {
			took, err := tracedRun(ctx, traced == 1, n, rounds)
			if err != nil {
				return nil, err
			}
			best[traced] = min(best[traced], took)
		}
	}
	o.note("tracing: %d tasks of 10 us: %v without, %v with", n, best[0], best[1])
	return []Result{{"tracing.over_without", best[1].Seconds() / best[0].Seconds(), "ratio", "lower"}}, nil
}

func tracedRun(ctx context.Context, traced bool, n int, rounds int32) (took time.Duration, err error) {
	c := tandem.Config{Drivers: []devices.Driver{cpu.Driver{}}}
	var rec observe.Recorder
	if traced {
		c.Observer = rec.Observer()
	}
	s, err := tandem.Open(ctx, c)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	one := devices.NDRange{Dims: 1, Size: [3]int{1}}
	k := grainKernel(0)
	start := time.Now()
	g := tandem.NewGraph()
	for range n {
		g.AddRange(k, one, rounds)
	}
	if err := s.Run(ctx, g); err != nil {
		return 0, err
	}
	took = time.Since(start)
	if traced && len(rec.Recording().Launches) == 0 {
		return 0, errors.New("tracing: nothing was recorded")
	}
	return took, nil
}
