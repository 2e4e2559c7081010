package fpga

import (
	"slices"
	"strings"
	"time"

	"github.com/tandemrun/tandem/devices"
)

// A LaunchReport says what a launch was like on the FPGA.
type LaunchReport struct {
	Kernel    string `json:"kernel"`
	Cycles    uint64 `json:"cycles"`
	WordsIn   uint64 `json:"words_in"`   // over all inputs
	WordsOut  uint64 `json:"words_out"`  // over all outputs
	StallsIn  uint64 `json:"stalls_in"`  // cycles in which a word was offered and not taken, over all inputs
	StallsOut uint64 `json:"stalls_out"` // cycles in which a word was given and not taken, over all outputs

	ClockMHz  float64       `json:"clock_mhz"`
	ClockFrom string        `json:"clock_from"`  // ClockAnalysed, ClockDeclared or ClockDefault
	Modelled  time.Duration `json:"modelled_ns"` // cycles by the clock
	Wall      time.Duration `json:"wall_ns"`     // what the emulation took
	Loaded    time.Duration `json:"loaded_ns"`   // modelled time of loading the image; 0: it was there

	Log string `json:"log,omitempty"` // what the kernel printed
}

// WordsPerCycle is the larger of the words in and out, by the cycles; 1 is
// what a kernel with one input and one output can reach.
func (r LaunchReport) WordsPerCycle() float64 {
	if r.Cycles == 0 {
		return 0
	}
	return float64(max(r.WordsIn, r.WordsOut)) / float64(r.Cycles)
}

// Totals are the sums over the launches of one kernel on one device.
type Totals struct {
	LaunchReport
	Launches int `json:"launches"`
	Loads    int `json:"loads"` // launches that had to load the image first
	Failed   int `json:"failed"`
}

// A Reporter knows what launches were like. The devices of this package are
// reporters; devices.As finds one behind wrappers.
type Reporter interface {
	// LaunchReport is the report of a finished launch; false for events that
	// are no launch of this device or not finished. It has to be called before
	// the event is released.
	LaunchReport(e devices.Event) (LaunchReport, bool)
	// Totals are the sums by kernel since the device was opened, sorted by
	// name.
	Totals() []Totals
}

var _ Reporter = (*device)(nil)

// LaunchReport is the report of a finished launch.
func (d *device) LaunchReport(e devices.Event) (LaunchReport, bool) {
	c, ok := e.(*command)
	if !ok || c == nil || c.d != d {
		return LaunchReport{}, false
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if c.state != done || c.in == nil || c.err != nil {
		return LaunchReport{}, false
	}
	return c.report, true
}

// Totals are the sums by kernel.
func (d *device) Totals() []Totals {
	d.mu.Lock()
	defer d.mu.Unlock()
	sums := map[string]*Totals{}
	for _, in := range d.instances {
		if in.totals.Launches == 0 && in.totals.Failed == 0 {
			continue
		}
		t := sums[in.unit.module.Name]
		if t == nil {
			t = &Totals{}
			t.Kernel = in.unit.module.Name
			sums[t.Kernel] = t
		}
		t.add(in.totals.LaunchReport)
		t.Launches += in.totals.Launches
		t.Loads += in.totals.Loads
		t.Failed += in.totals.Failed
	}
	var list []Totals
	for _, t := range sums {
		list = append(list, *t)
	}
	slices.SortFunc(list, func(a, b Totals) int { return strings.Compare(a.Kernel, b.Kernel) })
	return list
}

// add adds a launch; the clock is that of the last one.
func (t *Totals) add(r LaunchReport) {
	t.Cycles += r.Cycles
	t.WordsIn += r.WordsIn
	t.WordsOut += r.WordsOut
	t.StallsIn += r.StallsIn
	t.StallsOut += r.StallsOut
	t.ClockMHz, t.ClockFrom = r.ClockMHz, r.ClockFrom
	t.Modelled += r.Modelled
	t.Wall += r.Wall
	t.Loaded += r.Loaded
}
