package kernels_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/devices/hostmem"
	"github.com/tandemrun/tandem/kernels"
)

func windowKernel(v kernels.Variant) *kernels.Kernel {
	f32 := kernels.Scalar(devices.Float32)
	return &kernels.Kernel{Name: "k", Variants: []kernels.Variant{v}, Params: []kernels.Param{
		{Name: "x", Kind: kernels.Buffer, Type: f32, Mode: kernels.Read, Band: kernels.PerItem(1)},
		{Name: "a", Kind: kernels.Value, Type: f32},
		{Name: "y", Kind: kernels.Buffer, Type: f32, Mode: kernels.Write, Band: kernels.PerItem(1)},
	}}
}

// TestWindowedGo runs a Go function on windows of arrays of which nothing else
// exists.
func TestWindowedGo(t *testing.T) {
	const n, lo, hi = 1 << 33, 1<<32 + 100, 1<<32 + 300 // elements of 4 bytes
	f := func(r devices.Range, a *devices.Args) {
		x, y := devices.Slice[float32](a, 0), devices.Slice[float32](a, 2)
		if len(x) != n || len(y) != n || a.Len() != 3 {
			t.Errorf("%d arguments, slices of %d and %d elements, want 3, %d and %d", a.Len(), len(x), len(y), n, n)
		}
		for i := r.Lo[0]; i < r.Hi[0]; i++ {
			y[i] = devices.Value[float32](a, 1) * x[i]
		}
	}
	k := windowKernel(kernels.Variant{Language: devices.LangGo, Entry: "k", Source: &devices.Source{Language: devices.LangGo, Go: map[string]devices.GoFunc{"k": f}}})
	w, err := k.Windowed(&k.Variants[0], []int{0, 2})
	if err != nil {
		t.Fatal(err)
	}
	const at, size = 4 * lo / kernels.WindowAlign * kernels.WindowAlign, 2 * kernels.WindowAlign
	args := make([]devices.HostArg, 3)
	for _, i := range []int{0, 2} {
		mem, err := hostmem.Alloc(size)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = hostmem.Free(mem) }()
		args[i].Bytes = mem
	}
	x, y := devices.View[float32](args[0].Bytes), devices.View[float32](args[2].Bytes)
	for i := range x {
		x[i] = float32(i)
	}
	two := []float32{2}
	args[1].Bytes = devices.AsBytes(two)
	for _, v := range w.Arguments([]int64{at, at}, []int64{4 * n, 4 * n}) {
		args = append(args, devices.HostArg{Bytes: v.Value})
	}
	all := devices.MakeArgs(args)
	w.Variant.Source.Go[w.Variant.Entry](devices.Range{Lo: [3]int{lo}, Hi: [3]int{hi, 1, 1}, Global: [3]int{n, 1, 1}}, &all)
	for i := range y {
		want := float32(0)
		if e := at/4 + i; e >= lo && e < hi {
			want = 2 * float32(i)
		}
		if y[i] != want {
			t.Fatalf("element %d of the window is %g, want %g", i, y[i], want)
		}
	}
}

func TestWindowedOpenCL(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"__kernel void k(__global const float *x, float a, __global float *y) { y[0] = x[0]; }",
			"__kernel void k(__global const float *x, float a, __global float *y, ulong tandem_at_x, ulong tandem_at_y) { x -= tandem_at_x; y -= tandem_at_y; y[0] = x[0]; }"},
		{"void k2(); /* __kernel void k(){ */ // kernel void k() {\n#define K __kernel void k( {\\\n k(\nkernel\n__attribute__((vec_type_hint(float))) void\nk(global float *x, float a, global float *y)\n{}",
			"void k2(); /* __kernel void k(){ */ // kernel void k() {\n#define K __kernel void k( {\\\n k(\nkernel\n__attribute__((vec_type_hint(float))) void\nk(global float *x, float a, global float *y, ulong tandem_at_x, ulong tandem_at_y)\n{ x -= tandem_at_x; y -= tandem_at_y;}"},
		{"kernel void k(global float*x, float a, global float*y);\nkernel void k(global float*x, float a, global float*y) { g(k); }",
			"kernel void k(global float*x, float a, global float*y);\nkernel void k(global float*x, float a, global float*y, ulong tandem_at_x, ulong tandem_at_y) { x -= tandem_at_x; y -= tandem_at_y; g(k); }"},
	} {
		k := windowKernel(kernels.Variant{Language: devices.LangOpenCL, Entry: "k", Source: &devices.Source{Language: devices.LangOpenCL, Text: []byte(c.text)}})
		w, err := k.Windowed(&k.Variants[0], []int{0, 2})
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
			continue
		}
		if got := string(w.Variant.Source.Text); got != c.want {
			t.Errorf("got  %s\nwant %s", got, c.want)
		}
		if string(k.Variants[0].Source.Text) != c.text {
			t.Error("the variant itself was changed")
		}
	}
	k := windowKernel(kernels.Variant{Language: devices.LangOpenCL, Entry: "k", Source: &devices.Source{Language: devices.LangOpenCL,
		Text: []byte("kernel void k(global float *x, float a, global float *y) {}")}})
	w, err := k.Windowed(&k.Variants[0], []int{2})
	if err != nil {
		t.Fatal(err)
	}
	if args := w.Arguments([]int64{8192}, []int64{1 << 40}); len(args) != 1 || args[0].Value[1] != 8 {
		t.Errorf("arguments %v, want one: 2048 elements", args)
	}
}

func TestNotWindowed(t *testing.T) {
	made := windowKernel(kernels.Variant{Language: devices.LangOpenCL, Entry: "k", Source: &devices.Source{Language: devices.LangOpenCL,
		Text: []byte("#define DEF(n) __kernel void n(__global float *x, float a, __global float *y) { y[0] = \"{\"; '\\'' }\nDEF(k) /*")}})
	odd := windowKernel(kernels.Variant{Language: devices.LangOpenCL, Entry: "k", Source: &devices.Source{Language: devices.LangOpenCL}})
	odd.Params[2].Type = kernels.Type{Name: "rec", Size: 12, Align: 4}
	for what, k := range map[string]*kernels.Kernel{
		"does not show where kernel k is defined": made,
		"have 12 bytes":                      odd,
		"kernels in verilog take no windows": windowKernel(kernels.Variant{Language: devices.LangRTL, Source: &devices.Source{}}),
	} {
		if _, err := k.Windowed(&k.Variants[0], []int{0, 2}); !errors.Is(err, devices.ErrUnsupported) || !strings.Contains(err.Error(), what) {
			t.Errorf("err = %v, want unsupported: %s", err, what)
		}
	}
}
