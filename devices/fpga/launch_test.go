package fpga

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tandemrun/tandem/devices"
)

// fits wraps a kernel over rows that adds the row above, below and its own.
const columnSum = `// tandem: array src r uint8 s_axis item=width dim=1 halo=1
// tandem: array dst w uint8 m_axis item=width dim=1
// tandem: value width uint32 reg=0
// tandem: count dst reg=1
// tandem: limit width 16
// tandem: split
module sums(input wire aclk, input wire aresetn,
  input wire [7:0] s_axis_tdata, input wire s_axis_tvalid, output wire s_axis_tready,
  output wire [7:0] m_axis_tdata, output wire m_axis_tvalid, input wire m_axis_tready, output wire m_axis_tlast,
  input wire cfg_we, input wire [0:0] cfg_addr, input wire [31:0] cfg_data);
  reg [7:0] above [0:15], middle [0:15];
  reg [31:0] width, left;
  reg [3:0] x;
  reg [1:0] row;
  assign s_axis_tready = aresetn && (row != 2 || m_axis_tready);
  assign m_axis_tvalid = aresetn && row == 2 && s_axis_tvalid;
  assign m_axis_tdata = above[x] + middle[x] + s_axis_tdata;
  assign m_axis_tlast = left == 1;
  always @(posedge aclk) begin
    if (cfg_we && cfg_addr == 0) width <= cfg_data;
    if (cfg_we && cfg_addr == 1) left <= cfg_data;
    if (!aresetn) begin x <= 0; row <= 0; end
    else if (s_axis_tvalid && s_axis_tready) begin
      above[x] <= middle[x];
      middle[x] <= s_axis_tdata;
      x <= x + 1 == width ? 0 : x + 1;
      if (x + 1 == width && row != 2) row <= row + 1;
      if (row == 2) left <= left - 1;
    end
  end
endmodule
`

// columnSums is what the kernel computes.
func columnSums(src []byte, width int) []byte {
	dst := make([]byte, len(src))
	rows := len(src) / width
	for i := range src {
		y, x := i/width, i%width
		for _, r := range []int{y - 1, y, y + 1} {
			dst[i] += src[min(max(r, 0), rows-1)*width+x]
		}
	}
	return dst
}

func number(v uint32) devices.Arg { return devices.Arg{Value: devices.AsBytes([]uint32{v})} }

// rows launches sums over rows [from, from+n) of whole.
func (r *rig) rows(k devices.Kernel, src, dst []byte, width, from, n, whole int) error {
	r.t.Helper()
	a, err := r.d.ImportHost(src)
	if err != nil {
		r.t.Fatal(err)
	}
	defer a.Free()
	b, err := r.d.ImportHost(dst)
	if err != nil {
		r.t.Fatal(err)
	}
	defer b.Free()
	l := devices.Launch{Kernel: k, Args: []devices.Arg{{Buffer: a}, {Buffer: b}, number(uint32(width))},
		Range: devices.NDRange{Dims: 2, Size: [3]int{width, n}, Offset: [3]int{0, from}, Whole: [3]int{width, whole}}}
	ev, err := r.q.Launch(&l, nil)
	if err != nil {
		return err
	}
	defer ev.Release()
	return devices.Wait(r.t.Context(), ev)
}

func TestHalo(t *testing.T) {
	r := rigOf(t, &Driver{Check: CheckAlways})
	k := r.kernel("sums.v", columnSum, "sums")
	const width, rows = 5, 9
	src := make([]byte, width*rows)
	for i := range src {
		src[i] = byte(i * i)
	}
	want := columnSums(src, width)
	for _, cuts := range [][]int{{0, 9}, {0, 1, 9}, {0, 4, 5, 9}, {0, 8, 9}} {
		dst := make([]byte, len(src))
		for i := range len(cuts) - 1 {
			if err := r.rows(k, src, dst, width, cuts[i], cuts[i+1]-cuts[i], rows); err != nil {
				t.Fatal(err)
			}
			// What lies behind the part is not touched.
			if rest := dst[cuts[i+1]*width:]; strings.Trim(string(rest), "\x00") != "" {
				t.Errorf("cut at %v: part %d wrote behind its end", cuts, i)
			}
		}
		if !bytes.Equal(dst, want) {
			t.Errorf("cut at %v: %v, want %v", cuts, dst, want)
		}
	}
	// In place: the output lies over the input of another array.
	both := slices.Clone(src)
	if err := r.rows(k, both, both, width, 0, rows, rows); err != nil || !bytes.Equal(both, want) {
		t.Errorf("in place: %v, %v; want %v", both, err, want)
	}
	for _, c := range []struct {
		width, from, n, whole int
		says                  string
	}{
		{17, 0, 1, 1, "width is 17, the kernel is made for at most 16"},
		{5, 0, 10, 10, "items [0,10) of 5 elements of uint8, the buffer has 45 bytes"},
	} {
		err := r.rows(k, src, make([]byte, len(src)), c.width, c.from, c.n, c.whole)
		if !errors.Is(err, devices.ErrInvalid) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

func TestOffset(t *testing.T) {
	r := rigOf(t, &Driver{})
	k := r.kernel("kit.v", string(kitText), "mad_u32")
	x := make([]uint32, 200)
	b, err := r.d.ImportHost(devices.AsBytes(x))
	if err != nil {
		t.Fatal(err)
	}
	defer b.Free()
	l := devices.Launch{Kernel: k, Range: devices.NDRange{Dims: 1, Size: [3]int{100}, Offset: [3]int{33}, Local: [3]int{16}},
		Args: []devices.Arg{{Buffer: b}, number(1), number(7)}}
	ev, err := r.q.Launch(&l, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer ev.Release()
	if err := devices.Wait(t.Context(), ev); err != nil {
		t.Fatal(err)
	}
	for i, v := range x {
		want := uint32(0)
		if i >= 33 && i < 133 {
			want = 7
		}
		if v != want {
			t.Errorf("element %d is %d, want %d", i, v, want)
		}
	}
}

func TestLaunchRefused(t *testing.T) {
	r := rigOf(t, &Driver{})
	mad := r.kernel("kit.v", string(kitText), "mad_u32")
	fail := r.kernel("kit.v", string(kitText), "fail")
	b, err := r.d.Alloc(40)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Free()
	line := devices.NDRange{Dims: 1, Size: [3]int{10}}
	part := devices.NDRange{Dims: 1, Size: [3]int{4}, Whole: [3]int{10}}
	for _, c := range []struct {
		name  string
		l     devices.Launch
		class error
		says  string
	}{
		{"local memory", devices.Launch{Kernel: mad, Range: line, Args: []devices.Arg{{Buffer: b}, {LocalBytes: 64}, number(1)}}, devices.ErrInvalid, "argument 1 (f): local memory of 64 bytes"},
		{"vector", devices.Launch{Kernel: mad, Range: line, Args: []devices.Arg{{Buffer: b}, {Value: make([]byte, 16)}, number(1)}}, devices.ErrInvalid, "argument 1 (f) is a value of type uint32, 4 bytes; got 16"},
		{"value for array", devices.Launch{Kernel: mad, Range: line, Args: []devices.Arg{number(1), number(1), number(1)}}, devices.ErrInvalid, "argument 0 (x) is an array, got a value"},
		{"two dimensions", devices.Launch{Kernel: mad, Range: devices.NDRange{Dims: 2, Size: [3]int{5, 2}}, Args: []devices.Arg{{Buffer: b}, number(1), number(1)}}, devices.ErrInvalid, "a range of 2 dimensions; the kernel streams arrays along 1"},
		{"too short", devices.Launch{Kernel: mad, Range: devices.NDRange{Dims: 1, Size: [3]int{11}}, Args: []devices.Arg{{Buffer: b}, number(1), number(1)}}, devices.ErrInvalid, "items [0,11) of 1 elements of uint32, the buffer has 40 bytes"},
		{"no buffer", devices.Launch{Kernel: mad, Range: line, Args: []devices.Arg{{}, number(1), number(1)}}, devices.ErrInvalid, "the buffer has 0 bytes"},
		{"part of what may not be split", devices.Launch{Kernel: fail, Range: part, Args: []devices.Arg{{Buffer: b}}}, devices.ErrUnsupported, "does not say that it may be split"},
	} {
		ev, err := r.q.Launch(&c.l, nil)
		if err == nil {
			ev.Release()
		}
		if !errors.Is(err, c.class) || !strings.Contains(err.Error(), c.says) || !strings.HasPrefix(err.Error(), "fpga:0: Launch ") {
			t.Errorf("%s: %v, want one that says %q", c.name, err, c.says)
		}
	}
}

func TestReports(t *testing.T) {
	var told []LaunchReport
	done := make(chan struct{}, 10)
	driver := &Driver{ClockMHz: 50, LoadTime: 7 * time.Millisecond}
	driver.OnLaunch = func(device string, times devices.Times, l LaunchReport) {
		if device == "fpga:0" && times.End >= times.Start {
			told = append(told, l)
		}
		done <- struct{}{}
	}
	r := rigOf(t, driver)
	// A source of its own: TestAnalyze finds another clock for the kit's.
	mad := r.kernel("kit.v", string(kitText)+"// not analysed\n", "mad_u32")
	other := r.kernel("good.v", pass(through), "k")
	image, load := r.d.Image(&devices.Source{Name: "kit.v", Language: devices.LangRTL, Text: []byte(string(kitText) + "// not analysed\n")})
	if r.d.Loaded() != "" || load != 7*time.Millisecond {
		t.Errorf("before the first launch %q is loaded, loading takes %v", r.d.Loaded(), load)
	}
	x := make([]uint32, 1000)
	first, err := r.run(mad, 1000, x, uint32(1), uint32(1))
	if err != nil {
		t.Fatal(err)
	}
	if r.d.Loaded() != image || !strings.HasPrefix(image, "kit.v@") {
		t.Errorf("after the first launch %q is loaded, want %q", r.d.Loaded(), image)
	}
	// A pipeline of one stage: a cycle more than words.
	if first.Kernel != "mad_u32" || first.WordsIn != 1000 || first.WordsOut != 1000 || first.Cycles != 1001 || first.StallsIn != 0 || first.StallsOut != 0 ||
		first.Loaded != 7*time.Millisecond || first.ClockMHz != 50 || first.ClockFrom != ClockDefault || first.Modelled != 20020*time.Nanosecond || first.Wall <= 0 {
		t.Errorf("first launch: %+v", first)
	}
	if w := first.WordsPerCycle(); w < 0.998 || w > 1 {
		t.Errorf("%v words per cycle", w)
	}
	second, err := r.run(mad, 10, x, uint32(1), uint32(1))
	if err != nil || second.Loaded != 0 || second.Cycles != 11 {
		t.Errorf("second launch: %+v, %v", second, err)
	}
	y := make([]byte, 8)
	if third, err := r.run(other, 8, make([]byte, 8), y); err != nil || third.Loaded == 0 || third.Cycles != 8 {
		t.Errorf("another image: %+v, %v", third, err)
	}
	for range 3 {
		<-done
	}
	if len(told) != 3 || told[0] != first || told[1] != second {
		t.Errorf("OnLaunch was told %+v", told)
	}
	totals := r.d.Totals()
	if len(totals) != 2 || totals[1].Kernel != "mad_u32" || totals[1].Launches != 2 || totals[1].Loads != 1 || totals[1].Cycles != 1012 || totals[1].WordsIn != 1010 {
		t.Errorf("totals %+v", totals)
	}
	all := driver.Totals()
	if len(all) != 1 || all[0].Device != "fpga:0" || len(all[0].Kernels) != 2 || all[0].Kernels[1] != totals[1] {
		t.Errorf("totals of the driver %+v", all)
	}
}

// TestStalls: with stalls a kernel gives the same and takes longer.
func TestStalls(t *testing.T) {
	r := rigOf(t, &Driver{Stalls: Stalls{Seed: 42, Percent: 50}})
	k := r.kernel("kit.v", string(kitText), "mad_u32")
	x := make([]uint32, 1000)
	report, err := r.run(k, 1000, x, uint32(3), uint32(5))
	if err != nil || report.Cycles < 1500 || report.StallsIn == 0 || report.StallsOut == 0 {
		t.Errorf("%+v, %v", report, err)
	}
	for i, v := range x {
		if v != 5 {
			t.Fatalf("element %d is %d, want 5", i, v)
		}
	}
	again, err := r.run(k, 1000, x, uint32(1), uint32(0))
	if err != nil || again.Cycles != report.Cycles {
		t.Errorf("the same seed took %d cycles, then %d; %v", report.Cycles, again.Cycles, err)
	}
}

func TestSettings(t *testing.T) {
	for _, c := range []struct {
		stalls, check string
		want          Stalls
		wantCheck     Check
		warning       string
	}{
		{"", "", Stalls{}, CheckFirst, ""},
		{"7", "always", Stalls{7, 30}, CheckAlways, ""},
		{"0x10,5", "never", Stalls{16, 5}, CheckNever, ""},
		{"7,99", "", Stalls{}, CheckFirst, StallVariable},
		{"", "sometimes", Stalls{}, CheckFirst, CheckVariable},
	} {
		t.Setenv(StallVariable, c.stalls)
		t.Setenv(CheckVariable, c.check)
		s, check, warning := (&Driver{}).settings()
		if s != c.want || check != c.wantCheck || !strings.Contains(warning, c.warning) || (warning == "") != (c.warning == "") {
			t.Errorf("%q, %q: %+v, %v, %q", c.stalls, c.check, s, check, warning)
		}
	}
}

// TestWithout shows what is said where the tools are missing.
func TestWithout(t *testing.T) {
	d := &Driver{}
	d.Tools.Verilator = "no-such-verilator"
	b := d.Probe(t.Context())
	if b.Available || !errors.Is(b.Reason, devices.ErrUnavailable) || !strings.Contains(b.Reason.Error(), "no-such-verilator") || !strings.Contains(b.Hint, "apt-get install") || !strings.Contains(b.Hint, "verilator") || len(b.Devices) != 0 {
		t.Errorf("probe without Verilator: %+v", b)
	}
	if _, err := d.Open(t.Context(), 0); !errors.Is(err, devices.ErrUnavailable) {
		t.Errorf("open without Verilator: %v", err)
	}
}
