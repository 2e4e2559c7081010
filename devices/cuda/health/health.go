// Package health reads how NVIDIA GPUs are: what they do, how warm they are,
// what they complain of, how they are cut up and linked.
//
// The kernel module's files under /proc and sysfs are read always. The rest
// comes from NVML, NVIDIA's management library, through go-nvml, which needs
// cgo: it is there in programs that were built with the tag nvml, and a
// Report says so where it is not. GPUs are named by UUID, never by position:
// positions differ between NVML, CUDA and the order of the slots.
package health

import (
	"context"
	"time"
)

// A Report is the state of a machine's GPUs at one moment. What could not be
// read is absent, never zero.
type Report struct {
	DriverVersion string    `json:"driver_version,omitempty"` // of the kernel module
	NVML          Source    `json:"nvml"`
	GPUs          []GPU     `json:"gpus"`
	At            time.Time `json:"at"`
}

// Source says whether NVML was asked.
type Source struct {
	Used    bool   `json:"used"`
	Version string `json:"version,omitempty"`
	Reason  string `json:"reason,omitempty"` // why it was not
	Hint    string `json:"hint,omitempty"`
}

// A GPU is one GPU as a whole.
type GPU struct {
	UUID     string `json:"uuid"`
	Name     string `json:"name,omitempty"`
	PCI      string `json:"pci,omitempty"`      // 0000:65:00.0
	NUMANode int    `json:"numa_node"`          // -1: none, or not known
	Minor    *int   `json:"minor,omitempty"`    // of /dev/nvidiaN
	Excluded bool   `json:"excluded,omitempty"` // by the kernel module's settings

	Utilization *Utilization `json:"utilization,omitempty"`
	Memory      *Memory      `json:"memory,omitempty"`
	Clocks      *Clocks      `json:"clocks,omitempty"`
	Temperature *int         `json:"temperature_celsius,omitempty"`
	Power       *Power       `json:"power,omitempty"`
	ECC         *ECC         `json:"ecc,omitempty"`
	// Throttle are the reasons for which clocks are lower than they could be;
	// empty: none.
	Throttle  *[]string `json:"throttle,omitempty"`
	PCIe      *PCIe     `json:"pcie,omitempty"`
	NVLinks   []NVLink  `json:"nvlinks,omitempty"`
	MIG       *MIG      `json:"mig,omitempty"`
	Processes []Process `json:"processes,omitempty"`
	// Complaints are sentences on what is wrong with the GPU, for a person.
	Complaints []string `json:"complaints,omitempty"`
}

// Utilization is how busy a GPU was in the last sample period (a second or
// less), in percent of the time.
type Utilization struct {
	Compute int `json:"compute_percent"` // a kernel ran
	Memory  int `json:"memory_percent"`  // memory was read or written
}

// Memory is a GPU's memory in bytes.
type Memory struct {
	Total int64 `json:"total_bytes"`
	Used  int64 `json:"used_bytes"`
	Free  int64 `json:"free_bytes"`
}

// Clocks are in MHz.
type Clocks struct {
	SM        int `json:"sm_mhz"`
	Memory    int `json:"memory_mhz"`
	MaxSM     int `json:"max_sm_mhz,omitempty"`
	MaxMemory int `json:"max_memory_mhz,omitempty"`
}

// Power is in watts.
type Power struct {
	Draw  float64 `json:"draw_watts"`
	Limit float64 `json:"limit_watts,omitempty"` // that is in force
}

// ECC counts errors of the memory since the driver was loaded.
type ECC struct {
	Enabled       bool  `json:"enabled"`
	Corrected     int64 `json:"corrected"`
	Uncorrected   int64 `json:"uncorrected"`
	RemapPending  bool  `json:"remap_pending,omitempty"`  // rows are replaced at the next reset
	RemapFailures bool  `json:"remap_failures,omitempty"` // no spare rows are left: the GPU needs repair
}

// PCIe is a GPU's link to the host.
type PCIe struct {
	Generation    int     `json:"generation"`
	Width         int     `json:"width"` // lanes
	MaxGeneration int     `json:"max_generation,omitempty"`
	MaxWidth      int     `json:"max_width,omitempty"`
	BytesPS       float64 `json:"bytes_per_s,omitempty"` // what the link as it is can carry one way, protocol included
}

// NVLink is one link between GPUs, or to a switch.
type NVLink struct {
	Link    int    `json:"link"`
	Active  bool   `json:"active"`
	Version int    `json:"version,omitempty"`
	Peer    string `json:"peer,omitempty"` // PCI address of the other end
}

// MIG is how a GPU is cut into parts.
type MIG struct {
	Enabled   bool   `json:"enabled"`
	Instances []Part `json:"instances,omitempty"`
}

// A Part is one MIG device: it has memory and compute units of its own, and
// programs name it by its UUID.
type Part struct {
	UUID            string `json:"uuid,omitempty"`
	Name            string `json:"name,omitempty"`
	GPUInstance     int    `json:"gpu_instance"`
	ComputeInstance int    `json:"compute_instance"`
	ComputeUnits    int    `json:"compute_units,omitempty"`
	MemoryBytes     int64  `json:"memory_bytes,omitempty"`
}

// A Process has a context on a GPU.
type Process struct {
	PID             int    `json:"pid"`
	Kind            string `json:"kind"` // "compute" or "graphics"
	MemoryBytes     int64  `json:"memory_bytes,omitempty"`
	GPUInstance     *int   `json:"gpu_instance,omitempty"`
	ComputeInstance *int   `json:"compute_instance,omitempty"`
}

// A Reader reads reports. The zero value reads the running system. It is safe
// for concurrent use.
type Reader struct {
	// Root is the folder that holds "proc" and "sys", for tests and for
	// containers that mount the host's tree elsewhere. Default "/".
	Root string

	nvml nvmlReader
}

// Read reads the state of all GPUs. A machine without one gives an empty list;
// there is no error. NVML answers in some milliseconds per GPU, or in seconds
// where a GPU has to wake up; ctx bounds the wait, and what NVML did not say by
// then is left out.
func (r *Reader) Read(ctx context.Context) Report {
	rep := Report{At: time.Now(), GPUs: []GPU{}}
	r.readKernel(&rep)
	done := make(chan []GPU, 1)
	seen := make([]GPU, len(rep.GPUs))
	copy(seen, rep.GPUs)
	var source Source
	go func() {
		var more []GPU
		source, more = r.nvml.read(seen)
		done <- more
	}()
	select {
	case more := <-done:
		rep.NVML = source
		if more != nil {
			rep.GPUs = more
		}
	case <-ctx.Done():
		rep.NVML = Source{Reason: "NVML did not answer in time: " + context.Cause(ctx).Error(), Hint: "see whether nvidia-smi answers; nvidia-smi -pm 1 keeps GPUs awake"}
	}
	for i := range rep.GPUs {
		rep.GPUs[i].complain()
	}
	return rep
}

// UUIDs lists the UUIDs of the GPUs and of their parts, each GPU before its
// parts.
func (r *Report) UUIDs() []string {
	var list []string
	for i := range r.GPUs {
		list = append(list, r.GPUs[i].UUID)
	}
	for i := range r.GPUs {
		if r.GPUs[i].MIG == nil {
			continue
		}
		for _, p := range r.GPUs[i].MIG.Instances {
			if p.UUID != "" {
				list = append(list, p.UUID)
			}
		}
	}
	return list
}

// ByUUID finds a GPU by its UUID or by that of one of its parts, or by its PCI
// address; nil if there is none.
func (r *Report) ByUUID(uuid, pci string) *GPU {
	for i := range r.GPUs {
		g := &r.GPUs[i]
		if uuid != "" && g.UUID == uuid || pci != "" && g.PCI == pci {
			return g
		}
		if g.MIG == nil {
			continue
		}
		for _, p := range g.MIG.Instances {
			if uuid != "" && p.UUID == uuid {
				return g
			}
		}
	}
	return nil
}
