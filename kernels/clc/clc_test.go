package clc

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/kernels"
)

// one parses text that holds one kernel.
func one(t *testing.T, text string) *kernels.Kernel {
	t.Helper()
	list, err := Parse("k.cl", []byte(text), Options{})
	if err != nil {
		t.Fatalf("Parse: %v\n%s", err, text)
	}
	if len(list) != 1 {
		t.Fatalf("%d kernels, want 1\n%s", len(list), text)
	}
	return list[0]
}

// fault parses text that is wrong and returns the message.
func fault(t *testing.T, text string, o Options) string {
	t.Helper()
	_, err := Parse("k.cl", []byte(text), o)
	if err == nil {
		t.Fatalf("no error for\n%s", text)
	}
	return err.Error()
}

func TestSignatures(t *testing.T) {
	want := map[string][]string{
		"saxpy.cl": {
			"saxpy_guarded(a float, x r float[], y rw float[], n uint)",
			"saxpy_bare(a float, x r float[], y rw float[])",
			"saxpy_fixed(a float, x r float[], y rw float[])",
			"index2d(out rw int[], width int)",
		},
		"group_sum.cl": {
			"group_sum(x r float[], sums rw float[], scratch local float[])",
			"group_sum_two(x r float[], sums rw float[], scratch local float[])",
		},
		"geom.cl": {
			"norms(p r float3[], out w float[])",
			"norms_packed(p r float[], out w float[])",
			"read_probe(p probe_t, out rw long[])",
		},
		"square.cl": {"square(x r float[], y w float[])", "invert_row(src r uchar[], dst rw uchar[], width int)"},
		"ids.cl": {
			"noise(out w uint[])", "stride_add(x rw float[], n uint)", "groups(out w int[])",
			"smooth3(x r float[], y w float[], n int)",
		},
		"rows.cl":         {"row_sum(x r float[], s w float[], cols int)"},
		"war.cl":          {"fill(buf w int[], v int)", "slow_read(buf r int[], out w int[], first uint, spin uint)"},
		"nan.cl":          {"mark_nan(x r float[], y w float[])", "largest(x r float[], out rw float[], n uint)"},
		"slip.cl":         {"scale(x r float[], y w float[])"},
		"precise.cl":      {"tiny_gain(x r double[], y w double[])"},
		"half_direct.cl":  {"twice(x r half[], y w half[])"},
		"half_storage.cl": {"twice(x r half[], y rw half[])"},
	}
	for file, sigs := range want {
		list, err := Entries(filepath.Join("testdata", file), Options{})
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		var got []string
		for _, k := range list {
			got = append(got, k.Signature())
		}
		if g, w := strings.Join(got, "\n"), strings.Join(sigs, "\n"); g != w {
			t.Errorf("%s:\n%s\nwant\n%s", file, g, w)
		}
	}
}

func TestForms(t *testing.T) {
	list, err := Entries("testdata/forms.cl", Options{})
	want := []string{
		"add_int(a r int[], b rw int[])",
		"add_double(a r double[], b rw double[])",
		"blur(src r float[], dst rw float[], w int, h int)",
		"matmul(M int, N int, K int, A r float[], B r float[], C rw float[])",
		"tiled(M int, N int, K int, A r float[], B r float[], C rw float[])",
		"hist(p r uchar[], h rw uint[], n uint)",
		"hist2(p r uchar[], h rw uint[], n uint, l local uint[])",
		"shift(x rw float[])",
		"goer(x rw float[])",
		"ptrs(x rw float[], y r float[], w int)",
		"v4(x r float4[], y rw float[])",
		"st(r rw rec[], nd node, ns rw node[], u uint4, q ulong)",
		"rev(x w float[], y r float[], n int)",
		"gather(x w float[], y r float[], idx r int[])",
		"scatter(x rw float[], idx r int[])",
		"arr(x rw float[], m rw float[], t r int[])",
	}
	var got []string
	for _, k := range list {
		got = append(got, k.Signature())
	}
	if g, w := strings.Join(got, "\n"), strings.Join(want, "\n"); g != w {
		t.Errorf("kernels:\n%s\nwant\n%s", g, w)
	}
	for _, text := range []string{
		`forms.cl:51:41: kernel img: parameter "im" is of type image2d_t, which is not supported`,
		`forms.cl:51:55: kernel img: parameter "s" is of type sampler_t, which is not supported`,
		`forms.cl:52:25: kernel sz: parameter "n" is of type size_t, whose size is not the same`,
		`forms.cl:52:33: kernel sz: parameter "b" is of type bool`,
		`forms.cl:52:43: kernel sz: parameter "p" is a pointer without __global, __constant or __local`,
		`forms.cl:52:63: kernel sz: parameter "q" is a pointer to a pointer`,
	} {
		if err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("the error lacks %q:\n%v", text, err)
		}
	}
	if n := strings.Count(err.Error(), "\n") + 1; n != 6 {
		t.Errorf("%d faults, want 6:\n%v", n, err)
	}
}

func TestParameterTypes(t *testing.T) {
	for decl, want := range map[string]string{
		"unsigned int a":                                  "a uint",
		"unsigned a":                                      "a uint",
		"long int a":                                      "a long",
		"int unsigned short a":                            "a ushort",
		"signed char a":                                   "a char",
		"const uchar16 a":                                 "a uchar16",
		"__global float *restrict a":                      "a rw float[]",
		"const __global float *a":                         "a r float[]",
		"float const __global * const a":                  "a r float[]",
		"__constant int *a":                               "a r int[]",
		"constant int *a":                                 "a r int[]",
		"__local double3 *a":                              "a local double3[]",
		"__global void *a":                                "a rw void[]",
		"__global int a[]":                                "a rw int[]",
		"__global const int a[4][8]":                      "a r int[]",
		"__global volatile uint * a":                      "a rw uint[]",
		"uint n __attribute__((unused))":                  "n uint",
		"__attribute__((aligned(16))) __global float4 *a": "a rw float4[]",
	} {
		k := one(t, "kernel void f("+decl+") { }")
		if got := k.Params[0].String(); got != want {
			t.Errorf("%s: %q, want %q", decl, got, want)
		}
	}
	for decl, want := range map[string]string{
		"event_t e":             `parameter "e" is of type event_t`,
		"pipe int p":            `parameter "p" is of type pipe, which is not supported`,
		"read_only image3d_t i": `parameter "i" is of type image3d_t`,
		"__global size_t *a":    `parameter "a" is a pointer to size_t`,
		"struct none n":         `parameter "n" is of type none, which is not defined`,
		"nothing n":             `k.cl:1:15: unknown type "nothing"`,
		"long long n":           `long long is no type of OpenCL C`,
		"__global float *":      `parameter 1 has no name`,
		"int a, int a":          `parameter "a" is there twice`,
		"private int *a":        `parameter "a" is a pointer without`,
	} {
		if got := fault(t, "kernel void f("+decl+") { }", Options{}); !strings.Contains(got, want) {
			t.Errorf("%s: %q lacks %q", decl, got, want)
		}
	}
	if got := fault(t, "kernel int f(int a) { return a; }", Options{}); !strings.Contains(got, "has to return void") {
		t.Error(got)
	}
	if got := fault(t, "kernel void f(x) global float *x; { }", Options{}); !strings.Contains(got, "behind the list") {
		t.Error(got)
	}
}

func TestStructs(t *testing.T) {
	k, err := Load("testdata/geom.cl", "read_probe", Options{})
	if err != nil {
		t.Fatal(err)
	}
	check := func(typ kernels.Type, name string, size, align int, offsets ...int) {
		t.Helper()
		if typ.Name != name || typ.Size != size || typ.Align != align || len(typ.Fields) != len(offsets) {
			t.Fatalf("%s: size %d align %d with %d fields, want %s %d %d %d", typ.Name, typ.Size, typ.Align, len(typ.Fields), name, size, align, len(offsets))
		}
		for i, f := range typ.Fields {
			if f.Offset != offsets[i] {
				t.Errorf("%s.%s at %d, want %d", name, f.Name, f.Offset, offsets[i])
			}
		}
	}
	check(k.Params[0].Type, "probe_t", 48, 16, 0, 16, 32, 40)

	k = one(t, `
struct inner { char c; short s[3]; };
typedef struct __attribute__((packed)) { char c; int n; float3 v; } packed_t;
typedef struct { char c; struct inner in[2]; double d; float m[4][4]; } outer_t;
typedef struct { float x; } wide_t __attribute__((aligned(64)));
typedef union { float f; uint u; char c[6]; } bits_t;
typedef struct { char c; int n __attribute__((aligned(8))); } field_t;
struct later;
typedef struct later later_t;
struct later { int a; uchar4 b; };
kernel void f(packed_t p, outer_t o, __global struct inner *in, bits_t b, field_t g, const later_t l) { }`)
	check(k.Params[0].Type, "packed_t", 21, 1, 0, 1, 5)
	check(k.Params[1].Type, "outer_t", 96, 8, 0, 2, 24, 32)
	if f := k.Params[1].Type.Fields[3]; f.Count != 16 || f.Type.Name != "float" {
		t.Errorf("outer_t.m: %d of %s, want 16 of float", f.Count, f.Type)
	}
	check(k.Params[2].Type, "inner", 8, 2, 0, 2)
	check(k.Params[3].Type, "bits_t", 8, 4)
	check(k.Params[4].Type, "field_t", 16, 8, 0, 8)
	check(k.Params[5].Type, "later", 8, 4, 0, 4)

	for body, want := range map[string]string{
		"int a : 3;":        "bit-fields",
		"__global int *p;":  `its field "p" is a pointer`,
		"size_t n;":         `its field "n" (size_t)`,
		"struct { int x;};": "a member without a name",
		"int a[];":          `the length of its field "a" is not known`,
	} {
		got := fault(t, "typedef struct { "+body+" } s_t; kernel void f(s_t s) { }", Options{})
		if !strings.Contains(got, want) {
			t.Errorf("%s: %q lacks %q", body, got, want)
		}
	}
}

func TestVariant(t *testing.T) {
	k, err := Load("testdata/saxpy.cl", "saxpy_fixed", Options{Options: []string{"-cl-mad-enable", "-w"}})
	if err != nil {
		t.Fatal(err)
	}
	v := k.Variants[0]
	if v.Language != devices.LangOpenCL || v.Entry != "saxpy_fixed" || v.FixedLocal != [3]int{64, 1, 1} {
		t.Errorf("variant %s %s %v", v.Language, v.Entry, v.FixedLocal)
	}
	if got := strings.Join(v.Source.Options, " "); got != "-cl-mad-enable -w" || v.Source.Name != "saxpy.cl" {
		t.Errorf("options %q, name %q", got, v.Source.Name)
	}
	for text, want := range map[string][3]int{
		"__attribute__((reqd_work_group_size(8, 4, 2))) kernel void f(void) { }":                        {8, 4, 2},
		"kernel void f(void) __attribute__((reqd_work_group_size(8, 2*2, 1))); kernel void f(void) { }": {8, 4, 1},
		"kernel __attribute__((vec_type_hint(float4))) void f(void) { }":                                {},
	} {
		if got := one(t, text).Variants[0].FixedLocal; got != want {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
	}
}

func TestStaticLocal(t *testing.T) {
	for entry, want := range map[string]int64{"group_sum": 0, "group_sum_two": 800000} {
		k, err := Load("testdata/group_sum.cl", entry, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if got := k.Variants[0].StaticLocal; got != want {
			t.Errorf("%s: %d bytes, want %d", entry, got, want)
		}
	}
	k := one(t, `
#define N 4
enum { M = N + 1 };
typedef struct { int a; char b; } s_t;
kernel void f(global int *x) { local char c; __local int v, w[M]; { local s_t s[sizeof(int)]; } local float *p = 0; }`)
	if got, want := k.Variants[0].StaticLocal, int64(4+4+20+32); got != want {
		t.Errorf("%d bytes, want %d", got, want)
	}
}

func TestPick(t *testing.T) {
	_, err := Load("testdata/ids.cl", "", Options{})
	if err == nil || !strings.Contains(err.Error(), "name one of them: noise, stride_add, groups, smooth3") {
		t.Errorf("no entry: %v", err)
	}
	_, err = Load("testdata/ids.cl", "smoth3", Options{})
	if err == nil || !strings.Contains(err.Error(), `no kernel "smoth3"; it has noise, stride_add, groups, smooth3; did you mean "smooth3"?`) {
		t.Errorf("misspelt: %v", err)
	}
	var ce *Error
	if !errors.As(err, &ce) || ce.Pos.File != "testdata/ids.cl" {
		t.Errorf("no *Error with the file: %v", err)
	}
	k, err := Load("testdata/rows.cl", "", Options{})
	if err != nil || k.Name != "row_sum" {
		t.Errorf("the only kernel: %v, %v", k, err)
	}
	if k, err := Load("testdata/forms.cl", "shift", Options{}); err != nil || k.Name != "shift" {
		t.Errorf("a good kernel beside bad ones: %v", err)
	}
	if _, err := Load("testdata/forms.cl", "img", Options{}); err == nil || strings.Contains(err.Error(), "kernel sz") {
		t.Errorf("a bad kernel beside others: %v", err)
	}
	if got := fault(t, "void f(int x) { }", Options{}); !strings.Contains(got, "holds no kernel") {
		t.Error(got)
	}
	if _, err := Load("testdata/none.cl", "", Options{}); err == nil || !strings.Contains(err.Error(), "none.cl") {
		t.Errorf("no file: %v", err)
	}
}
