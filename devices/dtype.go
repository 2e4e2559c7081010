package devices

import (
	"reflect"
	"strings"
)

// DType is the type of one array element.
type DType uint8

// The element types.
const (
	NoType DType = iota
	Bool
	Int8
	Int16
	Int32
	Int64
	Uint8
	Uint16
	Uint32
	Uint64
	Float16
	Float32
	Float64
)

var dtypes = [...]struct {
	name string
	size int
}{
	{"none", 0}, {"bool", 1}, {"int8", 1}, {"int16", 2}, {"int32", 4}, {"int64", 8},
	{"uint8", 1}, {"uint16", 2}, {"uint32", 4}, {"uint64", 8}, {"float16", 2}, {"float32", 4}, {"float64", 8},
}

func (t DType) String() string { return dtypes[t].name }

// Size is the element's size in bytes.
func (t DType) Size() int { return dtypes[t].size }

// Float reports whether t is a floating-point type.
func (t DType) Float() bool { return t >= Float16 }

// Signed reports whether t is a signed integer type.
func (t DType) Signed() bool { return t >= Int8 && t <= Int64 }

// ParseDType finds a type by its numpy name.
func ParseDType(s string) (DType, bool) {
	for i, d := range dtypes {
		if i > 0 && d.name == strings.ToLower(s) {
			return DType(i), true
		}
	}
	return NoType, false
}

// DTypeNames are the names that ParseDType takes.
func DTypeNames() []string {
	var names []string
	for _, d := range dtypes[1:] {
		names = append(names, d.name)
	}
	return names
}

// DTypeOf is the element type of T, also of a named one such as `type pixel uint8`.
func DTypeOf[T Number]() DType {
	t := reflect.TypeFor[T]()
	switch k := t.Kind(); {
	case k == reflect.Float32:
		return Float32
	case k == reflect.Float64:
		return Float64
	case k >= reflect.Int && k <= reflect.Int64:
		return map[uintptr]DType{1: Int8, 2: Int16, 4: Int32, 8: Int64}[t.Size()]
	default:
		return map[uintptr]DType{1: Uint8, 2: Uint16, 4: Uint32, 8: Uint64}[t.Size()]
	}
}
