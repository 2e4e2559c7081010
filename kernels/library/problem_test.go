package library

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/kernels"
)

// A problem is a kernel with arguments and a naive reference: want computes
// the outputs in place, exactly; check, where want cannot, holds the outputs
// to a bound.
type problem struct {
	name  string
	k     *kernels.Kernel
	args  []any
	want  func(args []any)
	check func(t testing.TB, args []any)
}

var lengths = []int64{0, 1, 2, 7, 8, 31, 33, 97, 1000, 2047, 2048, 2049, 4099, 70001}

var sizes = [][2]int64{{0, 0}, {0, 5}, {5, 0}, {1, 1}, {1, 2}, {2, 1}, {1, 37}, {37, 1}, {3, 3}, {4, 8}, {5, 16}, {7, 13}, {17, 31}, {64, 64}, {61, 127}, {9, 2200}}

func problems(rng *rand.Rand) []problem {
	var all []problem
	all = append(all, vectorProblems(rng)...)
	all = append(all, imageProblems(rng)...)
	all = append(all, linalgProblems(rng)...)
	all = append(all, otherProblems(rng)...)
	for i := range all {
		all[i].name = all[i].k.Name + "/" + all[i].name
	}
	return all
}

func float32In(rng *rand.Rand, n int64) *buf { return bufOf(randoms[float32](rng, n)) }

// randoms are n numbers of mixed size and sign; integers of any value.
func randoms[T number](rng *rand.Rand, n int64) []T {
	v := make([]T, n)
	for i := range v {
		var z T
		switch any(z).(type) {
		case float32, float64:
			v[i] = T(rng.NormFloat64() * math.Exp(rng.NormFloat64()*2))
		default:
			v[i] = T(int32(rng.Uint32()))
		}
	}
	return v
}

func bytesIn(rng *rand.Rand, shape ...int64) *buf {
	b := newBuf(devices.Uint8, shape...)
	kind := rng.IntN(4)
	for i := range b.data {
		switch kind {
		case 0: // black and white
			b.data[i] = byte(rng.IntN(2) * 255)
		case 1: // smooth
			b.data[i] = byte(i)
		default:
			b.data[i] = byte(rng.Uint32())
		}
	}
	return b
}

func vectorProblems(rng *rand.Rand) []problem {
	var all []problem
	for _, n := range lengths {
		all = append(all, elementwiseProblems[float32](rng, n, VectorAdd, VectorSaxpy, VectorScale)...)
		all = append(all, elementwiseProblems[float64](rng, n, VectorAddF64, VectorSaxpyF64, VectorScaleF64)...)
		all = append(all, elementwiseProblems[int32](rng, n, VectorAddI32, VectorSaxpyI32, VectorScaleI32)...)
		all = append(all, reduceProblems[float32, float32](rng, n, VectorSum, VectorDot, VectorMin, VectorMax)...)
		all = append(all, reduceProblems[float64, float64](rng, n, VectorSumF64, VectorDotF64, VectorMinF64, VectorMaxF64)...)
		all = append(all, reduceProblems[int32, int64](rng, n, VectorSumI32, VectorDotI32, VectorMinI32, VectorMaxI32)...)
	}
	return all
}

func elementwiseProblems[T number](rng *rand.Rand, n int64, add, saxpy, scale *kernels.Kernel) []problem {
	name := fmt.Sprint(n)
	x, y := bufOf(randoms[T](rng, n)), bufOf(randoms[T](rng, n))
	z := newBuf(devices.DTypeOf[T](), n)
	f := randoms[T](rng, 1)[0]
	return []problem{
		{name: name, k: add, args: []any{x, y, z}, want: func(a []any) {
			for i := range n {
				view[T](a[2].(*buf))[i] = view[T](a[0].(*buf))[i] + view[T](a[1].(*buf))[i]
			}
		}},
		{name: name, k: saxpy, args: []any{f, x, y}, want: func(a []any) {
			for i := range n {
				p := T(f * view[T](a[1].(*buf))[i])
				view[T](a[2].(*buf))[i] += p
			}
		}},
		{name: name, k: scale, args: []any{f, x, z}, want: func(a []any) {
			for i := range n {
				view[T](a[2].(*buf))[i] = f * view[T](a[1].(*buf))[i]
			}
		}},
	}
}

func reduceProblems[T, A number](rng *rand.Rand, n int64, sum, dot, least, most *kernels.Kernel) []problem {
	name := fmt.Sprint(n)
	x, y := randoms[T](rng, n), randoms[T](rng, n)
	result, extreme := newBuf(devices.DTypeOf[A](), 1), newBuf(devices.DTypeOf[T](), 1)
	all := []problem{
		{name: name, k: sum, args: []any{bufOf(x), result}, want: func(a []any) {
			view[A](a[1].(*buf))[0] = reduceReference(n, func(i int64) A { return A(x[i]) }, 0, func(a, b A) A { return a + b })
		}},
		{name: name, k: dot, args: []any{bufOf(x), bufOf(y), result}, want: func(a []any) {
			view[A](a[2].(*buf))[0] = reduceReference(n, func(i int64) A { return A(A(x[i]) * A(y[i])) }, 0, func(a, b A) A { return a + b })
		}},
	}
	if n == 0 {
		return all
	}
	plain := func(pick func(a, b T) T) func([]any) {
		return func(a []any) {
			best := x[0]
			for _, v := range x[1:] {
				best = pick(best, v)
			}
			view[T](a[1].(*buf))[0] = best
		}
	}
	return append(all,
		problem{name: name, k: least, args: []any{bufOf(x), extreme}, want: plain(func(a, b T) T { return min(a, b) })},
		problem{name: name, k: most, args: []any{bufOf(x), extreme}, want: plain(func(a, b T) T { return max(a, b) })})
}

// reduceReference reduces in the documented order, in the plainest way.
func reduceReference[A number](n int64, at func(int64) A, start A, join func(a, b A) A) A {
	toLanes := func(from, to int64, at func(int64) A) []A {
		l := make([]A, 32)
		for j := range l {
			l[j] = start
		}
		for i := from; i < to; i++ {
			l[(i-from)%32] = join(l[(i-from)%32], at(i))
		}
		return l
	}
	for n > 2048 {
		var next []A
		for from := int64(0); from < n; from += 2048 {
			next = append(next, toLanes(from, min(from+2048, n), at)...)
		}
		n, at = int64(len(next)), func(i int64) A { return next[i] }
	}
	l := toLanes(0, n, at)
	for len(l) > 1 {
		half := len(l) / 2
		for j := range half {
			l[j] = join(l[j], l[j+half])
		}
		l = l[:half]
	}
	return l[0]
}

func linalgProblems(rng *rand.Rand) []problem {
	var all []problem
	for _, s := range sizes {
		for _, k := range []int64{0, 1, 5, 8, 33} {
			all = append(all, gemmProblem[float32](rng, LinalgGemm, s[0], s[1], k), gemmProblem[float64](rng, LinalgGemmF64, s[0], s[1], k))
		}
		all = append(all, gemvProblem[float32](rng, LinalgGemv, s[0], s[1]), gemvProblem[float64](rng, LinalgGemvF64, s[0], s[1]))
		all = append(all, transposeProblem[float32](rng, LinalgTranspose, s[0], s[1]), transposeProblem[float64](rng, LinalgTransposeF64, s[0], s[1]))
		all = append(all, jacobiProblem[float32](rng, StencilJacobi2D, s[0], s[1], 0.2), jacobiProblem[float64](rng, StencilJacobi2DF64, s[0], s[1], 0.2))
	}
	// Deeper and higher than the blocks of the Go variant.
	return append(all, gemmProblem[float32](rng, LinalgGemm, 131, 37, 1030), gemmProblem[float64](rng, LinalgGemmF64, 131, 19, 517))
}

func gemmProblem[T real](rng *rand.Rand, kernel *kernels.Kernel, m, n, k int64) problem {
	a, b, c := bufOf(randoms[T](rng, m*k), m, k), bufOf(randoms[T](rng, k*n), k, n), bufOf(randoms[T](rng, m*n), m, n)
	alpha, beta := randoms[T](rng, 1)[0], randoms[T](rng, 1)[0]
	if rng.IntN(2) == 0 {
		alpha, beta = 1, 0
		for i := range view[T](c) {
			view[T](c)[i] = T(math.NaN()) // must not be looked at
		}
	}
	return problem{name: fmt.Sprintf("%dx%dx%d", m, n, k), k: kernel, args: []any{a, b, c, alpha, beta}, want: func(args []any) {
		c := view[T](args[2].(*buf))
		for i := range m {
			for j := range n {
				var s T
				for p := range k {
					s += T(view[T](a)[i*k+p] * view[T](b)[p*n+j])
				}
				s *= alpha
				if beta != 0 {
					s = s + T(beta*c[i*n+j])
				}
				c[i*n+j] = s
			}
		}
	}}
}

func gemvProblem[T real](rng *rand.Rand, kernel *kernels.Kernel, m, k int64) problem {
	a, x, y := bufOf(randoms[T](rng, m*k), m, k), bufOf(randoms[T](rng, k)), bufOf(randoms[T](rng, m))
	alpha, beta := randoms[T](rng, 1)[0], T(rng.IntN(3)-1)
	return problem{name: fmt.Sprintf("%dx%d", m, k), k: kernel, args: []any{a, x, y, alpha, beta}, want: func(args []any) {
		y := view[T](args[2].(*buf))
		for i := range m {
			lane := make([]T, 8)
			for p := range k {
				lane[p%8] += T(view[T](a)[i*k+p] * view[T](x)[p])
			}
			for half := 4; half > 0; half /= 2 {
				for j := range half {
					lane[j] += lane[j+half]
				}
			}
			s := T(alpha * lane[0])
			if beta != 0 {
				s = s + T(beta*y[i])
			}
			y[i] = s
		}
	}}
}

func transposeProblem[T real](rng *rand.Rand, kernel *kernels.Kernel, m, n int64) problem {
	src, dst := bufOf(randoms[T](rng, m*n), m, n), newBuf(devices.DTypeOf[T](), n, m)
	return problem{name: fmt.Sprintf("%dx%d", m, n), k: kernel, args: []any{src, dst}, want: func(args []any) {
		for i := range m {
			for j := range n {
				view[T](args[1].(*buf))[j*m+i] = view[T](src)[i*n+j]
			}
		}
	}}
}

func jacobiProblem[T real](rng *rand.Rand, kernel *kernels.Kernel, h, w int64, fifth T) problem {
	src, dst := bufOf(randoms[T](rng, h*w), h, w), newBuf(devices.DTypeOf[T](), h, w)
	return problem{name: fmt.Sprintf("%dx%d", h, w), k: kernel, args: []any{src, dst}, want: func(args []any) {
		s, d := view[T](src), view[T](args[1].(*buf))
		copy(d, s)
		for y := int64(1); y < h-1; y++ {
			for x := int64(1); x < w-1; x++ {
				i := y*w + x
				sum := s[i]
				for _, v := range []T{s[i-w], s[i+w], s[i-1], s[i+1]} {
					sum += v
				}
				d[i] = sum * fifth
			}
		}
	}}
}
