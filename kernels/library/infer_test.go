package library

import (
	"strings"
	"testing"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/kernels"
)

func TestInferRefuses(t *testing.T) {
	f := func(shape ...int64) *buf { return newBuf(devices.Float32, shape...) }
	u := func(shape ...int64) *buf { return newBuf(devices.Uint8, shape...) }
	for _, c := range []struct {
		k    *kernels.Kernel
		args []any
		want string
	}{
		{VectorAdd, []any{f(3), f(4), f(3)}, `"x" has shape (3,) and "y" has shape (4,); they have to be equal`},
		{VectorAdd, []any{f(4, 3), f(12), f(4, 3)}, `"y" has shape (12,)`},
		{VectorAdd, []any{f(3), newBuf(devices.Float64, 3), f(3)}, `float64`},
		{VectorMin, []any{f(0), f(1)}, `"x" has shape (0,): an empty array has none`},
		{VectorMax, []any{f(0, 3), f(1)}, `"x" has shape (0, 3): an empty array has none`},
		{VectorSum, []any{f(3), f(2)}, `"result" has shape (2,), want one element`},
		{VectorSumI32, []any{newBuf(devices.Int32, 3), newBuf(devices.Int32, 1)}, `int32`},
		{ImageGray, []any{u(4, 4, 2), u(4, 4)}, `2 channels are neither gray nor RGB`},
		{ImageGray, []any{u(4, 4, 3), u(4, 4, 3)}, `want a gray picture`},
		{ImageGray, []any{u(4, 4, 3), u(4, 5)}, `do not fit`},
		{ImageBlur, []any{u(4), u(4)}, `"src" has shape (4,), want a picture (height, width)`},
		{ImageBlur, []any{u(4, 4, 5), u(4, 4, 5)}, `of 1 to 4 channels`},
		{ImageBlur, []any{u(4, 4), u(4, 4, 1)}, `do not fit`},
		{ImageSobel, []any{u(4, 4, 3), u(4, 4, 3)}, `image.gray makes one`},
		{ImageResize, []any{u(4, 4, 3), u(8, 8)}, `do not fit`},
		{ImageResize, []any{u(0, 4), u(8, 8)}, `nothing to make a picture of`},
		{ImageHistogram, []any{u(4, 4), newBuf(devices.Uint32, 255)}, `"bins" has shape (255,), want (256,)`},
		{LinalgGemm, []any{f(2, 3), f(4, 5), f(2, 5)}, `"a" (2, 3) times "b" (4, 5) is no "c" (2, 5)`},
		{LinalgGemm, []any{f(6), f(4, 5), f(2, 5)}, `"a" has shape (6,), want a matrix (rows, columns)`},
		{LinalgGemv, []any{f(2, 3), f(2), f(2)}, `"a" (2, 3) times "x" (2,)`},
		{LinalgTranspose, []any{f(2, 3), f(2, 3)}, `do not fit`},
		{StencilJacobi2D, []any{f(9), f(9)}, `want a grid`},
		{NBodyStep, []any{f(5, 3), f(5, 3), f(5, 3), f(5, 3), 0.1}, `"pos" has shape (5, 3), want (bodies, 4)`},
		{FractalMandelbrot, []any{newBuf(devices.Uint16, 4, 4), 0, 0, 0}, `span is 0, want a number above 0`},
		{FractalMandelbrot, []any{newBuf(devices.Uint16, 4, 4), 0, 0, 1, 65536}, `limit is 65536, want 1 to 65535`},
	} {
		_, err := bind(c.k, c.args...)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v\nwant %s", c.k.Name, err, c.want)
		}
	}
}

func TestInferChecksAGivenRange(t *testing.T) {
	x := newBuf(devices.Float32, 10)
	given := []kernels.Given{{Array: &x.Array}, {Array: &x.Array}, {Array: &x.Array}}
	c, err := kernels.Bind(VectorAdd, devices.NDRange{Dims: 1, Size: [3]int{10}, Local: [3]int{4}}, given)
	if err != nil || c.Range.Local[0] != 4 {
		t.Errorf("Bind with the right global size: %v, %v", c, err)
	}
	_, err = kernels.Bind(VectorAdd, devices.NDRange{Dims: 1, Size: [3]int{9}}, given)
	if want := "global size [9] at offset [0], but the shapes ask for [10] at 0"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("Bind with a wrong global size: %v, want %s", err, want)
	}
}

// TestBetaZeroNeedsNoOldContents checks that gemm and gemv read their result
// only where its old contents count.
func TestBetaZeroNeedsNoOldContents(t *testing.T) {
	f := func(shape ...int64) *buf { return newBuf(devices.Float32, shape...) }
	for _, c := range []struct {
		k    *kernels.Kernel
		args []any
		mode kernels.Access
	}{
		{LinalgGemm, []any{f(2, 3), f(3, 4), f(2, 4)}, kernels.Write},
		{LinalgGemm, []any{f(2, 3), f(3, 4), f(2, 4), 1, 0.5}, kernels.ReadWrite},
		{LinalgGemv, []any{f(2, 3), f(3), f(2)}, kernels.Write},
		{LinalgGemv, []any{f(2, 3), f(3), f(2), 2, 1}, kernels.ReadWrite},
	} {
		call, err := bind(c.k, c.args...)
		if err != nil {
			t.Fatal(err)
		}
		if call.Args[2].Mode != c.mode {
			t.Errorf("%s %v: mode %s, want %s", c.k.Name, c.args[3:], call.Args[2].Mode, c.mode)
		}
	}
	for _, k := range []*kernels.Kernel{LinalgGemm, LinalgGemv} {
		if m := k.Params[2].Mode; m != kernels.ReadWrite {
			t.Errorf("%s: a call changed the kernel: mode %s", k.Name, m)
		}
	}
}

func TestRangesAndSteps(t *testing.T) {
	f := func(shape ...int64) *buf { return newBuf(devices.Float32, shape...) }
	steps := func(n int64) (names string) {
		for _, l := range launches(t, VectorDot, f(n), f(n), f(1)) {
			names += l.c.Kernel.Name + " "
		}
		return names
	}
	for n, want := range map[int64]string{
		0:       "vector.dot.final ",
		2048:    "vector.dot.final ",
		2049:    "vector.dot.partial vector.dot.sum.final ",
		1 << 17: "vector.dot.partial vector.dot.sum.final ",
		1 << 18: "vector.dot.partial vector.dot.sum.partial vector.dot.sum.final ",
	} {
		if got := steps(n); got != want {
			t.Errorf("dot of %d: %s, want %s", n, got, want)
		}
	}
	c, err := bind(LinalgGemm, f(9, 5), f(5, 33), f(9, 33))
	if err != nil {
		t.Fatal(err)
	}
	if c.Range.Dims != 2 || c.Range.Size != [3]int{3, 3} {
		t.Errorf("gemm of 9x5x33 runs over %v, want 3 by 3 blocks", c.Range.Size)
	}
	if w := c.Work(); w.Flops != 2*9*5*33 || w.Bytes != 4*(9*5+5*33+9*33) {
		t.Errorf("gemm of 9x5x33 is %v", w)
	}
}
