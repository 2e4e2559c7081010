package devices

import (
	"encoding/json"
	"time"
)

// Kind is the kind of a processor.
type Kind string

// The kinds of processors.
const (
	KindCPU         Kind = "cpu"
	KindGPU         Kind = "gpu"
	KindFPGA        Kind = "fpga"
	KindAccelerator Kind = "accelerator"
)

// Info describes a device. Every value was read from its driver, none was
// measured (those are in Calibration). Zero: the driver does not say.
type Info struct {
	ID            string     `json:"id"` // "opencl:0": unique in a session, the same in every run
	Backend       string     `json:"backend"`
	Ordinal       int        `json:"ordinal"` // position within its backend
	Kind          Kind       `json:"kind"`
	Name          string     `json:"name"`
	Vendor        string     `json:"vendor,omitempty"`
	Platform      string     `json:"platform,omitempty"`
	DriverVersion string     `json:"driver_version,omitempty"`
	APIVersion    string     `json:"api_version,omitempty"`
	UUID          string     `json:"uuid,omitempty"`
	PCI           string     `json:"pci,omitempty"` // 0000:65:00.0
	NUMANode      int        `json:"numa_node"`     // -1: none
	PhysicalID    string     `json:"physical_id"`   // the same for every face of one processor: "pci:…", "cpu:0"
	ComputeUnits  int        `json:"compute_units"`
	ClockMHz      int        `json:"clock_mhz,omitempty"`
	MemoryTotal   int64      `json:"memory_total_bytes"`
	MemoryFree    int64      `json:"memory_free_bytes,omitempty"`
	MaxAlloc      int64      `json:"max_alloc_bytes"` // largest single buffer
	LocalMemory   int64      `json:"local_memory_bytes"`
	UnifiedMemory bool       `json:"unified_memory"` // shares the host's memory
	HostCoherent  bool       `json:"host_coherent"`  // on imported host pages it needs no hand-over: it works through the host's own caches
	BaseAlign     int        `json:"base_align_bytes,omitempty"`
	FP64          bool       `json:"fp64"`
	FP16          bool       `json:"fp16"`
	MaxWorkGroup  int        `json:"max_work_group"`
	MaxItemSizes  [3]int     `json:"max_work_item_sizes"`
	SubGroupSizes []int      `json:"sub_group_sizes,omitempty"`
	NonUniform    bool       `json:"non_uniform_work_groups"` // takes a local size that does not divide the global size
	CopyEngines   int        `json:"copy_engines"`
	Queues        int        `json:"queues"` // compute queues that are worth having at once
	Languages     []Language `json:"languages"`
	Extensions    []string   `json:"extensions,omitempty"`
	SubDevices    int        `json:"sub_devices,omitempty"` // most parts Divide can make
	// Emulated: the host's cores stand in for hardware that is not there. What
	// its commands take says little about that hardware; Times.Model does.
	Emulated bool `json:"emulated,omitempty"`
	// Concurrent is how many kernels of one program, each launched on a queue of
	// its own, are sure to run at the same time, so that one may wait for what
	// another sends it. 0: none is sure to.
	Concurrent int `json:"concurrent_kernels,omitempty"`
}

// Link is the cost of moving bytes one way: a fixed latency and a bandwidth
// (the alpha-beta model of Hockney, 1994).
type Link struct {
	Latency   time.Duration
	Bandwidth float64 // bytes per second
}

// Time is what moving n bytes takes. A zero Link is free.
func (l Link) Time(n int64) time.Duration {
	if n <= 0 {
		return 0
	}
	if l.Bandwidth <= 0 {
		return l.Latency
	}
	return l.Latency + time.Duration(float64(n)/l.Bandwidth*1e9)
}

// linkJSON spells Link's units out.
type linkJSON struct {
	LatencyS float64 `json:"latency_s"`
	BytesPS  float64 `json:"bytes_per_s"`
}

// MarshalJSON writes seconds and bytes per second.
func (l Link) MarshalJSON() ([]byte, error) {
	return json.Marshal(linkJSON{l.Latency.Seconds(), l.Bandwidth})
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (l *Link) UnmarshalJSON(b []byte) error {
	var j linkJSON
	if err := json.Unmarshal(b, &j); err != nil {
		return err
	}
	*l = Link{time.Duration(j.LatencyS * 1e9), j.BytesPS}
	return nil
}

// Calibration is what was measured of a device. It is stored with the device's
// UUID and driver version and measured again when either changes.
type Calibration struct {
	Upload        Link      `json:"h2d"` // pageable host memory to device
	Download      Link      `json:"d2h"`
	PinnedUp      Link      `json:"h2d_pinned,omitzero"` // the same from and to pinned memory, where the device has some
	PinnedDown    Link      `json:"d2h_pinned,omitzero"`
	ZeroCopy      bool      `json:"zero_copy"` // imported host pages were used: links are free
	LaunchLatency float64   `json:"launch_latency_s"`
	PeakFlops     float64   `json:"peak_flops"`         // float32, multiply and add counted apart
	StreamBytes   float64   `json:"stream_bytes_per_s"` // triad
	MeasuredAt    time.Time `json:"measured_at"`
}
