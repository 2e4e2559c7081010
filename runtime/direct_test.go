package tandem_test

import (
	"math/rand/v2"
	"testing"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/kernels"
	tandem "github.com/tandemrun/tandem/runtime"
)

// BenchmarkBuild is what adding a task of two random buffers costs.
func BenchmarkBuild(b *testing.B) {
	s := open(b, tandem.Config{})
	x := make([]*tandem.Slice[int32], 64)
	for i := range x {
		x[i] = tandem.NewSlice[int32](s, 1)
	}
	k := goKernel("nop2", func(devices.Range, *devices.Args) {}, param("a", kernels.ReadWrite), param("b", kernels.ReadWrite))
	rng := rand.New(rand.NewPCG(1, 2))
	b.ReportAllocs()
	for b.Loop() {
		g := tandem.NewGraph()
		for range 100_000 {
			i := rng.IntN(64)
			g.Add(k, x[i], x[(i+1+rng.IntN(63))%64])
		}
		if err := g.Err(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/100_000, "ns/task")
}
