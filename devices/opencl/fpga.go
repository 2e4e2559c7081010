package opencl

import (
	"context"
	"fmt"
	"strings"

	"github.com/tandemrun/tandem/devices"
)

// fpgaBackend is the backend of FPGAs, whichever driver reaches them.
const fpgaBackend = "fpga"

// concurrentKernels is how many kernels of one program an FPGA is taken to run
// at the same time, each on a queue of its own. On a board every kernel of an
// image is a circuit of its own and always there; Intel's emulation has 32
// threads, of which a kernel with a single work-item takes one.
const concurrentKernels = 16

// FPGAs is the driver of those devices of d that are FPGAs: boards and
// emulations of them that their vendor's OpenCL reaches. They belong to the
// backend "fpga" and are numbered from first; d itself leaves them out.
func (d *Driver) FPGAs(first int) devices.Driver { return &fpgas{d, first} }

// fpgas is a view of a driver.
type fpgas struct {
	d     *Driver
	first int
}

// Name is "fpga".
func (f *fpgas) Name() string { return fpgaBackend }

// Probe lists the FPGAs of all platforms. See devices.Driver.
func (f *fpgas) Probe(ctx context.Context) devices.Backend {
	return f.d.probe(ctx, selection{fpgas: true, first: f.first})
}

// Open opens an FPGA by its ordinal. See devices.Driver.
func (f *fpgas) Open(ctx context.Context, ordinal int) (devices.Device, error) {
	return f.d.openOrdinal(ctx, ordinal, selection{fpgas: true, first: f.first})
}

// selection says which of a library's devices are listed, and how they are
// numbered.
type selection struct {
	fpgas bool // these and no others; otherwise all but these
	first int  // ordinal of the first
}

func (s selection) backend() string {
	if s.fpgas {
		return fpgaBackend
	}
	return backend
}

// number gives the devices of a list their ids.
func (s selection) number(list []listed) {
	number := map[string]int{}
	for i := range list {
		info := &list[i].info
		info.Backend, info.Ordinal = s.backend(), s.first+i
		info.ID = fmt.Sprintf("%s:%d", info.Backend, info.Ordinal)
		if info.PhysicalID == "" {
			name := info.UUID
			if name == "" {
				name = info.Name
			}
			base := info.Backend + ":" + info.Platform + "/" + name
			info.PhysicalID = fmt.Sprintf("%s#%d", base, number[base])
			number[base]++
		}
	}
}

// emulation reports whether a platform stands in for FPGAs on the host's cores.
func emulation(platformName string) bool {
	return strings.Contains(platformName, "FPGA") && strings.Contains(platformName, "Emulation")
}
