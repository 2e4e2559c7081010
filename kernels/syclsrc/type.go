package syclsrc

import (
	"strconv"
	"strings"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/kernels"
)

// scalars are the names of scalar types in C++, without std:: and sycl::. long
// is 64 bits wide wherever a SYCL runtime for Linux is.
var scalars = map[string]devices.DType{
	"bool": devices.Bool,
	"char": devices.Int8, "signed char": devices.Int8, "int8_t": devices.Int8, "schar": devices.Int8,
	"unsigned char": devices.Uint8, "uint8_t": devices.Uint8, "uchar": devices.Uint8, "byte": devices.Uint8,
	"short": devices.Int16, "short int": devices.Int16, "int16_t": devices.Int16,
	"unsigned short": devices.Uint16, "unsigned short int": devices.Uint16, "uint16_t": devices.Uint16, "ushort": devices.Uint16,
	"int": devices.Int32, "signed": devices.Int32, "signed int": devices.Int32, "int32_t": devices.Int32,
	"unsigned": devices.Uint32, "unsigned int": devices.Uint32, "uint32_t": devices.Uint32, "uint": devices.Uint32,
	"long": devices.Int64, "long int": devices.Int64, "long long": devices.Int64, "long long int": devices.Int64, "int64_t": devices.Int64, "ptrdiff_t": devices.Int64,
	"unsigned long": devices.Uint64, "unsigned long int": devices.Uint64, "unsigned long long": devices.Uint64, "uint64_t": devices.Uint64, "size_t": devices.Uint64, "ulong": devices.Uint64,
	"half": devices.Float16, "float": devices.Float32, "double": devices.Float64,
}

// bare takes the namespaces off a name.
func bare(name string) string {
	for _, prefix := range []string{"::", "std::", "sycl::", "cl::sycl::"} {
		name = strings.TrimPrefix(name, prefix)
	}
	return strings.TrimSpace(name)
}

// arguments are the template arguments of a type: of "sycl::vec<float, 4>"
// "float" and "4".
func arguments(typ string) []string {
	_, rest, ok := strings.Cut(typ, "<")
	if !ok {
		return nil
	}
	var list []string
	for a := range strings.SplitSeq(strings.TrimSuffix(strings.TrimSpace(rest), ">"), ",") {
		list = append(list, strings.TrimSpace(a))
	}
	return list
}

// argument is the first template argument.
func argument(typ string) string {
	if list := arguments(typ); len(list) > 0 {
		return list[0]
	}
	return typ
}

// typeOf is the layout of a scalar or a vector.
func typeOf(typ string) (kernels.Type, bool) {
	named := func(t kernels.Type) (kernels.Type, bool) {
		t.Name = typ
		return t, true
	}
	if d, ok := scalars[bare(typ)]; ok {
		return named(kernels.Scalar(d))
	}
	base, _, _ := strings.Cut(bare(typ), "<")
	if base == "vec" {
		list := arguments(typ)
		if len(list) != 2 {
			return kernels.Type{}, false
		}
		d, ok := scalars[bare(list[0])]
		lanes, err := strconv.Atoi(list[1])
		if !ok || err != nil || !lanesOK(lanes) {
			return kernels.Type{}, false
		}
		return named(kernels.Vector(d, lanes))
	}
	name := strings.TrimRight(base, "0123456789")
	lanes, err := strconv.Atoi(base[len(name):])
	if d, ok := scalars[name]; ok && err == nil && lanesOK(lanes) {
		return named(kernels.Vector(d, lanes))
	}
	return kernels.Type{}, false
}

func lanesOK(n int) bool { return n == 2 || n == 3 || n == 4 || n == 8 || n == 16 }
