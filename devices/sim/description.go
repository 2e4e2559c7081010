package sim

import (
	"cmp"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"time"

	"github.com/tandemrun/tandem/devices"
)

// Description describes a machine: its devices, in the order of their
// ordinals.
type Description struct {
	Devices []Spec
}

// Spec describes a device, or Count devices that are alike. Rates are per
// second; a rate of 0 takes no time.
type Spec struct {
	// Name is shown to people. Default: the kind.
	Name string
	// Kind. Default: gpu.
	Kind devices.Kind
	// Count. Default 1.
	Count int
	// ComputeUnits is only told, it changes no time. Default 1.
	ComputeUnits int
	// Queues is how many compute queues are worth having at once, again only
	// told: launches run one at a time. Default 1.
	Queues int

	// Flops is the rate of operations, Bandwidth that of the device's own
	// memory in bytes.
	Flops, Bandwidth float64
	// LaunchLatency is what each launch takes before its work begins; the
	// compute engine is taken.
	LaunchLatency time.Duration
	// Kernels says what launches of a kernel take, by entry point; "*" is for
	// all others. Default for those: one operation for each work-item, and
	// the bytes of the buffers, in a part of a launch that part of them.
	Kernels map[string]KernelSpec

	// Upload and Download are the links from the host and to it. Peer, if not
	// nil, is the link over which the device reads memory of every other
	// device of the description.
	Upload, Download devices.Link
	Peer             *devices.Link
	// CopyEngines: with 0 copies take the compute engine, 1 is one engine for
	// both directions, 2 is one for each. Copies within the device take the
	// compute engine.
	CopyEngines int

	// Memory in bytes. Default 1 GiB. MaxAlloc is the largest buffer.
	// Default: Memory. LocalMemory of a work-group. Default 64 KiB.
	Memory, MaxAlloc, LocalMemory int64
	// Pinned is how much host memory can be pinned for the device. 0: none, and
	// copies from ordinary pages are as fast.
	Pinned int64
	// Pageable multiplies what the bytes of a copy take on the links from and
	// to the host where its memory is not pinned, latency excepted. Default 1.
	Pageable float64
	// Unified: the device works on the host's memory; imported pages need no
	// copy.
	Unified bool

	// Slowdown multiplies what launches take, latency excepted. Default 1.
	Slowdown float64
	// Throttle slows launches down further for some time: within a window
	// work goes on at 1/Factor of its speed. Windows must not overlap.
	Throttle []Window
	// Noise varies what launches take.
	Noise Noise

	// LostAt is when the device is lost. What runs then, and all later use,
	// fails with ErrDeviceLost. 0: never.
	LostAt time.Duration
	// OutOfMemory are times in which every Alloc fails. Their Factor has to be
	// 0.
	OutOfMemory []Window
}

// KernelSpec is what a launch takes besides the launch latency: Time, and
// items/ItemsPerSecond, and the longer of items·FlopsPerItem/Flops and
// items·BytesPerItem/Bandwidth, added up.
type KernelSpec struct {
	Time           time.Duration
	ItemsPerSecond float64
	FlopsPerItem   float64
	BytesPerItem   float64
}

// Window is a stretch of virtual time, From inclusive to To exclusive.
type Window struct {
	From, To time.Duration
	Factor   float64
}

// Noise multiplies what each launch takes by exp(Spread·z), z drawn from the
// normal distribution: a Spread of 0.05 is about 5 %. The same seed gives the
// same device the same noise.
type Noise struct {
	Spread float64
	Seed   uint64
}

// Fault is one thing wrong with a description.
type Fault struct {
	// Where is the place in the file, "machine.yaml:3:5", or the field,
	// "devices[0].count".
	Where   string
	Message string

	path string // "devices[0].count"
}

// Faults is everything wrong with a description. It wraps ErrInvalid.
type Faults []Fault

// Error is one line for each fault.
func (f Faults) Error() string {
	lines := make([]string, len(f))
	for i, x := range f {
		lines[i] = x.Where + ": " + x.Message
	}
	return strings.Join(lines, "\n")
}

func (Faults) Unwrap() error { return devices.ErrInvalid }

// Bounds of what can be described.
const (
	maxDevices  = 1024
	maxMemory   = 1 << 50
	maxRate     = 1e18
	maxTime     = 1000 * time.Hour
	maxSlowdown = 1e6
)

// checker collects faults; path leads to what is looked at.
type checker struct {
	found Faults
}

func (c *checker) add(path, format string, args ...any) {
	c.found = append(c.found, Fault{Where: path, Message: fmt.Sprintf(format, args...), path: path})
}

func (c *checker) rate(path string, v float64) {
	if !(v >= 0 && v <= maxRate) {
		c.add(path, "a rate of %g per second; want 0 (takes no time) to %g", v, maxRate)
	}
}

func (c *checker) time(path string, v time.Duration) {
	if v < 0 || v > maxTime {
		c.add(path, "a time of %v; want 0 to %v", v, maxTime)
	}
}

func (c *checker) link(path string, l devices.Link) {
	c.time(path+".latency", l.Latency)
	c.rate(path+".bandwidth", l.Bandwidth)
}

func (c *checker) memory(path string, v, most int64) {
	if v < 0 || v > most {
		c.add(path, "%d bytes; want 1 to %d", v, most)
	}
}

func (c *checker) windows(path string, all []Window, factor bool) {
	for i, w := range all {
		at := fmt.Sprintf("%s[%d]", path, i)
		c.time(at+".from", w.From)
		c.time(at+".to", w.To)
		if w.To <= w.From {
			c.add(at+".to", "the window from %v to %v is empty", w.From, w.To)
		}
		switch {
		case factor && !(w.Factor > 0 && w.Factor <= maxSlowdown):
			c.add(at+".factor", "a slow-down by %g; want more than 0, at most %g", w.Factor, float64(maxSlowdown))
		case !factor && w.Factor != 0:
			c.add(at+".factor", "a factor means nothing here")
		}
		for j := range i {
			if factor && w.From < all[j].To && all[j].From < w.To {
				c.add(at+".from", "the window from %v to %v overlaps that from %v to %v", w.From, w.To, all[j].From, all[j].To)
			}
		}
	}
}

// check finds everything wrong with d.
func (d *Description) check() Faults {
	c := &checker{}
	total := 0
	for i := range d.Devices {
		s := &d.Devices[i]
		path := fmt.Sprintf("devices[%d]", i)
		c.spec(path, s)
		total += max(s.Count, 1)
		if s.Count > maxDevices || total > maxDevices {
			c.add(path+".count", "more than %d devices", maxDevices)
			break
		}
	}
	if len(d.Devices) == 0 {
		c.add("devices", "no device is described")
	}
	return c.found
}

var kinds = []devices.Kind{devices.KindCPU, devices.KindGPU, devices.KindFPGA, devices.KindAccelerator}

func (c *checker) spec(path string, s *Spec) {
	if s.Kind != "" && !slices.Contains(kinds, s.Kind) {
		c.add(path+".kind", "unknown kind %q; want cpu, gpu, fpga or accelerator", s.Kind)
	}
	for _, n := range []struct {
		key string
		v   int
	}{{"count", s.Count}, {"compute_units", s.ComputeUnits}, {"queues", s.Queues}} {
		if n.v < 0 || n.v > 1<<20 {
			c.add(path+"."+n.key, "%d; want 1 to %d", n.v, 1<<20)
		}
	}
	c.rate(path+".flops", s.Flops)
	c.rate(path+".bandwidth", s.Bandwidth)
	c.time(path+".launch_latency", s.LaunchLatency)
	names := make([]string, 0, len(s.Kernels))
	for name := range s.Kernels {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		k, at := s.Kernels[name], path+".kernels."+name
		c.time(at+".time", k.Time)
		c.rate(at+".items_per_second", k.ItemsPerSecond)
		c.rate(at+".flops_per_item", k.FlopsPerItem)
		c.rate(at+".bytes_per_item", k.BytesPerItem)
	}
	c.link(path+".h2d", s.Upload)
	c.link(path+".d2h", s.Download)
	if s.Peer != nil {
		c.link(path+".peer", *s.Peer)
	}
	if s.CopyEngines < 0 || s.CopyEngines > 2 {
		c.add(path+".copy_engines", "%d copy engines; want 0 (copies take the compute engine), 1 or 2", s.CopyEngines)
	}
	c.memory(path+".memory", s.Memory, maxMemory)
	memory := s.Memory
	if memory == 0 {
		memory = defaultMemory
	}
	c.memory(path+".max_alloc", s.MaxAlloc, memory)
	c.memory(path+".local_memory", s.LocalMemory, 1<<30)
	if s.Pinned < 0 || s.Pinned > maxMemory {
		c.add(path+".pinned", "%d bytes; want 0 (nothing can be pinned) to %d", s.Pinned, int64(maxMemory))
	}
	if s.Pageable != 0 && !(s.Pageable >= 1 && s.Pageable <= maxSlowdown) {
		c.add(path+".pageable", "a slow-down by %g; want 1 to %g", s.Pageable, float64(maxSlowdown))
	}
	if s.Slowdown != 0 && !(s.Slowdown > 0 && s.Slowdown <= maxSlowdown) {
		c.add(path+".slowdown", "a slow-down by %g; want more than 0, at most %g", s.Slowdown, float64(maxSlowdown))
	}
	c.windows(path+".throttle", s.Throttle, true)
	if !(s.Noise.Spread >= 0 && s.Noise.Spread <= 2) {
		c.add(path+".noise.spread", "a spread of %g; want 0 to 2", s.Noise.Spread)
	}
	c.time(path+".lost_at", s.LostAt)
	c.windows(path+".out_of_memory", s.OutOfMemory, false)
}

const (
	defaultMemory = 1 << 30
	defaultLocal  = 64 << 10
	maxWorkGroup  = 1024
)

// withDefaults is a copy of s with everything filled in.
func (s Spec) withDefaults() Spec {
	if s.Kind == "" {
		s.Kind = devices.KindGPU
	}
	if s.Name == "" {
		s.Name = string(s.Kind)
	}
	s.Count, s.ComputeUnits, s.Queues = max(s.Count, 1), max(s.ComputeUnits, 1), max(s.Queues, 1)
	if s.Memory == 0 {
		s.Memory = defaultMemory
	}
	if s.MaxAlloc == 0 {
		s.MaxAlloc = s.Memory
	}
	if s.LocalMemory == 0 {
		s.LocalMemory = defaultLocal
	}
	if s.Slowdown == 0 {
		s.Slowdown = 1
	}
	if s.Pageable == 0 {
		s.Pageable = 1
	}
	own := make(map[string]KernelSpec, len(s.Kernels))
	for name, k := range s.Kernels {
		own[name] = k
	}
	s.Kernels = own
	s.Throttle = slices.Clone(s.Throttle)
	slices.SortFunc(s.Throttle, func(a, b Window) int { return cmp.Compare(a.From, b.From) })
	s.OutOfMemory = slices.Clone(s.OutOfMemory)
	if s.Peer != nil {
		l := *s.Peer
		s.Peer = &l
	}
	return s
}

// info is what a device of the description says of itself. The driver's
// version is a hash of the description: what was learnt of a device that was
// described differently is not used.
func (s *Spec) info(ordinal int) devices.Info {
	h := fnv.New64a()
	_ = json.NewEncoder(h).Encode(s) // a Spec holds nothing that cannot be written
	id := fmt.Sprintf("sim:%d", ordinal)
	return devices.Info{
		ID: id, Backend: "sim", Ordinal: ordinal, Kind: s.Kind, Name: s.Name, Vendor: "simulated", Platform: "virtual clock",
		DriverVersion: fmt.Sprintf("%016x", h.Sum64()), NUMANode: -1, PhysicalID: id,
		ComputeUnits: s.ComputeUnits, MemoryTotal: s.Memory, MemoryFree: s.Memory, MaxAlloc: s.MaxAlloc, LocalMemory: s.LocalMemory,
		UnifiedMemory: s.Unified, HostCoherent: s.Unified, BaseAlign: minAlign, FP64: true,
		MaxWorkGroup: maxWorkGroup, MaxItemSizes: [3]int{maxWorkGroup, maxWorkGroup, maxWorkGroup}, NonUniform: true,
		CopyEngines: s.CopyEngines, Queues: s.Queues, Languages: []devices.Language{devices.LangGo},
	}
}
