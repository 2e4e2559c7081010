package fpga

import (
	_ "embed"
	"maps"
	"testing"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/devices/devicetest"
)

//go:embed testdata/kit.v
var kitText []byte

func kitSource() *devices.Source {
	return &devices.Source{Name: "kit.v", Language: devices.LangRTL, Text: kitText}
}

// need skips t when there are no tools for the emulation, or fails it when
// TANDEM_REQUIRE says that they have to be there.
func need(t testing.TB) *Driver {
	t.Helper()
	d := &Driver{}
	devicetest.Require(t, backend, d.Probe(t.Context()).Reason)
	return d
}

const badVerilog = `// tandem: array y w uint8 m_axis
module bad(input wire aclk, input wire aresetn,
  output wire [7:0] m_axis_tdata, output wire m_axis_tvalid, input wire m_axis_tready, output wire m_axis_tlast);
  assign m_axis_tdata = quux_is_not_defined(3);
  assign m_axis_tvalid = 1;
  assign m_axis_tlast = 1;
endmodule
`

func TestConformance(t *testing.T) {
	d := need(t)
	const notItems = "a streaming kernel sees words, not the ids of work-items"
	const oneDimension = "the kernel streams its array along one dimension; two and three are refused"
	const integers = "the kernels of the kit compute in integers"
	skip := map[string]string{}
	if raceEnabled {
		skip["no-allocation-launch"] = "the race detector has sync.Pool drop things, and calls of C functions go through one"
	}
	maps.Copy(skip, map[string]string{
		"once-2d":         oneDimension,
		"once-3d":         oneDimension,
		"once-offset":     oneDimension + "; TestOffset has the part of it in one",
		"ids":             notItems,
		"parts":           notItems,
		"groups":          "a streaming kernel has no work-groups",
		"vectors":         "registers hold numbers; vectors are ErrInvalid",
		"structs":         "registers hold numbers; structs are ErrInvalid",
		"local-memory":    "a streaming kernel has no local memory but its own",
		"local-refused":   "a streaming kernel has no parameter for local memory; TestLaunchRefused shows that it is refused",
		"float-tolerance": integers,
	})
	devicetest.Run(t, devicetest.Options{
		Driver:    d,
		Kernels:   kitSource(),
		BadSource: &devices.Source{Name: "bad.v", Language: devices.LangRTL, Text: []byte(badVerilog)},
		BadWord:   "quux_is_not_defined",
		Fail:      failOn(t, d),
		Skip:      skip,
	})
}

// failOn gives the kit a launch of the kernel "fail", which calls $fatal. Its
// unit is built once and lent to the kit's devices without a program, which
// the kit would count as a leak.
func failOn(t testing.TB, d *Driver) func(q devices.Queue) (devices.Event, error) {
	units, err := d.build(t.Context(), kitSource())
	if err != nil {
		t.Fatal(err)
	}
	return func(q devices.Queue) (devices.Event, error) {
		dev := q.(*queue).d
		for _, u := range units {
			if u.module.Entry != "fail" {
				continue
			}
			in, err := dev.instance(u)
			if err != nil {
				return nil, err
			}
			out := &buffer{d: dev, mem: make([]byte, 4)}
			return q.Launch(&devices.Launch{Kernel: &kernel{d: dev, in: in, image: "kit"}, Range: devices.NDRange{Dims: 1, Size: [3]int{1}},
				Args: []devices.Arg{{Buffer: out}}}, nil)
		}
		return nil, dev.errorf(devices.ErrInvalid, "no kernel fail")
	}
}
