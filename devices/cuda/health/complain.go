package health

import (
	"fmt"
	"slices"
	"strings"
)

// hot is the temperature of the chip, in degrees Celsius, from which on a
// person wants to know.
const hot = 90

// complain says in words what is wrong.
func (g *GPU) complain() {
	add := func(format string, args ...any) { g.Complaints = append(g.Complaints, fmt.Sprintf(format, args...)) }
	if g.Excluded {
		add("the kernel module's settings exclude it (NVreg_ExcludedGpus)")
	}
	if e := g.ECC; e != nil {
		if e.Uncorrected > 0 {
			add("%d uncorrected memory errors since the driver was loaded: results may be wrong, reset it (nvidia-smi -r)", e.Uncorrected)
		}
		if e.RemapPending {
			add("memory rows wait for replacement: reset it (nvidia-smi -r)")
		}
		if e.RemapFailures {
			add("memory rows could not be replaced: it needs repair")
		}
	}
	if g.Throttle != nil {
		var hard []string
		for _, reason := range *g.Throttle {
			if !slices.Contains(harmless, reason) {
				hard = append(hard, reason)
			}
		}
		if len(hard) > 0 {
			add("it runs slower than it could: %s", strings.Join(hard, ", "))
		}
	}
	if g.Temperature != nil && *g.Temperature >= hot {
		add("it is %d degrees Celsius hot", *g.Temperature)
	}
	// An idle link runs at a lower generation to save power; lanes that are
	// missing are missing.
	if p := g.PCIe; p != nil && p.MaxWidth > 0 && p.Width > 0 && p.Width < p.MaxWidth {
		add("its PCIe link has %d of %d lanes: copies are slower than they could be", p.Width, p.MaxWidth)
	}
	var down []string
	for _, l := range g.NVLinks {
		if !l.Active {
			down = append(down, fmt.Sprint(l.Link))
		}
	}
	if len(down) > 0 && len(down) < len(g.NVLinks) {
		add("NVLink %s down", strings.Join(down, ", "))
	}
}

// harmless are reasons for low clocks that are somebody's will or no loss.
var harmless = []string{reasonIdle, reasonApplication, reasonSync, reasonDisplay}

// The reasons for low clocks, in the bits of NVML's mask.
const (
	reasonIdle        = "idle"
	reasonApplication = "application clocks"
	reasonPowerCap    = "power cap"
	reasonHardware    = "hardware slowdown"
	reasonSync        = "sync boost"
	reasonWarm        = "warm (software)"
	reasonHot         = "hot (hardware)"
	reasonBrake       = "power brake"
	reasonDisplay     = "display clocks"
)

// throttleReasons reads NVML's mask.
func throttleReasons(mask uint64) []string {
	list := []string{}
	for bit, name := range []string{reasonIdle, reasonApplication, reasonPowerCap, reasonHardware, reasonSync, reasonWarm, reasonHot, reasonBrake, reasonDisplay} {
		if mask>>bit&1 != 0 {
			list = append(list, name)
		}
	}
	return list
}
