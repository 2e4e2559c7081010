package costmodel

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/tandemrun/tandem/devices"
)

// Key names a series of samples. A new driver or a changed kernel gives a new
// key and so begins a new series.
type Key struct {
	Kernel string // name, language and a hash of source and options: the caller's choice
	Device string // DeviceKey
}

// DeviceKey names a device across runs: what it is and which driver speaks for
// it. Devices that cannot be told apart share their series.
func DeviceKey(info devices.Info) string {
	id := info.UUID
	if id == "" {
		id = info.PCI
	}
	parts := []string{info.Backend, info.Name, id, info.DriverVersion}
	// A sub-device runs at another speed than the whole.
	parts = append(parts, fmt.Sprintf("%dcu", info.ComputeUnits))
	kept := parts[:0]
	for _, p := range parts {
		if p = strings.TrimSpace(p); p != "" {
			kept = append(kept, p)
		}
	}
	return strings.Join(kept, "/")
}

// Size says how large a call is.
type Size struct {
	// Footprint is the same for calls that do the same amount of work: shapes
	// and ND-range. Empty: made of the numbers below.
	Footprint string
	Items     float64 // work-items
	Flops     float64 // operations in total, 0: not known
	Bytes     float64 // bytes read and written in total, 0: not known
}

// WithFootprint is s with its footprint written out, for a size that is
// observed again and again.
func (s Size) WithFootprint() Size {
	s.Footprint = s.footprint()
	return s
}

func (s Size) footprint() string {
	if s.Footprint != "" {
		return s.Footprint
	}
	return fmt.Sprintf("%g items, %g ops, %g B", s.Items, s.Flops, s.Bytes)
}

func (s Size) valid() bool {
	for _, x := range [3]float64{s.Items, s.Flops, s.Bytes} {
		if !(x >= 0) || math.IsInf(x, 1) {
			return false
		}
	}
	return true
}

// Sample is one launch that has run. What building the kernel took is no part
// of it.
type Sample struct {
	Key  Key
	Size Size
	Run  time.Duration // on the device, from its start to its end
	// Elapsed is the wall time from the launch being handed over to its end. 0:
	// not known.
	Elapsed time.Duration
	// Share is the fraction of the device that the launch had, 0: all of it. A
	// launch on two of four cores has run Run·0.5 device-seconds.
	Share float64
	// Contended says that other work was on the same processor, by an unknown
	// amount: Run says little about the device alone.
	Contended bool
}

// Bounds of what can be true. No processor reaches these rates, and a launch
// that ran for a day is a clock that jumped.
const (
	maxFlops  = 1e16 // operations per second
	maxBytes  = 1e14 // bytes per second
	maxRun    = 24 * time.Hour
	clockSlop = 100 * time.Microsecond // two clocks, device and host, may disagree by this
)

// check says what is impossible about a sample.
func (s *Sample) check() error {
	bad := func(format string, args ...any) error {
		return fmt.Errorf("sample of %s on %s: "+format+": %w", append(append([]any{s.Key.Kernel, s.Key.Device}, args...), devices.ErrInvalid)...)
	}
	sec := s.Run.Seconds()
	switch {
	case s.Run <= 0:
		return bad("ran for %v", s.Run)
	case s.Run > maxRun:
		return bad("ran for %v, more than %v", s.Run, maxRun)
	case s.Elapsed < 0 || s.Elapsed > 0 && s.Run > s.Elapsed+s.Elapsed/20+clockSlop:
		return bad("ran for %v within %v", s.Run, s.Elapsed)
	case !(s.Share >= 0 && s.Share <= 1):
		return bad("share %g of the device", s.Share)
	case !s.Size.valid():
		return bad("size %+v", s.Size)
	case s.Size.Flops/sec > maxFlops:
		return bad("%g operations in %v", s.Size.Flops, s.Run)
	case s.Size.Bytes/sec > maxBytes:
		return bad("%g bytes in %v", s.Size.Bytes, s.Run)
	}
	return nil
}
