package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/devices/fpga"
	"github.com/tandemrun/tandem/devices/fpga/toolchain"
	"github.com/tandemrun/tandem/kernels"
	"github.com/tandemrun/tandem/kernels/rtl"
)

// fpgaJSON is what is known of a kernel in Verilog: what it takes of an FPGA,
// and what it did with random words.
type fpgaJSON struct {
	Entry     string                    `json:"entry"`
	Area      map[fpga.Target]fpga.Area `json:"area"`
	FmaxMHz   float64                   `json:"fmax_mhz,omitempty"` // placed and routed on an iCE40 UP5K
	ClockMHz  float64                   `json:"clock_mhz"`          // that times are modelled with
	ClockFrom string                    `json:"clock_from"`         // nextpnr, source or default
	Warnings  []string                  `json:"warnings,omitempty"`
	Trial     trialJSON                 `json:"trial"`
}

// trialJSON is a launch on random words, free and with random stalls.
type trialJSON struct {
	Range         []int            `json:"range"`
	Values        map[string]int64 `json:"values,omitempty"`
	Cycles        uint64           `json:"cycles"`
	WordsIn       uint64           `json:"words_in"`
	WordsOut      uint64           `json:"words_out"`
	WordsPerCycle float64          `json:"words_per_cycle"`
	StallsIn      uint64           `json:"stalls_in"`
	StallsOut     uint64           `json:"stalls_out"`
	ModelledS     float64          `json:"modelled_s"`
	// With words held back and outputs not taken at random.
	StalledCycles  uint64 `json:"stalled_cycles"`
	SameWithStalls bool   `json:"same_with_stalls"`
	Fault          string `json:"fault,omitempty"`
}

// isVerilog reports whether a name is that of a Verilog file.
func isVerilog(name string) bool {
	return strings.HasSuffix(name, ".v") || strings.HasSuffix(name, ".sv")
}

// rtl are the options for a Verilog file: macros on the command line are its
// parameters, and so are options -GNAME=VALUE.
func (f *sourceFlags) rtl() (rtl.Options, error) {
	o := rtl.Options{Include: f.include, Params: map[string]string{}}
	for _, d := range f.clc().Defines {
		o.Params[d.Name] = d.Value
		if d.Value == "" {
			o.Params[d.Name] = "1"
		}
	}
	for _, opt := range f.options {
		name, v, ok := strings.Cut(strings.TrimPrefix(opt, "-G"), "=")
		if !ok || !strings.HasPrefix(opt, "-G") {
			return o, fmt.Errorf("--option %s: a Verilog source takes -GNAME=VALUE for its parameters", opt)
		}
		o.Params[name] = v
	}
	return o, nil
}

// withHint adds to an error about a missing tool what to install.
func withHint(err error) error {
	if hint, missing := toolchain.IsMissing(err); missing {
		return fmt.Errorf("%w; %s", err, hint)
	}
	return err
}

// targets reads --target.
func targets(list []string) ([]fpga.Target, error) {
	known := []fpga.Target{fpga.ICE40, fpga.ECP5, fpga.Xilinx}
	var out []fpga.Target
	for _, name := range list {
		if !slices.Contains(known, fpga.Target(name)) {
			return nil, fmt.Errorf("--target %s: want %s, %s or %s", name, known[0], known[1], known[2])
		}
		out = append(out, fpga.Target(name))
	}
	return out, nil
}

// analyze synthesises the Verilog variants of kernels and runs them. What
// yosys, nextpnr and the emulation take goes by on standard error.
func (a *app) analyze(ctx context.Context, list []*kernels.Kernel, names []fpga.Target) (map[*kernels.Kernel]*fpgaJSON, error) {
	out := map[*kernels.Kernel]*fpgaJSON{}
	trials := map[*devices.Source][]fpga.Trial{}
	for _, k := range list {
		v := k.Variant(devices.LangRTL)
		if v == nil {
			continue
		}
		a.note("%s: synthesis, placing and routing ...", k.Name)
		reports, err := fpga.Analyze(ctx, v.Source, fpga.AnalyzeOptions{Entry: v.Entry, Targets: names})
		if err != nil {
			return nil, err
		}
		r := reports[0]
		out[k] = &fpgaJSON{Entry: r.Entry, Area: r.Area, FmaxMHz: r.FmaxMHz, Warnings: r.Warnings}
	}
	// After that: a clock that was found is what times are modelled with.
	for _, k := range list {
		j, v := out[k], k.Variant(devices.LangRTL)
		if j == nil {
			continue
		}
		all, done := trials[v.Source]
		if !done {
			a.note("%s: building and running it ...", v.Source.Name)
			var err error
			if all, err = fpga.Try(ctx, v.Source, fpga.TryOptions{}); err != nil {
				return nil, err
			}
			trials[v.Source] = all
		}
		i := slices.IndexFunc(all, func(t fpga.Trial) bool { return t.Entry == v.Entry })
		if i < 0 {
			return nil, fmt.Errorf("%s: the kernel %s is gone", v.Source.Name, v.Entry)
		}
		t := &all[i]
		j.ClockMHz, j.ClockFrom = t.Free.ClockMHz, t.Free.ClockFrom
		j.Trial = trialJSON{Range: t.Range, Values: t.Values, Cycles: t.Free.Cycles, WordsIn: t.Free.WordsIn, WordsOut: t.Free.WordsOut,
			WordsPerCycle: t.Free.WordsPerCycle(), StallsIn: t.Free.StallsIn, StallsOut: t.Free.StallsOut, ModelledS: t.Free.Modelled.Seconds(),
			StalledCycles: t.Stalled.Cycles, SameWithStalls: t.Same, Fault: t.Fault}
	}
	return out, nil
}

// printFPGA writes the report of one kernel for people.
func printFPGA(w io.Writer, j *fpgaJSON) {
	for _, target := range []fpga.Target{fpga.ICE40, fpga.ECP5, fpga.Xilinx} {
		if area, ok := j.Area[target]; ok {
			fmt.Fprintf(w, "  area on %-6s %d LUT, %d FF, %d DSP, %d BRAM\n", target, area.LUT, area.FF, area.DSP, area.BRAM)
		}
	}
	if j.FmaxMHz > 0 {
		fmt.Fprintf(w, "  highest clock  %.1f MHz on an iCE40 UP5K\n", j.FmaxMHz)
	}
	for _, warning := range j.Warnings {
		fmt.Fprintf(w, "  warning: %s\n", warning)
	}
	t := &j.Trial
	if t.Fault != "" {
		fmt.Fprintf(w, "  trial with random words failed: %s\n", t.Fault)
		return
	}
	fmt.Fprintf(w, "  trial          %d cycles for %d words in and %d out, %.2f words per cycle, %d stalls in, %d out\n",
		t.Cycles, t.WordsIn, t.WordsOut, t.WordsPerCycle, t.StallsIn, t.StallsOut)
	fmt.Fprintf(w, "  modelled       %s at %.1f MHz (%s)\n", secondsText(t.ModelledS), j.ClockMHz, clockWords[j.ClockFrom])
	if t.SameWithStalls {
		fmt.Fprintf(w, "  random stalls  %d cycles, the same output\n", t.StalledCycles)
	} else {
		fmt.Fprintf(w, "  random stalls  ANOTHER OUTPUT: a handshake on its ports is wrong\n")
	}
}

// clockWords say where a clock comes from.
var clockWords = map[string]string{
	fpga.ClockAnalysed: "placed and routed",
	fpga.ClockDeclared: "declared by the source",
	fpga.ClockDefault:  "no clock is known: the driver's default",
}
