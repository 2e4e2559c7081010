package library

import (
	"embed"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/kernels"
)

//go:embed cl/*.cl
var clFiles embed.FS

// clSource is an embedded OpenCL C file with definitions before it: the types
// that the file is a template of. Kernels of one file and one prelude share
// the source, so that a device builds it once.
func clSource(file, prelude string) *devices.Source {
	text, err := clFiles.ReadFile("cl/" + file)
	if err != nil {
		panic(err) // the file's name is written in this package
	}
	full := prelude + "#line 1 \"" + file + "\"\n" + string(text)
	return &devices.Source{Name: file, Language: devices.LangOpenCL, Text: []byte(full)}
}

// variants pairs a kernel's Go function with its OpenCL C entry point.
func variants(f devices.GoFunc, cl *devices.Source, entry string, needs kernels.Needs) []kernels.Variant {
	goSource := &devices.Source{
		Name:     entry + ".go",
		Language: devices.LangGo,
		Go:       map[string]devices.GoFunc{entry: f},
	}
	return []kernels.Variant{
		{Language: devices.LangGo, Source: goSource, Entry: entry},
		{Language: devices.LangOpenCL, Source: cl, Entry: entry, Needs: needs},
	}
}

// OpenCL C definitions of the element types and of their vectors: V is WIDTH of
// them, 32 bytes, which processors have registers for and compilers no warnings.
// Integers are added and multiplied
// as unsigned numbers: the same bits, and no overflow that C leaves undefined.
const (
	defFloat  = "#define T float\n#define V float8\n" + defEight
	defDouble = "#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n#define T double\n#define V double4\n" + defFour
	defInt    = "#define T uint\n"

	defEight = "#define WIDTH 8\n#define VLOAD vload8\n#define VSTORE vstore8\n"
	defFour  = "#define WIDTH 4\n#define VLOAD vload4\n#define VSTORE vstore4\n"
)
