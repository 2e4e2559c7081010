package bench

import (
	"context"
	"fmt"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/devices/cpu"
	tandem "github.com/tandemrun/tandem/runtime"
)

// drivers are those that the options name.
func (o *Options) drivers() []devices.Driver {
	if len(o.Drivers) > 0 {
		return o.Drivers
	}
	return []devices.Driver{cpu.Driver{}}
}

// found is a device of the machine with its driver.
type found struct {
	driver devices.Driver
	info   devices.Info
}

// devices finds the selected devices that take one of the languages, the first
// of each backend.
func (o *Options) devices(ctx context.Context, langs ...devices.Language) ([]found, error) {
	sel, err := tandem.ParseSelector(o.Devices)
	if err != nil {
		return nil, err
	}
	var infos []devices.Info
	driver := map[string]devices.Driver{}
	for _, d := range o.drivers() {
		b := d.Probe(ctx)
		if !b.Available {
			o.note("%s is left out: %v", b.Name, b.Reason)
		}
		driver[b.Name] = d
		infos = append(infos, b.Devices...)
	}
	if infos, err = sel.Choose(infos, nil); err != nil {
		return nil, err
	}
	var all []found
	seen := map[string]bool{}
	for _, i := range infos {
		takes := false
		for _, l := range langs {
			for _, have := range i.Languages {
				takes = takes || l == have
			}
		}
		if takes && !seen[i.Backend] {
			seen[i.Backend] = true
			all = append(all, found{driver[i.Backend], i})
		}
	}
	return all, nil
}

// open opens a session on one device.
func (f *found) open(ctx context.Context, c tandem.Config) (*tandem.Session, error) {
	c.Drivers, c.Devices = []devices.Driver{f.driver}, f.info.ID
	s, err := tandem.Open(ctx, c)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.info.ID, err)
	}
	return s, nil
}
