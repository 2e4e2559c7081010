package cpu_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/devices/cpu"
)

// opened is a device with a queue and a kernel that does nothing.
func opened(tb testing.TB, workers int, f devices.GoFunc) (devices.Device, devices.Queue, devices.Kernel) {
	tb.Helper()
	d, err := cpu.Driver{Workers: workers}.Open(context.Background(), 0)
	if err != nil {
		tb.Fatal(err)
	}
	p, err := d.Compile(context.Background(), &devices.Source{Name: "test", Language: devices.LangGo, Go: map[string]devices.GoFunc{"f": f}})
	if err != nil {
		tb.Fatal(err)
	}
	k, err := p.Kernel("f")
	if err != nil {
		tb.Fatal(err)
	}
	q, err := d.NewQueue(devices.Compute)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		for _, c := range []interface{ Close() error }{q, k, p, d} {
			if err := c.Close(); err != nil {
				tb.Errorf("Close: %v", err)
			}
		}
	})
	return d, q, k
}

func nothing(devices.Range, *devices.Args) {}

type told chan error

func (t told) Complete(err error) { t <- err }

// inFlight is how many launches the benchmarks have under way.
const inFlight = 64

// BenchmarkLaunch enqueues launches on one queue, so that each waits for the
// one before it, and waits for all of them now and then.
func BenchmarkLaunch(b *testing.B) {
	for _, items := range []int{1, 1 << 10, 1 << 20} {
		b.Run(fmt.Sprintf("items=%d", items), func(b *testing.B) {
			_, q, k := opened(b, 0, nothing)
			l := &devices.Launch{Kernel: k, Range: devices.NDRange{Dims: 1, Size: [3]int{items}}}
			benchLaunches(b, func(int) devices.Queue { return q }, l)
		})
	}
}

// BenchmarkQueues spreads independent launches over several queues.
func BenchmarkQueues(b *testing.B) {
	for _, n := range []int{2, 8} {
		b.Run(fmt.Sprintf("queues=%d", n), func(b *testing.B) {
			d, q, k := opened(b, 0, nothing)
			queues := []devices.Queue{q}
			for range n - 1 {
				q, err := d.NewQueue(devices.Compute)
				if err != nil {
					b.Fatal(err)
				}
				queues = append(queues, q)
			}
			l := &devices.Launch{Kernel: k, Range: devices.NDRange{Dims: 1, Size: [3]int{1}}}
			benchLaunches(b, func(i int) devices.Queue { return queues[i%n] }, l)
			for _, q := range queues[1:] {
				_ = q.Close()
			}
		})
	}
}

func benchLaunches(b *testing.B, queue func(i int) devices.Queue, l *devices.Launch) {
	b.ReportAllocs()
	events := make([]devices.Event, 0, inFlight)
	done := make(told, 1)
	drain := func() {
		for _, ev := range events {
			if over, _ := ev.Done(); !over {
				ev.Notify(done)
				<-done
			}
			ev.Release()
		}
		events = events[:0]
	}
	for i := 0; b.Loop(); i++ {
		ev, err := queue(i).Launch(l, nil)
		if err != nil {
			b.Fatal(err)
		}
		if events = append(events, ev); len(events) == inFlight {
			drain()
		}
	}
	drain()
}

// BenchmarkChain has each launch wait for the event of the one before, which
// is on another queue.
func BenchmarkChain(b *testing.B) {
	d, q, k := opened(b, 0, nothing)
	q2, err := d.NewQueue(devices.Compute)
	if err != nil {
		b.Fatal(err)
	}
	l := &devices.Launch{Kernel: k, Range: devices.NDRange{Dims: 1, Size: [3]int{1}}}
	queues := [2]devices.Queue{q, q2}
	wait := make([]devices.Event, 0, 1)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		ev, err := queues[i%2].Launch(l, wait)
		if err != nil {
			b.Fatal(err)
		}
		if len(wait) == 1 {
			wait[0].Release()
		}
		wait = append(wait[:0], ev)
		if i%inFlight == 0 {
			if err := devices.Wait(context.Background(), ev); err != nil {
				b.Fatal(err)
			}
		}
	}
	wait[0].Release()
	_ = q2.Close()
}

// BenchmarkRoundTrip waits for every single launch.
func BenchmarkRoundTrip(b *testing.B) {
	_, q, k := opened(b, 0, nothing)
	l := &devices.Launch{Kernel: k, Range: devices.NDRange{Dims: 1, Size: [3]int{1}}}
	done := make(told, 1)
	b.ReportAllocs()
	for b.Loop() {
		ev, err := q.Launch(l, nil)
		if err != nil {
			b.Fatal(err)
		}
		ev.Notify(done)
		<-done
		ev.Release()
	}
}

// BenchmarkCopy copies between two buffers, beside Go's own copy.
func BenchmarkCopy(b *testing.B) {
	const size = 64 << 20
	d, q, _ := opened(b, 0, nothing)
	var bufs [2]devices.Buffer
	for i := range bufs {
		var err error
		if bufs[i], err = d.Alloc(size); err != nil {
			b.Fatal(err)
		}
		// Pages that were never written to share one page of zeros.
		ev, err := q.Copy(&devices.Copy{Kind: devices.HostToDevice, Dst: bufs[i], Host: make([]byte, size), Size: size}, nil)
		if err != nil {
			b.Fatal(err)
		}
		if err := devices.Wait(context.Background(), ev); err != nil {
			b.Fatal(err)
		}
		ev.Release()
	}
	b.Run("device", func(b *testing.B) {
		b.SetBytes(size)
		done := make(told, 1)
		for b.Loop() {
			ev, err := q.Copy(&devices.Copy{Kind: devices.DeviceToDevice, Dst: bufs[0], Src: bufs[1], Size: size}, nil)
			if err != nil {
				b.Fatal(err)
			}
			ev.Notify(done)
			<-done
			ev.Release()
		}
	})
	b.Run("baseline=copy", func(b *testing.B) {
		b.SetBytes(size)
		dst, src := make([]byte, size), make([]byte, size)
		for i := range src {
			src[i] = byte(i)
		}
		for b.Loop() {
			copy(dst, src)
		}
	})
	for _, buf := range bufs {
		_ = buf.Free()
	}
}
