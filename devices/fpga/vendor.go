package fpga

import (
	"context"
	"os"
	"path/filepath"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/devices/opencl"
	"github.com/tandemrun/tandem/devices/sycl/find"
)

// An FPGA is also reached through its vendor's OpenCL: a board, whose runtime
// the system's OpenCL loader knows, or Intel's emulation of boards, which runs
// kernels in OpenCL C with channels. Such devices follow the ones that emulate
// Verilog, and are opened and driven by package opencl.

// VendorEmulation is the driver of Intel's FPGA emulation platform for
// Driver.Vendors, nil where it is not installed or the system's OpenCL loader
// shows it anyway.
func VendorEmulation() *opencl.Driver {
	path := find.FPGAEmulation()
	if path == "" || opencl.Listed(filepath.Base(path)) {
		return nil
	}
	return &opencl.Driver{Library: path, Vendor: true}
}

// probeVendors lists what the vendors' drivers show behind the n devices
// before.
func (d *Driver) probeVendors(ctx context.Context, b *devices.Backend) {
	for _, v := range d.Vendors {
		found := v.FPGAs(len(b.Devices)).Probe(ctx)
		b.Warnings = append(b.Warnings, found.Warnings...)
		if !found.Available {
			continue
		}
		if !b.Available {
			// What emulates Verilog is missing, which is no reason any more.
			if b.Reason != nil {
				b.Warnings = append(b.Warnings, b.Reason.Error()+"; "+b.Hint)
			}
			b.Available, b.Reason, b.Hint, b.Library = true, nil, "", found.Library
		}
		if b.Version != "" {
			b.Version += "; "
		}
		b.Version += found.Version
		b.Devices = append(b.Devices, found.Devices...)
	}
	if root := os.Getenv(find.FPGARootVariable); root != "" && len(d.Vendors) > 0 && find.FPGAEmulation() == "" {
		b.Warnings = append(b.Warnings, find.FPGARootVariable+"="+root+": there is no lib/libintelocl_emu.so")
	}
}

// openVendor opens a device behind the first own ones. Where the vendors have
// none of that number it is nil, and n is how many they have.
func (d *Driver) openVendor(ctx context.Context, ordinal, own int) (dev devices.Device, n int, err error) {
	for _, v := range d.Vendors {
		first := own + n
		view := v.FPGAs(first)
		has := len(view.Probe(ctx).Devices)
		if ordinal >= first && ordinal < first+has {
			dev, err = view.Open(ctx, ordinal)
			return dev, n, err
		}
		n += has
	}
	return nil, n, nil
}
