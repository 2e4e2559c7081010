package bench

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/kernels"
	"github.com/tandemrun/tandem/kernels/library"
	tandem "github.com/tandemrun/tandem/runtime"
	"github.com/tandemrun/tandem/runtime/strategy"
)

// libraryCase is a built-in kernel in two sizes, small and large; add adds a
// call of a size.
type libraryCase struct {
	kernel *kernels.Kernel
	sizes  [2]int
	add    func(c *libraryCall, k *kernels.Kernel, n int)
}

// libraryCall builds a graph of one call and keeps its arrays.
type libraryCall struct {
	s       *tandem.Session
	g       *tandem.Graph
	buffers []*tandem.Buffer
	fill    []func(ctx context.Context) error
}

// operand is an array of a call, full of small numbers above 0.
func operand[T devices.Number](c *libraryCall, shape ...int) *tandem.Slice[T] {
	x := tandem.NewSlice[T](c.s, shape...)
	c.buffers = append(c.buffers, x.Buffer())
	c.fill = append(c.fill, func(ctx context.Context) error {
		return x.Update(ctx, func(v []T) error {
			for i := range v {
				v[i] = T(1 + i%61)
			}
			return nil
		})
	})
	return x
}

// vectors are the kernels on vectors of one type, whose sums are of another.
func vectors[T, A devices.Number](add, saxpy, scale, sum, dot, low, high *kernels.Kernel) []libraryCase {
	sizes := [2]int{1_000_000, 16_000_000}
	one := func(c *libraryCall, k *kernels.Kernel, n int) { c.g.Add(k, operand[T](c, n), operand[T](c, 1)) }
	return []libraryCase{
		{add, sizes, func(c *libraryCall, k *kernels.Kernel, n int) {
			c.g.Add(k, operand[T](c, n), operand[T](c, n), operand[T](c, n))
		}},
		{saxpy, sizes, func(c *libraryCall, k *kernels.Kernel, n int) { c.g.Add(k, T(3), operand[T](c, n), operand[T](c, n)) }},
		{scale, sizes, func(c *libraryCall, k *kernels.Kernel, n int) { c.g.Add(k, T(3), operand[T](c, n), operand[T](c, n)) }},
		{sum, sizes, func(c *libraryCall, k *kernels.Kernel, n int) { c.g.Add(k, operand[T](c, n), operand[A](c, 1)) }},
		{dot, sizes, func(c *libraryCall, k *kernels.Kernel, n int) {
			c.g.Add(k, operand[T](c, n), operand[T](c, n), operand[A](c, 1))
		}},
		{low, sizes, one},
		{high, sizes, one},
	}
}

// matrices are the kernels on matrices of one type.
func matrices[T devices.Number](gemm, gemv, transpose, jacobi *kernels.Kernel) []libraryCase {
	sides := [2]int{1024, 4096}
	two := func(c *libraryCall, k *kernels.Kernel, n int) { c.g.Add(k, operand[T](c, n, n), operand[T](c, n, n)) }
	return []libraryCase{
		{gemm, [2]int{256, 1024}, func(c *libraryCall, k *kernels.Kernel, n int) {
			c.g.Add(k, operand[T](c, n, n), operand[T](c, n, n), operand[T](c, n, n))
		}},
		{gemv, sides, func(c *libraryCall, k *kernels.Kernel, n int) {
			c.g.Add(k, operand[T](c, n, n), operand[T](c, n), operand[T](c, n))
		}},
		{transpose, sides, two},
		{jacobi, sides, two},
	}
}

// libraryCases are all built-in kernels.
func libraryCases() []libraryCase {
	all := vectors[float32, float32](library.VectorAdd, library.VectorSaxpy, library.VectorScale, library.VectorSum, library.VectorDot,
		library.VectorMin, library.VectorMax)
	all = append(all, vectors[float64, float64](library.VectorAddF64, library.VectorSaxpyF64, library.VectorScaleF64, library.VectorSumF64,
		library.VectorDotF64, library.VectorMinF64, library.VectorMaxF64)...)
	all = append(all, vectors[int32, int64](library.VectorAddI32, library.VectorSaxpyI32, library.VectorScaleI32, library.VectorSumI32,
		library.VectorDotI32, library.VectorMinI32, library.VectorMaxI32)...)
	all = append(all, matrices[float32](library.LinalgGemm, library.LinalgGemv, library.LinalgTranspose, library.StencilJacobi2D)...)
	all = append(all, matrices[float64](library.LinalgGemmF64, library.LinalgGemvF64, library.LinalgTransposeF64, library.StencilJacobi2DF64)...)
	sides := [2]int{1024, 4096}
	filter := func(c *libraryCall, k *kernels.Kernel, n int) {
		c.g.Add(k, operand[uint8](c, n, n), operand[uint8](c, n, n))
	}
	fractal := func(c *libraryCall, k *kernels.Kernel, n int) { c.g.Add(k, operand[uint16](c, n, n)) }
	return append(all, []libraryCase{
		{library.ImageGray, sides, func(c *libraryCall, k *kernels.Kernel, n int) {
			c.g.Add(k, operand[uint8](c, n, n, 3), operand[uint8](c, n, n))
		}},
		{library.ImageThreshold, sides, filter},
		{library.ImageBlur, sides, filter},
		{library.ImageSobel, sides, filter},
		{library.ImageHistogram, sides, func(c *libraryCall, k *kernels.Kernel, n int) {
			c.g.Add(k, operand[uint8](c, n, n), operand[uint32](c, 256))
		}},
		{library.ImageResize, sides, func(c *libraryCall, k *kernels.Kernel, n int) {
			c.g.Add(k, operand[uint8](c, n, n), operand[uint8](c, n*3/4, n*3/4))
		}},
		{library.FractalMandelbrot, [2]int{256, 1024}, fractal},
		{library.FractalMandelbrotF64, [2]int{256, 1024}, fractal},
		{library.FinanceBlackScholes, [2]int{100_000, 1_000_000}, func(c *libraryCall, k *kernels.Kernel, n int) {
			x := func() *tandem.Slice[float32] { return operand[float32](c, n) }
			c.g.Add(k, x(), x(), x(), x(), x(), float32(0.02), float32(0.3))
		}},
		{library.NBodyStep, [2]int{1024, 4096}, func(c *libraryCall, k *kernels.Kernel, n int) {
			x := func() *tandem.Slice[float32] { return operand[float32](c, n, 4) }
			c.g.Add(k, x(), x(), x(), x(), float32(0.01))
		}},
	}...)
}

// Library runs every built-in kernel in two sizes, on each device alone and on
// what the planner chooses of all of them: microseconds from submitting the
// graph of one call to its end, the data where they were left by the call
// before. The cost model has seen every device.
func Library(ctx context.Context, o Options) (all []Result, err error) {
	list, err := o.devices(ctx, devices.LangGo, devices.LangOpenCL)
	if err != nil {
		return nil, err
	}
	type place struct {
		suffix string
		s      *tandem.Session
	}
	var places []place
	defer func() {
		for _, p := range places {
			err = errors.Join(err, p.s.Close())
		}
	}()
	for _, f := range list {
		s, err := f.open(ctx, tandem.Config{})
		if err != nil {
			return nil, err
		}
		places = append(places, place{"." + f.info.Backend, s})
	}
	together, err := tandem.Open(ctx, tandem.Config{Drivers: o.drivers(), Devices: o.Devices})
	if err != nil {
		return nil, err
	}
	places = append(places, place{"", together})
	for _, c := range libraryCases() {
		for i, n := range c.sizes {
			if o.Quick && i > 0 {
				continue
			}
			for _, p := range places {
				took, err := timeLibrary(ctx, &o, p.s, c, n)
				if err != nil {
					return nil, fmt.Errorf("%s of %d%s: %w", c.kernel.Name, n, p.suffix, err)
				}
				name := fmt.Sprintf("library.%s.%d%s.us", c.kernel.Name, n, p.suffix)
				all = append(all, Result{name, float64(took.Nanoseconds()) / 1e3, "us", "lower"})
			}
		}
	}
	return all, nil
}

// timeLibrary is the best time of a call.
func timeLibrary(ctx context.Context, o *Options, s *tandem.Session, lc libraryCase, n int) (best time.Duration, err error) {
	c := &libraryCall{s: s, g: tandem.NewGraph()}
	defer func() {
		for _, b := range c.buffers {
			err = errors.Join(err, b.Free())
		}
	}()
	lc.add(c, lc.kernel, n)
	if err := c.g.Err(); err != nil {
		return 0, err
	}
	if err := strategy.WarmUp(ctx, s, c.g); err != nil {
		return 0, err
	}
	for _, f := range c.fill {
		if err := f(ctx); err != nil {
			return 0, err
		}
	}
	best = time.Hour
	until := time.Now().Add(pick(o, 80*time.Millisecond, 2*time.Millisecond))
	for i := 0; i < pick(o, 4, 2) || time.Now().Before(until); i++ {
		start := time.Now()
		if err := s.Run(ctx, c.g); err != nil {
			return 0, err
		}
		best = min(best, time.Since(start))
	}
	return best, nil
}
