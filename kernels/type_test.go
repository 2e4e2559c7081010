package kernels

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/tandemrun/tandem/devices"
)

func TestHalf(t *testing.T) {
	for f, want := range map[float64]uint16{
		0: 0x0000, 1: 0x3c00, -2: 0xc000, 0.5: 0x3800, 65504: 0x7bff, 65519: 0x7bff, 65520: 0x7c00, 1e9: 0x7c00,
		math.Inf(-1): 0xfc00, 0x1p-14: 0x0400, 0x1p-24: 0x0001, 0x1p-25: 0x0000, 0x1.8p-25: 0x0001, 0x1p-26: 0,
		// halfway cases round to even
		1 + 0x1p-11: 0x3c00, 1 + 3*0x1p-11: 0x3c02, 0x1.ffep-15: 0x0400, 2047.5: 0x6800, 0.333251953125: 0x3555, 1 / 3.0: 0x3555,
	} {
		if got := HalfFromFloat(f); got != want {
			t.Errorf("HalfFromFloat(%v) = %#04x, want %#04x", f, got, want)
		}
	}
	if got := HalfFromFloat(math.Copysign(0, -1)); got != 0x8000 {
		t.Errorf("minus zero is %#04x", got)
	}
	if h := HalfFromFloat(math.NaN()); h&0x7c00 != 0x7c00 || h&0x3ff == 0 {
		t.Errorf("NaN is %#04x", h)
	}
	for h := range 1 << 16 { // every half comes back
		f := FloatFromHalf(uint16(h))
		if got := HalfFromFloat(f); got != uint16(h) && !math.IsNaN(f) {
			t.Fatalf("%#04x is %v and comes back as %#04x", h, f, got)
		}
		// and so does what lies just inside the halfway points to its neighbours
		if e := h >> 10 & 0x1f; e > 0 && e < 0x1e && h&0x3ff > 0 && h&0x3ff < 0x3ff {
			ulp := math.Abs(FloatFromHalf(uint16(h+1)) - f)
			for _, d := range []float64{-0.49, 0.49} {
				if got := HalfFromFloat(f + d*ulp); got != uint16(h) {
					t.Fatalf("%v rounds to %#04x, want %#04x", f+d*ulp, got, h)
				}
			}
		}
	}
}

func TestParseType(t *testing.T) {
	for name, want := range map[string]struct {
		elem              devices.DType
		lanes, size, algn int
	}{
		"float": {devices.Float32, 1, 4, 4}, "float32": {devices.Float32, 1, 4, 4}, "uchar": {devices.Uint8, 1, 1, 1},
		"float3": {devices.Float32, 3, 16, 16}, "double16": {devices.Float64, 16, 128, 128}, "half2": {devices.Float16, 2, 4, 4},
		"char3": {devices.Int8, 3, 4, 4}, "ulong": {devices.Uint64, 1, 8, 8}, "bool": {devices.Bool, 1, 1, 1},
	} {
		got, ok := ParseType(name)
		if !ok || got.Elem != want.elem || got.Lanes != want.lanes || got.Size != want.size || got.Align != want.algn {
			t.Errorf("%s: %+v, want %+v", name, got, want)
		}
	}
	for _, name := range []string{"", "float5", "bool2", "Float", "int 4", "probe_t"} {
		if got, ok := ParseType(name); ok {
			t.Errorf("%q is read as %v", name, got)
		}
	}
}

func probe() Type {
	return Struct("probe_t", false,
		Field{Name: "id", Type: Scalar(devices.Int32)}, Field{Name: "origin", Type: Vector(devices.Float32, 3)},
		Field{Name: "flag", Type: Scalar(devices.Uint8)}, Field{Name: "stamp", Type: Scalar(devices.Int64)})
}

func offsets(typ Type) string {
	var s []string
	for _, f := range typ.Fields {
		s = append(s, fmt.Sprint(f.Offset))
	}
	return fmt.Sprintf("%s of %d/%d", strings.Join(s, " "), typ.Size, typ.Align)
}

func TestStruct(t *testing.T) {
	if got := offsets(probe()); got != "0 16 32 40 of 48/16" {
		t.Error(got)
	}
	fields := probe().Fields
	if got := offsets(Struct("p", true, fields...)); got != "0 4 20 21 of 29/1" {
		t.Errorf("packed: %s", got)
	}
	outer := Struct("o", false, Field{Name: "c", Type: Scalar(devices.Int8)}, Field{Name: "p", Type: probe(), Count: 2},
		Field{Name: "m", Type: Scalar(devices.Float16), Count: 3})
	if got := offsets(outer); got != "0 16 112 of 128/16" {
		t.Errorf("nested: %s", got)
	}
}

func TestEncode(t *testing.T) {
	bytes := func(n int, set map[int]any) []byte {
		b := make([]byte, n)
		for at, v := range set {
			if _, err := binary.Encode(b[at:], binary.NativeEndian, v); err != nil {
				t.Fatal(err)
			}
		}
		return b
	}
	for _, c := range []struct {
		typ  Type
		v    any
		want []byte
	}{
		{Scalar(devices.Int32), -7, bytes(4, map[int]any{0: int32(-7)})},
		{Scalar(devices.Uint8), 255.0, []byte{255}},
		{Scalar(devices.Uint64), uint64(math.MaxUint64), bytes(8, map[int]any{0: uint64(math.MaxUint64)})},
		{Scalar(devices.Uint64), 0x1p63, bytes(8, map[int]any{0: uint64(1) << 63})},
		{Scalar(devices.Int64), int64(math.MinInt64), bytes(8, map[int]any{0: int64(math.MinInt64)})},
		{Scalar(devices.Int16), uint8(9), bytes(2, map[int]any{0: int16(9)})},
		{Scalar(devices.Bool), true, []byte{1}},
		{Scalar(devices.Float32), 0.1, bytes(4, map[int]any{0: float32(0.1)})},
		{Scalar(devices.Float64), 3, bytes(8, map[int]any{0: 3.0})},
		{Scalar(devices.Float16), float32(2), bytes(2, map[int]any{0: uint16(0x4000)})},
		{Vector(devices.Float32, 3), []float64{1.5, 2.5, 3.5}, bytes(16, map[int]any{0: []float32{1.5, 2.5, 3.5}})},
		{Vector(devices.Int32, 4), 7, bytes(16, map[int]any{0: []int32{7, 7, 7, 7}})},
		{Vector(devices.Uint8, 2), [2]int{1, 2}, []byte{1, 2}},
		{Vector(devices.Int8, 2), []any{1, -1.0}, []byte{1, 255}},
		{probe(), []FieldValue{{"id", "int", 7}, {"origin", "float3", []any{1.5, 2.5, 3.5}}, {"flag", "", 9}, {"stamp", "long", int64(1234567890123)}},
			bytes(48, map[int]any{0: int32(7), 16: []float32{1.5, 2.5, 3.5}, 32: uint8(9), 40: int64(1234567890123)})},
		{Struct("a", false, Field{Name: "v", Type: Scalar(devices.Int16), Count: 3}), []FieldValue{{Name: "v", Value: []int{1, 2, 3}}},
			bytes(6, map[int]any{0: []int16{1, 2, 3}})},
	} {
		got, err := c.typ.Encode(c.v)
		if err != nil || string(got) != string(c.want) {
			t.Errorf("%s of %v: % x, %v, want % x", c.typ, c.v, got, err, c.want)
		}
	}
	for _, c := range []struct {
		typ  Type
		v    any
		want string
	}{
		{Scalar(devices.Uint8), 256, "256 does not fit in uchar"},
		{Scalar(devices.Uint8), -1, "-1 does not fit in uchar"},
		{Scalar(devices.Int8), 128, "128 does not fit in char"},
		{Scalar(devices.Int32), 1.5, "1.5 does not fit in int"},
		{Scalar(devices.Int32), math.NaN(), "NaN does not fit in int"},
		{Scalar(devices.Int64), uint64(1) << 63, "9223372036854775808 does not fit in long"},
		{Scalar(devices.Uint64), 0x1p64, "does not fit in ulong"},
		{Scalar(devices.Uint64), -1, "-1 does not fit in ulong"},
		{Scalar(devices.Bool), 2, "2 does not fit in bool"},
		{Scalar(devices.Float32), "1", `1 (string) is no number`},
		{Scalar(devices.Int32), nil, "is no number"},
		{Vector(devices.Float32, 3), []int{1, 2}, "2 values for float3, want 3"},
		{Vector(devices.Int8, 2), []int{1, 300}, "lane 1: 300 does not fit in char"},
		{Vector(devices.Int8, 2), nil, "is no number"},
		{probe(), 3, "3 for struct probe_t, want its fields"},
		{probe(), []FieldValue{{Name: "id"}}, "got 1 of the 4 fields of struct probe_t, which are id, origin, flag, stamp"},
		{probe(), []FieldValue{{"origin", "", 1}, {}, {}, {}}, `field 0 of struct probe_t is "id", got "origin"`},
		{probe(), []FieldValue{{"id", "uint", 1}, {}, {}, {}}, `field "id" of struct probe_t is int, got uint`},
		{probe(), []FieldValue{{"id", "", "x"}, {}, {}, {}}, `field "id" of struct probe_t: x (string) is no number`},
		{Struct("a", false, Field{Name: "v", Type: Scalar(devices.Int16), Count: 3}), []FieldValue{{Name: "v", Value: 1}}, "want a list of 3"},
	} {
		if _, err := c.typ.Encode(c.v); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s of %v: %v, want %q", c.typ, c.v, err, c.want)
		}
	}
}
