package library

import (
	"math/rand/v2"
	"testing"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/kernels"
)

// BenchmarkGo runs the Go variants on one core, in the first-level cache
// (small) where that says more of the loop than of the memory, and beyond it.
// MB/s counts the bytes of all arrays; "op/s" what Kernel.Work calls operations.
func BenchmarkGo(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 1))
	const small, large = 1000, 1 << 21
	f32 := func(n int64) *buf { return float32In(rng, n) }
	matrix := func(m, n int64) *buf { return bufOf(randoms[float32](rng, m*n), m, n) }
	matrix64 := func(m, n int64) *buf { return bufOf(randoms[float64](rng, m*n), m, n) }
	gray := bytesIn(rng, 872, 1000)
	color := bytesIn(rng, 872, 1000, 3)
	out := func() *buf { return newBuf(devices.Uint8, 872, 1000) }
	scalar := newBuf(devices.Float32, 1)
	for _, c := range []struct {
		name string
		k    *kernels.Kernel
		args []any
	}{
		{"small", VectorAdd, []any{f32(small), f32(small), f32(small)}},
		{"large", VectorAdd, []any{f32(large), f32(large), f32(large)}},
		{"small", VectorSaxpy, []any{0.5, f32(small), f32(small)}},
		{"large", VectorSaxpy, []any{0.5, f32(large), f32(large)}},
		{"small", VectorScale, []any{0.5, f32(small), f32(small)}},
		{"small", VectorSum, []any{f32(small), scalar}},
		{"large", VectorSum, []any{f32(large), scalar}},
		{"small", VectorDot, []any{f32(small), f32(small), scalar}},
		{"small", VectorMin, []any{f32(small), scalar}},
		{"large", VectorMax, []any{f32(large), scalar}},
		{"1000x872", ImageGray, []any{color, out()}},
		{"1000x872", ImageBlur, []any{gray, out()}},
		{"1000x872x3", ImageBlur, []any{color, newBuf(devices.Uint8, 872, 1000, 3)}},
		{"1000x872", ImageSobel, []any{gray, out()}},
		{"1000x872", ImageThreshold, []any{gray, out()}},
		{"1000x872-to-512x512", ImageResize, []any{gray, newBuf(devices.Uint8, 512, 512)}},
		{"1000x872", ImageHistogram, []any{gray, newBuf(devices.Uint32, 256)}},
		{"512", LinalgGemm, []any{matrix(512, 512), matrix(512, 512), matrix(512, 512)}},
		{"512", LinalgGemmF64, []any{matrix64(512, 512), matrix64(512, 512), matrix64(512, 512)}},
		{"1024x512", LinalgGemv, []any{matrix(1024, 512), f32(512), f32(1024)}},
		{"1024", LinalgTranspose, []any{matrix(1024, 1024), matrix(1024, 1024)}},
		{"1000", StencilJacobi2D, []any{matrix(1000, 1000), matrix(1000, 1000)}},
		{"100000", FinanceBlackScholes, optionProblem(rng, 100000).args},
		{"1000", NBodyStep, nbodyProblem(rng, 1000).args},
		{"512", FractalMandelbrot, []any{newBuf(devices.Uint16, 512, 512)}},
	} {
		b.Run("kernel="+c.k.Name+"/size="+c.name, func(b *testing.B) {
			call, err := bind(c.k, c.args...)
			if err != nil {
				b.Fatal(err)
			}
			w := call.Work()
			b.SetBytes(int64(w.Bytes))
			steps := launches(b, c.k, c.args...)
			for b.Loop() {
				for _, l := range steps {
					wholeGo(b, l.c, l.mem)
				}
			}
			b.ReportMetric(w.Flops*float64(b.N)/b.Elapsed().Seconds()/1e9, "Gop/s")
		})
	}
}
