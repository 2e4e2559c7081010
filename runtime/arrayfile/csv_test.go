package arrayfile

import (
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/tandemrun/tandem/devices"
)

func TestCSV(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for _, tt := range []struct {
		content string
		o       Options
		want    Array
	}{
		{"", Options{}, array[float64]([]int64{0})},
		{"\n\n", Options{}, array[float64]([]int64{0})},
		{"x,y,z\n", Options{}, array[float64]([]int64{0, 3})},
		{"x", Options{}, array[float64]([]int64{0})},
		{"1\n2\n3", Options{}, array([]int64{3}, 1.0, 2, 3)},
		{"\ufeffa,b\r\n1, 2 \r\n\r\n-0,1e3\r\n", Options{}, array([]int64{2, 2}, 1, 2, math.Copysign(0, -1), 1000)},
		{"# by hand\n1,2\n", Options{}, array([]int64{1, 2}, 1.0, 2)},
		{"nan,inf,-inf,NaN,+Inf\n", Options{}, array([]int64{1, 5}, nan, inf, -inf, nan, inf)},
		{"\"first, or so\",b\n\"1\",2\n", Options{}, array([]int64{1, 2}, 1.0, 2)},
		{"2020,2021\n1,2\n", Options{Table: HeaderNames}, array([]int64{1, 2}, 1.0, 2)},
		{"1,2\n", Options{Table: HeaderNone}, array([]int64{1, 2}, 1.0, 2)},
		{"true,False\n0,1\n", Options{DType: devices.Bool}, Array{Header{devices.Bool, []int64{2, 2}}, []byte{1, 0, 0, 1}}},
		{"-128\n127\n", Options{DType: devices.Int8}, array([]int64{2}, int8(-128), 127)},
		{"1\n65504\n0.333251953125", Options{DType: devices.Float16},
			Array{Header{devices.Float16, []int64{3}}, devices.AsBytes([]uint16{0x3c00, 0x7bff, 0x3555})}},
	} {
		check(t, tt.content, mustRead(t, put(t, "a.csv", []byte(tt.content)), tt.o), tt.want)
	}
}

func TestCSVFaultsNameTheLine(t *testing.T) {
	for _, tt := range []struct {
		content string
		o       Options
		want    string
	}{
		{"1,2\n\n3,4,5\n", Options{}, "a.csv:3: 3 fields, the lines before have 2"},
		{"x,y\n1\n", Options{}, "a.csv:2: 1 fields"},
		{"x,y\n1,two\n", Options{}, `a.csv:2: field 2: "two" is no float64`},
		{"1,b\n", Options{}, `a.csv:1: field 2, "b", is no number`},
		{"1,b\n", Options{Table: HeaderNone}, `a.csv:1: field 2: "b" is no float64`},
		{"x\n1.5\n", Options{DType: devices.Int32}, `a.csv:2: field 1: "1.5" is no int32`},
		{"x\n128\n", Options{DType: devices.Int8}, `"128" is outside of int8`},
		{"x\n-1\n", Options{DType: devices.Uint8}, `"-1" is no uint8`},
		{"x\n1e39\n", Options{DType: devices.Float32}, `"1e39" is outside of float32`},
		{"x\n65520\n", Options{DType: devices.Float16}, `"65520" is outside of float16`},
		{"x,y\n1,\n", Options{}, "field 2: is empty"},
		{"x,y\n1,\"2\n", Options{}, "a.csv:"},
		{"x\n2\n", Options{DType: devices.Bool}, `"2" is no bool`},
	} {
		path := put(t, "a.csv", []byte(tt.content))
		_, err := read(path, tt.o)
		refused(t, path, err, tt.want)
	}
}

func TestCSVText(t *testing.T) {
	write := func(a Array, o Options) string {
		t.Helper()
		path := filepath.Join(t.TempDir(), "a.csv")
		if err := Write(path, a.Header, a.Data, o); err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	for want, got := range map[string]string{
		"0.1\nnan\n-inf\n":                   write(array([]int64{3}, float32(0.1), float32(math.NaN()), float32(math.Inf(-1))), Options{}),
		"a,b\n0.1,-0\n":                      write(array([]int64{1, 2}, 0.1, math.Copysign(0, -1)), Options{Columns: []string{"a", "b"}}),
		"c0,c1\n":                            write(array[int8]([]int64{0, 2}), Options{}),
		"42\n":                               write(array([]int64{}, int32(42)), Options{}),
		"0.33325195\n65504\n5.9604645e-08\n": write(Array{Header{devices.Float16, []int64{3}}, devices.AsBytes([]uint16{0x3555, 0x7bff, 1})}, Options{}),
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	err := Write(filepath.Join(t.TempDir(), "a.csv"), Header{devices.Int8, []int64{1}}, []byte{1}, Options{Columns: []string{"a", "b"}})
	refused(t, "a.csv", err, "2 names for 1 columns")
}

func TestHalf(t *testing.T) {
	for bits := range 1 << 16 {
		f := halfToFloat(uint16(bits))
		if math.IsNaN(f) {
			if bits&0x7c00 != 0x7c00 || bits&0x3ff == 0 {
				t.Fatalf("%#x is NaN", bits)
			}
			continue
		}
		if got := floatToHalf(f); got != uint16(bits) {
			t.Fatalf("%#x is %v, which is %#x", bits, f, got)
		}
		// Halfway to the next number rounds to the even one.
		if next := halfToFloat(uint16(bits + 1)); bits&0x7fff < 0x7bff {
			if got, want := floatToHalf((f+next)/2), uint16(bits+bits&1); got != want {
				t.Fatalf("halfway above %#x: got %#x, want %#x", bits, got, want)
			}
		}
	}
	if got := floatToHalf(1e300); got != 0x7c00 {
		t.Errorf("1e300 is %#x, want infinity", got)
	}
	if got := halfToFloat(floatToHalf(math.NaN())); !math.IsNaN(got) {
		t.Errorf("NaN became %v", got)
	}
}
