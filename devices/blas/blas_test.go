package blas

import (
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/devices/devicetest"
)

func library(t *testing.T) *Library {
	t.Helper()
	l, err := Open()
	if err != nil {
		devicetest.Require(t, "blas", err)
	}
	return l
}

// grid is a matrix of random numbers with room between its rows.
type grid[T Real] struct {
	v             []T
	rows, columns int
	stride        int
}

func random[T Real](rng *rand.Rand, rows, columns int) grid[T] {
	g := grid[T]{rows: rows, columns: columns, stride: columns + rng.IntN(4)}
	g.v = make([]T, rows*g.stride)
	for i := range g.v {
		g.v[i] = T(rng.IntN(17) - 8)
	}
	return g
}

func (g grid[T]) at(i, j int) float64 { return float64(g.v[i*g.stride+j]) }

// near compares with what f says, and holds what lies between the rows and
// where f gives NaN to be as before.
func near[T Real](t *testing.T, what string, got, before grid[T], f func(i, j int) float64) {
	t.Helper()
	for i := range got.rows {
		for j := range got.stride {
			want := math.NaN()
			if j < got.columns {
				want = f(i, j)
			}
			if math.IsNaN(want) {
				want = before.at(i, j)
			}
			if d := math.Abs(got.at(i, j) - want); !(d <= 1e-3*(1+math.Abs(want))) {
				t.Fatalf("%s: element (%d, %d) is %v, want %v", what, i, j, got.at(i, j), want)
			}
		}
	}
}

func (g grid[T]) clone() grid[T] {
	g.v = append([]T(nil), g.v...)
	return g
}

// testTiles compares every operation with its definition.
func testTiles[T Real](t *testing.T) {
	l := library(t)
	rng := rand.New(rand.NewPCG(1, 2))
	for _, size := range [][3]int{{1, 1, 1}, {3, 5, 4}, {33, 17, 65}, {64, 64, 64}, {2, 3, 0}, {0, 4, 3}} {
		m, n, k := size[0], size[1], size[2]
		for _, bT := range []bool{false, true} {
			a, b, c := random[T](rng, m, k), random[T](rng, k, n), random[T](rng, m, n)
			if bT {
				b = random[T](rng, n, k)
			}
			before := c.clone()
			if err := Gemm(l, bT, m, n, k, 2, a.v, max(1, a.stride), b.v, max(1, b.stride), -1, c.v, c.stride); err != nil {
				t.Fatal(err)
			}
			near(t, "gemm", c, before, func(i, j int) float64 {
				sum := 0.0
				for p := range k {
					if bT {
						sum += a.at(i, p) * b.at(j, p)
					} else {
						sum += a.at(i, p) * b.at(p, j)
					}
				}
				return 2*sum - before.at(i, j)
			})
		}
		a, c := random[T](rng, n, k), random[T](rng, n, n)
		before := c.clone()
		if err := Syrk(l, n, k, -1, a.v, max(1, a.stride), 1, c.v, c.stride); err != nil {
			t.Fatal(err)
		}
		near(t, "syrk", c, before, func(i, j int) float64 {
			if j > i {
				return math.NaN()
			}
			sum := 0.0
			for p := range k {
				sum += a.at(i, p) * a.at(j, p)
			}
			return before.at(i, j) - sum
		})
	}
	for _, n := range []int{1, 7, 40, 129} {
		// A product of a lower matrix with its transpose, factored and solved.
		low := random[T](rng, n, n)
		for i := range n {
			for j := range n {
				switch {
				case j > i:
					low.v[i*low.stride+j] = 0
				case j == i:
					low.v[i*low.stride+j] = T(n)
				default:
					low.v[i*low.stride+j] /= 16
				}
			}
		}
		a := random[T](rng, n, n)
		before := a.clone()
		if err := Gemm(l, true, n, n, n, 1, low.v, low.stride, low.v, low.stride, 0, a.v, a.stride); err != nil {
			t.Fatal(err)
		}
		for i := range n { // what lies above is not to be looked at
			for j := i + 1; j < n; j++ {
				a.v[i*a.stride+j] = before.v[i*a.stride+j]
			}
		}
		before = a.clone()
		if err := Potrf(l, n, a.v, a.stride); err != nil {
			t.Fatal(err)
		}
		near(t, "potrf", a, before, func(i, j int) float64 {
			if j > i {
				return math.NaN()
			}
			return low.at(i, j)
		})
		x := random[T](rng, 5, n)
		b := random[T](rng, 5, n)
		if err := Gemm(l, true, 5, n, n, 1, x.v, x.stride, low.v, low.stride, 0, b.v, b.stride); err != nil {
			t.Fatal(err)
		}
		before = b.clone()
		if err := Trsm(l, 5, n, a.v, a.stride, b.v, b.stride); err != nil {
			t.Fatal(err)
		}
		near(t, "trsm", b, before, x.at)
	}
}

func TestTilesFloat32(t *testing.T) { testTiles[float32](t) }
func TestTilesFloat64(t *testing.T) { testTiles[float64](t) }

// TestNotDefinite: the row that fails is named.
func TestNotDefinite(t *testing.T) {
	l := library(t)
	err := Potrf(l, 3, []float64{1, 0, 0, 0, 4, 0, 0, 0, -1}, 3)
	var e *NotDefiniteError
	if !errors.As(err, &e) || e.Row != 2 || !errors.Is(err, devices.ErrInvalid) {
		t.Errorf("err = %v, want a NotDefiniteError of row 2", err)
	}
}

// TestTooShort: memory that is too short for a size is refused before C sees it.
func TestTooShort(t *testing.T) {
	l := library(t)
	ok, short := make([]float32, 16), make([]float32, 15)
	for name, err := range map[string]error{
		"a":               Gemm(l, false, 4, 4, 4, 1, short, 4, ok, 4, 0, ok, 4),
		"b":               Gemm(l, false, 4, 4, 4, 1, ok, 4, short, 4, 0, ok, 4),
		"c":               Gemm(l, false, 4, 4, 4, 1, ok, 4, ok, 4, 0, short, 4),
		"stride":          Syrk(l, 4, 4, 1, ok, 3, 0, ok, 4),
		"negative":        Trsm(l, -1, 4, ok, 4, ok, 4),
		"huge":            Potrf(l, 1<<31, ok, 1<<31),
		"rows and stride": Potrf(l, 1<<30, ok, 1<<30),
	} {
		if !errors.Is(err, devices.ErrInvalid) {
			t.Errorf("%s: err = %v, want ErrInvalid", name, err)
		}
	}
}

// TestConcurrent has many calls in flight on their own tiles.
func TestConcurrent(t *testing.T) {
	l := library(t)
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			const n = 32
			a, c := make([]float64, n*n), make([]float64, n*n)
			for i := range a {
				a[i] = float64(g + 1)
			}
			for range 50 {
				if err := Gemm(l, false, n, n, n, 1, a, n, a, n, 0, c, n); err != nil {
					t.Error(err)
					return
				}
				for i, v := range c {
					if want := float64(n * (g + 1) * (g + 1)); v != want {
						t.Errorf("goroutine %d: element %d is %v, want %v", g, i, v, want)
						return
					}
				}
			}
		})
	}
	wg.Wait()
}

// TestAbsent: a library that is not there is said with its name.
func TestAbsent(t *testing.T) {
	name := filepath.Join(t.TempDir(), "libnone.so")
	t.Setenv(LibraryVariable, name)
	_, err := Open()
	var e *devices.LoadError
	if !errors.As(err, &e) || len(e.Tried) != 1 || e.Tried[0] != name || !errors.Is(err, devices.ErrUnavailable) {
		t.Errorf("err = %v, want a LoadError that tried %s", err, name)
	}
	if err := os.WriteFile(name, []byte("no library"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(); !errors.Is(err, devices.ErrUnavailable) {
		t.Errorf("a file that is no library: err = %v, want ErrUnavailable", err)
	}
}
