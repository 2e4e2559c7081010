// Package cpu runs Go functions over ND-ranges on the host's cores.
//
// A device is a fixed number of workers, as many as the process may use cores
// ([Budget]). Commands are records that travel between them: a command that
// becomes ready goes to the worker that made it ready, idle workers steal. A
// launch is cut into chunks, and once the first of them took long enough to be
// worth it, other workers join in. There is no goroutine and no channel per
// command, and nothing is allocated per command in steady state. Workers that
// find nothing look around for some microseconds and then sleep.
//
// Device memory is host memory: copies are plain memory moves, and imported
// host memory is used where it is.
package cpu

import (
	"context"
	"fmt"
	"math"
	"runtime"

	"github.com/tandemrun/tandem/devices"
)

// Driver finds the one device that the host's cores are. The zero value uses
// as many workers as Budget says. It is safe for concurrent use.
type Driver struct {
	// Workers is the number of workers, also when it is more than the process
	// may use cores; a number set in the environment still comes before it.
	// Default: Budget.
	Workers int
}

var _ devices.Driver = Driver{}

// Name is "cpu".
func (Driver) Name() string { return "cpu" }

// Probe describes the one device. It always finds it.
func (d Driver) Probe(context.Context) devices.Backend {
	n, warning := d.workers()
	b := devices.Backend{
		Name: d.Name(), Available: true, Version: runtime.Version(),
		Devices: []devices.Info{describe(n)},
	}
	if warning != "" {
		b.Warnings = []string{warning}
	}
	return b
}

// Open starts the workers of device 0; Close of the device ends them.
func (d Driver) Open(_ context.Context, ordinal int) (devices.Device, error) {
	if ordinal != 0 {
		return nil, fmt.Errorf("cpu: no device %d: there is only device 0: %w", ordinal, devices.ErrInvalid)
	}
	n, _ := d.workers()
	info := describe(n)
	return newDevice(info, &account{total: info.MemoryTotal}, nil), nil
}

func (d Driver) workers() (n int, warning string) {
	n, explicit, warning := budget()
	if !explicit && d.Workers > 0 {
		n = min(d.Workers, maxWorkers)
	}
	return n, warning
}

// What the device allows. The limits on work-groups exist so that a local
// size that would run nowhere else is refused here too; Go functions do not
// see work-groups.
const (
	maxWorkGroup = 1 << 20
	localMemory  = 1 << 20
	// minAlign suits every type that a Go kernel can view its bytes as.
	minAlign = 8
)

// describe is the Info of a device of n workers.
func describe(n int) devices.Info {
	h := describeHost()
	total, free := hostMemory()
	if total == 0 {
		total = math.MaxInt64 // unknown: the system's own answer is the limit
	}
	info := devices.Info{
		ID: "cpu:0", Backend: "cpu", Kind: devices.KindCPU,
		Name: h.name, Vendor: h.vendor, Platform: runtime.GOOS + "/" + runtime.GOARCH,
		DriverVersion: runtime.Version(), NUMANode: -1, PhysicalID: "cpu:0",
		ComputeUnits: n, ClockMHz: h.mhz,
		MemoryTotal: total, MemoryFree: min(free, total), MaxAlloc: total, LocalMemory: localMemory,
		UnifiedMemory: true, HostCoherent: true, BaseAlign: minAlign, FP64: true,
		MaxWorkGroup: maxWorkGroup, MaxItemSizes: [3]int{maxWorkGroup, maxWorkGroup, maxWorkGroup},
		NonUniform: true, Queues: n, Languages: []devices.Language{devices.LangGo},
	}
	if n > 1 {
		info.SubDevices = n
	}
	return info
}
