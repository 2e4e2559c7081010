package pipeline

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	tandem "github.com/tandemrun/tandem/runtime"

	"github.com/tandemrun/tandem/devices/all"
	"github.com/tandemrun/tandem/devices/devicetest"
	"github.com/tandemrun/tandem/devices/fpga"
	"github.com/tandemrun/tandem/devices/fpga/verilog"
)

// addModule adds a Verilog parameter to every byte.
const addModule = `// tandem: array x r uint8 s_axis
// tandem: array y w uint8 m_axis
// tandem: split
module addn #(parameter N = 1)(
  input wire aclk, input wire aresetn,
  input wire [7:0] s_axis_tdata, input wire s_axis_tvalid, output wire s_axis_tready, input wire s_axis_tlast,
  output wire [7:0] m_axis_tdata, output wire m_axis_tvalid, input wire m_axis_tready, output wire m_axis_tlast);
  assign m_axis_tdata = s_axis_tdata + N;
  assign m_axis_tvalid = s_axis_tvalid;
  assign s_axis_tready = m_axis_tready;
  assign m_axis_tlast = s_axis_tlast;
endmodule
`

const addPipeline = `buffers:
  x: {dtype: uint8, shape: [200], fill: i}
  y: {dtype: uint8, shape: [200], out: y.npy}
steps:
  - kernel: {file: add.v%s}
    args: [x, y]
`

func needFPGA(t *testing.T) {
	t.Helper()
	devicetest.Require(t, "fpga", (&fpga.Driver{}).Probe(t.Context()).Reason)
}

// TestVerilogKernel runs a kernel in Verilog on the device that the pipeline
// asks for by it, with its parameter set in either way.
func TestVerilogKernel(t *testing.T) {
	needFPGA(t)
	for _, how := range []string{", defines: {N: 7}", ", entry: addn, options: [-GN=7]"} {
		dir := t.TempDir()
		write(t, dir, "add.v", addModule)
		p, err := Load(write(t, dir, FileName, strings.Replace(addPipeline, "%s", how, 1)), Options{})
		if err != nil {
			t.Fatalf("%s: %v", how, err)
		}
		s, err := tandem.Open(testContext(t), tandem.Config{Drivers: all.Drivers(), Emulate: p.Asks})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
		run(t, s, p)
		got, _ := numbers(t, filepath.Join(dir, "y.npy"))
		for i, v := range got {
			if v != float64(byte(i+7)) {
				t.Fatalf("%s: y[%d] = %g, want %d", how, i, v, byte(i+7))
			}
		}
	}
}

// TestVerilogFaults holds that what is wrong with a Verilog source is said at
// its place.
func TestVerilogFaults(t *testing.T) {
	needFPGA(t)
	for _, c := range []struct {
		name, text, how string
		file            string // of the fault
		line            int
		want            string
	}{
		{"port", strings.Replace(addModule, "input wire s_axis_tlast,", "input wire s_axis_tlast, input wire extra,", 1), "", "add.v", 0, "extra"},
		{"entry", addModule, ", entry: adn", FileName, 5, `did you mean "addn"?`},
		{"option", addModule, ", options: [-cl-fast-relaxed-math]", FileName, 5, "-GNAME=VALUE"},
		{"syntax", strings.Replace(addModule, "assign m_axis_tvalid = s_axis_tvalid;", "assign m_axis_tvalid = ;", 1), "", "add.v", 9, ""},
		{"missing", "", ", entry: addn", FileName, 5, "there is no file"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			if c.text != "" {
				write(t, dir, "add.v", c.text)
			}
			_, err := Load(write(t, dir, FileName, strings.Replace(addPipeline, "%s", c.how, 1)), Options{})
			var f *Fault
			if !errors.As(err, &f) {
				t.Fatalf("got %v, want a fault", err)
			}
			if filepath.Base(f.File) != c.file || c.line > 0 && f.Line != c.line || !strings.Contains(f.Error(), c.want) {
				t.Errorf("got %v; want it at %s:%d with %q", err, c.file, c.line, c.want)
			}
			var ve *verilog.Error
			if c.file == "add.v" && !errors.As(err, &ve) {
				t.Errorf("%v is no error of package verilog", err)
			}
		})
	}
}

// TestAsks holds which devices a pipeline asks for.
func TestAsks(t *testing.T) {
	needFPGA(t)
	emulated := (&fpga.Driver{}).Probe(t.Context()).Devices
	for on, want := range map[string]bool{"": false, "\n    device: cpu": false, "\n    device: fpga?": true, "\n    device: 'cpu,kind=fpga'": true, "\n    device: '!fpga'": false} {
		dir := t.TempDir()
		text := "buffers:\n  x: {dtype: uint8, shape: [8, 8], fill: 0}\n  y: {dtype: uint8, shape: [8, 8]}\nsteps:\n  - kernel: image.blur\n    args: {src: x, dst: y}" + on + "\n"
		p, err := Load(write(t, dir, FileName, text), Options{})
		if err != nil {
			t.Fatal(err)
		}
		if got := p.Asks(&emulated[1]); got != want {
			t.Errorf("%q: asks for %s: %v", on, emulated[1].ID, got)
		}
	}
}
