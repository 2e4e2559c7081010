package tandem_test

import (
	"testing"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/kernels"
	tandem "github.com/tandemrun/tandem/runtime"
)

// nop does nothing, to measure what tasks cost.
var nop = goKernel("nop", func(devices.Range, *devices.Args) {}, param("x", kernels.ReadWrite))

// BenchmarkTask is the whole cost of one empty task, from Add to Wait.
func BenchmarkTask(b *testing.B) {
	for _, pattern := range []struct {
		name    string
		handles int
	}{{"chain", 1}, {"rrchain", 64}} {
		b.Run("pattern="+pattern.name, func(b *testing.B) {
			s := open(b, tandem.Config{})
			x := make([]*tandem.Slice[int32], pattern.handles)
			for i := range x {
				x[i] = tandem.NewSlice[int32](s, 1)
			}
			b.ReportAllocs()
			for n := 0; n < b.N; {
				g := tandem.NewGraph()
				for i := 0; i < 10000 && n < b.N; i++ {
					g.Add(nop, x[i%len(x)])
					n++
				}
				if err := submit(b, s, g).Wait(b.Context()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
