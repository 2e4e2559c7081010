// Package bench measures what tandem is about: how well copies hide behind
// computing, how good plans and predictions are, how much two devices do
// together, what a task costs. Every figure is a ratio against a bound or
// against the same work done by hand in the same run, or a count; the few that
// are seconds say so.
//
// Problems that ask about decisions run on simulated devices, where times are
// exact; problems that ask about costs run on the machine's own.
package bench

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/tandemrun/tandem/devices"
)

// Result is one figure.
type Result struct {
	Name   string  `json:"name"` // "overlap.hidden_ratio"
	Value  float64 `json:"value"`
	Unit   string  `json:"unit"`   // "ratio", "us", "B", "s", …
	Better string  `json:"better"` // "higher", "lower"
}

// Options say how to measure. The zero value measures simulated devices and
// the host's cores.
type Options struct {
	// Drivers reach the devices that are measured. Default: the host's cores.
	Drivers []devices.Driver
	// Devices selects among them, as in tandem.Config.
	Devices string
	// Quick measures less, for tests: the figures are noisier.
	Quick bool
	// Seed is that of everything random. Default 1.
	Seed uint64
	// Program is the tandem program, for what is measured of a whole process.
	// Empty: that is left out.
	Program string
	// Note, if set, is told what a reader of the figures should know: what was
	// left out and why, tables behind a figure. It is called from the
	// goroutine that runs the problem.
	Note func(text string)
}

func (o *Options) note(format string, args ...any) {
	if o.Note != nil {
		o.Note(fmt.Sprintf(format, args...))
	}
}

func (o *Options) seed() uint64 { return cmp.Or(o.Seed, 1) }

// pick is full, or quick where less is to be measured.
func pick[T any](o *Options, full, quick T) T {
	if o.Quick {
		return quick
	}
	return full
}

// Problem is something to measure. A device that a problem needs and the
// machine lacks leaves its results out, with a note; an error is a measurement
// that failed.
type Problem struct {
	Name string
	Doc  string // one line
	Run  func(ctx context.Context, o Options) ([]Result, error)
}

// Problems are all problems, by name.
func Problems() []Problem {
	return []Problem{
		{"cholesky", "tiled Cholesky factorisation with OpenBLAS for the tiles", Cholesky},
		{"coexec", "two unequal devices together against the sum of each alone", Coexec},
		{"cold", "one kernel by the program, from a cold start", Cold},
		{"fpga", "words through an emulated FPGA kernel against the same one clocked by a C++ program", FPGA},
		{"gemm", "tiled matrix product with OpenBLAS for the tiles", Gemm},
		{"grain", "how short tasks may be", Grain},
		{"idle", "what an open session takes while nothing is asked of it", Idle},
		{"launch", "what a launch costs through tandem and by hand", LaunchCost},
		{"launch.sycl", "what a launch costs through SYCL, from here and from C++", LaunchSYCL},
		{"library", "the built-in kernels on each device and on all together", Library},
		{"overhead", "what an empty task costs, by shape of the graph", Overhead},
		{"overlap", "copies hidden behind computing, and what that costs where there is nothing to hide", Overlap},
		{"predict", "predicted against real times of tasks and graphs", Predict},
		{"replay", "a graph submitted again against one that is built anew", Replay},
		{"schedule", "plans against plain HEFT on ten families of graphs, and the time of planning", Schedule},
		{"stream", "memory bandwidth of the triad through tandem against plain Go", Stream},
		{"stream.sycl", "memory bandwidth of the triad through SYCL, from here and from C++", StreamSYCL},
		{"tracing", "a recorded run against one that is not", Tracing},
	}
}

// Select finds problems by name, in the order of Problems; no name: all. An
// unknown name is ErrInvalid and lists those there are.
func Select(names ...string) ([]Problem, error) {
	all := Problems()
	if len(names) == 0 {
		return all, nil
	}
	var known []string
	for _, p := range all {
		known = append(known, p.Name)
	}
	for _, n := range names {
		if !slices.Contains(known, n) {
			return nil, fmt.Errorf("no benchmark %q; there are %s: %w", n, strings.Join(known, ", "), devices.ErrInvalid)
		}
	}
	return slices.DeleteFunc(all, func(p Problem) bool { return !slices.Contains(names, p.Name) }), nil
}
