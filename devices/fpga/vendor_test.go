package fpga

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/devices/devicetest"
	"github.com/tandemrun/tandem/devices/fpga/toolchain"
	"github.com/tandemrun/tandem/devices/opencl"
)

// TestVendors lists the vendor's emulation behind the emulation of Verilog, and
// alone where there are no tools for that.
func TestVendors(t *testing.T) {
	v := VendorEmulation()
	if v == nil {
		devicetest.Require(t, "fpga-emu", errors.New("Intel's FPGA emulation is not installed"))
	}
	own := need(t).Probe(t.Context())
	for name, d := range map[string]*Driver{
		"both":  {Vendors: []*opencl.Driver{v}},
		"alone": {Vendors: []*opencl.Driver{v}, Tools: toolchain.Tools{Yosys: "/does/not/exist"}},
	} {
		before := len(own.Devices)
		if name == "alone" {
			before = 0
		}
		b := d.Probe(t.Context())
		if !b.Available || len(b.Devices) != before+1 {
			t.Fatalf("%s: %d devices, %v; want %d", name, len(b.Devices), b.Reason, before+1)
		}
		for i, info := range b.Devices {
			lang := devices.LangRTL
			if i == before {
				lang = devices.LangOpenCL
			}
			dev, err := d.Open(t.Context(), i)
			if err != nil {
				t.Fatalf("%s: fpga:%d: %v", name, i, err)
			}
			if got := dev.Info(); got.ID != info.ID || got.Ordinal != i || !slices.Contains(got.Languages, lang) || i == before && !got.Emulated {
				t.Errorf("%s: device %d is %s, %d, takes %v", name, i, got.ID, got.Ordinal, got.Languages)
			}
			if err := dev.Close(); err != nil {
				t.Error(err)
			}
		}
		if _, err := d.Open(t.Context(), before+1); !errors.Is(err, devices.ErrInvalid) {
			t.Errorf("%s: opening one too many: %v", name, err)
		}
		if name == "alone" && !strings.Contains(strings.Join(b.Warnings, "\n"), "yosys") {
			t.Errorf("the warnings do not say that yosys is missing: %q", b.Warnings)
		}
	}
}
