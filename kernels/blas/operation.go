package blas

import (
	"fmt"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/devices/blas"
	"github.com/tandemrun/tandem/kernels"
)

// unfit is the error of matrices that do not fit each other.
func unfit(c *kernels.Call, arrays int, want string) error {
	text := ""
	for i := range arrays {
		text += fmt.Sprintf("%q %s, ", c.Kernel.Params[i].Name, kernels.ShapeString(c.Args[i].Array.Shape))
	}
	return fmt.Errorf("%sdo not fit each other, want %s", text, want)
}

func inferGemm(c *kernels.Call) error {
	s := shapesOf(c, 3)
	b, want := s[1], "(m, k), (k, n) and (m, n)"
	t, _ := c.Int("transposed")
	switch t {
	case 0:
	case 1:
		b, want = shape{b.columns, b.rows}, "(m, k), (n, k) and (m, n)"
	default:
		return fmt.Errorf("transposed is %d, want 0 or 1", t)
	}
	if s[0].columns != b.rows || s[0].rows != s[2].rows || b.columns != s[2].columns {
		return unfit(c, 3, want)
	}
	beta := c.Args[c.Kernel.Param("beta")].Value
	for _, v := range beta {
		if v != 0 {
			return nil
		}
	}
	c.Args[2].Mode = kernels.Write
	return nil
}

func gemmFlops(s shapes) float64 {
	return 2 * float64(s[2].rows) * float64(s[2].columns) * float64(s[0].columns)
}

func gemm[T blas.Real](l *blas.Library) func(*devices.Args, shapes) error {
	return func(a *devices.Args, s shapes) error {
		return blas.Gemm(l, devices.Value[int32](a, 5) == 1, s[2].rows, s[2].columns, s[0].columns,
			devices.Value[T](a, 3), devices.Slice[T](a, 0), stride(s[0]), devices.Slice[T](a, 1), stride(s[1]),
			devices.Value[T](a, 4), devices.Slice[T](a, 2), stride(s[2]))
	}
}

func inferSyrk(c *kernels.Call) error {
	s := shapesOf(c, 2)
	if s[1].rows != s[1].columns || s[0].rows != s[1].rows {
		return unfit(c, 2, "(n, k) and (n, n)")
	}
	return nil
}

func syrkFlops(s shapes) float64 {
	n := float64(s[0].rows)
	return n * (n + 1) * float64(s[0].columns)
}

func syrk[T blas.Real](l *blas.Library) func(*devices.Args, shapes) error {
	return func(a *devices.Args, s shapes) error {
		return blas.Syrk(l, s[0].rows, s[0].columns, devices.Value[T](a, 2), devices.Slice[T](a, 0), stride(s[0]),
			devices.Value[T](a, 3), devices.Slice[T](a, 1), stride(s[1]))
	}
}

func inferTrsm(c *kernels.Call) error {
	s := shapesOf(c, 2)
	if s[0].rows != s[0].columns || s[1].columns != s[0].rows {
		return unfit(c, 2, "(n, n) and (m, n)")
	}
	return nil
}

func trsmFlops(s shapes) float64 {
	n := float64(s[0].rows)
	return n * n * float64(s[1].rows)
}

func trsm[T blas.Real](l *blas.Library) func(*devices.Args, shapes) error {
	return func(a *devices.Args, s shapes) error {
		return blas.Trsm(l, s[1].rows, s[1].columns, devices.Slice[T](a, 0), stride(s[0]), devices.Slice[T](a, 1), stride(s[1]))
	}
}

func inferPotrf(c *kernels.Call) error {
	if s := shapesOf(c, 1); s[0].rows != s[0].columns {
		return unfit(c, 1, "a square matrix")
	}
	return nil
}

func potrfFlops(s shapes) float64 {
	n := float64(s[0].rows)
	return n * n * n / 3
}

func potrf[T blas.Real](l *blas.Library) func(*devices.Args, shapes) error {
	return func(a *devices.Args, s shapes) error {
		return blas.Potrf(l, s[0].rows, devices.Slice[T](a, 0), stride(s[0]))
	}
}

// stride is how far apart the rows of a matrix are.
func stride(s shape) int { return max(1, s.columns) }
