package library

import (
	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/kernels"
)

// An element is an element type that kernels are made for.
type element struct {
	suffix string // of the kernel's name
	word   string // in a kernel's doc line
	dtype  devices.DType
	needs  kernels.Needs
}

func float32s() element { return element{dtype: devices.Float32, word: "float32"} }

func float64s() element {
	why := &kernels.Reason{Pos: kernels.Pos{File: "kernels/library"}, Text: "the elements are double"}
	return element{suffix: ".f64", dtype: devices.Float64, word: "float64", needs: kernels.Needs{FP64: why}}
}

func int32s() element { return element{suffix: ".i32", dtype: devices.Int32, word: "int32"} }

func int64s() element { return element{suffix: ".i64", dtype: devices.Int64, word: "int64"} }

// number are the Go types of the elements.
type number interface {
	float32 | float64 | int32 | int64
}

// real are the floating-point ones.
type real interface {
	float32 | float64
}
