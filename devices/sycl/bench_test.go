package sycl

import (
	"context"
	"testing"
	"time"

	"github.com/tandemrun/tandem/devices"
)

const incText = `__kernel void inc(__global int *x) { x[get_global_id(0)] += 1; }`

func incSource() *devices.Source {
	return &devices.Source{Name: "inc.cl", Language: devices.LangOpenCL, Text: []byte(incText)}
}

// chain launches a kernel n times, each after the one before it, and waits for
// the last.
func chain(t testing.TB, q *queue, k *kernel, b devices.Buffer, n int) {
	l := &devices.Launch{Kernel: k, Range: line(64, 64), Args: []devices.Arg{{Buffer: b}}}
	var last []devices.Event
	for range n {
		e, err := q.Launch(l, last)
		if err != nil {
			t.Fatal(err)
		}
		if last == nil {
			last = make([]devices.Event, 1)
		} else {
			last[0].Release()
		}
		last[0] = e
	}
	if err := devices.Wait(context.Background(), last[0]); err != nil {
		t.Fatal(err)
	}
	last[0].Release()
}

// BenchmarkLaunch is a chain of small kernels. `tandem bench launch.sycl`
// compares it with the same from C++ through the runtime alone.
func BenchmarkLaunch(b *testing.B) {
	d := open(b)
	q, k := newQueue(b, d), kernelOf(b, compile(b, d, incSource()), "inc")
	x := filled(b, q, make([]int32, 64))
	const n = 10_000
	best := time.Duration(1 << 62)
	for b.Loop() {
		begin := time.Now()
		chain(b, q, k, x, n)
		best = min(best, time.Since(begin))
	}
	b.ReportMetric(float64(best.Microseconds())/n, "us/launch")
}
