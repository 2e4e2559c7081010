package kernels

import (
	"encoding/binary"
	"fmt"
	"math"
	"reflect"
	"strings"

	"github.com/tandemrun/tandem/devices"
)

// Type is the type of an element or a value as a device lays it out: a scalar,
// a vector of 2, 3, 4, 8 or 16 lanes, or a struct. Sizes and alignments follow
// OpenCL C 1.2, section 6.1.5: a vector is aligned to its size, and one of 3
// lanes takes the room of 4.
type Type struct {
	Name   string        // as written in the source: "float3", "probe_t"
	Elem   devices.DType // of a lane; NoType for a struct
	Lanes  int           // 1: a scalar
	Fields []Field       // of a struct
	Size   int           // bytes, padding included
	Align  int           // bytes
}

// Field is a field of a struct.
type Field struct {
	Name   string
	Type   Type
	Count  int // length of an array field; 0: no array
	Offset int // bytes
}

func (t Type) String() string {
	if t.Name != "" {
		return t.Name
	}
	if t.Lanes > 1 {
		return fmt.Sprintf("%sx%d", t.Elem, t.Lanes)
	}
	return t.Elem.String()
}

// IsStruct reports whether t is a struct.
func (t Type) IsStruct() bool { return len(t.Fields) > 0 || (t.Elem == devices.NoType && t.Size > 0) }

// Scalar is the type of one number.
func Scalar(d devices.DType) Type {
	return Type{Name: clNames[d], Elem: d, Lanes: 1, Size: d.Size(), Align: d.Size()}
}

// Vector is the type of a vector.
func Vector(d devices.DType, lanes int) Type {
	room := lanes
	if lanes == 3 {
		room = 4
	}
	size := room * d.Size()
	return Type{Name: fmt.Sprintf("%s%d", clNames[d], lanes), Elem: d, Lanes: lanes, Size: size, Align: size}
}

// Struct lays fields out in order, each at its natural alignment (or packed,
// without any padding), and pads the end.
func Struct(name string, packed bool, fields ...Field) Type {
	t := Type{Name: name, Align: 1}
	for _, f := range fields {
		align := f.Type.Align
		if packed {
			align = 1
		}
		t.Size = (t.Size + align - 1) / align * align
		f.Offset = t.Size
		t.Size += f.Type.Size * max(f.Count, 1)
		t.Align = max(t.Align, align)
		t.Fields = append(t.Fields, f)
	}
	t.Size = (t.Size + t.Align - 1) / t.Align * t.Align
	return t
}

// clNames are OpenCL C's names of the scalar types.
var clNames = map[devices.DType]string{
	devices.Bool: "bool", devices.Int8: "char", devices.Int16: "short", devices.Int32: "int", devices.Int64: "long",
	devices.Uint8: "uchar", devices.Uint16: "ushort", devices.Uint32: "uint", devices.Uint64: "ulong",
	devices.Float16: "half", devices.Float32: "float", devices.Float64: "double",
}

// ParseType reads the name of a scalar or vector type, in OpenCL C's words
// ("uint", "float3") or numpy's ("uint32").
func ParseType(name string) (Type, bool) {
	if d, ok := devices.ParseDType(name); ok {
		return Scalar(d), true
	}
	for d, cl := range clNames {
		if name == cl {
			return Scalar(d), true
		}
		for _, lanes := range []int{2, 3, 4, 8, 16} {
			if name == fmt.Sprintf("%s%d", cl, lanes) && d != devices.Bool {
				return Vector(d, lanes), true
			}
		}
	}
	return Type{}, false
}

// FieldValue is the value of one field of a struct given by fields, in order.
// Type, where not empty, has to be the field's.
type FieldValue struct {
	Name  string
	Type  string
	Value any
}

// Encode lays v out as the device takes it. For a scalar v is any Go number
// (or bool), for a vector a slice with one number per lane or a single number
// for all lanes, for a struct a []FieldValue. A number that the type cannot
// hold exactly as an integer is an error; a float is rounded to the type.
func (t Type) Encode(v any) ([]byte, error) {
	b := make([]byte, t.Size)
	return b, t.encode(b, v)
}

func (t Type) encode(b []byte, v any) error {
	switch {
	case t.IsStruct():
		return t.encodeStruct(b, v)
	case t.Lanes > 1:
		rv := reflect.ValueOf(v)
		if rv.Kind() != reflect.Slice && rv.Kind() != reflect.Array {
			for i := range t.Lanes {
				if err := encodeNumber(b[i*t.Elem.Size():], t.Elem, v); err != nil {
					return err
				}
			}
			return nil
		}
		if rv.Len() != t.Lanes {
			return fmt.Errorf("%d values for %s, want %d", rv.Len(), t, t.Lanes)
		}
		for i := range t.Lanes {
			if err := encodeNumber(b[i*t.Elem.Size():], t.Elem, rv.Index(i).Interface()); err != nil {
				return fmt.Errorf("lane %d: %w", i, err)
			}
		}
		return nil
	default:
		return encodeNumber(b, t.Elem, v)
	}
}

func (t Type) encodeStruct(b []byte, v any) error {
	fields, ok := v.([]FieldValue)
	if !ok {
		return fmt.Errorf("%v for struct %s, want its fields", v, t)
	}
	if len(fields) != len(t.Fields) {
		var names []string
		for _, f := range t.Fields {
			names = append(names, f.Name)
		}
		return fmt.Errorf("got %d of the %d fields of struct %s, which are %s", len(fields), len(t.Fields), t, strings.Join(names, ", "))
	}
	for i, f := range t.Fields {
		g := fields[i]
		if g.Name != f.Name {
			return fmt.Errorf("field %d of struct %s is %q, got %q", i, t, f.Name, g.Name)
		}
		if g.Type != "" && g.Type != f.Type.Name {
			if gt, ok := ParseType(g.Type); !ok || gt.Elem != f.Type.Elem || gt.Lanes != f.Type.Lanes {
				return fmt.Errorf("field %q of struct %s is %s, got %s", f.Name, t, f.Type, g.Type)
			}
		}
		if err := f.encode(b[f.Offset:], g.Value); err != nil {
			return fmt.Errorf("field %q of struct %s: %w", f.Name, t, err)
		}
	}
	return nil
}

func (f Field) encode(b []byte, v any) error {
	if f.Count == 0 {
		return f.Type.encode(b[:f.Type.Size], v)
	}
	rv := reflect.ValueOf(v)
	if rv.Kind() != reflect.Slice || rv.Len() != f.Count {
		return fmt.Errorf("want a list of %d", f.Count)
	}
	for i := range f.Count {
		if err := f.Type.encode(b[i*f.Type.Size:][:f.Type.Size], rv.Index(i).Interface()); err != nil {
			return fmt.Errorf("[%d]: %w", i, err)
		}
	}
	return nil
}

// encodeNumber writes v into b as a d.
func encodeNumber(b []byte, d devices.DType, v any) error {
	rv := reflect.ValueOf(v)
	bad := func() error { return fmt.Errorf("%v does not fit in %s", v, clNames[d]) }
	if d.Float() {
		var f float64
		switch {
		case rv.CanFloat():
			f = rv.Float()
		case rv.CanInt():
			f = float64(rv.Int())
		case rv.CanUint():
			f = float64(rv.Uint())
		default:
			return fmt.Errorf("%v (%T) is no number", v, v)
		}
		switch d {
		case devices.Float64:
			binary.NativeEndian.PutUint64(b, math.Float64bits(f))
		case devices.Float32:
			binary.NativeEndian.PutUint32(b, math.Float32bits(float32(f)))
		default:
			binary.NativeEndian.PutUint16(b, HalfFromFloat(f))
		}
		return nil
	}
	var i int64
	var u uint64 // the value itself where it is above the range of int64
	switch {
	case rv.Kind() == reflect.Bool:
		if rv.Bool() {
			i = 1
		}
	case rv.CanInt():
		i = rv.Int()
	case rv.CanUint():
		if u = rv.Uint(); u <= math.MaxInt64 {
			i, u = int64(u), 0
		}
	case rv.CanFloat():
		f := rv.Float()
		switch {
		case f != math.Trunc(f) || math.IsInf(f, 0) || math.IsNaN(f):
			return bad()
		case f >= -0x1p63 && f < 0x1p63:
			i = int64(f)
		case f >= 0 && f < 0x1p64:
			u = uint64(f)
		default:
			return bad()
		}
	default:
		return fmt.Errorf("%v (%T) is no number", v, v)
	}
	bits := uint(d.Size() * 8)
	switch {
	case u != 0:
		if d != devices.Uint64 {
			return bad()
		}
		i = int64(u)
	case d == devices.Bool:
		if i != 0 && i != 1 {
			return bad()
		}
	case d.Signed():
		if i < -1<<(bits-1) || i > 1<<(bits-1)-1 {
			return bad()
		}
	case i < 0 || (bits < 64 && i > 1<<bits-1):
		return bad()
	}
	switch bits {
	case 8:
		b[0] = byte(i)
	case 16:
		binary.NativeEndian.PutUint16(b, uint16(i))
	case 32:
		binary.NativeEndian.PutUint32(b, uint32(i))
	default:
		binary.NativeEndian.PutUint64(b, uint64(i))
	}
	return nil
}

// decodeInt reads an integer scalar back.
func (t Type) decodeInt(b []byte) (int64, bool) {
	if t.Lanes != 1 || t.Elem.Float() || len(b) != t.Size {
		return 0, false
	}
	switch t.Elem {
	case devices.Int8:
		return int64(int8(b[0])), true
	case devices.Int16:
		return int64(int16(binary.NativeEndian.Uint16(b))), true
	case devices.Int32:
		return int64(int32(binary.NativeEndian.Uint32(b))), true
	case devices.Uint16:
		return int64(binary.NativeEndian.Uint16(b)), true
	case devices.Uint32:
		return int64(binary.NativeEndian.Uint32(b)), true
	case devices.Int64, devices.Uint64:
		v := int64(binary.NativeEndian.Uint64(b))
		return v, t.Elem == devices.Int64 || v >= 0
	}
	return int64(b[0]), true
}

// HalfFromFloat rounds f to IEEE 754 binary16, ties to even.
func HalfFromFloat(f float64) uint16 {
	sign := uint16(0)
	if math.Signbit(f) {
		sign, f = 0x8000, -f
	}
	switch {
	case math.IsNaN(f):
		return sign | 0x7e00
	case f >= 65520: // halfway between the largest half and the next step
		return sign | 0x7c00
	case f < 0x1p-14: // subnormal: a multiple of 2^-24
		return sign | uint16(math.RoundToEven(f*0x1p24))
	}
	frac, exp := math.Frexp(f) // f = frac·2^exp, 0.5 ≤ frac < 1
	m := uint16(math.RoundToEven(frac * 0x1p11))
	// m is in [1024, 2048]; adding it carries into the exponent where it
	// rounded up to 2048.
	return sign | (uint16(exp+13)<<10 + m)
}

// FloatFromHalf is the value of an IEEE 754 binary16.
func FloatFromHalf(h uint16) float64 {
	exp, frac := int(h>>10&0x1f), float64(h&0x3ff)
	var f float64
	switch exp {
	case 0:
		f = math.Ldexp(frac, -24)
	case 0x1f:
		f = math.Inf(1)
		if frac != 0 {
			f = math.NaN()
		}
	default:
		f = math.Ldexp(1024+frac, exp-25)
	}
	if h&0x8000 != 0 {
		f = -f
	}
	return f
}
