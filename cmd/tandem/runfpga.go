package main

import (
	"fmt"
	"io"

	"github.com/tandemrun/tandem/devices/fpga"
)

// fpgaRunJSON is what one kernel did on one emulated FPGA during a run.
type fpgaRunJSON struct {
	Device        string  `json:"device"`
	Kernel        string  `json:"kernel"`
	Launches      int     `json:"launches"`
	Cycles        uint64  `json:"cycles"`
	WordsIn       uint64  `json:"words_in"`
	WordsOut      uint64  `json:"words_out"`
	WordsPerCycle float64 `json:"words_per_cycle"`
	StallsIn      uint64  `json:"stalls_in"`
	StallsOut     uint64  `json:"stalls_out"`
	ClockMHz      float64 `json:"clock_mhz"`
	ClockFrom     string  `json:"clock_from"` // nextpnr, source or default
	ModelledS     float64 `json:"modelled_s"` // cycles by the clock
	Loads         int     `json:"loads"`      // launches before which the image was loaded
	LoadS         float64 `json:"load_s"`     // modelled
	EmulationS    float64 `json:"emulation_s"`
}

// fpgaTotals are what the FPGAs did in this process, by device and kernel; nil
// if they did nothing.
func (a *app) fpgaTotals() []fpgaRunJSON {
	var out []fpgaRunJSON
	for _, d := range a.driverList {
		f, ok := d.(*fpga.Driver)
		if !ok {
			continue
		}
		for _, dev := range f.Totals() {
			for _, k := range dev.Kernels {
				out = append(out, fpgaRunJSON{Device: dev.Device, Kernel: k.Kernel, Launches: k.Launches, Cycles: k.Cycles, WordsIn: k.WordsIn,
					WordsOut: k.WordsOut, WordsPerCycle: k.WordsPerCycle(), StallsIn: k.StallsIn, StallsOut: k.StallsOut, ClockMHz: k.ClockMHz,
					ClockFrom: k.ClockFrom, ModelledS: k.Modelled.Seconds(), Loads: k.Loads, LoadS: k.Loaded.Seconds(), EmulationS: k.Wall.Seconds()})
			}
		}
	}
	return out
}

// printTotals writes what FPGAs would have taken.
func printTotals(w io.Writer, list []fpgaRunJSON) {
	for i := range list {
		k := &list[i]
		load := ""
		if k.Loads > 0 {
			load = fmt.Sprintf(", %d load(s) of %s", k.Loads, secondsText(k.LoadS/float64(k.Loads)))
		}
		fmt.Fprintf(w, "%s %s: %d cycles at %.1f MHz are %s, %.2f words per cycle, %d stalls in, %d out%s; emulated in %s\n",
			k.Device, k.Kernel, k.Cycles, k.ClockMHz, secondsText(k.ModelledS), k.WordsPerCycle, k.StallsIn, k.StallsOut, load, secondsText(k.EmulationS))
	}
}
