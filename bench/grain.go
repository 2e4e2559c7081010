package bench

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/devices/cpu"
	"github.com/tandemrun/tandem/kernels"
	tandem "github.com/tandemrun/tandem/runtime"
)

// grainWidth is the number of columns of the grids: a row is a time step.
const grainWidth = 16

// grainShape says which columns of the row before a cell reads.
type grainShape struct {
	name string
	from func(row, column int, to []int) []int // appends to to; nil: tasks depend on nothing
}

// grainShapes are the patterns "stencil" and "fft" of Task Bench, and tasks
// that depend on nothing.
func grainShapes() []grainShape {
	return []grainShape{
		{"independent", nil},
		{"stencil", func(_, c int, to []int) []int {
			to = append(to, c)
			if c > 0 {
				to = append(to, c-1)
			}
			if c < grainWidth-1 {
				to = append(to, c+1)
			}
			return to
		}},
		// A butterfly whose span doubles from row to row.
		{"fft", func(r, c int, to []int) []int { return append(to, c, c^1<<((r-1)%4)) }},
	}
}

// work keeps a core busy for a number of rounds.
func work(v uint32, rounds int32) uint32 {
	for range rounds {
		v = v*1664525 + 1013904223
	}
	return v
}

// roundsPerMicrosecond is how much work a microsecond is.
func roundsPerMicrosecond() (perUS float64, result uint32) {
	const rounds = 2_000_000
	best := time.Hour
	for range 7 {
		start := time.Now()
		result = work(result, rounds)
		best = min(best, time.Since(start))
	}
	return rounds / (float64(best.Nanoseconds()) / 1e3), result
}

// grainKernel works for a number of rounds; it writes one array and reads some.
func grainKernel(arrays int) *kernels.Kernel {
	var params []kernels.Param
	for i := range arrays {
		mode := kernels.Read
		if i == 0 {
			mode = kernels.Write
		}
		params = append(params, array(fmt.Sprintf("x%d", i), devices.Int32, mode))
	}
	params = append(params, number("rounds", devices.Int32))
	return goKernel("grain", func(r devices.Range, a *devices.Args) {
		v := work(1, devices.Value[int32](a, arrays))
		if arrays > 0 {
			devices.Slice[int32](a, 0)[0] = int32(v)
		} else if v == 0 { // which it never is: the work must not be optimized away
			panic("grain: impossible result")
		}
	}, params...)
}

// grain runs tasks of known length in one session.
type grain struct {
	s       *tandem.Session
	o       *Options
	cells   []*tandem.Slice[int32] // two rows that take turns
	kernels [4]*kernels.Kernel     // by how many cells they read
	free    *kernels.Kernel        // touches nothing
	perUS   float64
	workers int
}

// add adds n tasks of so many rounds.
func (b *grain) add(g *tandem.Graph, shape grainShape, n int, rounds int32) {
	one := devices.NDRange{Dims: 1, Size: [3]int{1}}
	at := func(row, column int) *tandem.Slice[int32] { return b.cells[row&1*grainWidth+column] }
	var args [5]any
	var length any = rounds // in an interface once, not for every task
	columns := make([]int, 0, 3)
	for i := range n {
		if shape.from == nil {
			g.AddRange(b.free, one, length)
			continue
		}
		row, column := i/grainWidth, i%grainWidth
		args[0] = at(row, column)
		reads := 0
		if row > 0 {
			for _, c := range shape.from(row, column, columns) {
				reads++
				args[reads] = at(row+1, c)
			}
		}
		args[reads+1] = length
		g.Add(b.kernels[reads], args[:reads+2]...)
	}
}

// efficiency is the best share of the workers' time that is work, in tasks of
// a length in microseconds: from adding the first one to the end of the run,
// and in a second run of the same plan.
func (b *grain) efficiency(ctx context.Context, shape grainShape, us float64) (first, again float64, err error) {
	n := min(int(pick(b.o, 1e5, 2e4)*float64(b.workers)/us), pick(b.o, 20_000, 2000)) / grainWidth * grainWidth
	rounds := int32(us * b.perUS)
	ideal := float64(n) * us * 1e-6 / float64(b.workers)
	for range pick(b.o, 3, 1) {
		g := tandem.NewGraph()
		start := time.Now()
		b.add(g, shape, n, rounds)
		plan, err := b.s.Plan(ctx, g)
		if err != nil {
			return 0, 0, err
		}
		if err := runPlan(ctx, b.s, plan); err != nil {
			return 0, 0, err
		}
		first = max(first, ideal/time.Since(start).Seconds())
		start = time.Now()
		if err := runPlan(ctx, b.s, plan); err != nil {
			return 0, 0, err
		}
		again = max(again, ideal/time.Since(start).Seconds())
	}
	return first, again, nil
}

// Grain measures short tasks: the share of the workers' time that is work, and
// the shortest length at which it is half, METG(50 %) of Slaughter et al., "Task
// Bench: A Parameterized Benchmark for Evaluating Parallel Runtime Performance"
// (SC 2020). The graph is built and planned within the time; "replay" is a
// second run of the same plan.
func Grain(ctx context.Context, o Options) (all []Result, err error) {
	s, err := tandem.Open(ctx, tandem.Config{Drivers: []devices.Driver{cpu.Driver{}}})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	b := grain{s: s, o: &o, free: grainKernel(0), workers: s.Devices()[0].ComputeUnits}
	b.perUS, _ = roundsPerMicrosecond()
	for range 2 * grainWidth {
		b.cells = append(b.cells, tandem.NewSlice[int32](s, 1))
	}
	for reads := range b.kernels {
		b.kernels[reads] = grainKernel(reads + 1)
	}
	worst := [2]float64{}
	for _, shape := range grainShapes() {
		metg, err := b.metg50(ctx, shape)
		if err != nil {
			return nil, err
		}
		for us := 4.0; us <= 64; us *= 4 {
			first, _, err := b.efficiency(ctx, shape, us)
			if err != nil {
				return nil, err
			}
			all = append(all, Result{fmt.Sprintf("grain.%s.%.0fus.efficiency", shape.name, us), first, "ratio", "higher"})
		}
		all = append(all,
			Result{"grain." + shape.name + ".metg50_us", metg[0], "us", "lower"},
			Result{"grain." + shape.name + ".replay.metg50_us", metg[1], "us", "lower"})
		if shape.from != nil {
			worst = [2]float64{max(worst[0], metg[0]), max(worst[1], metg[1])}
		}
	}
	return append(all, Result{"grain.metg50_us", worst[0], "us", "lower"}, Result{"grain.replay.metg50_us", worst[1], "us", "lower"}), nil
}

// metg50 halves the length until less than half of the time is work, in the
// first run and in the second. Half lies between two lengths, as if the share
// were linear.
func (b *grain) metg50(ctx context.Context, shape grainShape) (metg [2]float64, err error) {
	const longest, shortest = 128, 0.25
	before := [2]float64{1, 1}
	done := [2]bool{}
	for us := float64(longest); us >= shortest && !(done[0] && done[1]); us /= 2 {
		first, again, err := b.efficiency(ctx, shape, us)
		if err != nil {
			return metg, err
		}
		for i, e := range []float64{first, again} {
			if done[i] {
				continue
			}
			metg[i] = us
			if e < 0.5 {
				done[i] = true
				if us < longest {
					metg[i] += (0.5 - e) / (before[i] - e) * us
				} else {
					b.o.note("grain: %s: less than half is work even in tasks of %.0f us", shape.name, us)
				}
			}
			before[i] = e
		}
	}
	return metg, nil
}
