package cudasrc

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/devices/cuda/nvrtc"
	"github.com/tandemrun/tandem/devices/devicetest"
	"github.com/tandemrun/tandem/kernels/clc"
)

const kernelText = `#include <cuda_runtime_api_of_nobody.h>
#include "inc dir/params.h"
#if defined(__CUDACC__) && !defined(__OPENCL_VERSION__)
#define KERNEL extern "C" __global__
#else
#error not for this compiler
#endif
namespace mine { namespace inner {
enum class mode { slow, fast };
struct alignas(16) odd { float x; };
typedef struct { int id; float3 at; uchar4 rgba[2]; double weight; } probe;
extern __shared__ double scratch[];
__device__ double helper(int i) { return scratch[i]; }

template<class T> __global__ void __launch_bounds__(256) scale(T *x, T f) { extern __shared__ T tile[]; x[threadIdx.x] *= f; }
template __global__ void scale<float>(float *x, float f);
template __global__ void scale<unsigned>(unsigned int *x, unsigned f);

__global__ void __launch_bounds__(128, 2) step(const real *__restrict__ x, std::uint16_t y[], float4 f, unsigned long long int n, bool on, const probe p, mode m, void *raw = nullptr) {
  x[0]; (void)helper(3);
}
} }
__global__ void declared(int *x);
static __device__ int plain(int a, int b) { return a < b ? a : b; }
KERNEL void bare(uint3 *v, const volatile long *w) { v[0] = v[1]; }
`

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

func TestEntries(t *testing.T) {
	path := write(t, [2]string{"k.cu", kernelText}, [2]string{"inc dir/params.h", "#pragma once\nusing real = double;\n"})
	list, err := Entries(path, clc.Options{Defines: []clc.Define{{Name: "N", Value: "4"}}, Options: []string{"--use_fast_math"}})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"mine::inner::scale<float>(x rw float[], f float, tile local uchar[])",
		"mine::inner::scale<unsigned int>(x rw unsigned int[], f unsigned, tile local uchar[])",
		"mine::inner::step(x r double[], y rw uint16_t[], f float4, n unsigned long long int, on bool, p probe, m mode, raw rw void[], scratch local double[])",
		"bare(v rw uint3[], w r long[])",
	}
	if len(list) != len(want) {
		t.Fatalf("%d kernels, want %d", len(list), len(want))
	}
	for i, k := range list {
		if got := k.Signature(); got != want[i] {
			t.Errorf("kernel %d is\n%s, want\n%s", i, got, want[i])
		}
	}
	step := list[2]
	if p := step.Params[5].Type; p.Size != 32 || p.Align != 8 || len(p.Fields) != 4 || p.Fields[2].Offset != 16 || p.Fields[3].Offset != 24 {
		t.Errorf("probe is %+v", p)
	}
	if v := list[3].Params[0].Type; v.Size != 12 || v.Align != 4 || v.Lanes != 3 {
		t.Errorf("uint3 is %+v", v)
	}
	if p := step.Params[0].Pos; p.Line != 19 || p.Column != 73 || filepath.Base(p.File) != "k.cu" {
		t.Errorf("x stands at %v", p)
	}
	v := step.Variant(devices.LangCUDA)
	text := string(v.Source.Text)
	for _, w := range []string{"#define N 4\n", "#include <cuda_runtime_api_of_nobody.h>", "using real = double;", "#line 2 \""} {
		if strings.Count(text, w) != 1 {
			t.Errorf("the text holds %q %d times, want once:\n%s", w, strings.Count(text, w), text)
		}
	}
	if v.Entry != "mine::inner::step" || v.Source.Name != "k.cu" || len(v.Source.Options) != 1 || step.NoSplit == "" {
		t.Errorf("variant %+v, may be split: %q", v, step.NoSplit)
	}
	if k, err := Load(path, "bare", clc.Options{}); err != nil || k.Name != "bare" {
		t.Errorf("bare: %v", err)
	}
}

func TestFaults(t *testing.T) {
	for _, c := range []struct{ text, entry, words string }{
		{"__device__ void f(int *x) {}", "", "holds no kernel"},
		{"template<class T> __global__ void f(T *x) {}", "", "of the template f the source makes no instance"},
		{"__global__ void f(int *x) {}\n__global__ void g(int *x) {}", "", "several kernels, name one of them: f, g"},
		{"__global__ void f(int *x) {}\n__global__ void scale(int *x) {}", "scael", `did you mean "scale"?`},
		{"__global__ void f(int *x) {}\n\n__global__ void f(float *x, int n) {}", "f", "k.cu:3:26: kernel f is overloaded, and its name does not say which one is meant: f(x rw int[]) (line 1), f(x rw float[], n int) (line 3)"},
		{"\n__global__ void f(int *x, struct thing t) {}", "", "k.cu:2:40: kernel f: parameter \"t\" is of type thing, whose layout is not known"},
		{"__global__ void f(int &x) {}", "", "\"x\" is a reference"},
		{"__global__ void f(float **x) {}", "", "pointer to a pointer"},
		{"__global__ void f(cudaTextureObject_t t) {}", "", "a texture or surface"},
		{"__global__ void f(int (*g)(int)) {}", "", "is a function"},
		{"__global__ void f(int x, float x) {}", "", "is there twice"},
		{"\n#include \"absent.h\"\n", "", `k.cu:2:1: cannot find the included file "absent.h"`},
		{"void f() {\x00}", "", "no text"},
	} {
		path := write(t, [2]string{"k.cu", c.text})
		_, err := Load(path, c.entry, clc.Options{})
		if _, ok := errors.AsType[*clc.Error](err); !ok || !strings.Contains(err.Error(), c.words) {
			t.Errorf("%q: %v, want %q", c.text, err, c.words)
		}
	}
	if _, err := Load("absent.cu", "", clc.Options{}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
}

// TestCompiles: the text is what NVRTC takes, and its kernels have the names
// that were read.
func TestCompiles(t *testing.T) {
	l, err := nvrtc.Open(nvrtc.Options{CacheDir: t.TempDir()})
	devicetest.Require(t, "nvrtc", err)
	text := strings.Replace(kernelText, "#include <cuda_runtime_api_of_nobody.h>\n#include \"inc dir/params.h\"\n", "typedef double real;\nnamespace std { typedef unsigned short uint16_t; }\n", 1)
	text = strings.Replace(text, "extern __shared__ T tile[]; ", "", 1)
	list, err := Parse("k.cu", []byte(text), clc.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, k := range list {
		names = append(names, k.Name)
	}
	src := list[0].Variants[0].Source
	res, err := l.Compile(nvrtc.Request{Name: src.Name, Text: string(src.Text), Arch: 75, Options: src.Options, Names: names})
	if err != nil {
		t.Fatalf("%+v", err)
	}
	for _, n := range names {
		if !strings.Contains(string(res.Image), ".entry "+res.Lowered[n]+"(") {
			t.Errorf("the PTX has no entry for %s (%s)", n, res.Lowered[n])
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(kernelText)
	f.Add("template __global__ void f<g<int>>(a::b<1>*, int[], struct s {int x;} y); typedef struct { int a[3], b; } t; enum { A };")
	f.Fuzz(func(t *testing.T, text string) {
		list, err := Parse("k.cu", []byte(text), clc.Options{})
		if err == nil && len(list) == 0 {
			t.Error("neither kernels nor an error")
		}
		for _, k := range list {
			for _, p := range k.Params {
				if p.Type.Size < 0 || p.Type.Align < 1 {
					t.Errorf("%s: %+v", k.Signature(), p.Type)
				}
			}
		}
	})
}
