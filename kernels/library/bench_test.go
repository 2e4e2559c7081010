package library

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/devices/cpu"
	"github.com/tandemrun/tandem/devices/opencl"
	"github.com/tandemrun/tandem/kernels"
)

type benchmark struct {
	name string
	k    *kernels.Kernel
	args []any
}

// benchmarks are in the first-level cache (size=1000) where that says more of
// the loop than of the memory, and beyond it.
func benchmarks(rng *rand.Rand) []benchmark {
	const small, large = 1000, 1 << 21
	f32 := func(n int64) *buf { return float32In(rng, n) }
	matrix := func(m, n int64) *buf { return bufOf(randoms[float32](rng, m*n), m, n) }
	matrix64 := func(m, n int64) *buf { return bufOf(randoms[float64](rng, m*n), m, n) }
	gray := bytesIn(rng, 872, 1000)
	color := bytesIn(rng, 872, 1000, 3)
	out := func() *buf { return newBuf(devices.Uint8, 872, 1000) }
	scalar := newBuf(devices.Float32, 1)
	return []benchmark{
		{"1000", VectorAdd, []any{f32(small), f32(small), f32(small)}},
		{"2M", VectorAdd, []any{f32(large), f32(large), f32(large)}},
		{"1000", VectorSaxpy, []any{0.5, f32(small), f32(small)}},
		{"2M", VectorSaxpy, []any{0.5, f32(large), f32(large)}},
		{"1000", VectorScale, []any{0.5, f32(small), f32(small)}},
		{"1000", VectorSum, []any{f32(small), scalar}},
		{"2M", VectorSum, []any{f32(large), scalar}},
		{"1000", VectorDot, []any{f32(small), f32(small), scalar}},
		{"1000", VectorMin, []any{f32(small), scalar}},
		{"2M", VectorMax, []any{f32(large), scalar}},
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
	}
}

// report adds a benchmark's figures: MB/s counts the bytes of all arrays, Gop/s
// what Kernel.Work calls operations.
func (m benchmark) report(b *testing.B) {
	call, err := bind(m.k, m.args...)
	if err != nil {
		b.Fatal(err)
	}
	w := call.Work()
	b.SetBytes(int64(w.Bytes))
	b.ReportMetric(w.Flops*float64(b.N)/b.Elapsed().Seconds()/1e9, "Gop/s")
}

// BenchmarkGo runs the Go variants on one core.
func BenchmarkGo(b *testing.B) {
	for _, m := range benchmarks(rand.New(rand.NewPCG(1, 1))) {
		b.Run("kernel="+m.k.Name+"/size="+m.name, func(b *testing.B) {
			steps := launches(b, m.k, m.args...)
			for b.Loop() {
				for _, l := range steps {
					wholeGo(b, l.c, l.mem)
				}
			}
			m.report(b)
		})
	}
}

// BenchmarkDevice runs the kernels on whole devices, with the data in place.
func BenchmarkDevice(b *testing.B) {
	all := benchmarks(rand.New(rand.NewPCG(1, 1)))
	for _, d := range []devices.Driver{cpu.Driver{}, &opencl.Driver{}} {
		for i, info := range d.Probe(context.Background()).Devices {
			for _, m := range all {
				b.Run("device="+info.ID+"/kernel="+m.k.Name+"/size="+m.name, func(b *testing.B) {
					dev := openBench(b, d, i)
					steps := launches(b, m.k, m.args...)
					commands := make([]*devices.Launch, len(steps))
					for i, l := range steps {
						args, free := dev.place(b, l.c, l.mem)
						defer free()
						commands[i] = &devices.Launch{Kernel: dev.kernel(b, l.c.Kernel), Range: l.c.Range, Args: args}
					}
					dev.enqueue(b, commands...) // the first launch may compile
					for b.Loop() {
						dev.enqueue(b, commands...)
					}
					m.report(b)
				})
			}
		}
	}
}
