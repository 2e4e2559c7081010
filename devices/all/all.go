// Package all lists the drivers that tandem comes with.
package all

import (
	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/devices/cpu"
	"github.com/tandemrun/tandem/devices/cuda"
	"github.com/tandemrun/tandem/devices/fpga"
	"github.com/tandemrun/tandem/devices/opencl"
	"github.com/tandemrun/tandem/devices/sycl"
	"github.com/tandemrun/tandem/devices/sycl/find"
)

// Drivers are all drivers, in the order in which their devices are listed.
// They share one budget of the host's cores: an OpenCL runtime for CPUs gets
// as many threads as the cpu driver has workers. The slice and what it points
// to are the caller's.
func Drivers() []devices.Driver {
	n, _ := cpu.Budget()
	cl := &opencl.Driver{MaxHostThreads: n, Beside: IntelOpenCL()}
	boards := []*opencl.Driver{cl}
	if emulation := fpga.VendorEmulation(); emulation != nil {
		boards = []*opencl.Driver{emulation, cl}
	}
	return []devices.Driver{
		cpu.Driver{},
		cl,
		&sycl.Driver{MaxHostThreads: n},
		&fpga.Driver{Vendors: boards},
		&cuda.Driver{},
	}
}

// IntelOpenCL is Intel's OpenCL for CPUs where it came with a SYCL runtime and
// not with an entry in the system's list of vendors; the zero value where it
// did not. A process has one OpenCL loader, so a program that lists an
// opencl.Driver before a sycl.Driver itself sets this as its Beside: the SYCL
// runtime finds no more devices than that loader knows.
func IntelOpenCL() opencl.Installation {
	r, ok := find.IntelOpenCL()
	if !ok {
		return opencl.Installation{}
	}
	return opencl.Installation{Library: r.IntelOpenCL, Platform: "Intel(R) OpenCL", Needs: r.Preload, Loader: r.OpenCL}
}
