package library

import (
	"fmt"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/kernels"
)

// Linear algebra on row-major matrices.
//
// Gemm adds the products of an element in the order of the inner dimension.
// Gemv adds them in eight lanes (lane j: j, j+8, …) and then the lanes in
// halves. Both round every product and every sum, and compute
// alpha·sum + beta·old at the end; with beta 0 the old contents are not looked
// at, so they may be NaN or undefined, and need not be moved to the device.
var (
	LinalgGemm    = linalgGemm[float32](float32s())
	LinalgGemmF64 = linalgGemm[float64](float64s())

	LinalgGemv    = linalgGemv[float32](float32s())
	LinalgGemvF64 = linalgGemv[float64](float64s())

	LinalgTranspose    = linalgTranspose[float32](float32s())
	LinalgTransposeF64 = linalgTranspose[float64](float64s())
)

var linalgCL = map[string]*devices.Source{
	float32s().suffix: clSource("linalg.cl", defFloat),
	float64s().suffix: clSource("linalg.cl", defDouble),
}

// The block of C that a work-item of gemm computes: gemmRows rows of 64 bytes,
// a cache line.
const gemmRows = 4

func gemmCols(e element) int { return 64 / e.dtype.Size() }

const matrix = "a matrix (rows, columns)"

func linalgGemm[T real](e element) *kernels.Kernel {
	return &kernels.Kernel{
		Name: "linalg.gemm" + e.suffix,
		Doc:  "c = alpha·a·b + beta·c (" + e.word + ")",
		Params: []kernels.Param{
			in("a", e.dtype, rowBlocks("a", 1, gemmRows), "left factor (m, k)"),
			in("b", e.dtype, whole("b"), "right factor (k, n)"),
			inout("c", e.dtype, rowBlocks("c", 1, gemmRows), "result (m, n); written only where beta is 0"),
			value("alpha", e.dtype, 1, "factor of the product"),
			value("beta", e.dtype, 0, "factor of the old contents"),
			implied("m", devices.Int32, "rows of a and c"),
			implied("n", devices.Int32, "columns of b and c"),
			implied("k", devices.Int32, "columns of a, rows of b"),
		},
		Variants: variants(gemmGo[T], linalgCL[e.suffix], "linalg_gemm", e.needs),
		Infer: func(c *kernels.Call) error {
			a, err := dims(c, "a", 2, matrix)
			if err != nil {
				return err
			}
			b, err := dims(c, "b", 2, matrix)
			if err != nil {
				return err
			}
			r, err := dims(c, "c", 2, matrix)
			if err != nil {
				return err
			}
			if a[1] != b[0] || a[0] != r[0] || b[1] != r[1] {
				return fmt.Errorf("\"a\" %s times \"b\" %s is no \"c\" %s; want (m, k), (k, n) and (m, n)",
					kernels.ShapeString(a), kernels.ShapeString(b), kernels.ShapeString(r))
			}
			if err := writeOnly(c, "beta", "c"); err != nil {
				return err
			}
			if err := set(c, "m", a[0], "n", b[1], "k", a[1]); err != nil {
				return err
			}
			return setRange(c, ceilDiv(b[1], int64(gemmCols(e))), ceilDiv(a[0], gemmRows))
		},
		Work: func(c *kernels.Call) kernels.Work {
			return kernels.Work{Flops: 2 * size(c, "m") * size(c, "n") * size(c, "k"), Bytes: bytesOf(c, "a", "b", "c")}
		},
	}
}

func linalgGemv[T real](e element) *kernels.Kernel {
	return &kernels.Kernel{
		Name: "linalg.gemv" + e.suffix,
		Doc:  "y = alpha·a·x + beta·y (" + e.word + ")",
		Params: []kernels.Param{
			in("a", e.dtype, rowBlocks("a", 0, 1), "matrix (m, k)"),
			in("x", e.dtype, whole("x"), "vector (k,)"),
			inout("y", e.dtype, kernels.PerItem(1), "result (m,); written only where beta is 0"),
			value("alpha", e.dtype, 1, "factor of the product"),
			value("beta", e.dtype, 0, "factor of the old contents"),
			implied("k", devices.Int32, "columns of a"),
		},
		Variants: variants(gemvGo[T], linalgCL[e.suffix], "linalg_gemv", e.needs),
		Infer: func(c *kernels.Call) error {
			a, err := dims(c, "a", 2, matrix)
			if err != nil {
				return err
			}
			x, err := dims(c, "x", 1, "a vector (columns,)")
			if err != nil {
				return err
			}
			y, err := dims(c, "y", 1, "a vector (rows,)")
			if err != nil {
				return err
			}
			if a[1] != x[0] || a[0] != y[0] {
				return fmt.Errorf("\"a\" %s times \"x\" %s is no \"y\" %s; want (m, k), (k,) and (m,)",
					kernels.ShapeString(a), kernels.ShapeString(x), kernels.ShapeString(y))
			}
			if err := writeOnly(c, "beta", "y"); err != nil {
				return err
			}
			if err := set(c, "k", a[1]); err != nil {
				return err
			}
			return setRange(c, a[0])
		},
		Work: func(c *kernels.Call) kernels.Work {
			return kernels.Work{Flops: 2 * float64(c.Array("a").Elements()), Bytes: bytesOf(c, "a", "x", "y")}
		},
	}
}

// transposeTile is the side of the tile that a work-item moves.
const transposeTile = 8

func linalgTranspose[T real](e element) *kernels.Kernel {
	return &kernels.Kernel{
		Name: "linalg.transpose" + e.suffix,
		Doc:  "dst[j][i] = src[i][j] (" + e.word + ")",
		Params: []kernels.Param{
			in("src", e.dtype, whole("src"), "matrix (m, n)"),
			out("dst", e.dtype, rowBlocks("dst", 1, transposeTile), "its transpose (n, m); not src itself"),
			implied("m", devices.Int32, "rows of src"),
			implied("n", devices.Int32, "columns of src"),
		},
		Variants: variants(transposeGo[T], linalgCL[e.suffix], "linalg_transpose", e.needs),
		Infer: func(c *kernels.Call) error {
			s, err := dims(c, "src", 2, matrix)
			if err != nil {
				return err
			}
			d, err := dims(c, "dst", 2, matrix)
			if err != nil {
				return err
			}
			if s[0] != d[1] || s[1] != d[0] {
				return differ(c)
			}
			if err := set(c, "m", s[0], "n", s[1]); err != nil {
				return err
			}
			return setRange(c, ceilDiv(s[0], transposeTile), ceilDiv(s[1], transposeTile))
		},
		Work: func(c *kernels.Call) kernels.Work {
			return kernels.Work{Flops: float64(c.Array("src").Elements()), Bytes: bytesOf(c, "src", "dst")}
		},
	}
}

// writeOnly makes the named array one that is only written if the named factor
// of its old contents is 0.
func writeOnly(c *kernels.Call, factor, array string) error {
	beta, err := numberOf(c, factor)
	if err == nil && beta == 0 {
		c.Args[c.Kernel.Param(array)].Mode = kernels.Write
	}
	return err
}
