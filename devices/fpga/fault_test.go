package fpga

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/devices/devicetest"
)

// rig is an open device with a queue.
type rig struct {
	t testing.TB
	d *device
	q devices.Queue
}

func rigOf(t testing.TB, driver *Driver) *rig {
	t.Helper()
	devicetest.Require(t, backend, driver.Probe(t.Context()).Reason)
	devicetest.CheckGoroutines(t)
	d, err := driver.Open(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	q, err := d.NewQueue(devices.Compute)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(q.Close(), d.Close()); err != nil {
			t.Error(err)
		}
	})
	return &rig{t, d.(*device), q}
}

// kernel compiles a source and takes a kernel of it.
func (r *rig) kernel(name, text, entry string, options ...string) devices.Kernel {
	r.t.Helper()
	p, err := r.d.Compile(r.t.Context(), &devices.Source{Name: name, Language: devices.LangRTL, Text: []byte(text), Options: options})
	if err != nil {
		r.t.Fatalf("%+v", err)
	}
	k, err := p.Kernel(entry)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { _, _ = k.Close(), p.Close() })
	return k
}

// run launches k over n items; arguments are slices, which are streamed in
// place, or values.
func (r *rig) run(k devices.Kernel, n int, args ...any) (LaunchReport, error) {
	r.t.Helper()
	l := devices.Launch{Kernel: k, Range: devices.NDRange{Dims: 1, Size: [3]int{n}}}
	for _, a := range args {
		switch a := a.(type) {
		case []byte:
			b, err := r.d.ImportHost(a)
			if err != nil {
				r.t.Fatal(err)
			}
			defer b.Free()
			l.Args = append(l.Args, devices.Arg{Buffer: b})
		case []uint32:
			b, err := r.d.ImportHost(devices.AsBytes(a))
			if err != nil {
				r.t.Fatal(err)
			}
			defer b.Free()
			l.Args = append(l.Args, devices.Arg{Buffer: b})
		case uint32:
			l.Args = append(l.Args, devices.Arg{Value: devices.AsBytes([]uint32{a})})
		default:
			r.t.Fatalf("argument of type %T", a)
		}
	}
	ev, err := r.q.Launch(&l, nil)
	if err != nil {
		return LaunchReport{}, err
	}
	defer ev.Release()
	if err := devices.Wait(r.t.Context(), ev); err != nil {
		return LaunchReport{}, err
	}
	report, ok := r.d.LaunchReport(ev)
	if !ok {
		r.t.Fatal("no report of a finished launch")
	}
	return report, nil
}

// pass is a kernel of 8-bit words with a body of the test's.
func pass(body string) string {
	return `// tandem: array x r uint8 s_axis
// tandem: array y w uint8 m_axis
module k(input wire aclk, input wire aresetn,
  input wire [7:0] s_axis_tdata, input wire s_axis_tvalid, output wire s_axis_tready, input wire s_axis_tlast,
  output wire [7:0] m_axis_tdata, output wire m_axis_tvalid, input wire m_axis_tready, output wire m_axis_tlast);
  ` + body + `
endmodule
`
}

const through = `
  assign s_axis_tready = m_axis_tready && aresetn;
  assign m_axis_tvalid = s_axis_tvalid && aresetn;
  assign m_axis_tlast = s_axis_tlast;
  assign m_axis_tdata = s_axis_tdata;
`

func TestRunFaults(t *testing.T) {
	r := rigOf(t, &Driver{MaxIdle: 10_000})
	good := r.kernel("good.v", pass(through), "k")
	for _, c := range []struct {
		name, body string
		class      error
		line       int
		says       []string
	}{
		{"finish", through + "always @(posedge aclk) if (s_axis_tvalid && s_axis_tdata == 9) $finish;", nil, 11, []string{"$finish"}},
		{"stop", through + "always @(posedge aclk) if (s_axis_tvalid && s_axis_tdata == 9) $stop;", nil, 11, []string{"$stop"}},
		{"fatal", through + "always @(posedge aclk) if (s_axis_tvalid && s_axis_tdata == 9) $fatal(1, \"nine is %0d\", s_axis_tdata);", nil, 11, []string{"nine is 9"}},
		{"error", through + "always @(posedge aclk) if (s_axis_tvalid && s_axis_tdata == 9) $error(\"not nine\");", nil, 11, []string{"not nine"}},
		{"never-accepts", "assign s_axis_tready = 0; assign m_axis_tvalid = 0; assign m_axis_tlast = 0; assign m_axis_tdata = 0;", devices.ErrTimeout, 0,
			[]string{"no word moved for 10000 cycles", "s_axis took 0 of 10 words"}},
		{"never-ends", "assign s_axis_tready = aresetn; assign m_axis_tvalid = 0; assign m_axis_tlast = 0; assign m_axis_tdata = 0;", devices.ErrTimeout, 0,
			[]string{"no word moved", "s_axis took 10 of 10 words", "m_axis gave 0 of at most 10"}},
		{"too-much", "assign s_axis_tready = aresetn; assign m_axis_tvalid = aresetn; assign m_axis_tlast = 0; assign m_axis_tdata = 1;", devices.ErrInvalid, 0,
			[]string{"m_axis gives more than the 10 words"}},
		{"loop", strings.Replace(through, "= s_axis_tdata;", "= s_axis_tdata ^ {8{a}};", 1) + "wire a, b; assign a = s_axis_tdata[0] ? !b : 0; assign b = a;", nil, 0, []string{"did not converge"}},
		{"unknown-register", `reg [7:0] r;
  assign s_axis_tready = m_axis_tready && aresetn; assign m_axis_tvalid = s_axis_tvalid && aresetn; assign m_axis_tlast = s_axis_tlast;
  always @(posedge aclk) if (s_axis_tvalid && s_axis_tready) r <= s_axis_tdata;
  assign m_axis_tdata = r;`, nil, 3, []string{"unknown bits reach the output", "m_axis", "word 0 is 0xff", "0x00"}},
		{"handshake", `reg [7:0] r; reg v, l;
  assign s_axis_tready = aresetn; assign m_axis_tdata = r; assign m_axis_tvalid = v; assign m_axis_tlast = l;
  always @(posedge aclk) if (!aresetn) v <= 0; else begin v <= s_axis_tvalid; r <= s_axis_tdata; l <= s_axis_tlast; end`, nil, 0, []string{"stalls"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			k := r.kernel("k.v", pass(c.body), "k")
			x, y := []byte{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, make([]byte, 10)
			_, err := r.run(k, 10, x, y)
			var f *FaultError
			if !errors.As(err, &f) {
				t.Fatalf("got %v, want a *FaultError", err)
			}
			if c.class != nil && !errors.Is(err, c.class) {
				t.Errorf("%v does not wrap %v", err, c.class)
			}
			if c.line != 0 && (f.Line != c.line || f.File != "k.v") {
				t.Errorf("at %s:%d, want k.v:%d: %v", f.File, f.Line, c.line, err)
			}
			for _, w := range append(c.says, "fpga:0", "kernel k") {
				if !strings.Contains(err.Error(), w) {
					t.Errorf("%q does not say %q", err, w)
				}
			}
			// Others go on, and the kernel itself starts afresh.
			if _, err := r.run(good, 10, x, y); err != nil || string(y) != string(x) {
				t.Errorf("a good kernel afterwards: %v, %v", err, y)
			}
			if c.line == 11 {
				x[9] = 1
				if _, err := r.run(k, 10, x, y); err != nil || string(y) != string(x) {
					t.Errorf("the same kernel afterwards: %v, %v", err, y)
				}
			}
		})
	}
}

// TestRefused are sources that are refused before anything is built.
func TestRefused(t *testing.T) {
	r := rigOf(t, &Driver{})
	for _, c := range []struct{ name, text, says string }{
		{"system", pass(through + `initial $system("touch /tmp/owned");`), "k.v:11:9: error: $system is not allowed"},
		{"files", pass(through + "integer f;\ninitial f = $fopen(\"x\");"), "k.v:12:13: error: $fopen is not allowed"},
		{"c", pass(through + `initial $c("abort();");`), "$c is not allowed"},
		{"dpi", pass(through + `import "DPI-C" function int getpid();`), "import of DPI functions is not allowed"},
		{"public", pass(through + "/*verilator public*/"), `the pragma "verilator public" is not allowed`},
		{"paste", "`define P(a,b) a``b\n" + pass(through+"initial `P($write,memh)(\"x\", y);"), "pasting names together"},
		{"include", "`include \"x.v\"\n" + pass(through), "k.v:1:1: error: `include is not allowed"},
		{"systemc", "`systemc_header\n" + pass(through), "`systemc_header is not allowed"},
		{"no-clock", strings.Replace(pass(through), "input wire aclk, ", "", 1), "lacks the port aclk"},
		{"other-port", strings.Replace(pass(through), "input wire aclk, ", "input wire aclk, input wire enable, ", 1), "port enable of module k is none of the convention"},
		{"no-ready", strings.Replace(strings.Replace(pass(through), "output wire s_axis_tready, ", "", 1), "assign s_axis_tready", "wire s_axis_tready; assign s_axis_tready", 1), "lacks the port s_axis_tready"},
		{"width", strings.Replace(pass(through), "[7:0] s_axis", "[11:0] s_axis", 1), "s_axis_tdata of module k has 12 bits"},
		{"type", strings.Replace(pass(through), "uint8 s_axis", "uint32 s_axis", 1), "an element of uint32 has 32 bits, a word of port s_axis has 8"},
		{"no-array", strings.Replace(pass(through), "// tandem: array y w uint8 m_axis", "", 1), "no array belongs to port m_axis"},
		{"no-module", "// nothing\n", "the source has no module"},
		{"no-kernel", "module k(input a, output b); assign b = a; endmodule", "no AXI4-Stream port"},
		{"syntax", pass("assign s_axis_tready = ;"), "k.v:6: error: yosys: syntax error"},
		{"endless", pass(through + "initial while (1);"), "While loops are only allowed in constant functions"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, err := r.d.Compile(t.Context(), &devices.Source{Name: "k.v", Language: devices.LangRTL, Text: []byte(c.text)})
			if err == nil {
				_ = p.Close()
				t.Fatal("it was built")
			}
			var ce *devices.CompileError
			if !errors.As(err, &ce) || ce.Source != "k.v" || ce.Device != "fpga:0" || !strings.Contains(ce.Log, c.says) {
				t.Errorf("got %+v, want a *CompileError that says %q", err, c.says)
			}
		})
	}
}

func TestMemoryImages(t *testing.T) {
	r := rigOf(t, &Driver{})
	text, err := os.ReadFile("testdata/readmemh/summer.v")
	if err != nil {
		t.Fatal(err)
	}
	folder, err := filepath.Abs("testdata/readmemh")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ image, says string }{
		{"ok.hex", ""},
		{"no_newline.hex", ""},
		{"addresses.hex", ""},
		{"short.hex", "summer.v:11:11: error: short.hex has 3 of the 4 words of memory mem"},
		{"long.hex", "long.hex has 5 words, memory mem has room for 4"},
		{"unknown.hex", "unknown.hex:2:1: error: the word \"0000001x\" has unknown bits"},
		{"missing.hex", "summer.v:11:11: error: memory image missing.hex: not found in " + folder},
		{"../readmemh/ok.hex", "has to be a path inside the source's folder"},
		{"/etc/passwd", "has to be a path inside the source's folder"},
	} {
		t.Run(strings.ReplaceAll(c.image, "/", "_"), func(t *testing.T) {
			src := &devices.Source{Name: "summer.v", Language: devices.LangRTL, Text: text, Options: []string{fmt.Sprintf("-GIMAGE=%q", c.image), "-I", folder}}
			p, err := r.d.Compile(t.Context(), src)
			if c.says != "" {
				if err == nil {
					_ = p.Close()
				}
				if err == nil || !strings.Contains(fmt.Sprintf("%+v", err), c.says) {
					t.Fatalf("got %+v, want %q", err, c.says)
				}
				return
			}
			if err != nil {
				t.Fatalf("%+v", err)
			}
			defer p.Close()
			k, err := p.Kernel("summer")
			if err != nil {
				t.Fatal(err)
			}
			defer k.Close()
			sum := []uint32{0}
			if _, err := r.run(k, 1, []byte{1}, sum); err != nil || sum[0] != 0x1111 {
				t.Errorf("sum %#x, want 0x1111; %v", sum[0], err)
			}
		})
	}
}

func TestOptions(t *testing.T) {
	r := rigOf(t, &Driver{})
	for _, c := range []struct{ option, says string }{
		{"-Wall", "there are -GNAME=VALUE"},
		{"-GDEPTH", "want -GNAME=VALUE"},
		{"-GWIDTH=3", "-GWIDTH: no module has such a parameter"},
		{"-GX=3; exec -- sh", "want NAME=NUMBER"},
	} {
		p, err := r.d.Compile(t.Context(), &devices.Source{Name: "k.v", Language: devices.LangRTL, Text: []byte(pass(through)), Options: []string{c.option}})
		if err == nil {
			_ = p.Close()
		}
		if err == nil || !errors.Is(err, devices.ErrInvalid) || !strings.Contains(fmt.Sprintf("%+v", err), c.says) {
			t.Errorf("option %q: %+v, want one that says %q", c.option, err, c.says)
		}
	}
}
