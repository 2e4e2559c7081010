package rtl

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/devices/devicetest"
	"github.com/tandemrun/tandem/devices/fpga/toolchain"
	"github.com/tandemrun/tandem/devices/fpga/verilog"
	"github.com/tandemrun/tandem/kernels"
)

func needYosys(t *testing.T) {
	t.Helper()
	devicetest.Require(t, "fpga", toolchain.Tools{}.Missing(toolchain.Yosys))
}

// TestPage holds the kernel of docs/fpga.md.
func TestPage(t *testing.T) {
	doc, err := os.ReadFile("../../docs/fpga.md")
	if err != nil {
		t.Fatal(err)
	}
	file, err := os.ReadFile("testdata/brighten.v")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(doc), "```verilog\n"+string(file)+"```") {
		t.Error("docs/fpga.md shows another kernel than testdata/brighten.v")
	}
	needYosys(t)
	k, err := Load(t.Context(), "testdata/brighten.v", "", Options{})
	if err != nil {
		t.Fatal(err)
	}
	if k.Signature() != "brighten(x r uchar[], y w uchar[], v uchar)" || k.Doc != "adds v to every byte, at most 255" || k.NoSplit != "" {
		t.Errorf("%s %q, %q", k.Signature(), k.Doc, k.NoSplit)
	}
	c, err := kernels.Bind(k, devices.NDRange{}, []kernels.Given{{Array: array("x", 100)}, {Array: array("y", 100)}})
	if err != nil {
		t.Fatal(err)
	}
	if v, ok := c.Int("v"); !ok || v != 16 || c.Range.Dims != 1 || c.Range.Size[0] != 100 {
		t.Errorf("v = %d, range %+v", v, c.Range)
	}
	dim, bands, err := c.Splittable()
	if err != nil || dim != 0 || *bands[1] != (kernels.Band{Stride: 1, High: 1}) {
		t.Errorf("split along %d with %v: %v", dim, bands, err)
	}
	src := k.Variants[0].Source
	folder, _ := filepath.Abs("testdata")
	if src.Language != devices.LangRTL || len(src.Options) != 1 || src.Options[0] != "-I"+folder {
		t.Errorf("source %q with options %q", src.Language, src.Options)
	}
}

func array(name string, shape ...int64) *kernels.Array {
	return &kernels.Array{Name: name, DType: devices.Uint8, Shape: shape}
}

const filter = "`include \"inc/ports.vh\"\n" + `// tandem: array src r uint8 s_axis item=width*channels dim=1 halo=2
// tandem: array dst w uint8 m_axis item=width*channels dim=1
// tandem: value width int32 reg=0
// tandem: value channels int32 reg=1
// tandem: limit width MOST
module filter #(parameter MOST = 64) (` + "`PORTS" + `);
  assign m_axis_tdata = s_axis_tdata; assign m_axis_tvalid = s_axis_tvalid; assign m_axis_tlast = 1; assign s_axis_tready = m_axis_tready;
endmodule
`

const portsHeader = "`define PORTS input wire aclk, input wire aresetn, input wire [7:0] s_axis_tdata, input wire s_axis_tvalid, output wire s_axis_tready, output wire [7:0] m_axis_tdata, output wire m_axis_tvalid, input wire m_axis_tready, output wire m_axis_tlast, input wire cfg_we, input wire [3:0] cfg_addr, input wire [31:0] cfg_data\n"

func write(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		full := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(full, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestInclude(t *testing.T) {
	needYosys(t)
	dir := write(t, map[string]string{"filter.v": filter, "inc/ports.vh": portsHeader})
	path := filepath.Join(dir, "filter.v")
	k, err := Load(t.Context(), path, "filter", Options{Params: map[string]string{"MOST": "99"}})
	if err != nil {
		t.Fatal(err)
	}
	// The line is that of the file, not of the text with its includes.
	if k.Params[0].Pos != (kernels.Pos{File: path, Line: 2}) {
		t.Errorf("src is declared at %v", k.Params[0].Pos)
	}
	if !strings.Contains(k.NoSplit, "does not say") {
		t.Errorf("splitting is allowed: %q", k.NoSplit)
	}
	c, err := kernels.Bind(k, devices.NDRange{}, []kernels.Given{{Name: "src", Array: array("src", 7, 5, 3)}, {Name: "dst", Array: array("dst", 7, 5, 3)}})
	if err != nil {
		t.Fatal(err)
	}
	w, _ := c.Int("width")
	n, _ := c.Int("channels")
	if w != 5 || n != 3 || c.Range.Dims != 2 || c.Range.Size != [3]int{15, 7} {
		t.Errorf("width %d, channels %d, range %+v", w, n, c.Range)
	}
	bands, err := c.Bands()
	if err != nil || *bands[0] != (kernels.Band{Dim: 1, Stride: 15, Low: -30, High: 45}) {
		t.Errorf("bands %v, %v", bands, err)
	}
	_, err = kernels.Bind(k, devices.NDRange{}, []kernels.Given{{Name: "src", Array: array("src", 7, 15)}, {Name: "dst", Array: array("dst", 6, 15)},
		{Name: "width", Value: 5}, {Name: "channels", Value: 3}})
	if err == nil || !strings.Contains(err.Error(), `"dst" has shape (6, 15), 90 elements; 7 items of 15 take 105`) {
		t.Errorf("a short output: %v", err)
	}
}

func TestIncludeRefused(t *testing.T) {
	for name, c := range map[string]struct{ text, says string }{
		"outside":  {"`include \"../secret.vh\"\n", "has to lie inside the source's folder"},
		"absolute": {"\n`include \"/etc/passwd\"\n", ":2: error: `include"},
		"missing":  {"`include \"none.vh\"\n", "not found in"},
		"itself":   {"`include \"top.v\"\n", "nest more than 16 deep"},
		"folder":   {"`include \"inc\"\n", "no regular file"},
	} {
		dir := write(t, map[string]string{"top.v": c.text, "inc/x": ""})
		_, err := Load(t.Context(), filepath.Join(dir, "top.v"), "", Options{})
		var at *verilog.Error
		if !errors.As(err, &at) || at.Line == 0 || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want %q", name, err, c.says)
		}
	}
}

func TestLoadFaults(t *testing.T) {
	needYosys(t)
	two := strings.ReplaceAll(strings.ReplaceAll(filter, "`include \"inc/ports.vh\"\n", portsHeader), "filter", "first") + strings.ReplaceAll(filter[strings.IndexByte(filter, '\n')+1:], "filter", "second")
	dir := write(t, map[string]string{"two.v": two})
	path := filepath.Join(dir, "two.v")
	for entry, says := range map[string]string{"": "has 2 kernels, first, second: say which", "secnd": `has no kernel "secnd", it has first, second; did you mean "second"?`} {
		if _, err := Load(t.Context(), path, entry, Options{}); !errors.Is(err, devices.ErrInvalid) || !strings.Contains(err.Error(), says) {
			t.Errorf("entry %q: %v, want %q", entry, err, says)
		}
	}
	if k, err := Load(t.Context(), path, "second", Options{}); err != nil || k.Name != "second" {
		t.Errorf("second: %v, %v", k, err)
	}
	bad := strings.Replace(two, "value width int32 reg=0", "value width uint8 reg=0 default=300", 1)
	if err := os.WriteFile(path, []byte(bad), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(t.Context(), path, "first", Options{}); err == nil || !strings.Contains(err.Error(), "two.v:4: error: value width: the default") {
		t.Errorf("a default that does not fit: %v", err)
	}
}
