package clc

import (
	"slices"
	"strings"
	"testing"

	"github.com/tandemrun/tandem/kernels"
)

func TestNeedsOfFiles(t *testing.T) {
	type need struct{ fp64, fp16 string }
	for file, want := range map[string]need{
		"slip.cl":         {fp64: "testdata/slip.cl:5:19: literal 0.1 is a double"},
		"precise.cl":      {fp64: "testdata/precise.cl:2:40: it uses double"},
		"half_direct.cl":  {fp16: "testdata/half_direct.cl:5:20: it uses half for more than loading and storing"},
		"half_storage.cl": {},
		"square.cl":       {},
	} {
		list, err := Entries("testdata/"+file, Options{})
		if err != nil {
			t.Fatal(err)
		}
		n := list[0].Variants[0].Needs
		if got := (need{reason(n.FP64), reason(n.FP16)}); got != want || len(n.Extensions) > 0 {
			t.Errorf("%s: %q, want %q; extensions %v", file, got, want, n.Extensions)
		}
	}
}

func reason(r *kernels.Reason) string {
	if r == nil {
		return ""
	}
	return r.Pos.String() + ": " + r.Text
}

func TestNeeds(t *testing.T) {
	const k = "kernel void f(global float *x, global half *h) { size_t i = get_global_id(0); "
	for _, c := range []struct{ text, fp64, fp16 string }{
		{k + "x[i] = 1.0f + 2.F + 0x1p3f; }", "", ""},
		{k + "x[i] = 1e3; }", "literal 1e3 is a double", ""},
		{k + "x[i] = .5; }", "literal .5 is a double", ""},
		{k + "x[i] = 0x1.8p1; }", "literal 0x1.8p1 is a double", ""},
		{k + "x[i] = 0x1F; }", "", ""},
		{k + "x[i] = 3e; }", "literal 3e is a double", ""},
		{k + "x[i] = M_PI_F * 2; }", "", ""},
		{k + "x[i] = M_PI; }", "M_PI is a double", ""},
		{"#define M_PI 3.14f\n" + k + "x[i] = M_PI; }", "", ""},
		{"#define HALF 0.5\n" + k + "x[i] *= HALF; }", "literal 0.5 in macro HALF (k.cl:1:9) is a double", ""},
		{k + "x[i] = convert_double(x[i]) > 0; }", "it uses convert_double", ""},
		{k + "x[i] = sizeof(double2); }", "it uses double2", ""},
		{"typedef double real; float g(float a) { real b = a; return b; }\n" + k + "x[i] = g(x[i]); }", "it uses double", ""},
		{"float g(float a) { return a * 0.1; }\n" + k + "x[i] = 1; }", "", ""},
		{"constant double c = 1; \n" + k + "x[i] = c; }", "it uses double", ""},
		{"#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n" + k + "x[i] = 1; }", "", ""},
		{k + "x[i] = vload_half(i, h + 4); vstore_half(x[i], 0, &h[i]); }", "", ""},
		{k + "h[i] = h[i + 1]; }", "", "it uses a half without vload_half or vstore_half"},
		{k + "x[i] = *h; }", "", "it uses a half without vload_half or vstore_half"},
		{k + "global const half *p = h + i; x[i] = vload_half(0, p); }", "", ""},
		{k + "half v = vload_half(0, h); x[i] = v; }", "", "it uses half for more than loading and storing"},
		{k + "x[i] = convert_half(x[i]); }", "", "it uses convert_half for more than loading and storing"},
		{"kernel void f(global half2 *h) { }", "", "it uses half2 for more than loading and storing"},
		{"kernel void f(half h) { }", "", "it uses half for more than loading and storing"},
		{"kernel void f(global half h[]) { vstore_half(1.0f, 0, h); }", "", ""},
		{"#pragma OPENCL EXTENSION cl_khr_fp16 : enable\n" + k + "x[i] = 1; }", "", ""},
	} {
		n := one(t, c.text).Variants[0].Needs
		text := func(r *kernels.Reason) string {
			if r == nil {
				return ""
			}
			return r.Text
		}
		if text(n.FP64) != c.fp64 || text(n.FP16) != c.fp16 {
			t.Errorf("%s\nfp64 %q, want %q; fp16 %q, want %q", c.text, text(n.FP64), c.fp64, text(n.FP16), c.fp16)
		}
	}
}

func TestNeedsSinglePrecisionConstant(t *testing.T) {
	o := Options{Options: []string{"-cl-single-precision-constant"}}
	k, err := Load("testdata/slip.cl", "", o)
	if err != nil || k.Variants[0].Needs.FP64 != nil {
		t.Errorf("%v; needs %v, want none: the user asked for float literals", err, reason(k.Variants[0].Needs.FP64))
	}
	if got := k.Variants[0].Source.Options; !slices.Equal(got, o.Options) {
		t.Errorf("options %q", got)
	}
}

func TestNeedsPerKernel(t *testing.T) {
	list, err := Parse("k.cl", []byte(`
double helper(double x) { return x; }
kernel void a(global float *x) { x[0] = helper(x[0]); }
kernel void b(global float *x) { x[0] = 1.0f; }`), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if r := list[0].Variants[0].Needs.FP64; r == nil || r.Pos.Line != 2 {
		t.Errorf("a needs %s, want fp64 because of line 2", reason(r))
	}
	if r := list[1].Variants[0].Needs.FP64; r != nil {
		t.Errorf("b needs fp64: %s", reason(r))
	}
}

func TestExtensions(t *testing.T) {
	k := one(t, `
#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable
#pragma OPENCL EXTENSION cl_khr_subgroups : enable
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#pragma OPENCL EXTENSION cl_khr_global_int32_base_atomics : enable
#pragma OPENCL EXTENSION cl_khr_3d_image_writes : disable
#ifdef cl_khr_something
#pragma OPENCL EXTENSION cl_khr_something : enable
#endif
_Pragma("OPENCL EXTENSION cl_khr_select_fprounding_mode : enable")
kernel void f(global int *x) { x[0] = 1; }`)
	want := "cl_khr_int64_base_atomics cl_khr_subgroups cl_khr_select_fprounding_mode"
	if got := strings.Join(k.Variants[0].Needs.Extensions, " "); got != want {
		t.Errorf("extensions %q, want %q", got, want)
	}
}

// TestTrim holds that a float kernel does not need double precision because
// its file holds a double one.
func TestTrim(t *testing.T) {
	const text = `typedef double real;
constant real half_ = 0.5;
real helper(real x) { return x; }
kernel void d(global real *x) {
  x[0] = helper(1.0); }
float g(float a) { return a * 2.0f; }
kernel void f(global float *x) { x[0] = g(x[0]); } kernel void h(global half *x) { x[0] = x[1]; }
`
	list, err := Parse("k.cl", []byte(text), Options{Defines: []Define{{"A", ""}}})
	if err != nil || len(list) != 3 {
		t.Fatal(err, len(list))
	}
	blank := strings.Repeat
	want := map[string]string{
		"d": text[:strings.Index(text, "kernel void h")] + blank(" ", len("kernel void h(global half *x) { x[0] = x[1]; }")) + "\n",
		"f": blank(" ", 20) + "\n" + blank(" ", 26) + "\n" + blank(" ", 33) + "\n" + blank(" ", 31) + "\n" + blank(" ", 23) + "\n" +
			"float g(float a) { return a * 2.0f; }\nkernel void f(global float *x) { x[0] = g(x[0]); } " + blank(" ", 46) + "\n",
		"h": blank(" ", 20) + "\n" + blank(" ", 26) + "\n" + blank(" ", 33) + "\n" + blank(" ", 31) + "\n" + blank(" ", 23) + "\n" + text[strings.Index(text, "float g"):],
	}
	for _, k := range list {
		if got := string(k.Variants[0].Source.Text); got != "#define A 1\n#line 1 \"k.cl\"\n"+want[k.Name] {
			t.Errorf("%s:\n%s\nwant\n%s", k.Name, got, want[k.Name])
		}
	}
	// A kernel that a macro makes cannot be cut out.
	made := "#define MAKE(T) kernel void f_##T(global T *x) { x[0] = 1; }\nMAKE(float)\nMAKE(double)\n"
	list, err = Parse("k.cl", []byte(made), Options{})
	if err != nil || !strings.HasSuffix(string(list[0].Variants[0].Source.Text), made) {
		t.Errorf("%v: %s", err, list[0].Variants[0].Source.Text)
	}
}
