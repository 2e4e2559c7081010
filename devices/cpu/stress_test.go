package cpu_test

import (
	"math/rand/v2"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/devices/devicetest"
)

// TestRandomGraphs enqueues random commands on several queues, each waiting
// for random earlier ones, some failing, events released at random times, and
// compares what ran, in which order, with what should have.
func TestRandomGraphs(t *testing.T) {
	devicetest.CheckGoroutines(t)
	seed := uint64(time.Now().UnixNano())
	rng := rand.New(rand.NewPCG(seed, 0))
	rounds, commands := 20, 400
	if testing.Short() {
		rounds = 5
	}
	for round := range rounds {
		var clock atomic.Int64
		type log struct{ first, last atomic.Int64 } // of the calls for one command
		logs := make([]log, commands)
		work := func(r devices.Range, a *devices.Args) {
			i := devices.Value[int32](a, 0)
			now := clock.Add(1)
			logs[i].first.CompareAndSwap(0, now)
			if devices.Value[uint8](a, 1) != 0 {
				panic("as planned")
			}
			for range devices.Value[uint16](a, 2) {
				runtime.Gosched()
			}
			logs[i].last.Store(clock.Add(1))
		}
		d, q, k := opened(t, 1+rng.IntN(6), work)
		queues := []devices.Queue{q}
		for range rng.IntN(5) {
			q, err := d.NewQueue(devices.Compute)
			if err != nil {
				t.Fatal(err)
			}
			queues = append(queues, q)
		}
		type known struct {
			ev       devices.Event
			waits    []int // commands that it waits for
			queue    int
			fails    bool // itself
			mustFail bool // itself or through a predecessor
		}
		cmds := make([]known, commands)
		open := []int{} // with events that are not released
		told := make(chan error, commands)
		for i := range cmds {
			c := &cmds[i]
			var wait []devices.Event
			for range rng.IntN(4) {
				if len(open) > 0 {
					j := open[rng.IntN(len(open))]
					c.waits = append(c.waits, j)
					wait = append(wait, cmds[j].ev)
				}
			}
			c.fails = rng.IntN(100) == 0
			c.mustFail = c.fails || slices.ContainsFunc(c.waits, func(j int) bool { return cmds[j].mustFail })
			c.queue = rng.IntN(len(queues))
			items := []int{1, 1, 1, 10, 5000}[rng.IntN(5)]
			bad := uint8(0)
			if c.fails {
				bad = 1
			}
			ev, err := queues[c.queue].Launch(&devices.Launch{Kernel: k, Range: devices.NDRange{Dims: 1, Size: [3]int{items}}, Args: []devices.Arg{
				{Value: devices.AsBytes([]int32{int32(i)})}, {Value: []byte{bad}}, {Value: devices.AsBytes([]uint16{uint16(rng.IntN(3))})},
			}}, wait)
			if err != nil {
				t.Fatal(err)
			}
			c.ev = ev
			ev.Notify(complete{told})
			open = append(open, i)
			if rng.IntN(3) > 0 {
				j := rng.IntN(len(open))
				cmds[open[j]].ev.Release()
				open = slices.Delete(open, j, j+1)
			}
		}
		failures, planned := 0, 0
		for range cmds {
			if err := <-told; err != nil {
				failures++
			}
		}
		last := make([]int64, len(queues))
		for i := range cmds {
			c := &cmds[i]
			first, end := logs[i].first.Load(), logs[i].last.Load()
			if c.mustFail {
				planned++
				if !c.fails && first != 0 {
					t.Fatalf("seed %d, round %d: command %d ran although one that it waits for failed", seed, round, i)
				}
				continue
			}
			if first == 0 || end == 0 {
				t.Fatalf("seed %d, round %d: command %d did not run", seed, round, i)
			}
			if first < last[c.queue] {
				t.Fatalf("seed %d, round %d: command %d began before an earlier one of its queue had ended", seed, round, i)
			}
			last[c.queue] = max(last[c.queue], end)
			for _, j := range c.waits {
				if first < logs[j].last.Load() {
					t.Fatalf("seed %d, round %d: command %d began before %d, which it waits for, had ended", seed, round, i, j)
				}
			}
		}
		if failures != planned {
			t.Fatalf("seed %d, round %d: %d commands failed, want %d", seed, round, failures, planned)
		}
		for _, i := range open {
			cmds[i].ev.Release()
		}
		for _, q := range queues[1:] {
			_ = q.Close()
		}
	}
}

type complete struct{ c chan error }

func (n complete) Complete(err error) { n.c <- err }

// TestWakeUps catches a worker in every moment of going to sleep: a launch
// that meets no worker would never end.
func TestWakeUps(t *testing.T) {
	devicetest.CheckGoroutines(t)
	seed := uint64(time.Now().UnixNano())
	rng := rand.New(rand.NewPCG(seed, 0))
	for _, workers := range []int{1, 2, 5} {
		_, q, k := opened(t, workers, nothing)
		done := make(told, 1)
		l := &devices.Launch{Kernel: k, Range: devices.NDRange{Dims: 1, Size: [3]int{1}}}
		n := 8000
		if testing.Short() {
			n = 2000
		}
		for i := range n {
			l.Range.Size[0] = 1 + rng.IntN(3)
			ev, err := q.Launch(l, nil)
			if err != nil {
				t.Fatal(err)
			}
			ev.Notify(done)
			select {
			case <-done:
			case <-time.After(20 * time.Second):
				t.Fatalf("seed %d: launch %d on %d workers met none", seed, i, workers)
			}
			ev.Release()
			for range rng.IntN(300) { // up to about as long as workers look around
				runtime.Gosched()
			}
		}
	}
}

// TestLongRun holds the memory of a long run to that of a short one.
func TestLongRun(t *testing.T) {
	devicetest.CheckGoroutines(t)
	_, q, k := opened(t, 2, nothing)
	l := &devices.Launch{Kernel: k, Range: devices.NDRange{Dims: 1, Size: [3]int{100}}, Args: []devices.Arg{{Value: make([]byte, 24)}}}
	done := make(told, 1)
	var events [50]devices.Event
	launches := func(n int) {
		for range n / len(events) {
			for i := range events {
				var err error
				if events[i], err = q.Launch(l, events[max(0, i-2):i]); err != nil {
					t.Fatal(err)
				}
			}
			events[len(events)-1].Notify(done)
			<-done
			for _, ev := range events {
				ev.Release()
			}
		}
	}
	heap := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	launches(2000)
	before := heap()
	launches(100_000)
	if after := heap(); after > before+64<<10 {
		t.Errorf("100000 launches grew the heap from %d to %d bytes", before, after)
	}
}
