package cpu_test

import (
	"errors"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/devices/devicetest"
)

// batchLog is a host that checks the driver's calls.
type batchLog struct {
	mu     sync.Mutex
	ended  []error
	times  []devices.Times
	calls  []int
	loners []atomic.Int32 // by worker: calls of Ended at this moment
	broken atomic.Int64   // two at once
	stop   atomic.Pointer[error]
	over   chan struct{}
	needs  func(task, successor int32) bool // nil: always
}

func newBatchLog(tasks, workers int) *batchLog {
	return &batchLog{ended: make([]error, tasks), times: make([]devices.Times, tasks), calls: make([]int, tasks),
		loners: make([]atomic.Int32, workers), over: make(chan struct{})}
}

func (l *batchLog) Begin(int32) error {
	if p := l.stop.Load(); p != nil {
		return *p
	}
	return nil
}

func (l *batchLog) Ended(worker int, task int32, t devices.Times, err error) {
	if l.loners[worker].Add(1) != 1 {
		l.broken.Add(1)
	}
	l.mu.Lock()
	l.calls[task]++
	l.ended[task], l.times[task] = err, t
	l.mu.Unlock()
	l.loners[worker].Add(-1)
}

func (l *batchLog) Needs(task, successor int32) bool {
	return l.needs == nil || l.needs(task, successor)
}

func (l *batchLog) Barred(err error) error { return err }

func (l *batchLog) Over() { close(l.over) }

// wait ends the test if the batch does not end.
func (l *batchLog) wait(t *testing.T) {
	t.Helper()
	select {
	case <-l.over:
	case <-time.After(time.Minute):
		buf := make([]byte, 1<<20)
		t.Fatalf("the batch does not end\n%s", buf[:runtime.Stack(buf, true)])
	}
}

// batchOf makes the forms and buffers of a batch: form i has the ND-range of
// sizes[i] work-items, and every task one buffer.
func batchOf(t *testing.T, d devices.Device, k devices.Kernel, tasks int, sizes ...int) *devices.Batch {
	t.Helper()
	b := &devices.Batch{}
	for range tasks {
		m, err := d.Alloc(8)
		if err != nil {
			t.Fatal(err)
		}
		b.Buffers = append(b.Buffers, m)
	}
	for _, n := range sizes {
		b.Forms = append(b.Forms, devices.Launch{Kernel: k, Range: devices.NDRange{Dims: 1, Size: [3]int{n}}, Args: []devices.Arg{{Buffer: b.Buffers[0]}}})
	}
	return b
}

// TestBatchGraphs runs random graphs as batches, two at once, with launches from
// queues beside them, kernels that panic or end their goroutine, and a stop in
// the middle of some.
func TestBatchGraphs(t *testing.T) {
	devicetest.CheckGoroutines(t)
	seed := uint64(time.Now().UnixNano())
	rng := rand.New(rand.NewPCG(seed, 0))
	rounds := 30
	if testing.Short() {
		rounds = 15
	}
	for round := range rounds {
		n := 1 + rng.IntN(3000)
		var runs [2][]atomic.Int64 // work-items of each task that ran
		var order [2][]atomic.Int64
		var clock atomic.Int64
		kind := make([]byte, n) // 0: returns, 1: panics, 2: ends the goroutine
		for i := range kind {
			if round%3 == 0 && rng.IntN(50) == 0 {
				kind[i] = byte(1 + rng.IntN(2))
			}
		}
		for i := range runs {
			runs[i], order[i] = make([]atomic.Int64, n), make([]atomic.Int64, n)
		}
		work := func(r devices.Range, a *devices.Args) {
			id := devices.View[uint32](a.Bytes(0))
			if id[1] > 1 {
				return // a launch from a queue
			}
			which, task := id[1], id[0]
			order[which][task].CompareAndSwap(0, clock.Add(1))
			runs[which][task].Add(int64(r.Hi[0] - r.Lo[0]))
			switch kind[task] {
			case 1:
				panic("as planned")
			case 2:
				runtime.Goexit()
			}
		}
		workers := 1 + rng.IntN(5)
		d, q, k := opened(t, workers, work)
		after := make([][]int32, n)
		next := make([][]int32, n)
		reach := 1 + rng.IntN(n)
		for i := range n {
			for range rng.IntN(4) {
				if p := i - 1 - rng.IntN(reach); p >= 0 {
					after[i] = append(after[i], int32(p))
					next[p] = append(next[p], int32(i)) // also twice
				}
			}
		}
		sizes := []int{1, 0, 50, 5000}
		var logs [2]*batchLog
		var checks []func()
		ids := make([]devices.Buffer, 0, 2*n)
		for which := range logs {
			b := batchOf(t, d, k, n, sizes...)
			ids = append(ids, b.Buffers...)
			for i := range n {
				form := int32(0)
				if round%2 == 1 {
					form = int32(rng.IntN(len(sizes)))
				}
				b.Args = append(b.Args, int32(i))
				b.Tasks = append(b.Tasks, devices.BatchTask{Form: form, Args: int32(i), Next: int32(len(b.Next)), Waits: int32(len(after[i]))})
				b.Next = append(b.Next, next[i]...)
				host := make([]uint32, 2)
				host[0], host[1] = uint32(i), uint32(which)
				write(t, q, b.Buffers[i], devices.AsBytes(host))
			}
			logs[which] = newBatchLog(n, workers)
			if round%2 == 0 { // some only have to come after others
				logs[which].needs = func(task, successor int32) bool { return (task+successor)%4 != 0 }
			}
			if round%5 == 4 {
				err := errors.New("stopped")
				logs[which].stop.Store(&err)
			}
			b.Host = logs[which]
			if err := d.(devices.Batcher).RunBatch(b); err != nil {
				t.Fatal(err)
			}
			checks = append(checks, func() {
				log := logs[which]
				for i := range n {
					if log.calls[i] != 1 {
						t.Fatalf("seed %d, round %d: task %d ended %d times", seed, round, i, log.calls[i])
					}
					items := int64(sizes[b.Tasks[i].Form])
					var pe interface{ Error() string }
					bad := false
					for _, p := range after[i] {
						bad = bad || log.ended[p] != nil && log.Needs(p, int32(i))
						if order[which][i].Load() != 0 && order[which][p].Load() > order[which][i].Load() {
							t.Fatalf("seed %d, round %d: task %d ran before %d", seed, round, i, p)
						}
					}
					ran := runs[which][i].Load()
					switch {
					case round%5 == 4:
						if ran != 0 || log.ended[i] == nil {
							t.Fatalf("seed %d, round %d: task %d ran after the stop", seed, round, i)
						}
					case bad:
						if ran != 0 || log.ended[i] == nil || log.times[i] != (devices.Times{}) {
							t.Fatalf("seed %d, round %d: task %d: %d work-items ran after a failure: %v", seed, round, i, ran, log.ended[i])
						}
					case kind[i] != 0 && items > 0:
						if log.ended[i] == nil || !errors.As(log.ended[i], &pe) || !strings.Contains(log.ended[i].Error(), "kernel") {
							t.Fatalf("seed %d, round %d: task %d that did not return: %v", seed, round, i, log.ended[i])
						}
					default:
						if ran != items || log.ended[i] != nil || log.times[i].Start > log.times[i].End {
							t.Fatalf("seed %d, round %d: task %d: %d of %d work-items, %v, %+v", seed, round, i, ran, items, log.ended[i], log.times[i])
						}
					}
				}
				if log.broken.Load() != 0 {
					t.Fatalf("seed %d, round %d: a worker ended two tasks at once", seed, round)
				}
			})
		}
		// Launches beside the batches come to their end too.
		beside, err := d.Alloc(8)
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, beside)
		write(t, q, beside, devices.AsBytes([]uint32{0, 7}))
		ev, err := q.Launch(&devices.Launch{Kernel: k, Range: devices.NDRange{Dims: 1, Size: [3]int{100}}, Args: []devices.Arg{{Buffer: beside}}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := devices.Wait(t.Context(), ev); err != nil {
			t.Fatal(err)
		}
		ev.Release()
		for _, l := range logs {
			l.wait(t)
		}
		for _, check := range checks {
			check()
		}
		for _, m := range ids {
			if err := m.Free(); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// write puts host bytes into a buffer.
func write(t *testing.T, q devices.Queue, b devices.Buffer, host []byte) {
	t.Helper()
	ev, err := q.Copy(&devices.Copy{Kind: devices.HostToDevice, Dst: b, Host: host, Size: int64(len(host))}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := devices.Wait(t.Context(), ev); err != nil {
		t.Fatal(err)
	}
	ev.Release()
}

func TestBatchRefused(t *testing.T) {
	d, _, k := opened(t, 2, func(devices.Range, *devices.Args) {})
	for what, spoil := range map[string]func(b *devices.Batch){
		"a form that is none":         func(b *devices.Batch) { b.Tasks[1].Form = 1 },
		"arguments out of the list":   func(b *devices.Batch) { b.Tasks[1].Args = 2 },
		"a buffer that is none":       func(b *devices.Batch) { b.Args[1] = 2 },
		"no buffer":                   func(b *devices.Batch) { b.Buffers[1] = nil },
		"a successor that is none":    func(b *devices.Batch) { b.Next[0] = 2 },
		"a ring":                      func(b *devices.Batch) { b.Next[0] = 0 },
		"successors in a wrong order": func(b *devices.Batch) { b.Tasks[1].Next = 7 },
		"a form without a kernel":     func(b *devices.Batch) { b.Forms[0].Kernel = nil },
	} {
		b := batchOf(t, d, k, 2, 1)
		b.Args = []int32{0, 1}
		b.Next = []int32{1}
		b.Tasks = []devices.BatchTask{{Form: 0, Args: 0, Next: 0, Waits: 0}, {Form: 0, Args: 1, Next: 1, Waits: 1}}
		good := *b
		made := slices.Clone(b.Buffers)
		log := newBatchLog(2, 2)
		good.Host, b.Host = log, log
		if err := d.(devices.Batcher).RunBatch(&good); err != nil {
			t.Fatal(err)
		}
		log.wait(t)
		spoil(b)
		if err := d.(devices.Batcher).RunBatch(b); !errors.Is(err, devices.ErrInvalid) {
			t.Errorf("%s: %v, want %v", what, err, devices.ErrInvalid)
		}
		for _, m := range made {
			if err := m.Free(); err != nil {
				t.Error(err)
			}
		}
	}
}

// TestBatchWakeUps has tasks that become ready together meet each other: a worker
// that is not woken for the second one would leave the first waiting for ever.
func TestBatchWakeUps(t *testing.T) {
	devicetest.CheckGoroutines(t)
	seed := uint64(time.Now().UnixNano())
	rng := rand.New(rand.NewPCG(seed, 0))
	for _, workers := range []int{2, 4} {
		var here atomic.Int32
		all := make(chan struct{})
		d, _, k := opened(t, workers, func(r devices.Range, _ *devices.Args) {
			if r.Lo[0] == 0 {
				return // the task that all others wait for
			}
			if int(here.Add(1)) == workers {
				close(all)
			}
			<-all
		})
		batches := 4000
		if testing.Short() {
			batches = 1000
		}
		for i := range batches {
			here.Store(0)
			all = make(chan struct{})
			b := &devices.Batch{}
			for at := range 2 { // one work-item each, the first and the second of two
				b.Forms = append(b.Forms, devices.Launch{Kernel: k, Range: devices.NDRange{Dims: 1, Size: [3]int{1}, Offset: [3]int{at}, Whole: [3]int{2}}})
			}
			b.Tasks = []devices.BatchTask{{}}
			for w := range workers {
				b.Next = append(b.Next, int32(1+w))
				b.Tasks = append(b.Tasks, devices.BatchTask{Form: 1, Next: int32(workers), Waits: 1})
			}
			if rng.IntN(2) == 0 { // or all are ready at once
				b.Next, b.Tasks = nil, b.Tasks[1:]
				for w := range b.Tasks {
					b.Tasks[w] = devices.BatchTask{Form: 1}
				}
			}
			host := &idleHost{over: make(chan struct{})}
			b.Host = host
			if err := d.(devices.Batcher).RunBatch(b); err != nil {
				t.Fatal(err)
			}
			select {
			case <-host.over:
			case <-time.After(20 * time.Second):
				t.Fatalf("seed %d: batch %d: %d of %d workers met", seed, i, here.Load(), workers)
			}
			for range rng.IntN(200) { // up to about as long as workers look around
				runtime.Gosched()
			}
		}
	}
}

// BenchmarkBatch is what an empty task of a batch costs.
func BenchmarkBatch(b *testing.B) {
	for name, shape := range map[string]func(i int) []int32{
		"independent": func(int) []int32 { return nil },
		"chain":       func(i int) []int32 { return []int32{int32(i + 1)} },
		"tree":        func(i int) []int32 { return []int32{int32(2*i + 1), int32(2*i + 2)} },
	} {
		b.Run(name, func(b *testing.B) {
			d, _, k := opened(b, 2, func(devices.Range, *devices.Args) {})
			const n = 100_000
			bt := &devices.Batch{Forms: []devices.Launch{{Kernel: k, Range: devices.NDRange{Dims: 1, Size: [3]int{1}}}}}
			waits := make([]int32, n)
			for i := range n {
				bt.Tasks = append(bt.Tasks, devices.BatchTask{Next: int32(len(bt.Next)), Waits: waits[i]})
				for _, s := range shape(i) {
					if s < n {
						bt.Next = append(bt.Next, s)
						waits[s]++
					}
				}
			}
			for b.Loop() {
				host := &idleHost{over: make(chan struct{})}
				bt.Host = host
				if err := d.(devices.Batcher).RunBatch(bt); err != nil {
					b.Fatal(err)
				}
				<-host.over
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/task")
		})
	}
}

type idleHost struct{ over chan struct{} }

func (n *idleHost) Begin(int32) error                      { return nil }
func (n *idleHost) Ended(int, int32, devices.Times, error) {}
func (n *idleHost) Needs(task, successor int32) bool       { return true }
func (n *idleHost) Barred(err error) error                 { return err }
func (n *idleHost) Over()                                  { close(n.over) }
