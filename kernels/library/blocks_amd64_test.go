package library

import (
	"math"
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/kernels"
)

// without runs f with the loops in Go only.
func without(f func()) {
	had := avx2
	avx2 = false
	defer func() { avx2 = had }()
	f()
}

func needAVX2(t *testing.T) {
	if !avx2 {
		t.Skip("the processor has no AVX2")
	}
}

// cloned are arguments with arrays of their own.
func cloned(args []any) []any {
	out := make([]any, len(args))
	for i, a := range args {
		if b, ok := a.(*buf); ok {
			c := newBuf(b.DType, b.Shape...)
			copy(c.data, b.data)
			a = c
		}
		out[i] = a
	}
	return out
}

// both runs a kernel with the loops in assembly and with those in Go, in parts,
// and compares every array.
func both(t *testing.T, rng *rand.Rand, what string, k *kernels.Kernel, args ...any) {
	t.Helper()
	other := cloned(args)
	run(t, splitGo(rng), k, args...)
	without(func() { run(t, splitGo(rng), k, other...) })
	for i := range args {
		if b, ok := args[i].(*buf); ok {
			sameBits(t, what, b, other[i].(*buf))
		}
	}
}

// TestAssembly: assembly and Go give the same bits for every kernel; the other
// tests compare either of them with the references.
func TestAssembly(t *testing.T) {
	needAVX2(t)
	rng := seeded(t)
	for _, p := range problems(rng) {
		both(t, rng, p.name, p.k, p.args...)
	}
}

// TestReferencesInGo holds the loops in Go to the references.
func TestReferencesInGo(t *testing.T) {
	needAVX2(t)
	rng := seeded(t)
	without(func() {
		for _, p := range problems(rng) {
			args := cloned(p.args)
			run(t, wholeGo, p.k, args...)
			if p.check != nil {
				p.check(t, args)
				continue
			}
			want := cloned(p.args)
			p.want(want)
			for i := range args {
				if b, ok := args[i].(*buf); ok {
					sameBits(t, p.name, b, want[i].(*buf))
				}
			}
		}
	})
}

// odd are numbers that comparisons and sums treat in their own ways.
func odd[T float32 | float64](rng *rand.Rand, n int64, nan bool) *buf {
	special := []float64{0, math.Copysign(0, -1), 1, -1, math.Inf(1), math.Inf(-1), 1e-45, -1e-45, math.MaxFloat32, 2.5}
	if nan {
		special = append(special, math.NaN())
	}
	v := make([]T, n)
	for i := range v {
		v[i] = T(special[rng.IntN(len(special))])
	}
	return bufOf(v)
}

func oddNumbers[T float32 | float64](t *testing.T, e element, add, saxpy, scale, sum, dot, low, high, jacobi *kernels.Kernel) {
	rng := seeded(t)
	for _, nan := range []bool{false, true} {
		for _, n := range []int64{32, 33, 64, 100, 2048, 5000} {
			x, y := odd[T](rng, n, nan), odd[T](rng, n, nan)
			if nan && n > 1000 { // few enough that lanes without one are left
				x = bufOf(randoms[T](rng, n))
				view[T](x)[rng.IntN(int(n))] = T(math.NaN())
			}
			one := func() *buf { return newBuf(e.dtype, 1) }
			both(t, rng, "add", add, x, y, newBuf(e.dtype, n))
			both(t, rng, "saxpy", saxpy, -2.5, x, odd[T](rng, n, nan))
			both(t, rng, "scale", scale, 0.0, x, newBuf(e.dtype, n))
			both(t, rng, "sum", sum, x, one())
			both(t, rng, "dot", dot, x, y, one())
			both(t, rng, "min", low, x, one())
			both(t, rng, "max", high, x, one())
		}
		grid := odd[T](rng, 9*70, nan)
		grid.Shape = []int64{9, 70}
		both(t, rng, "jacobi", jacobi, grid, newBuf(e.dtype, 9, 70))
	}
}

func TestOddNumbersInAssembly(t *testing.T) {
	needAVX2(t)
	oddNumbers[float32](t, float32s(), VectorAdd, VectorSaxpy, VectorScale, VectorSum, VectorDot, VectorMin, VectorMax, StencilJacobi2D)
	oddNumbers[float64](t, float64s(), VectorAddF64, VectorSaxpyF64, VectorScaleF64, VectorSumF64, VectorDotF64, VectorMinF64, VectorMaxF64, StencilJacobi2DF64)
}

// pastCaches compares writing past the caches with writing into them, in memory
// that begins at any place.
func pastCaches[T number](t *testing.T) {
	rng := seeded(t)
	var z T
	const n = 300
	x, y := randoms[T](rng, n), randoms[T](rng, n)
	memory := devices.View[T](aligned((n + 16) * int(unsafe.Sizeof(z))))
	for shift := range 9 {
		for _, large := range []bool{false, true} {
			got := memory[shift : shift+n]
			clear(memory)
			done := addBlocks(got, x, y, large)
			if want := n - n%(blockBytes/int(unsafe.Sizeof(z))); done != want {
				t.Fatalf("%d elements were added, want %d", done, want)
			}
			for i := range got {
				if want := x[i] + y[i]; i < done && got[i] != want || i >= done && got[i] != 0 {
					t.Fatalf("sum %d of %d is %v, want %v; large is %v, shift %d", i, done, got[i], want, large, shift)
				}
			}
			scaleBlocks(got, x, 3, large)
			for i := range got[:done] {
				if want := 3 * x[i]; got[i] != want {
					t.Fatalf("product %d is %v, want %v; large is %v, shift %d", i, got[i], want, large, shift)
				}
			}
		}
	}
}

func TestPastCaches(t *testing.T) {
	needAVX2(t)
	pastCaches[float32](t)
	pastCaches[float64](t)
	pastCaches[int32](t)
}
