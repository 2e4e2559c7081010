// Package all lists the drivers that tandem comes with.
package all

import (
	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/devices/cpu"
	"github.com/tandemrun/tandem/devices/fpga"
	"github.com/tandemrun/tandem/devices/opencl"
)

// Drivers are all drivers, in the order in which their devices are listed.
// They share one budget of the host's cores: an OpenCL runtime for CPUs gets
// as many threads as the cpu driver has workers. The slice and what it points
// to are the caller's.
func Drivers() []devices.Driver {
	n, _ := cpu.Budget()
	return []devices.Driver{cpu.Driver{}, &opencl.Driver{MaxHostThreads: n}, &fpga.Driver{}}
}
