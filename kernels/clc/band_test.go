package clc

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/kernels"
)

// call binds a kernel: arrays of 4096 elements of their parameter's type and
// the given integers, over the given range.
func call(t *testing.T, k *kernels.Kernel, rng devices.NDRange, ints map[string]int64) *kernels.Call {
	t.Helper()
	var args []kernels.Given
	for _, p := range k.Params {
		g := kernels.Given{Name: p.Name}
		switch {
		case p.Kind == kernels.Local:
			g.LocalBytes = 1024
		case p.Kind == kernels.Buffer:
			d, size := p.Type.Elem, int64(4096*max(p.Type.Lanes, 1))
			if d == devices.NoType {
				d, size = devices.Uint8, 4096*int64(p.Type.Size)
			}
			g.Array = &kernels.Array{Name: p.Name, DType: d, Shape: []int64{size}}
		default:
			g.Value = ints[p.Name]
		}
		args = append(args, g)
	}
	whole := *k
	whole.Params = slices.Clone(k.Params)
	for i := range whole.Params {
		whole.Params[i].Reach = nil // bands are asked also of launches that leave an array
	}
	c, err := kernels.Bind(&whole, rng, args)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func over(sizes ...int) devices.NDRange {
	r := devices.NDRange{Dims: len(sizes)}
	copy(r.Size[:], sizes)
	return r
}

// bands spells a call's bands: name dim stride low high.
func bands(c *kernels.Call) string {
	var out []string
	for _, p := range c.Kernel.Params {
		if p.Kind != kernels.Buffer {
			continue
		}
		if p.Band == nil {
			out = append(out, p.Name+" -")
			continue
		}
		b, err := p.Band(c)
		if err != nil {
			out = append(out, p.Name+" "+err.Error())
			continue
		}
		out = append(out, fmt.Sprintf("%s %d:%d %d %d", p.Name, b.Dim, b.Stride, b.Low, b.High))
	}
	return strings.Join(out, "; ")
}

func TestBandsOfFiles(t *testing.T) {
	for _, c := range []struct {
		file, entry string
		rng         devices.NDRange
		ints        map[string]int64
		bands       string
		split       string // "": may be split
	}{
		{"saxpy", "saxpy_guarded", over(1000), map[string]int64{"n": 1000}, "x 0:1 0 1; y 0:1 0 1", ""},
		{"saxpy", "saxpy_bare", over(1000), nil, "x 0:1 0 1; y 0:1 0 1", ""},
		{"saxpy", "index2d", over(10, 7), map[string]int64{"width": 10}, "out 1:10 0 10", ""},
		{"saxpy", "index2d", over(10, 7), map[string]int64{"width": 16}, "out 1:16 0 10", ""},
		{"saxpy", "index2d", over(12, 7), map[string]int64{"width": 10},
			"out rows overlap: a step in dimension 1 moves 40 bytes, but the 12 work-items of dimension 0 write 48 bytes (testdata/saxpy.cl:27:5)", "rows overlap"},
		{"square", "square", over(1000), nil, "x 0:1 0 1; y 0:1 0 1", ""},
		{"square", "invert_row", over(10), map[string]int64{"width": 33}, "src 0:33 0 33; dst 0:33 0 33", ""},
		{"ids", "noise", over(4096), nil, "out 0:1 0 1", ""},
		{"ids", "stride_add", over(1024), map[string]int64{"n": 4096}, "x 0:1 0 4096", "neighbouring work-items write"},
		{"ids", "groups", over(256), nil, "out 0:1 0 1", ""},
		{"ids", "smooth3", over(1000), map[string]int64{"n": 1000}, "x 0:1 -1 2; y 0:1 0 1", ""},
		{"rows", "row_sum", over(2), map[string]int64{"cols": 3}, "x 0:3 0 3; s 0:1 0 1", ""},
		{"war", "slow_read", over(64), map[string]int64{"first": 7, "spin": 3}, "buf 0:1 7 8; out 0:1 0 1", ""},
		{"nan", "largest", over(1), map[string]int64{"n": 6}, "x 0:0 0 6; out 0:0 0 2", "neighbouring"},
		{"geom", "norms", over(4), nil, "p 0:4 0 4; out 0:1 0 1", ""},
		{"geom", "norms_packed", over(4), nil, "p 0:3 0 3; out 0:1 0 1", ""},
		{"half_storage", "twice", over(4), nil, "x 0:1 0 1; y 0:1 0 1", ""},
		{"group_sum", "group_sum", over(256), nil, "x 0:1 0 1; sums -", `which elements of "sums" a work-item writes is not known`},

		{"forms", "blur", over(32, 8), map[string]int64{"w": 20, "h": 8}, "src 1:20 -40 60; dst 1:20 0 20", ""},
		{"forms", "matmul", over(8, 6), map[string]int64{"M": 6, "N": 8, "K": 5}, "A 1:5 0 5; B 0:1 0 33; C 1:8 0 8", ""},
		{"forms", "tiled", local(over(32, 48), 16, 16), map[string]int64{"M": 48, "N": 32, "K": 16}, "A 1:16 0 16; B 0:1 0 481; C 1:32 0 32", ""},
		{"forms", "hist", over(100), map[string]int64{"n": 100}, "p 0:1 0 1; h -", "atomic_inc on global memory (testdata/forms.cl:48:111)"},
		{"forms", "hist2", over(100), map[string]int64{"n": 100}, "p 0:1 0 1; h 0:0 0 1", "neighbouring work-items write"},
		{"forms", "shift", over(100), nil, "x 0:1 0 2", "neighbouring work-items write"},
		{"forms", "goer", over(100), nil, "x -", "it has a label (testdata/forms.cl:53:41)"},
		{"forms", "ptrs", over(100), map[string]int64{"w": 7}, "x 0:7 0 7; y 0:7 0 7", ""},
		{"forms", "v4", over(100), nil, "x 0:4 0 4; y 0:4 0 4", ""},
		{"forms", "rev", over(100), map[string]int64{"n": 100}, "x 0:1 0 1; y 0:0 0 4096", ""},
		{"forms", "gather", over(100), nil, "x 0:1 0 1; y -; idx 0:1 0 1", ""},
		{"forms", "scatter", over(100), nil, "x -; idx 0:1 0 1", `which elements of "x" a work-item writes is not known: the index is not an affine function of the global ids (testdata/forms.cl:63:95)`},
		{"forms", "arr", over(100), nil, "x 0:0 0 1; m 0:4 2 3; t 0:0 0 0", `neighbouring work-items write the same elements of "x"`},
	} {
		k, err := Load("testdata/"+c.file+".cl", c.entry, Options{})
		if err != nil {
			t.Fatal(err)
		}
		b := call(t, k, c.rng, c.ints)
		if got := bands(b); got != c.bands {
			t.Errorf("%s %v:\n got %s\nwant %s", c.entry, c.rng.Size, got, c.bands)
		}
		_, _, err = b.Splittable()
		if (err == nil) != (c.split == "") || err != nil && !strings.Contains(err.Error(), c.split) {
			t.Errorf("%s %v: Splittable says %v, want %q", c.entry, c.rng.Size, err, c.split)
		}
	}
}

func local(r devices.NDRange, l ...int) devices.NDRange {
	copy(r.Local[:], l)
	return r
}

func TestBands(t *testing.T) {
	const head = "kernel void f(global float *x, global const float *y, int n, int w, uint u) {\n"
	ints := map[string]int64{"n": 100, "w": 10, "u": 100}
	for _, c := range []struct{ body, bands string }{
		{"size_t i = get_global_id(0); x[i] = y[i * 2 + 3];", "x 0:1 0 1; y 0:2 3 4"},
		{"int i = get_global_id(0); x[i] = i > 0 ? y[i - 1] : y[i];", "x 0:1 0 1; y 0:1 -1 1"},
		{"int i = get_global_id(0); int l = i == 0 ? 0 : i - 1, r = i < n - 1 ? i + 1 : i; x[i] = y[l] + y[r];", "x 0:1 0 1; y 0:1 -1 2"},
		{"size_t i = get_global_id(0); x[i] = y[i - 1];", "x 0:1 0 1; y 0:1 -1 0"},
		// i - 1 wraps around in 32 bits at i = 0, and does not behind the guard.
		{"uint i = get_global_id(0); x[i] = y[i - 1];", "x 0:1 0 1; y 0:0 0 4096"},
		{"uint i = get_global_id(0); if (i > 0) x[i] = y[i - 1];", "x 0:1 0 1; y 0:1 -1 0"},
		{"uint i = get_global_id(0); if (i == 0) return; x[i] = y[i - 1];", "x 0:1 0 1; y 0:1 -1 0"},
		{"uint i = get_global_id(0); if (!(i > 0 && i < u - 1)) return; x[i] = y[i - 1] + y[i + 1];", "x 0:1 0 1; y 0:1 -1 2"},
		{"int i; i = get_global_id(0); x[i] = 1;", "x 0:1 0 1; y 0:0 0 0"},
		{"int i = get_global_id(0); i += 1; x[i] = 1;", "x -; y 0:0 0 0"},
		{"int i = get_global_id(0); int *p = &i; *p = 3; x[i] = 1;", "x -; y 0:0 0 0"},
		{"int i = get_global_id(0); { int i = 5; x[i] = 1; } x[i] = 2;", "x 0:0 0 100; y 0:0 0 0"},
		{"int i = get_global_id(0); x[(uchar)i] = 1;", "x 0:1 0 1; y 0:0 0 0"},
		{"int i = get_global_id(0) * 3; x[(uchar)i] = 1;", "x which elements a work-item touches is not known: the index is not an affine function of the global ids (k.cl:2:31); y 0:0 0 0"},
		{"int i = get_global_id(0); for (int k = 0; k < w; k++) x[i * w + k] = y[k * n + i];", "x 0:10 0 10; y 0:1 0 901"},
		{"int i = get_global_id(0); for (int k = w - 1; k >= 0; k--) x[i * w + k] = y[k];", "x 0:10 0 10; y 0:0 0 10"},
		{"int i = get_global_id(0); for (uint k = 0u; u > k; k += 3) x[i * 100 + k] = 1;", "x 0:100 0 100; y 0:0 0 0"},
		{"int i = get_global_id(0); int k; for (k = i * 4; k < i * 4 + 4; ++k) x[k] = 1;", "x 0:4 0 4; y 0:0 0 0"},
		{"int i = get_global_id(0); for (int k = 0; k < w; k++) { if (y[k] > 0) k++; x[k] = 1; }", "x -; y -"},
		{"int k = 0; while (k < n) { x[k] = 1; k++; }", "x -; y 0:0 0 0"},
		{"for (int k = 0; k < n; k++) ; x[get_global_id(0)] = y[0];", "x 0:1 0 1; y 0:0 0 1"},
		{"for (uchar k = 0; k < 300; k++) x[k] = 1;", "x which elements a work-item touches is not known: the index is not an affine function of the global ids (k.cl:2:33); y 0:0 0 0"},
		{"int i = get_global_id(0), r = i / w, c = i % w; x[i] = y[c * w + r];", "x 0:1 0 1; y 0:0 0 100"},
		{"int i = get_global_id(0); x[i << 2 | 0] = 1;", "x which elements a work-item touches is not known: the index is not an affine function of the global ids (k.cl:2:27); y 0:0 0 0"},
		{"int i = get_global_id(0); x[i << 2] = 1;", "x 0:4 0 1; y 0:0 0 0"},
		{"int i = mad24((int)get_global_id(0), 4, 2); x[i] = 1;", "x 0:4 2 3; y 0:0 0 0"},
		{"int i = get_group_id(0) * get_local_size(0) + get_local_id(0); x[i] = 1;", "x which elements a work-item touches is not known: the index is not an affine function of the global ids (k.cl:2:64); y 0:0 0 0"},
		{"global float *p = x + get_global_id(0) * 2; p[1] = *(y + 1); *p++ = 1;", "x -; y 0:0 1 2"},
		{"global float *p = x + get_global_id(0) * 2; p[1] = *(y + 1); *p = 1;", "x 0:2 0 2; y 0:0 1 2"},
		{"global float *p = n > 3 ? x : (global float *)y; p[0] = 1;", "x -; y -"},
		{"global float4 *p = (global float4 *)x; p[get_global_id(0)] = vload4(get_global_id(0), y + 4);", "x 0:4 0 4; y 0:4 4 8"},
		{"struct { global float *q; } s; s.q = x; s.q[3] = 1;", "x -; y 0:0 0 0"},
		{"ulong a = (ulong)x; *(global float *)a = 1;", "x -; y 0:0 0 0"},
		{"unseen(x, y);", "x -; y -"},
		{"float t; x[get_global_id(0)] = fract(y[0], &t) + sincos(y[1], &x[get_global_id(0)]);", "x 0:1 0 1; y 0:0 0 2"},
		{"local float t[8]; event_t e = async_work_group_copy(t, y + 3, 8, 0); wait_group_events(1, &e); x[get_global_id(0)] = t[0];", "x 0:1 0 1; y 0:0 3 11"},
		{"switch (n) { case 1: { int i = get_global_id(0); x[i] = 1; break; } default: x[get_global_id(0)] = 2; }", "x 0:1 0 1; y 0:0 0 0"},
		{"x[get_global_id(1) * 4 + get_global_id(2)] = 1;", "x 0:0 0 1; y 0:0 0 0"},
		{"x[get_global_id(n)] = 1;", "x -; y 0:0 0 0"},
		{"sizeof(y[n]); x[get_global_id(0)] = (y[1], y[2]);", "x 0:1 0 1; y 0:0 1 3"},
	} {
		k := one(t, head+c.body+"\n}")
		if got := bands(call(t, k, over(100), ints)); got != c.bands {
			t.Errorf("%s\n got %s\nwant %s", c.body, got, c.bands)
		}
	}
	k := one(t, head+"int i = get_group_id(0) * get_local_size(0) + get_local_id(0); x[i] = y[get_group_id(0) * 20 + 1]; }")
	if got, want := bands(call(t, k, local(over(100), 20), ints)), "x 0:1 0 1; y 0:1 -18 2"; got != want {
		t.Errorf("groups of 20: %s, want %s", got, want)
	}
	rng := local(over(100), 20)
	rng.Offset[0] = 40
	if got, want := bands(call(t, k, rng, ints)), "x 0:1 -40 -39; y 0:1 -58 -38"; got != want {
		t.Errorf("groups of 20 from 40: %s, want %s", got, want)
	}
	if got := bands(call(t, k, local(over(110), 20), ints)); !strings.HasPrefix(got, "x which elements") {
		t.Errorf("a ragged last group: %s", got)
	}
}

func TestModes(t *testing.T) {
	for body, want := range map[string]string{
		"x[get_global_id(0)] = 1;":                                             "w",
		"size_t i = get_global_id(0); { x[i + 3] = 1; }":                       "w",
		"size_t i = get_global_id(0); *(x + i) = 1;":                           "w",
		"size_t i = get_global_id(0); x[i] = 1; x[i] = 2;":                     "rw",
		"size_t i = get_global_id(0); x[i * 2] = 1;":                           "rw",
		"size_t i = get_global_id(0); x[i] += 1;":                              "rw",
		"size_t i = get_global_id(0); if (i < n) x[i] = 1;":                    "rw",
		"size_t i = get_global_id(0); if (i >= n) return; x[i] = 1;":           "rw",
		"size_t i = get_global_id(0); for (int k = 0; k < n; k++) x[i] = k;":   "rw",
		"size_t i = get_global_id(0); while (n > i) { n--; break; } x[i] = n;": "w",
		"size_t i = get_global_id(0); n > 3 ? (x[i] = 1) : 0;":                 "rw",
		"size_t i = get_global_id(0); n > 3 && (x[i] = 1);":                    "rw",
		"size_t i = get_global_id(0); x[i] = x[i] + 1;":                        "rw",
		"int i = get_global_id(0); x[min(i, 1)] = 1;":                          "rw",
		"size_t i = get_global_id(0); x[i + (i >> 1)] = 1;":                    "rw",
		"size_t i = get_global_id(0); x[(uchar)i] = 1;":                        "rw",
		"ushort i = get_global_id(0); x[i] = 1;":                               "rw",
		"size_t i = get_global_id(0); x[i > 1 ? 0 : i] = 1;":                   "rw",
		"size_t i = get_global_id(0); x[i % 2] = 1;":                           "rw",
		"int i = get_global_id(0); x[min(i, n)] = 1;":                          "rw",
		"int i = get_global_id(0); vstore2((float2)(1, 2), i, x);":             "rw",
		"x[get_global_id(1) * n + get_global_id(0)] = 1;":                      "rw",
		"x[0] = 1;": "rw",
		"switch (n) { x[get_global_id(0)] = 1; }":    "rw",
		"do { x[get_global_id(0)] = 1; } while (0);": "rw",
	} {
		k := one(t, "kernel void f(global float *x, int n) { "+body+" }")
		if got := k.Params[0].Mode.String(); got != want {
			t.Errorf("%s: %s, want %s", body, got, want)
		}
	}
	// What is stored has to be all of an element, padding included.
	for typ, want := range map[string]string{"float3": "rw", "float4": "w", "uchar": "w", "s_t": "rw"} {
		k := one(t, "typedef struct { char a; int b; } s_t; kernel void f(global "+typ+" *x, "+typ+" v) { x[get_global_id(0)] = v; }")
		if got := k.Params[0].Mode.String(); got != want {
			t.Errorf("%s: %s, want %s", typ, got, want)
		}
	}
}

func TestNoSplit(t *testing.T) {
	const head = "kernel void f(global int *x, local int *l, global const int *y) { size_t i = get_global_id(0); "
	for text, want := range map[string]string{
		head + "x[i] = 1; }": "",
		head + "x[i] = get_global_size(0) + get_num_groups(0) + get_group_id(0); }":                "",
		head + "barrier(CLK_LOCAL_MEM_FENCE); printf(\"%d\", y[i]); x[i] = 1; }":                   "",
		head + "atomic_add(&l[0], 1); x[i] = 1; }":                                                 "",
		head + "atomic_add(&x[i], 1); }":                                                           "it uses atomic_add on global memory (k.cl:1:96)",
		head + "atom_inc(x + i); }":                                                                "it uses atom_inc on global memory (k.cl:1:96)",
		"void g(volatile global int *p) { atomic_or(p, 1); }\n" + head + "g(x + i); }":             "it uses atomic_or on global memory (k.cl:1:34)",
		head + "x[i] = get_global_linear_id(); }":                                                  "get_global_linear_id counts from the beginning of a part (k.cl:1:103)",
		"int g() { return get_global_offset(0); }\n" + head + "x[i] = g(); }":                      "get_global_offset is that of a part (k.cl:1:18)",
		"global int total;\n" + head + "total = x[i] = 1; }":                                       "it uses a variable of program scope (k.cl:1:1)",
		"constant int total = 3;\n" + head + "x[i] = total; }":                                     "",
		head + "x[y[i]] = 1; }":                                                                    `which elements of "x" a work-item writes is not known: the index is not an affine function of the global ids (k.cl:1:96)`,
		head + "x[i] = x[y[i]]; }":                                                                 `it may read elements of "x" that other work-items write: the index is not an affine function of the global ids (k.cl:1:103)`,
		head + "*(global int *)(ulong)y[0] = 1; }":                                                 "it makes a pointer to global memory out of a number (k.cl:1:97)",
		"int g(int a) { return a ? g(a - 1) : 0; }\n" + head + "x[i] = g(3); }":                    "its call of g cannot be followed (k.cl:1:27)",
		"int g(int a) { goto b; b: return a; }\n" + head + "x[i] = g(3); }":                        "function g, which it uses, cannot be followed: it uses goto (k.cl:1:16)",
		head + "x[i] = 1; int (^b)(int) = 0; }":                                                    "its body cannot be followed: blocks are not supported (k.cl:1:111)",
		head + "switch (y[0]) { if (i > 3) { case 1: x[i] = 1; } } }":                              "its body cannot be followed: it has a case label inside of another statement ()",
		"#ifdef cl_khr_fp16\n#define D 1\n#else\n#define D 0\n#endif\n" + head + "x[i + D] = 1; }": "it depends on what the device's compiler defines (cl_khr_fp16, k.cl:1:2)",
		"#ifdef cl_khr_fp16\n#define D 1\n#endif\n#if defined(D)\nint g() { return 1; }\n#else\nint g() { return 2; }\n#endif\n" + head + "x[i] = g(); }": "it depends on what the device's compiler defines (D, k.cl:4:2)",
		head + "\n#if __OPENCL_VERSION__ >= 200\n i++;\n#endif\nx[i] = 1; }":                                                                              "it depends on what the device's compiler defines (__OPENCL_VERSION__, k.cl:2:2)",
		head + "x[i] = __OPENCL_VERSION__; }": "it depends on what the device's compiler defines (__OPENCL_VERSION__)",
		"#ifdef cl_khr_fp64\n#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n#else\n#error no doubles\n#endif\n" + head + "x[i] = 1; }": "",
		"#ifndef __K_H\n#define __K_H\n#ifdef __OPENCL_VERSION__\n" + head + "x[i] = 1; }\n#endif\n#endif\n":                           "",
		"#ifdef cl_khr_fp16\nint other(int a) { return a; }\n#endif\n" + head + "x[i] = 1; }":                                          "",
	} {
		if got := one(t, text).NoSplit; got != want {
			t.Errorf("%s\n got %q\nwant %q", text, got, want)
		}
	}
}

func TestNoBandsOnDevices(t *testing.T) {
	k := one(t, "#ifdef cl_khr_fp16\n#define D 1\n#else\n#define D 0\n#endif\nkernel void f(global int *x) { x[get_global_id(0) + D] = 1; }")
	if p := k.Params[0]; p.Band != nil || p.Mode != kernels.ReadWrite {
		t.Errorf("mode %s with band %t, want rw without", p.Mode, p.Band != nil)
	}
}
