package builtin

import (
	"embed"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/kernels"
)

//go:embed v/*.v
var files embed.FS

// source joins embedded files to one source. Kernels of one source are one
// image of a device.
func source(name string, parts ...string) *devices.Source {
	src := &devices.Source{Name: name, Language: devices.LangRTL}
	for _, part := range parts {
		text, err := files.ReadFile("v/" + part)
		if err != nil {
			panic(err) // the file's name is written in this package
		}
		src.Text = append(append(src.Text, "`line 1 \""+part+"\" 0\n"...), text...)
	}
	return src
}

// The images: the steps of an edge detector are one, so that a device runs all
// of them without loading another.
var (
	edges   = source("edges.v", "columns.v", "gray.v", "blur.v", "sobel.v", "threshold.v")
	conv    = source("conv3x3.v", "columns.v", "conv3x3.v")
	streams = source("streams.v", "saxpy.v", "histogram.v", "crc32.v", "fir.v", "matvec.v")
)

// entries are the modules, by kernel.
var entries = map[string]struct {
	src   *devices.Source
	entry string
}{
	"image.gray":       {edges, "image_gray"},
	"image.blur":       {edges, "image_blur"},
	"image.sobel":      {edges, "image_sobel"},
	"image.threshold":  {edges, "image_threshold"},
	"vector.saxpy.i32": {streams, "vector_saxpy"},
	"rtl.conv3x3":      {conv, "conv3x3"},
	"rtl.histogram":    {streams, "histogram"},
	"rtl.crc32":        {streams, "crc32"},
	"rtl.fir":          {streams, "fir"},
	"rtl.matvec":       {streams, "matvec"},
}

// Variant is the Verilog variant of a kernel of that name; false: there is
// none.
func Variant(name string) (kernels.Variant, bool) {
	e, ok := entries[name]
	if !ok {
		return kernels.Variant{}, false
	}
	return kernels.Variant{Language: devices.LangRTL, Source: e.src, Entry: e.entry}, true
}

// Extend is k with its Verilog variant behind the others, or k itself where
// there is none or k has one. k is not changed.
func Extend(k *kernels.Kernel) *kernels.Kernel {
	v, ok := Variant(k.Name)
	if !ok || k.Variant(devices.LangRTL) != nil {
		return k
	}
	n := *k
	n.Variants = append(append([]kernels.Variant{}, k.Variants...), v)
	return &n
}
