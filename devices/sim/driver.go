// Package sim simulates devices that are described, not there: how fast they
// compute, what their links cost, how much memory they have, when they fail.
// Kernels are Go functions and really run, so results are real; time is not.
// Every device of a [Driver] lives on one virtual clock, which jumps from one
// event to the next, and what the clock says is exact: tests of overlap,
// placement, memory pressure and failure compare times with == and take none.
//
// # The clock
//
// The clock is a discrete-event simulation. A command starts when its
// predecessors have ended (the one before it in its queue, those of its wait
// list) and its engine is free: the compute engine, or a copy engine for its
// direction. It then takes as long as the description says. Among commands
// that could start on one engine, the one that became ready first does, then
// the one of the queue that was made first.
//
// The host takes no time. For that to be more than a manner of speaking the
// clock must not go on while the host still has something to say about what
// has happened; since the host is real goroutines, it has to tell: the clock
// stands still, and no command starts, while anybody holds it
// ([devices.Clocked]). The runtime holds it while it puts a graph in order and
// while one of its agents is awake. So the same graph gives the same times in
// every run, on any machine, however loaded. A caller that enqueues commands
// without holding the clock gets right results too, and times that depend on
// how fast it is.
//
// With nothing to do the clock stands still as well.
package sim

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/tandemrun/tandem/devices"
)

// Driver drives the devices of a description. It is safe for concurrent use
// and must not be copied.
type Driver struct {
	specs []Spec // one for each device
	clock clock
}

var _ devices.Driver = (*Driver)(nil)

// New makes a driver of a description, of which it keeps a copy. Its clock
// starts at 0. What is wrong with the description is a [Faults].
func New(d Description) (*Driver, error) {
	if found := d.check(); len(found) > 0 {
		return nil, found
	}
	drv := &Driver{}
	drv.clock.init()
	for _, s := range d.Devices {
		s = s.withDefaults()
		for range s.Count {
			drv.specs = append(drv.specs, s)
		}
	}
	return drv, nil
}

// Open makes a driver of a description in a YAML file.
func Open(file string) (*Driver, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("sim: %w", err)
	}
	d, err := Parse(file, text)
	if err != nil {
		return nil, err
	}
	return New(d)
}

// Name is "sim".
func (*Driver) Name() string { return "sim" }

// Probe lists the described devices.
func (d *Driver) Probe(context.Context) devices.Backend {
	b := devices.Backend{Name: d.Name(), Available: true}
	for i := range d.specs {
		b.Devices = append(b.Devices, d.specs[i].info(i))
	}
	return b
}

// Open opens a described device. Opening one twice gives two devices on the
// same clock that share nothing else. A device that is lost by now is
// ErrDeviceLost.
func (d *Driver) Open(_ context.Context, ordinal int) (devices.Device, error) {
	if ordinal < 0 || ordinal >= len(d.specs) {
		return nil, fmt.Errorf("sim: no device %d: there are devices 0 to %d: %w", ordinal, len(d.specs)-1, devices.ErrInvalid)
	}
	s := &d.specs[ordinal]
	dev := newDevice(&d.clock, s, s.info(ordinal))
	if err := d.clock.add(dev); err != nil {
		return nil, err
	}
	return dev, nil
}

// Now is the time on the devices' clock.
func (d *Driver) Now() time.Duration { return d.clock.Now() }

// Hold keeps the clock from going on until Release; see [devices.Clocked].
func (d *Driver) Hold() { d.clock.Hold() }

// Release undoes one Hold.
func (d *Driver) Release() { d.clock.Release() }

// Calibrations are what measuring the devices would find, by device id, taken
// from the description: a planner needs no measurement.
func (d *Driver) Calibrations() map[string]devices.Calibration {
	all := map[string]devices.Calibration{}
	for i := range d.specs {
		s := &d.specs[i]
		c := devices.Calibration{
			Upload: s.link(s.Upload, false), Download: s.link(s.Download, false), ZeroCopy: s.Unified, LaunchLatency: s.LaunchLatency.Seconds(),
			PeakFlops: s.Flops / s.Slowdown, StreamBytes: s.Bandwidth / s.Slowdown,
		}
		if s.Pinned > 0 {
			c.PinnedUp, c.PinnedDown = s.Upload, s.Download
		}
		if s.Unified {
			c.Upload, c.Download = devices.Link{}, devices.Link{}
		}
		all[s.info(i).ID] = c
	}
	return all
}
