package syclsrc

import (
	"embed"
	"fmt"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/kernels"
)

//go:embed cpp/*.cpp
var files embed.FS

// builtins are the built-in kernels that there is SYCL C++ of, by file and
// entry point.
var builtins = map[string][2]string{
	"linalg.gemm": {"gemm.cpp", "linalg_gemm"},
	"image.blur":  {"blur.cpp", "image_blur"},
}

// Builtin is a variant in SYCL C++ of the built-in kernel of that name, with the
// parameters and the range of its other variants. Which ones there are:
// linalg.gemm, image.blur; any other is ErrUnsupported.
func Builtin(name string) (kernels.Variant, error) {
	at, ok := builtins[name]
	if !ok {
		return kernels.Variant{}, fmt.Errorf("there is no %s in SYCL C++: %w", name, devices.ErrUnsupported)
	}
	text, err := files.ReadFile("cpp/" + at[0])
	if err != nil {
		panic(err) // the file's name is written in this package
	}
	src := &devices.Source{Name: at[0], Language: devices.LangSYCL, Text: append([]byte("#line 1 \""+at[0]+"\"\n"), text...)}
	return kernels.Variant{Language: devices.LangSYCL, Source: src, Entry: at[1]}, nil
}
