package syclsrc

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/kernels/clc"
	"github.com/tandemrun/tandem/kernels/library"
)

// write makes files in a folder and returns the first one's path.
func write(t *testing.T, files ...[2]string) string {
	t.Helper()
	dir := t.TempDir()
	for _, f := range files {
		path := filepath.Join(dir, f[0])
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(f[1]), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(dir, files[0][0])
}

const kernelText = `#include <sycl/sycl.hpp>
#include "inc dir/params.h"
#include "inc dir/params.h"
#include <mine.h>
/*
#include "nowhere.h"
*/
extern "C" SYCL_EXT_ONEAPI_FUNCTION_PROPERTY((sycl::ext::oneapi::experimental::nd_range_kernel<DIMS>))
void scale(const float *x, std::uint16_t *y, sycl::float3 f, sycl::vec<int, 2> g, real a, sycl::local_accessor<double, 1> tmp) {}
`

func TestLoad(t *testing.T) {
	path := write(t, [2]string{"k.cpp", kernelText}, [2]string{"inc dir/params.h", "#pragma once\ntypedef double real;\n"},
		[2]string{"more/mine.h", "#define MINE 1\n"})
	o := clc.Options{Include: []string{filepath.Join(filepath.Dir(path), "more")}, Defines: []clc.Define{{Name: "DIMS", Value: "1"}}, Options: []string{"-ffast-math"}}
	k, err := Load(path, "", o)
	if err != nil {
		t.Fatal(err)
	}
	want := "scale(x r float[], y rw std::uint16_t[], f sycl::float3, g sycl::vec<int, 2>, a double, tmp local double[])"
	if got := k.Signature(); got != want {
		t.Errorf("signature %s, want %s", got, want)
	}
	if f := k.Params[2].Type; f.Size != 16 || f.Lanes != 3 || f.Elem != devices.Float32 {
		t.Errorf("float3 is %+v", f)
	}
	v := k.Variant(devices.LangSYCL)
	text := string(v.Source.Text)
	for _, w := range []string{"#define DIMS 1\n", "#include <sycl/sycl.hpp>", "typedef double real;", "#define MINE 1", "#line 3 \""} {
		if strings.Count(text, w) != 1 {
			t.Errorf("the text holds %q %d times, want once:\n%s", w, strings.Count(text, w), text)
		}
	}
	if v.Entry != "scale" || v.Source.Name != "k.cpp" || len(v.Source.Options) != 1 || k.NoSplit == "" {
		t.Errorf("variant %+v, may be split: %q", v, k.NoSplit)
	}
}

func TestLoadFaults(t *testing.T) {
	const property = "SYCL_EXT_ONEAPI_FUNCTION_PROPERTY((syclexp::nd_range_kernel<1>)) "
	for _, c := range []struct{ text, entry, words string }{
		{"void f(int *x) {}", "", "it has no kernel"},
		{"void f(int *x) {}", "", "without that it has f"},
		{property + "void f(int *x) {}\n" + property + "void g(int *x) {}", "", "2 kernels (f, g): name one"},
		{property + "void f(int *x) {}\n" + property + "void scale(int *x) {}", "scael", `is "scale" meant?`},
		{"\n\n" + property + "void f(int *x, struct thing t) {}", "", "the layout of the type struct thing is not known"},
		{property + "void f(int &x) {}", "", "only pointers"},
		{"\n#include \"absent.h\"\n", "", `k.cpp:2: cannot find the included file "absent.h"`},
		{"void f() {\x00}", "", "no text"},
	} {
		_, err := Load(write(t, [2]string{"k.cpp", c.text}), c.entry, clc.Options{})
		if _, ok := errors.AsType[*clc.Error](err); !ok || !strings.Contains(err.Error(), c.words) {
			t.Errorf("%q: %v, want %q", c.text, err, c.words)
		}
	}
	if _, err := Load("absent.cpp", "", clc.Options{}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
}

// TestBuiltin: a variant takes what the kernel's others take.
func TestBuiltin(t *testing.T) {
	for _, k := range []string{"linalg.gemm", "image.blur"} {
		v, err := Builtin(k)
		if err != nil {
			t.Fatal(err)
		}
		list, err := Parse(v.Source.Name, v.Source.Text, clc.Options{})
		if err != nil {
			t.Fatal(err)
		}
		own, err := library.Lookup(k)
		if err != nil {
			t.Fatal(err)
		}
		if len(list) != 1 || list[0].Name != v.Entry || len(list[0].Params) != len(own.Params) {
			t.Fatalf("%s: %v", k, list)
		}
		for i, p := range list[0].Params {
			if w := own.Params[i]; p.Name != w.Name || p.Kind != w.Kind || p.Type.Size != w.Type.Size || p.Type.Elem != w.Type.Elem {
				t.Errorf("%s: parameter %d is %v, want %v", k, i, p, w)
			}
		}
	}
	if _, err := Builtin("vector.add"); !errors.Is(err, devices.ErrUnsupported) {
		t.Errorf("vector.add: %v", err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(kernelText)
	f.Fuzz(func(t *testing.T, text string) {
		list, err := Parse("k.cpp", []byte(text), clc.Options{})
		if (err == nil) != (len(list) > 0) {
			t.Errorf("%d kernels and error %v", len(list), err)
		}
	})
}
