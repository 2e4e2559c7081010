package strategy_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/devices/sim"
	"github.com/tandemrun/tandem/kernels/library"
	tandem "github.com/tandemrun/tandem/runtime"
	"github.com/tandemrun/tandem/runtime/strategy"
)

// multiplies describes a device in the host's memory that does so many blocks of
// linalg.gemm (4 rows of 64 bytes) in a second, and everything else in no time.
func multiplies(blocks float64) sim.Spec {
	return sim.Spec{Unified: true, Kernels: map[string]sim.KernelSpec{"linalg_gemm": {ItemsPerSecond: blocks}, "*": {}}}
}

// matrix makes a matrix with entries that show every rounding.
func matrix[T strategy.Real](s *tandem.Session, rng *rand.Rand, rows, cols int) *tandem.Slice[T] {
	x := tandem.NewSlice[T](s, rows, cols)
	_ = x.Update(ctx(), func(v []T) error {
		for i := range v {
			v[i] = T(rng.NormFloat64())
		}
		return nil
	})
	return x
}

// single is a·b on one device.
func single[T strategy.Real](t *testing.T, s *tandem.Session, a, b *tandem.Slice[T], rows, n int) []T {
	t.Helper()
	k := library.LinalgGemm
	if devices.DTypeOf[T]() == devices.Float64 {
		k = library.LinalgGemmF64
	}
	c := tandem.NewSlice[T](s, rows, n)
	g := tandem.NewGraph()
	g.Add(k, a, b, c).NoSplit().On("sim:0")
	run(t, s, g)
	return values(t, c)
}

func values[T devices.Number](t *testing.T, x *tandem.Slice[T]) []T {
	t.Helper()
	v, err := x.Values(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// warmGemm rehearses a product.
func warmGemm(t *testing.T, s *tandem.Session, a, b *tandem.Slice[float32], rows, n int) {
	t.Helper()
	g := tandem.NewGraph()
	g.Add(library.LinalgGemm, a, b, tandem.NewSlice[float32](s, rows, n))
	if err := strategy.WarmUp(t.Context(), s, g); err != nil {
		t.Fatal(err)
	}
}

// TestModelParallel multiplies 64 x 48 by 48 x 448 on devices of speeds 4, 2 and
// 1: they get 256, 128 and 64 columns and finish together. 16 x 28 blocks at
// 16000 + 8000 + 4000 blocks a second are 16 ms.
func TestModelParallel(t *testing.T) {
	const rows, k, n = 64, 48, 448
	rng := rand.New(rand.NewPCG(1, 2))
	s := machine(t, multiplies(16e3), multiplies(8e3), multiplies(4e3))
	a, b := matrix[float32](s, rng, rows, k), matrix[float32](s, rng, k, n)
	warmGemm(t, s, a, b, rows, n)
	m, err := strategy.ModelParallel(t.Context(), s, b, rows)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, p := range m.Panels {
		got = append(got, fmt.Sprintf("%s %d-%d", p.Device, p.First, p.Last))
	}
	if want := []string{"sim:0 0-256", "sim:1 256-384", "sim:2 384-448"}; !slices.Equal(got, want) {
		t.Errorf("panels %v, want %v", got, want)
	}
	want := single(t, s, a, b, rows, n)
	c := tandem.NewSlice[float32](s, rows, n)
	g := tandem.NewGraph()
	m.Multiply(g, a, c)
	if got := run(t, s, g); got != 16*ms {
		t.Errorf("makespan %v, want 16ms", got)
	}
	if got := values(t, c); !slices.Equal(got, want) {
		t.Error("the product differs from that of one device")
	}
	if err := errors.Join(m.Free(), m.Free()); err != nil {
		t.Error(err)
	}
}

// TestModelParallelBits compares products of random shapes, columns that do not
// fill a cache line among them, with those of one device, bit for bit, in both
// precisions and with two products that share the parts.
func TestModelParallelBits(t *testing.T) {
	const seed = 11
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	// Two memories besides the host's.
	s := machine(t, multiplies(1e4), sim.Spec{CopyEngines: 2}, sim.Spec{CopyEngines: 1})
	for range 12 {
		bits[float32](t, s, rng)
		bits[float64](t, s, rng)
	}
}

func bits[T strategy.Real](t *testing.T, s *tandem.Session, rng *rand.Rand) {
	t.Helper()
	rows, k, n := 1+rng.IntN(40), rng.IntN(60), 1+rng.IntN(120)
	shares := []float64{rng.Float64(), rng.Float64(), rng.Float64() + 0.1}
	b := matrix[T](s, rng, k, n)
	m, err := strategy.ModelParallel(t.Context(), s, b, rows, shares...)
	if err != nil {
		t.Fatal(err)
	}
	g := tandem.NewGraph()
	var as, cs []*tandem.Slice[T]
	for i := range 2 {
		as, cs = append(as, matrix[T](s, rng, rows, k)), append(cs, tandem.NewSlice[T](s, rows, n))
		m.Multiply(g, as[i], cs[i])
	}
	run(t, s, g)
	for i := range as {
		if got, want := values(t, cs[i]), single(t, s, as[i], b, rows, n); !slices.Equal(got, want) {
			t.Fatalf("(%d, %d) times (%d, %d) in shares %v differs from the product of one device", rows, k, k, n, shares)
		}
	}
	if err := m.Free(); err != nil {
		t.Error(err)
	}
}

// TestModelParallelFits has a matrix of 64 x 1024 float32 (256 KiB) and devices
// with 160 KiB each: no device can hold it, two can. It goes up once for any
// number of products.
func TestModelParallelFits(t *testing.T) {
	const rows, k, n = 16, 64, 1024
	spec := sim.Spec{CopyEngines: 2, Memory: 192 << 10, MaxAlloc: 160 << 10, Kernels: map[string]sim.KernelSpec{"*": {Time: ms}}}
	s := machine(t, spec, spec)
	rng := rand.New(rand.NewPCG(3, 4))
	a, b := matrix[float32](s, rng, rows, k), matrix[float32](s, rng, k, n)
	c := tandem.NewSlice[float32](s, rows, n)
	whole := tandem.NewGraph()
	whole.Add(library.LinalgGemm, a, b, c)
	var pe *tandem.PlanError
	if _, err := s.Plan(t.Context(), whole); !errors.As(err, &pe) {
		t.Fatalf("plan of the whole product: %v, want a plan error", err)
	}
	m, err := strategy.ModelParallel(t.Context(), s, b, rows)
	if err != nil {
		t.Fatal(err)
	}
	if len(m.Panels) != 2 || m.Panels[0].Last != 512 {
		t.Fatalf("%d panels, the first one to %d, want 2 halves", len(m.Panels), m.Panels[0].Last)
	}
	g := tandem.NewGraph()
	m.Multiply(g, a, c)
	for range 3 {
		run(t, s, g)
	}
	// Per product nothing but a part goes from one device to the other.
	const panel, left, part = 4 * k * 512, 4 * rows * k, 4 * rows * 512
	if d := s.Stats()[1]; d.BytesH2D != panel+left || d.BytesD2H != 3*part {
		t.Errorf("%d bytes up and %d down, want %d and %d", d.BytesH2D, d.BytesD2H, panel+left, 3*part)
	}
	sum := make([]float32, rows*n)
	av, bv := values(t, a), values(t, b)
	for i := range rows {
		for j := range n {
			for p := range k {
				sum[i*n+j] += float32(av[i*k+p] * bv[p*n+j])
			}
		}
	}
	if !slices.Equal(values(t, c), sum) {
		t.Error("the product differs from that by hand")
	}

	big := tandem.NewSlice[float32](s, k, 2*n)
	_, err = strategy.ModelParallel(t.Context(), s, big, rows)
	if !errors.Is(err, devices.ErrOutOfMemory) || !strings.Contains(err.Error(), "2048 columns of 256 bytes, and of their products 64: the devices have room for") {
		t.Errorf("twice the matrix: %v, want out of memory with the numbers", err)
	}
}

func TestModelParallelRefuses(t *testing.T) {
	s := machine(t, multiplies(1e4), multiplies(1e4))
	vector, empty := tandem.NewSlice[float32](s, 8), tandem.NewSlice[float32](s, 8, 0)
	if _, err := strategy.ModelParallel(t.Context(), s, vector, 1); !errors.Is(err, devices.ErrInvalid) || !strings.Contains(err.Error(), "(8,)") {
		t.Errorf("a vector: %v", err)
	}
	if _, err := strategy.ModelParallel(t.Context(), s, tandem.NewSlice[float32](s, 8, 8), 1, 1, 2, 3); !errors.Is(err, devices.ErrInvalid) {
		t.Errorf("three shares of two devices: %v", err)
	}
	// No columns are a legal size: a product without elements.
	m, err := strategy.ModelParallel(t.Context(), s, empty, 4)
	if err != nil {
		t.Fatal(err)
	}
	g := tandem.NewGraph()
	m.Multiply(g, tandem.NewSlice[float32](s, 4, 8), tandem.NewSlice[float32](s, 4, 0))
	run(t, s, g)
	// A factor that does not fit is a fault of the graph.
	g = tandem.NewGraph()
	m.Multiply(g, tandem.NewSlice[float32](s, 4, 9), tandem.NewSlice[float32](s, 4, 0))
	if g.Err() == nil {
		t.Error("9 columns times 8 rows: no fault")
	}
}
