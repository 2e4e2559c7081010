package bridge

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/tandemrun/tandem/devices"
)

// TestRefused: what cannot be mapped is refused by name, at its line and
// column.
func TestRefused(t *testing.T) {
	const head, tail = "__kernel void f(__global float4 *x, __global int *y) {\n  ", "\n}\n"
	for body, want := range map[string]string{
		"x[0] = read_imagef(y, y, y);":                         "k.cl:2:10: read_imagef has no counterpart in CUDA C: images are not supported",
		"y[0] = sub_group_reduce_add(y[1]);":                   "k.cl:2:10: sub_group_reduce_add has no counterpart in CUDA C: the bridge has no sub-groups",
		"y[0] = work_group_reduce_add(y[1]);":                  "k.cl:2:10: work_group_reduce_add has no counterpart in CUDA C: write it with local memory",
		"y[0] = __builtin_clz(y[1]);":                          "k.cl:2:10: __builtin_clz has no counterpart in CUDA C: it belongs to another compiler",
		"printf(\"%d %v4f\\n\", 1, x[0]);":                     "k.cl:2:10: printf of a vector (%v) has no counterpart",
		"queue_t q;":                                           "k.cl:2:3: queue_t has no counterpart in CUDA C: kernels cannot enqueue kernels here",
		"again: y[0]++; goto again;":                           "k.cl:2:3: this cannot be translated: it has a label",
		"__local int a[4], *p; p = a; y[0] = *p;":              "k.cl:2:3: \"a\" and \"p\", a pointer and what is none, are declared together",
		"__local int *p, a[4]; p = a; y[0] = *p;":              "k.cl:2:3: \"p\" and \"a\", a pointer and what is none, are declared together",
		"int *p = (int[]){1, 2}; y[0] = *p;":                   "k.cl:2:12: a compound literal of an array is not mapped",
		"int g(int); y[0] = g(1);":                             "k.cl:2:7: function \"g\" is declared inside of another",
		"y[0] = unknown_thing(x[0]).lo;":                       "",
		"y[0] = mystery((__global int *)y + 1, y)->x;":         "k.cl:2:45: \"x\" may be lanes of a vector or a member of a struct",
		"x[0].xq = 1; ":                                        "k.cl:2:8: \"xq\" may be lanes of a vector or a member of a struct",
		"__attribute__((vec_type_hint(int))) int k = y[0]; k;": "",
	} {
		_, err := Translate(source(head + body + tail))
		ce, bad := errors.AsType[*devices.CompileError](err)
		switch {
		case want == "" && err != nil:
			t.Errorf("%q: %+v", body, err)
		case want != "" && (!bad || !errors.Is(err, devices.ErrInvalid)):
			t.Errorf("%q: %v, want a *devices.CompileError", body, err)
		case want != "" && !strings.Contains(ce.Log, strings.Replace(want, ": ", ": error: ", 1)):
			t.Errorf("%q: the log is\n%s, want %q", body, ce.Log, want)
		}
	}
}

// TestPartlyRefused: kernels that do not need what is refused stay usable, and
// functions that call what is refused go with it.
func TestPartlyRefused(t *testing.T) {
	p, err := Translate(source(`float4 sample(image2d_t i) { return (float4)(0); }
float helper(float v) { return v + sub_group_broadcast(v, 0); }
float outer(float v) { return helper(v); }
__kernel void bad(__global float *x) { x[0] = outer(1); }
__kernel void image(read_only image2d_t i, __global float4 *x) { x[0] = sample(i); }
__kernel void good(__global float *x) { x[get_global_id(0)] = 1; }
`))
	if err != nil {
		t.Fatalf("%+v", err)
	}
	if len(p.Kernels) != 1 || p.Kernels[0].Entry != "good" || p.Kernels[0].Symbol != "cl_good" {
		t.Errorf("kernels %+v", p.Kernels)
	}
	if err := p.Refused["bad"]; err == nil || !strings.Contains(err.Error(), "k.cl:2:36: sub_group_broadcast has no counterpart") {
		t.Errorf("bad: %v", err)
	}
	if err := p.Refused["image"]; err == nil || !strings.Contains(err.Error(), "image2d_t") {
		t.Errorf("image: %v", err)
	}
	for _, gone := range []string{"sub_group_broadcast", "image2d_t", "outer"} {
		if strings.Contains(p.Text, gone) {
			t.Errorf("%s is still in the text", gone)
		}
	}
	if _, err := p.Kernel("bad"); err == nil || !strings.Contains(err.Error(), "sub_group_broadcast") {
		t.Errorf("asking for bad: %v", err)
	}
	if _, err := p.Kernel("god"); !errors.Is(err, devices.ErrInvalid) || !strings.Contains(err.Error(), "only good") {
		t.Errorf("asking for what is not there: %v", err)
	}
}

func TestSourceFaults(t *testing.T) {
	for text, want := range map[string]string{
		"":                               "the source holds no kernel",
		"float f(float x) { return x; }": "the source holds no kernel",
		"#error stop here\n":             "k.cl:1:2: error: #error stop here",
		"#include \"absent.h\"\n__kernel void f() {}": "cannot find the included file",
		"__kernel void f(__global float *x) {":        "this \"{\" is not closed",
		"__kernel void f(size_t n) {}":                "size is not the same on every device",
	} {
		_, err := Translate(source(text))
		ce, bad := errors.AsType[*devices.CompileError](err)
		if !bad || !strings.Contains(ce.Log, want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

func TestOptions(t *testing.T) {
	has := func(given []string, want ...string) {
		t.Helper()
		s, err := readOptions(given)
		if err != nil {
			t.Errorf("%v: %v", given, err)
		}
		for _, w := range want {
			if !slices.Contains(s.options, w) {
				t.Errorf("%v gives %v, without %s", given, s.options, w)
			}
		}
	}
	has(nil, "--fmad=false", "--std=c++17")
	has([]string{"-cl-mad-enable", "-cl-kernel-arg-info", "-cl-std=CL2.0", "-w"}, "--fmad=true", "--disable-warnings")
	has([]string{"-cl-fast-relaxed-math"}, "--fmad=true", "--ftz=true", "--prec-div=false", "--prec-sqrt=false")
	has([]string{"-cl-nv-maxrregcount=32", "--extra-device-vectorization"}, "--maxrregcount=32", "--extra-device-vectorization")
	if s, _ := readOptions([]string{"-cl-mad-enable"}); slices.Contains(s.options, "--fmad=false") {
		t.Errorf("contradicting options %v", s.options)
	}
	if s, _ := readOptions([]string{"-cl-single-precision-constant"}); !s.single {
		t.Error("literals stay double")
	}
	if _, err := readOptions([]string{"-Dx", "-foo"}); err == nil || !strings.Contains(err.Error(), "has no counterpart") {
		t.Errorf("an unknown option: %v", err)
	}
	src := source("__kernel void f(__global float *x) { x[0] = 0.1 + 1e3 + 2.5f + 3L + 4UL + 0x1p3 + 5; }")
	src.Options = []string{"-cl-single-precision-constant"}
	p, err := Translate(src)
	if err != nil {
		t.Fatal(err)
	}
	if want := "0.1f + 1e3f + 2.5f + 3ll + 4ull + 0x1p3f + 5"; !strings.Contains(p.Text, want) {
		t.Errorf("the text has not %q", want)
	}
}

// TestKernelInfo: what a launch needs to know.
func TestKernelInfo(t *testing.T) {
	p, err := Translate(source(`typedef struct { int a; float3 b; } thing;
__kernel __attribute__((reqd_work_group_size(8, 4, 1))) void f(__global const float4 *x, __constant int *y, __local short *z, thing t, float3 v, uchar c) {
  __local int tile[32];
  tile[get_local_id(0)] = 1;
}
__kernel void plain(__global int *x) { x[get_global_id(0)] = get_global_size(0); }
`))
	if err != nil {
		t.Fatalf("%+v", err)
	}
	f, err := p.Kernel("f")
	if err != nil {
		t.Fatal(err)
	}
	if f.FixedLocal != [3]int{8, 4, 1} || f.StaticLocal != 128 || !f.SeesLocal || len(f.Params) != 6 {
		t.Errorf("f is %+v", f)
	}
	for i, size := range []int{16, 4, 2, 32, 16, 1} {
		if f.Params[i].Type.Size != size {
			t.Errorf("parameter %s has %d bytes, want %d", f.Params[i].Name, f.Params[i].Type.Size, size)
		}
	}
	for _, want := range []string{"__launch_bounds__(32) cl_f(", "unsigned tandem_at2", "__shared__ int tile"} {
		if !strings.Contains(p.Text, want) {
			t.Errorf("the text has not %q", want)
		}
	}
	if g, err := p.Kernel("plain"); err != nil || g.SeesLocal {
		t.Errorf("plain is %+v, %v", g, err)
	}
}

func FuzzTranslate(f *testing.F) {
	f.Add("#define V(i) x[i]\n__kernel void f(__global float4 *x, __local int *t) { __local int a[4]; a[0] = V(0).w > 1 ? 2 : V(1).lo.x; barrier(1); }")
	f.Add("__kernel void f(__global float4 *x) { x->lo.lo.s0 = x[0].hi.y ? (float4){1,2,3,4}.x : 1h << 3; }")
	f.Add("__local int a, *b; constant char *s = \"x\"; kernel void f(local int *p, int (*q)[3]) { p <<= 1; __attribute__((opencl_unroll_hint(3))) for (;;) ; }")
	f.Fuzz(func(t *testing.T, text string) {
		p, err := Translate(source(text))
		if err != nil {
			if _, ok := errors.AsType[*devices.CompileError](err); !ok {
				t.Errorf("%T: %v", err, err)
			}
			return
		}
		if len(p.Kernels) == 0 {
			t.Error("neither kernels nor an error")
		}
		_ = p.Log("k.cl:1:1: error: x\n  y\n  ^\n")
	})
}
