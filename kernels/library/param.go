package library

import (
	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/kernels"
)

func array(mode kernels.Access, name string, d devices.DType, band kernels.BandFunc, doc string) kernels.Param {
	return kernels.Param{Name: name, Kind: kernels.Buffer, Type: kernels.Scalar(d), Mode: mode, Band: band, Doc: doc}
}

// in, out and inout are array parameters that are read, written, and both.
func in(name string, d devices.DType, band kernels.BandFunc, doc string) kernels.Param {
	return array(kernels.Read, name, d, band, doc)
}

func out(name string, d devices.DType, band kernels.BandFunc, doc string) kernels.Param {
	return array(kernels.Write, name, d, band, doc)
}

func inout(name string, d devices.DType, band kernels.BandFunc, doc string) kernels.Param {
	return array(kernels.ReadWrite, name, d, band, doc)
}

// value is a number that the caller gives; def nil: has to.
func value(name string, d devices.DType, def any, doc string) kernels.Param {
	return kernels.Param{Name: name, Kind: kernels.Value, Type: kernels.Scalar(d), Default: def, Doc: doc}
}

// implied is a number that Infer computes from the shapes.
func implied(name string, d devices.DType, doc string) kernels.Param {
	return kernels.Param{Name: name, Kind: kernels.Value, Type: kernels.Scalar(d), Implied: true, Doc: doc}
}
