package verilog

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/devices/devicetest"
	"github.com/tandemrun/tandem/devices/fpga/toolchain"
)

func needYosys(t testing.TB) {
	t.Helper()
	devicetest.Require(t, "fpga", toolchain.Tools{}.Missing(toolchain.Yosys))
}

func TestScan(t *testing.T) {
	src := "module \\odd.name  (a); // one\n/* two\nthree */ $display(\"a\\\"b\\n\", 8'hff);\n`line 40 \"other.v\" 1\n`define X\nq[$] x$y\n"
	var got []string
	for _, tok := range scan(src) {
		got = append(got, fmt.Sprintf("%d:%d %s%q %d", tok.line, tok.col, tok.file, tok.text, tok.kind))
		if tok.from < 0 || tok.to > len(src) || tok.from >= tok.to {
			t.Errorf("token %q lies at [%d,%d)", tok.text, tok.from, tok.to)
		}
	}
	want := []string{
		`1:1 "module" 0`, `1:8 "\\odd.name" 0`, `1:19 "(" 6`, `1:20 "a" 0`, `1:21 ")" 6`, `1:22 ";" 6`, `1:24 " one" 5`,
		`2:1 " two\nthree " 5`, `3:10 "$display" 1`, `3:18 "(" 6`, `3:19 "a\"b\n" 3`, `3:27 "," 6`, `3:29 "8" 4`, `3:30 "'" 6`, `3:31 "hff" 0`, `3:34 ")" 6`, `3:35 ";" 6`,
		`4:1 "line" 2`, `4:7 "40" 4`, `4:10 "other.v" 3`, `4:20 "1" 4`,
		`40:1 other.v"define" 2`, `40:9 other.v"X" 0`,
		`41:1 other.v"q" 0`, `41:2 other.v"[" 6`, `41:3 other.v"$" 6`, `41:4 other.v"]" 6`, `41:6 other.v"x$y" 0`,
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

const twoStreams = `module inner #(parameter W = 8) (input wire aclk, input wire [W-1:0] d, output reg [W-1:0] q);
  reg [W-1:0] table [0:3];
  initial $readmemh("t.hex", table);
  always @(posedge aclk) q <= table[d[1:0]];
endmodule

// tandem: kernel math.pair
// tandem: doc takes two
// tandem: doc and gives one
// tandem: value n int64 reg=2
// tandem: array b r int16 s1_axis
// tandem: array a rw int16 s_axis,m_axis item=2*k
// tandem: value k int32 reg=0 default=4
// tandem: value unused float64
// tandem: count b reg=4 wide
// tandem: limit k*2 DEPTH
// tandem: clock 62.5
module pair #(parameter DEPTH = 1024) (
  input wire aclk, input wire aresetn,
  input wire [31:0] s_axis_tdata, input wire s_axis_tvalid, output wire s_axis_tready, input wire s_axis_tlast,
  input wire [15:0] s1_axis_tdata, input wire s1_axis_tvalid, output wire s1_axis_tready,
  output wire [31:0] m_axis_tdata, output wire m_axis_tvalid, input wire m_axis_tready, output wire m_axis_tlast,
  input wire cfg_we, input wire [2:0] cfg_addr, input wire [31:0] cfg_data);
  inner #(.W(16)) i (.aclk(aclk), .d(s1_axis_tdata), .q(m_axis_tdata[15:0]));
  assign m_axis_tdata[31:16] = 0;
  assign m_axis_tvalid = s_axis_tvalid; assign m_axis_tlast = s_axis_tlast;
  assign s_axis_tready = m_axis_tready; assign s1_axis_tready = 1;
endmodule
`

func TestRead(t *testing.T) {
	needYosys(t)
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "t.hex"), []byte("1 // one\n/* 9\n9 */ ffff 3\n@3 a_5"), 0o600); err != nil {
		t.Fatal(err)
	}
	list, err := Read(t.Context(), Request{File: "dir/pair.v", Text: twoStreams, Images: []string{dir}, Set: map[string]string{"DEPTH": "16"}})
	if err != nil {
		t.Fatal(err)
	}
	if len(list) != 1 {
		t.Fatalf("%d kernels", len(list))
	}
	m := list[0]
	one := Product{Factor: 1}
	want := &Module{
		Entry: "pair", Name: "math.pair", Doc: "takes two and gives one", File: "dir/pair.v", Line: 18,
		Inputs: []Stream{{"s_axis", 4, true}, {"s1_axis", 2, false}}, Outputs: []Stream{{"m_axis", 4, true}},
		Config: true, AddressBits: 3,
		Params: []Param{
			{Name: "n", Type: devices.Int64, Line: 10, In: -1, Out: -1, Register: 2},
			{Name: "b", Type: devices.Int16, Line: 11, In: 1, Out: -1, Item: one, Register: -1},
			{Name: "a", Type: devices.Int16, Line: 12, In: 0, Out: 0, Item: Product{2, []int{3}}, Register: -1},
			{Name: "k", Type: devices.Int32, Line: 13, In: -1, Out: -1, Register: 0, Default: "4"},
			{Name: "unused", Type: devices.Float64, Line: 14, In: -1, Out: -1, Register: -1},
		},
		Counts: []Count{{Param: 1, Register: 4, Wide: true}}, Limits: []Limit{{Of: Product{2, []int{3}}, Words: "k*2", Most: 16, Line: 16}},
		ClockMHz: 62.5, Defaults: map[string]string{"DEPTH": "16"},
		Images: []Image{{Name: "t.hex", Hex: true, Words: []ImageWord{{0, []uint32{1}}, {1, []uint32{0xffff}}, {2, []uint32{3}}, {3, []uint32{0xa5}}}}},
	}
	if !reflect.DeepEqual(m, want) {
		t.Errorf("got  %+v\nwant %+v", m, want)
	}
	if s := m.Signature(); s != "math.pair(n int64, b r int16[], a rw int16[], k int32, unused float64)" || m.Dims() != 1 {
		t.Errorf("signature %s, %d dimensions", s, m.Dims())
	}
}

func TestAnnotationFaults(t *testing.T) {
	needYosys(t)
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "t.hex"), []byte("1 2 3 4"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		old, new string
		line     int
		says     string
	}{
		{"array b r int16 s1_axis", "array b w int16 s1_axis", 11, "mode w does not fit port s1_axis"},
		{"array b r int16 s1_axis", "array b r int17 s1_axis", 11, `there is no type "int17"`},
		{"array b r int16 s1_axis", "array b r int16 s2_axis", 11, `the module has no stream "s2_axis"; it has s_axis, s1_axis, m_axis`},
		{"array b r int16 s1_axis", "array b r int16 s_axis", 12, "port s_axis belongs to b already"},
		{"array b r int16 s1_axis", "array b r int16", 11, "want array NAME"},
		{"array b r int16 s1_axis", "array b r int16 s1_axis halo=65", 11, "want a number from 0 to 64"},
		{"item=2*k", "item=2*b", 12, `"b" is neither a number above 0 nor the name of a value`},
		{"item=2*k", "halo=1", 12, "a halo is for arrays that are only read"},
		{"item=2*k", "size=2", 12, "none of whole, item=, dim=, halo="},
		{"reg=2", "reg=7", 10, "want a number from 0 to 6"},
		{"reg=0", "reg=3", 13, "register 3 belongs to n already"},
		{"default=4", "default=many", 13, "is no number"},
		{"count b", "count n", 15, `there is no array "n"`},
		{"limit k*2 DEPTH", "limit k*2 WIDTH", 16, `"WIDTH" is neither a number nor an integer parameter`},
		{"clock 62.5", "clock -1", 17, "want megahertz"},
		{"clock 62.5", "clok 62.5", 17, `annotation "clok 62.5": want kernel NAME`},
		{"value k ", "value n ", 13, `parameter "n" is there twice`},
		{"module inner", "// tandem: split\nmodule inner", 1, "module inner is a part of another one"},
	} {
		_, err := Read(t.Context(), Request{File: "pair.v", Text: strings.Replace(twoStreams, c.old, c.new, 1), Images: []string{dir}})
		found := false
		for _, e := range flatten(err) {
			var at *Error
			found = found || errors.As(e, &at) && at.Line == c.line && strings.Contains(at.Msg, c.says) && errors.Is(e, devices.ErrInvalid)
		}
		if !found {
			t.Errorf("%q: %v\nwant line %d: %q", c.new, err, c.line, c.says)
		}
	}
}

func flatten(err error) []error {
	if j, ok := err.(interface{ Unwrap() []error }); ok {
		return j.Unwrap()
	}
	return []error{err}
}

func TestReadImageFaults(t *testing.T) {
	for text, says := range map[string]string{
		"":            "holds no words",
		"12 g":        `1:4: error: "g" is no number in base 16`,
		"@g 1":        `"@g" is no address`,
		"1\n2 @0 3":   "2:6: error: a second word for address 0x0",
		"zz":          "has unknown bits",
		"_":           "is no word",
		"1 /* open\n": "",
	} {
		img, err := ReadImage("t.hex", true, strings.NewReader(text))
		if says == "" {
			if err != nil || len(img.Words) != 1 {
				t.Errorf("%q: %v", text, err)
			}
			continue
		}
		if err == nil || !errors.Is(err, devices.ErrInvalid) || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v, want %q", text, err, says)
		}
	}
	img, err := ReadImage("t.bin", false, strings.NewReader("101 11111111_00000000_11111111_00000000_1"))
	if err != nil || !reflect.DeepEqual(img.Words, []ImageWord{{0, []uint32{5}}, {1, []uint32{0xfe01fe01, 1}}}) {
		t.Errorf("binary: %+v, %v", img, err)
	}
	again, err := ReadImage("t.bin", false, strings.NewReader(img.Text()))
	if err != nil || !reflect.DeepEqual(again, img) {
		t.Errorf("written and read: %+v, %v", again, err)
	}
}

func TestForSynthesis(t *testing.T) {
	got, err := ForSynthesis("k.v", "module k;\ninitial begin $display(\"a (b\", x);\n$readmemh(\"f\", m); end\nendmodule\n")
	want := "module k;\ninitial begin " + strings.Repeat(" ", len(`$display("a (b", x)`)) + ";\n$readmemh(\"f\", m); end\nendmodule\n"
	if err != nil || got != want {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestBaseName(t *testing.T) {
	for name, want := range map[string]string{"a/b.v": "b.v", "-x.sv": "x.sv", "": "kernel.v", "k": "k.v", "a b;c.v": "a_b_c.v", "../..": "kernel.v"} {
		if got := BaseName(name); got != want {
			t.Errorf("%q gives %q, want %q", name, got, want)
		}
	}
}

// FuzzScan: whatever the text, nothing panics, and blanking keeps lines.
func FuzzScan(f *testing.F) {
	f.Add(twoStreams)
	f.Add("`line 1 \"\" 0\n$fatal(((\n\"\\")
	f.Add("// tandem: array a r\n$readmemh(")
	f.Fuzz(func(t *testing.T, src string) {
		s, _ := scanSource("f.v", src)
		out := s.forYosys()
		if len(out) != len(src) || strings.Count(out, "\n") != strings.Count(src, "\n") {
			t.Fatalf("%q became %q", src, out)
		}
	})
}

func FuzzReadImage(f *testing.F) {
	f.Add("1 2\n@ff 3 // x", true)
	f.Add("101 /* */ 0", false)
	f.Fuzz(func(t *testing.T, text string, hex bool) {
		img, err := ReadImage("f", hex, strings.NewReader(text))
		if err != nil {
			return
		}
		again, err := ReadImage("f", hex, strings.NewReader(img.Text()))
		if err != nil || !reflect.DeepEqual(again, img) {
			t.Fatalf("%q: %+v, then %+v, %v", text, img, again, err)
		}
	})
}
