package opencl

import (
	"fmt"
	"testing"

	"github.com/tandemrun/tandem/devices"
)

// BenchmarkLaunch is an empty kernel: enqueued without looking, chained by
// events over queues, and one at a time with a wait for each.
func BenchmarkLaunch(b *testing.B) {
	d := open(b, 0)
	k := kernelOf(b, compile(b, d, "__kernel void k(__global int *x) { }"), "k")
	x := alloc(b, d, 256)
	for _, items := range []int{64, 100} { // one command, and an interior with a remainder
		l := &devices.Launch{Kernel: k, Range: devices.NDRange{Dims: 1, Size: [3]int{items}, Local: [3]int{64}}, Args: []devices.Arg{{Buffer: x}}}
		for queues := range 3 {
			name := fmt.Sprintf("items=%d/queues=%d", items, queues)
			if queues == 0 {
				name = fmt.Sprintf("items=%d/wait-each", items)
			}
			b.Run(name, func(b *testing.B) {
				qs := []*queue{newQueue(b, d), newQueue(b, d)}[:max(queues, 1)]
				done := make(told, 1)
				wait := make([]devices.Event, 0, 1)
				b.ReportAllocs()
				i := 0
				for b.Loop() {
					e, err := qs[i%len(qs)].Launch(l, wait)
					if err != nil {
						b.Fatal(err)
					}
					if len(wait) > 0 {
						wait[0].Release()
					}
					wait = append(wait[:0], e)
					if queues == 0 || i%1000 == 999 {
						e.Notify(done)
						if err := <-done; err != nil {
							b.Fatal(err)
						}
					}
					i++
				}
				if err := devices.Wait(b.Context(), wait[0]); err == nil {
					wait[0].Release()
				}
			})
		}
	}
}

// BenchmarkCopy moves 64 MiB to the device and back.
func BenchmarkCopy(b *testing.B) {
	d := open(b, 0)
	q := newQueue(b, d)
	const size = 64 << 20
	x, m := alloc(b, d, size), host(b, size)
	for _, kind := range []devices.CopyKind{devices.HostToDevice, devices.DeviceToHost} {
		b.Run("kind="+kind.String(), func(b *testing.B) {
			b.SetBytes(size)
			for b.Loop() {
				transfer(b, q, &devices.Copy{Kind: kind, Dst: x, Src: x, Host: m, Size: size})
			}
		})
	}
}
