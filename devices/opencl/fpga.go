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
// image is a circuit of its own and always there; in Intel's emulation a kernel
// with a single work-item takes a thread.
const concurrentKernels = 16

// intelWorkers is the environment variable for the threads of Intel's OpenCL
// implementations on the host's cores. They read it when they make their first
// context.
const intelWorkers = "CL_CONFIG_CPU_TBB_NUM_WORKERS"

// emulationThreads is how many the emulation gets, whatever the variable says
// for others: a kernel that waits for a channel keeps its thread, so with as
// many as there are cores kernels that run together wait for each other for
// ever.
const emulationThreads = 2 * concurrentKernels

// manyWorkers asks for that many threads, and returns what takes it back.
func manyWorkers() (restore func()) {
	return setEnvironment([]string{fmt.Sprintf("%s=%d", intelWorkers, emulationThreads)})
}

// vendorLibrary loads a library that is no loader. d.mu is held.
func (d *Driver) vendorLibrary(ctx context.Context) (*library, error) {
	defer manyWorkers()()
	if _, err := d.askInChild(ctx); err != nil {
		return nil, err
	}
	a, err := load(d.libraryNames())
	if err != nil {
		return nil, err
	}
	platforms, _ := a.platforms()
	for _, p := range platforms {
		a.deviceIDs(p)
	}
	d.loaded = &library{api: a}
	return d.loaded, nil
}

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
