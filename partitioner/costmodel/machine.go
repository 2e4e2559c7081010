package costmodel

import (
	"math"
	"time"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/partitioner"
)

// Machine is what a device can be expected to reach with kernels of one
// language: the two roofs of a roofline (Williams, Waterman and Patterson,
// CACM 52(4), 2009), already lowered to what ordinary kernels get.
type Machine struct {
	Flops    float64 // operations per second
	Bytes    float64 // bytes per second
	Measured bool    // from a calibration, not from the data sheet
	// Items is the work-items per second of a processor that takes one after
	// the other, whatever there is to compute; 0: it is not of that kind.
	Items float64
}

// What ordinary kernels reach of a measured peak. Calibration loops are written
// for the device; a user's kernel is not.
const (
	reachFlops = 0.5
	reachBytes = 0.8
)

// Operations per clock and compute unit of kernels that nobody tuned, where
// nothing was measured. A Go function runs scalar code, one multiply and one add
// per clock at best; compilers of kernel languages fill vector units.
const (
	goPerClock   = 1
	cpuPerClock  = 8
	gpuPerClock  = 64
	fpgaPerClock = 16
)

// Memory bandwidth where nothing was measured, bytes per second, and clocks
// where the driver does not say, in MHz.
const (
	cpuBytes, gpuBytes, fpgaBytes = 8e9, 80e9, 8e9
	cpuClock, gpuClock, fpgaClock = 2000, 1000, 200
)

// MachineOf says what a device reaches with a language. cal may be nil.
func MachineOf(info devices.Info, cal *devices.Calibration, lang devices.Language) Machine {
	clock, perClock, stream := float64(cpuClock), float64(cpuPerClock), float64(cpuBytes)
	switch info.Kind {
	case devices.KindGPU, devices.KindAccelerator:
		clock, perClock, stream = gpuClock, gpuPerClock, gpuBytes
	case devices.KindFPGA:
		clock, perClock, stream = fpgaClock, fpgaPerClock, fpgaBytes
	}
	if lang == devices.LangGo {
		perClock = goPerClock
	}
	if info.ClockMHz > 0 {
		clock = float64(info.ClockMHz)
	}
	m := Machine{Flops: clock * 1e6 * perClock * float64(max(info.ComputeUnits, 1)), Bytes: stream}
	if lang == devices.LangRTL {
		// A circuit does all operations of an item at once, and streams one item
		// in a clock; the words that it moves do not wait for memory.
		m = Machine{Items: clock * 1e6}
	}
	if cal == nil {
		return m
	}
	if cal.PeakFlops > 0 && cal.StreamBytes > 0 {
		m.Measured = true
	}
	if cal.PeakFlops > 0 {
		m.Flops = cal.PeakFlops * reachFlops
	}
	if cal.StreamBytes > 0 {
		m.Bytes = cal.StreamBytes * reachBytes
	}
	return m
}

// Estimate is max(operations/Flops, bytes/Bytes): source "roofline" with a
// spread of 100 % where the rates were measured, else "guess" with 200 %. A
// call that states no work counts one operation and eight bytes for each
// work-item.
func (m Machine) Estimate(s Size) partitioner.Estimate {
	ops, moved := s.Flops, s.Bytes
	if ops <= 0 && moved <= 0 {
		ops, moved = s.Items, 8*s.Items
	}
	sec := 0.0
	if m.Flops > 0 {
		sec = ops / m.Flops
	}
	if m.Bytes > 0 {
		sec = max(sec, moved/m.Bytes)
	}
	if m.Items > 0 {
		sec = max(sec, s.Items/m.Items)
	}
	e := partitioner.Estimate{Run: seconds(sec), Source: "guess"}
	e.Spread = 2 * e.Run
	if m.Measured {
		e.Source, e.Spread = "roofline", e.Run
	}
	return e
}

// seconds is a duration of at least 1 ns, at most a day: no estimate is free,
// none overflows a plan.
func seconds(s float64) time.Duration {
	if !(s > 1e-9) {
		return 1
	}
	return time.Duration(math.Round(min(s, maxRun.Seconds()) * 1e9))
}
