// Package blas has the operations of tiled linear algebra as kernels that call
// a BLAS library of the machine. They run on the host's cores only, one tile by
// one core, and what they compute may differ in the last bits from machine to
// machine: kernels/library has products with the same bits everywhere.
//
// Matrices are row-major. A matrix that is factored or multiplied in parallel
// lies in memory tile by tile, each an array of its own, so that the order of
// tasks follows from the tiles they touch.
package blas

import (
	"fmt"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/devices/blas"
	"github.com/tandemrun/tandem/kernels"
)

// Kernels are the operations in one precision. They are immutable and safe for
// concurrent use.
type Kernels struct {
	// Gemm is c = alpha·a·b + beta·c: a (m, k), b (k, n), c (m, n). With
	// transposed 1 it is c = alpha·a·bᵀ + beta·c and b is (n, k). With beta 0
	// what c held is not looked at.
	Gemm *kernels.Kernel
	// Syrk is c = alpha·a·aᵀ + beta·c on the lower half of c (n, n), diagonal
	// included; a is (n, k).
	Syrk *kernels.Kernel
	// Trsm is b = b·a⁻ᵀ: a (n, n) is lower triangular, b is (m, n).
	Trsm *kernels.Kernel
	// Potrf is the lower Cholesky factor of a (n, n) in its place; the upper
	// half is not touched. Where a is not positive definite the launch fails
	// with a *blas.NotDefiniteError.
	Potrf *kernels.Kernel
}

// New makes the kernels that call l, for float32 or float64.
func New[T blas.Real](l *blas.Library) Kernels {
	t, suffix := devices.Float32, ""
	if _, wide := any(T(0)).(float64); wide {
		t, suffix = devices.Float64, ".f64"
	}
	b := builder{t, suffix}
	return Kernels{
		Gemm: b.kernel("gemm", "c = alpha·a·b + beta·c", gemm[T](l), inferGemm, gemmFlops,
			b.array("a", kernels.Read, "left factor (m, k)"),
			b.array("b", kernels.Read, "right factor (k, n), or (n, k) if it is transposed"),
			b.array("c", kernels.ReadWrite, "result (m, n); written only where beta is 0"),
			b.value("alpha", 1, "factor of the product"),
			b.value("beta", 0, "factor of the old contents"),
			kernels.Param{Name: "transposed", Kind: kernels.Value, Type: kernels.Scalar(devices.Int32), Default: 0, Doc: "1: b is taken as its transpose"}),
		Syrk: b.kernel("syrk", "lower half of c = alpha·a·aᵀ + beta·c", syrk[T](l), inferSyrk, syrkFlops,
			b.array("a", kernels.Read, "factor (n, k)"),
			b.array("c", kernels.ReadWrite, "result (n, n)"),
			b.value("alpha", 1, "factor of the product"),
			b.value("beta", 1, "factor of the old contents")),
		Trsm: b.kernel("trsm", "b = b·a⁻ᵀ, a lower triangular", trsm[T](l), inferTrsm, trsmFlops,
			b.array("a", kernels.Read, "lower triangular (n, n)"),
			b.array("b", kernels.ReadWrite, "right-hand sides in rows, then the solution (m, n)")),
		Potrf: b.kernel("potrf", "lower Cholesky factor of a in its place", potrf[T](l), inferPotrf, potrfFlops,
			b.array("a", kernels.ReadWrite, "positive definite (n, n), then its factor")),
	}
}

// builder makes kernels of one element type.
type builder struct {
	t      devices.DType
	suffix string
}

func (b builder) array(name string, mode kernels.Access, doc string) kernels.Param {
	return kernels.Param{Name: name, Kind: kernels.Buffer, Type: kernels.Scalar(b.t), Mode: mode, Doc: doc}
}

func (b builder) value(name string, preset any, doc string) kernels.Param {
	return kernels.Param{Name: name, Kind: kernels.Value, Type: kernels.Scalar(b.t), Default: preset, Doc: doc}
}

func (b builder) kernel(name, doc string, f func(a *devices.Args, s shapes) error, infer func(c *kernels.Call) error,
	flops func(s shapes) float64, params ...kernels.Param) *kernels.Kernel {
	// The shapes travel as values behind the arguments: three of two sides at
	// most.
	arrays := 0
	for _, p := range params {
		if p.Kind == kernels.Buffer {
			arrays++
		}
	}
	first := len(params)
	for i := range arrays {
		for _, side := range []string{"rows", "columns"} {
			params = append(params, kernels.Param{Name: params[i].Name + "_" + side, Kind: kernels.Value,
				Type: kernels.Scalar(devices.Int32), Implied: true, Doc: side + " of " + params[i].Name})
		}
	}
	full := "blas." + name + b.suffix
	run := func(r devices.Range, a *devices.Args) {
		if r.Lo[0] >= r.Hi[0] {
			return
		}
		var s shapes
		for i := range arrays {
			s[i] = shape{int(devices.Value[int32](a, first+2*i)), int(devices.Value[int32](a, first+2*i+1))}
		}
		if err := f(a, s); err != nil {
			panic(err) // which fails the launch
		}
	}
	return &kernels.Kernel{
		Name: full, Doc: doc, Params: params,
		Variants: []kernels.Variant{{Language: devices.LangGo, Entry: full,
			Source: &devices.Source{Name: full, Language: devices.LangGo, Go: map[string]devices.GoFunc{full: run}}}},
		Infer: func(c *kernels.Call) error {
			for i := range arrays {
				name := c.Kernel.Params[i].Name
				x := c.Array(name)
				if x == nil {
					return fmt.Errorf("array %q is missing", name)
				}
				if len(x.Shape) != 2 {
					return fmt.Errorf("%q has shape %s, want a matrix (rows, columns)", name, kernels.ShapeString(x.Shape))
				}
				for d, side := range []string{"_rows", "_columns"} {
					if err := c.SetValue(name+side, x.Shape[d]); err != nil {
						return err
					}
				}
			}
			if err := infer(c); err != nil {
				return err
			}
			c.SetRange(1)
			return nil
		},
		Work: func(c *kernels.Call) kernels.Work {
			w := kernels.Work{Flops: flops(shapesOf(c, arrays))}
			for i := range arrays {
				w.Bytes += float64(c.Args[i].Array.Bytes())
			}
			return w
		},
		NoSplit: "it is one call of the library",
	}
}

// shape is the sides of a matrix, shapes those of a kernel's arrays.
type (
	shape  struct{ rows, columns int }
	shapes [3]shape
)

func shapesOf(c *kernels.Call, arrays int) (s shapes) {
	for i := range arrays {
		x := c.Args[i].Array.Shape
		s[i] = shape{int(x[0]), int(x[1])}
	}
	return s
}
