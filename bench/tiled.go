package bench

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/tandemrun/tandem/devices"
	deviceblas "github.com/tandemrun/tandem/devices/blas"
	"github.com/tandemrun/tandem/devices/cpu"
	"github.com/tandemrun/tandem/kernels/blas"
	tandem "github.com/tandemrun/tandem/runtime"
)

// tiledSize is a square matrix of so many rows and the sides of the tiles that
// it is cut into.
type tiledSize struct {
	n     int
	tiles []int
}

// tiledSizes are those in single precision, or in double, of which there are
// fewer.
func tiledSizes(o *Options, wide bool) []tiledSize {
	tiles := []int{64, 128, 192, 320, 480}
	switch {
	case o.Quick:
		return []tiledSize{{960, []int{64, 192}}}
	case wide:
		return []tiledSize{{1920, tiles}, {3840, tiles}}
	}
	return []tiledSize{{960, []int{64, 192, 320, 480}}, {1920, tiles}, {3840, tiles}, {5760, tiles[2:]}}
}

// tiled is a problem on matrices in tiles.
type tiled[T deviceblas.Real] struct {
	o   *Options
	s   *tandem.Session
	k   blas.Kernels
	n   int // rows of the matrix
	b   int // rows of a tile
	all []*tandem.Slice[T]
}

func (p *tiled[T]) tiles() int { return p.n / p.b }

// matrix makes a matrix, tile by tile.
func (p *tiled[T]) matrix() []*tandem.Slice[T] {
	m := make([]*tandem.Slice[T], p.tiles()*p.tiles())
	for i := range m {
		m[i] = tandem.NewSlice[T](p.s, p.b, p.b)
	}
	p.all = append(p.all, m...)
	return m
}

func (p *tiled[T]) free() (err error) {
	for _, x := range p.all {
		err = errors.Join(err, x.Buffer().Free())
	}
	p.all = nil
	return err
}

// fill sets every element of a matrix.
func (p *tiled[T]) fill(ctx context.Context, m []*tandem.Slice[T], f func(i, j int) T) error {
	for t, x := range m {
		row, column := t/p.tiles()*p.b, t%p.tiles()*p.b
		if err := x.Update(ctx, func(v []T) error {
			for i := range v {
				v[i] = f(row+i/p.b, column+i%p.b)
			}
			return nil
		}); err != nil {
			return err
		}
	}
	return nil
}

// row is a row of a matrix.
func (p *tiled[T]) row(ctx context.Context, m []*tandem.Slice[T], i int) ([]T, error) {
	var all []T
	for t := range p.tiles() {
		if err := m[i/p.b*p.tiles()+t].Read(ctx, func(v []T) error {
			all = append(all, v[i%p.b*p.b:][:p.b]...)
			return nil
		}); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// timed builds, plans and runs a graph.
func (p *tiled[T]) timed(ctx context.Context, build func() *tandem.Graph) (time.Duration, error) {
	start := time.Now()
	err := p.s.Run(ctx, build())
	return time.Since(start), err
}

// cholesky factors a positive definite matrix: right-looking, lower half. It
// returns operations per second.
func (p *tiled[T]) cholesky(ctx context.Context) (float64, error) {
	a, t := p.matrix(), p.tiles()
	at := func(i, j int) *tandem.Slice[T] { return a[i*t+j] }
	best := time.Hour
	for range p.repeats() {
		if err := p.fill(ctx, a, func(i, j int) T {
			if i == j {
				return T(p.n)
			}
			return 1 / T(1+max(i-j, j-i))
		}); err != nil {
			return 0, err
		}
		took, err := p.timed(ctx, func() *tandem.Graph {
			g := tandem.NewGraph()
			for k := range t {
				g.Add(p.k.Potrf, at(k, k))
				for i := k + 1; i < t; i++ {
					g.Add(p.k.Trsm, at(k, k), at(i, k))
				}
				for i := k + 1; i < t; i++ {
					g.Add(p.k.Syrk, at(i, k), at(i, i), T(-1))
					for j := k + 1; j < i; j++ {
						g.Add(p.k.Gemm, at(i, k), at(j, k), at(i, j), T(-1), T(1), 1)
					}
				}
			}
			return g
		})
		if err != nil {
			return 0, err
		}
		best = min(best, took)
	}
	// The last row of the factor times itself is the last of the diagonal.
	last, err := p.row(ctx, a, p.n-1)
	if err != nil {
		return 0, err
	}
	sum := 0.0
	for _, v := range last {
		sum += float64(v) * float64(v)
	}
	if !(math.Abs(sum-float64(p.n)) < 1e-3*float64(p.n)) {
		return 0, fmt.Errorf("cholesky of %d in tiles of %d: wrong factor: its last row has the square %g", p.n, p.b, sum)
	}
	return math.Pow(float64(p.n), 3) / 3 / best.Seconds(), nil
}

// gemm multiplies two matrices. It returns operations per second.
func (p *tiled[T]) gemm(ctx context.Context) (float64, error) {
	a, b, c, t := p.matrix(), p.matrix(), p.matrix(), p.tiles()
	if err := errors.Join(p.fill(ctx, a, func(int, int) T { return 2 }), p.fill(ctx, b, func(int, int) T { return 0.5 })); err != nil {
		return 0, err
	}
	best := time.Hour
	for range p.repeats() {
		if err := p.fill(ctx, c, func(int, int) T { return 0 }); err != nil {
			return 0, err
		}
		took, err := p.timed(ctx, func() *tandem.Graph {
			g := tandem.NewGraph()
			for k := range t {
				for i := range t {
					for j := range t {
						g.Add(p.k.Gemm, a[i*t+k], b[k*t+j], c[i*t+j], T(1), T(1))
					}
				}
			}
			return g
		})
		if err != nil {
			return 0, err
		}
		best = min(best, took)
	}
	last, err := p.row(ctx, c, p.n-1)
	if err != nil {
		return 0, err
	}
	for j, v := range last {
		if v != T(p.n) {
			return 0, fmt.Errorf("gemm of %d in tiles of %d: element %d of the last row is %v, want %d", p.n, p.b, j, v, p.n)
		}
	}
	return 2 * math.Pow(float64(p.n), 3) / best.Seconds(), nil
}

// repeats: small matrices are over too soon for one run to say much.
func (p *tiled[T]) repeats() int {
	if p.o.Quick || p.n > 1920 {
		return 1
	}
	return 3
}

// Cholesky factors matrices in tiles on the host's cores with OpenBLAS for the
// tiles, in Gflop/s, adding tasks and planning included. "best" is the best tile.
func Cholesky(ctx context.Context, o Options) ([]Result, error) {
	return tiledProblem(ctx, &o, "cholesky", (*tiled[float32]).cholesky, (*tiled[float64]).cholesky, nil)
}

// Gemm multiplies matrices in tiles likewise, and in single precision on two
// devices of one core each.
func Gemm(ctx context.Context, o Options) ([]Result, error) {
	return tiledProblem(ctx, &o, "gemm", (*tiled[float32]).gemm, (*tiled[float64]).gemm, gemmTogether)
}

func tiledProblem(ctx context.Context, o *Options, name string, single func(*tiled[float32], context.Context) (float64, error),
	double func(*tiled[float64], context.Context) (float64, error),
	more func(context.Context, *Options, *deviceblas.Library) ([]Result, error)) ([]Result, error) {
	lib, err := deviceblas.Open()
	if errors.Is(err, devices.ErrUnavailable) {
		o.note("%s is left out: %v", name, err)
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	o.note("%s: %s, %s", name, lib.Path(), lib.Config())
	all, err := tiledIn(ctx, o, name, "", tiledSizes(o, false), blas.New[float32](lib), single)
	if err != nil {
		return nil, err
	}
	wide, err := tiledIn(ctx, o, name, ".f64", tiledSizes(o, true), blas.New[float64](lib), double)
	if all = append(all, wide...); err != nil || more == nil {
		return all, err
	}
	others, err := more(ctx, o, lib)
	return append(all, others...), err
}

// tiledIn measures all sizes and tiles in one precision.
func tiledIn[T deviceblas.Real](ctx context.Context, o *Options, name, suffix string, sizes []tiledSize, k blas.Kernels,
	f func(*tiled[T], context.Context) (float64, error)) (all []Result, err error) {
	s, err := tandem.Open(ctx, tandem.Config{Drivers: []devices.Driver{cpu.Driver{}}})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	for _, size := range sizes {
		best := 0.0
		for _, b := range size.tiles {
			p := &tiled[T]{o: o, s: s, k: k, n: size.n, b: b}
			rate, err := f(p, ctx)
			if err := errors.Join(err, p.free()); err != nil {
				return nil, fmt.Errorf("%s of %d in tiles of %d: %w", name, size.n, b, err)
			}
			all = append(all, Result{fmt.Sprintf("%s.%d.%d%s.gflops", name, size.n, b, suffix), rate / 1e9, "GFLOP/s", "higher"})
			best = max(best, rate/1e9)
		}
		all = append(all, Result{fmt.Sprintf("%s.%d.best%s.gflops", name, size.n, suffix), best, "GFLOP/s", "higher"})
	}
	return all, nil
}
