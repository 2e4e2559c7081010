package main

import (
	"bytes"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/devices/devicetest"
	"github.com/tandemrun/tandem/devices/sycl"
	"github.com/tandemrun/tandem/kernels"
	"github.com/tandemrun/tandem/kernels/library"
	"github.com/tandemrun/tandem/kernels/syclsrc"
	tandem "github.com/tandemrun/tandem/runtime"
)

func TestMain(m *testing.M) {
	if sycl.RunProbeChild() {
		return
	}
	os.Exit(m.Run())
}

func TestRun(t *testing.T) {
	var out strings.Builder
	if err := run(t.Context(), &out); err != nil {
		t.Fatal(err)
	}
	if want := "of the numbers up to 65536, 52527 takes longest: 339 steps\n"; out.String() != want {
		t.Errorf("got %q, want %q", out.String(), want)
	}
}

// withSYCL opens a session that has a SYCL device, and the CPU beside it.
func withSYCL(t *testing.T) *tandem.Session {
	t.Helper()
	devicetest.Require(t, "sycl", (&sycl.Driver{}).Probe(t.Context()).Reason)
	s, err := tandem.Open(t.Context(), tandem.Config{Drivers: drivers(), Devices: "sycl,cpu"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// builtin is a built-in kernel in SYCL C++ alone.
func builtin(t *testing.T, k *kernels.Kernel) *kernels.Kernel {
	t.Helper()
	v, err := syclsrc.Builtin(k.Name)
	if err != nil {
		t.Fatal(err)
	}
	own := *k
	own.Variants = []kernels.Variant{v}
	return &own
}

// sliceOf is an array of a shape that holds v.
func sliceOf[T devices.Number](t *testing.T, s *tandem.Session, v []T, shape ...int) *tandem.Slice[T] {
	t.Helper()
	x := tandem.NewSlice[T](s, shape...)
	err := x.Update(t.Context(), func(to []T) error {
		copy(to, v)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// TestBlur compares the built-in in SYCL C++ with its Go variant, byte for byte.
func TestBlur(t *testing.T) {
	s := withSYCL(t)
	seed := uint64(time.Now().UnixNano())
	rng := rand.New(rand.NewPCG(seed, 2))
	for _, shape := range [][]int{{1, 1}, {7, 5, 3}, {33, 64}, {40, 61, 4}, {2, 300, 2}} {
		n := 1
		for _, d := range shape {
			n *= d
		}
		pixels := make([]byte, n)
		for i := range pixels {
			pixels[i] = byte(rng.Uint32())
		}
		src := sliceOf(t, s, pixels, shape...)
		a, b := tandem.NewSlice[uint8](s, shape...), tandem.NewSlice[uint8](s, shape...)
		g := tandem.NewGraph()
		g.Add(builtin(t, library.ImageBlur), src, a).On("sycl")
		g.Add(library.ImageBlur, src, b).On("cpu")
		if err := s.Run(t.Context(), g); err != nil {
			t.Fatal(err)
		}
		got, err := a.Values(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		want, err := b.Values(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("shape %v: the two variants differ (seed %d)", shape, seed)
		}
	}
}

// TestGemm compares within what rounding each step may cost.
func TestGemm(t *testing.T) {
	s := withSYCL(t)
	seed := uint64(time.Now().UnixNano())
	rng := rand.New(rand.NewPCG(seed, 3))
	random := func(rows, cols int) *tandem.Slice[float32] {
		v := make([]float32, rows*cols)
		for i := range v {
			v[i] = rng.Float32()*2 - 1
		}
		return sliceOf(t, s, v, rows, cols)
	}
	for _, c := range []struct{ m, n, k int }{{1, 1, 1}, {4, 16, 7}, {33, 50, 19}, {128, 96, 64}} {
		for _, beta := range []float32{0, 0.5} {
			a, b := random(c.m, c.k), random(c.k, c.n)
			old := random(c.m, c.n)
			start, err := old.Values(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			x, y := sliceOf(t, s, start, c.m, c.n), sliceOf(t, s, start, c.m, c.n)
			g := tandem.NewGraph()
			g.Add(builtin(t, library.LinalgGemm), a, b, x, float32(1.5), beta).On("sycl")
			g.Add(library.LinalgGemm, a, b, y, float32(1.5), beta).On("cpu")
			if err := s.Run(t.Context(), g); err != nil {
				t.Fatal(err)
			}
			got, err := x.Values(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			want, err := y.Values(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for i := range got {
				// k products below 1, each rounded to float32 once or twice.
				if off := math.Abs(float64(got[i] - want[i])); off > float64(c.k+4)*math.Pow(2, -22) {
					t.Fatalf("%+v, beta %v: element %d is %v, want %v (seed %d)", c, beta, i, got[i], want[i], seed)
				}
			}
		}
	}
}

// TestZeroCopy: on a device with system USM nothing is copied.
func TestZeroCopy(t *testing.T) {
	s := withSYCL(t)
	info := s.Devices()[slices.IndexFunc(s.Devices(), func(d devices.Info) bool { return d.Backend == "sycl" })]
	if !info.HostCoherent {
		t.Skipf("%s does not work on the host's pages", info.ID)
	}
	x := tandem.SliceOf(s, make([]float32, 1<<20))
	y := tandem.SliceOf(s, slices.Repeat([]float32{3}, 1<<20))
	g := tandem.NewGraph()
	g.Add(library.VectorSaxpy, float32(2), x, y).On("sycl")
	if err := s.Run(t.Context(), g); err != nil {
		t.Fatal(err)
	}
	v, err := y.Values(t.Context())
	if err != nil || v[0] != 3 || v[1<<20-1] != 3 {
		t.Fatalf("%v, first %v, last %v", err, v[0], v[len(v)-1])
	}
	for _, d := range s.Stats() {
		if d.BytesH2D != 0 || d.BytesD2H != 0 {
			t.Errorf("%s: %d bytes to the device and %d back, want none", d.ID, d.BytesH2D, d.BytesD2H)
		}
	}
}
