package fpga

import (
	"maps"
	"slices"
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
func (d *device) Totals() []Totals { return sorted(d.sums()) }

// sums are the sums by kernel, of those that were launched.
func (d *device) sums() map[string]Totals {
	d.mu.Lock()
	defer d.mu.Unlock()
	sums := map[string]Totals{}
	for _, in := range d.instances {
		if in.totals.Launches > 0 || in.totals.Failed > 0 {
			merge(sums, in.unit.module.Name, in.totals)
		}
	}
	return sums
}

// merge adds t to the sums of a kernel.
func merge(sums map[string]Totals, kernel string, t Totals) {
	sum := sums[kernel]
	sum.Kernel = kernel
	sum.add(t.LaunchReport)
	sum.Launches += t.Launches
	sum.Loads += t.Loads
	sum.Failed += t.Failed
	sums[kernel] = sum
}

func sorted(sums map[string]Totals) []Totals {
	list := make([]Totals, 0, len(sums))
	for _, name := range slices.Sorted(maps.Keys(sums)) {
		list = append(list, sums[name])
	}
	return list
}

// DeviceTotals are the totals of all devices that had one id.
type DeviceTotals struct {
	Device  string   `json:"device"`
	Kernels []Totals `json:"kernels"` // sorted by name
}

// Totals are the sums over all launches of the driver's devices, those that
// are closed included, sorted by device and kernel.
func (d *Driver) Totals() []DeviceTotals {
	d.mu.Lock()
	all := map[string]map[string]Totals{}
	add := func(device string, sums map[string]Totals) {
		if all[device] == nil {
			all[device] = map[string]Totals{}
		}
		for kernel, t := range sums {
			merge(all[device], kernel, t)
		}
	}
	for device, sums := range d.past {
		add(device, sums)
	}
	for dev := range d.opened {
		add(dev.info.ID, dev.sums())
	}
	d.mu.Unlock()
	var list []DeviceTotals
	for _, device := range slices.Sorted(maps.Keys(all)) {
		list = append(list, DeviceTotals{device, sorted(all[device])})
	}
	return list
}

// retire keeps the sums of a device that is closed.
func (d *Driver) retire(dev *device) {
	sums := dev.sums()
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, open := d.opened[dev]; !open {
		return
	}
	delete(d.opened, dev)
	if d.past == nil {
		d.past = map[string]map[string]Totals{}
	}
	if d.past[dev.info.ID] == nil {
		d.past[dev.info.ID] = map[string]Totals{}
	}
	for kernel, t := range sums {
		merge(d.past[dev.info.ID], kernel, t)
	}
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
