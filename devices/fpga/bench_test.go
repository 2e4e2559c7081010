package fpga

import (
	"fmt"
	"testing"
	"time"

	"github.com/tandemrun/tandem/devices"
)

// BenchmarkStream streams words through a kernel of one stage, beside the same
// kernel in a program of its own.
func BenchmarkStream(b *testing.B) {
	if err := (&Driver{}).Tools.Missing(needed...); err != nil {
		b.Skip(err)
	}
	const n = 1 << 20
	hand, err := NewByHand(b.Context(), &Driver{})
	if err != nil {
		b.Fatal(err)
	}
	defer hand.Close()
	alone, err := hand.Rate(b.Context(), n, 20)
	if err != nil {
		b.Fatal(err)
	}
	r := rigOf(b, &Driver{Check: CheckNever})
	k := r.kernel("byhand.v", handText, "multiply_add")
	for _, words := range []int{16, 1024, n} {
		b.Run(fmt.Sprintf("words=%d", words), func(b *testing.B) {
			buf, err := r.d.Alloc(int64(words) * 4)
			if err != nil {
				b.Fatal(err)
			}
			defer buf.Free()
			l := devices.Launch{Kernel: k, Range: devices.NDRange{Dims: 1, Size: [3]int{words}}, Args: []devices.Arg{{Buffer: buf}, number(3), number(5)}}
			b.SetBytes(int64(words) * 4)
			b.ReportAllocs()
			done := make(told, 1)
			best := time.Hour // of the single launches, as for the program of its own
			for b.Loop() {
				begun := time.Now()
				ev, err := r.q.Launch(&l, nil)
				if err != nil {
					b.Fatal(err)
				}
				ev.Notify(done)
				if err := <-done; err != nil {
					b.Fatal(err)
				}
				best = min(best, time.Since(begun))
				ev.Release()
			}
			rate := float64(words) / best.Seconds() / 1e6
			b.ReportMetric(rate, "Mword/s")
			b.ReportMetric(rate/alone, "of-bare")
		})
	}
}

type told chan error

// Complete passes the outcome on.
func (t told) Complete(err error) { t <- err }
