package library

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/kernels"
)

// All lists the built-in kernels, sorted by name. The slice is the caller's;
// the kernels are shared and immutable.
func All() []*kernels.Kernel {
	all := []*kernels.Kernel{
		VectorAdd, VectorAddF64, VectorAddI32,
		VectorSaxpy, VectorSaxpyF64, VectorSaxpyI32,
		VectorScale, VectorScaleF64, VectorScaleI32,
		VectorDot, VectorDotF64, VectorDotI32,
		VectorSum, VectorSumF64, VectorSumI32,
		VectorMin, VectorMinF64, VectorMinI32,
		VectorMax, VectorMaxF64, VectorMaxI32,
		ImageGray, ImageBlur, ImageSobel, ImageThreshold, ImageResize, ImageHistogram,
		LinalgGemm, LinalgGemmF64, LinalgGemv, LinalgGemvF64, LinalgTranspose, LinalgTransposeF64,
		StencilJacobi2D, StencilJacobi2DF64,
		FinanceBlackScholes,
		NBodyStep,
		FractalMandelbrot, FractalMandelbrotF64,
	}
	slices.SortFunc(all, func(a, b *kernels.Kernel) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// Lookup finds a built-in kernel by its name. An unknown name is
// devices.ErrInvalid and suggests the nearest one: the last part of a name
// ("blur") suggests the whole.
func Lookup(name string) (*kernels.Kernel, error) {
	all := All()
	names := make([]string, len(all))
	for i, k := range all {
		if k.Name == name {
			return k, nil
		}
		names[i] = k.Name
	}
	near := kernels.Nearest(name, names)
	for _, n := range names {
		if _, last, _ := strings.Cut(n, "."); strings.EqualFold(last, name) {
			near = n
			break
		}
	}
	if near != "" {
		return nil, fmt.Errorf("no built-in kernel %q; did you mean %q?: %w", name, near, devices.ErrInvalid)
	}
	return nil, fmt.Errorf("no built-in kernel %q; there are %s: %w", name, strings.Join(names, ", "), devices.ErrInvalid)
}
