package devicetest

import (
	"fmt"
	"runtime"
	"slices"
	"testing"

	"github.com/tandemrun/tandem/devices"
)

func loadCases() []testCase {
	return []testCase{
		{"goroutines-own", "16 goroutines on one device, each with what it made itself", goroutinesOwn},
		{"goroutines-shared", "16 goroutines on one queue", goroutinesShared},
		{"no-allocation-launch", "garbage per launch stops the whole program now and then", noAllocationLaunch},
		{"no-allocation-copy", "garbage per copy stops the whole program now and then", noAllocationCopy},
	}
}

const manyGoroutines = 16

// many runs f in 16 goroutines, and ends the case if one of them ends it.
func (e *env) many(f func(i int)) {
	out := make(chan error, manyGoroutines)
	for i := range manyGoroutines {
		go func() {
			_, err := guard(func() { f(i) })
			out <- err
		}()
	}
	var first error
	for range manyGoroutines {
		if err := <-out; err != nil && first == nil {
			first = err
		}
	}
	e.must(first, "one of %d goroutines", manyGoroutines)
}

func goroutinesOwn(e *env) {
	e.program()
	_, seed := e.random()
	e.many(func(i int) {
		q, q2 := e.compute(), e.queue(devices.Upload)
		k := e.kernel("mad_u32")
		var last []devices.Event
		x := make([]uint32, 257)
		b := e.u32(q, x)
		for n := range uint32(50) {
			a, s := n*2+1, uint32(i)+n
			for j := range x {
				x[j] = x[j]*a + s
			}
			on := []devices.Queue{q, q2}[n%2]
			last = []devices.Event{e.launch(on, k, line(len(x)), last, buf(b), num(a), num(s))}
			if n%16 == 0 {
				extra := e.alloc(int64(n) * 100)
				e.must(extra.Free(), "Free")
			}
		}
		e.finish(last[0])
		if got := e.readU32(q, b, len(x)); !slices.Equal(got, x) {
			e.fatalf("goroutine %d: %d of %d numbers are wrong (seed %d)", i, differences(got, x), len(x), seed)
		}
		e.must(q.Close(), "Queue.Close")
		e.must(q2.Close(), "Queue.Close")
	})
}

func goroutinesShared(e *env) {
	q := e.compute()
	e.program()
	const each, cells = 50, 100
	b := e.u32(q, make([]uint32, cells+1))
	e.many(func(int) {
		k := e.kernel("count")
		var last devices.Event
		for range each {
			last = e.launch(q, k, line(cells), nil, buf(b), num(uint32(1)), num(uint32(1)), num(uint32(cells)))
		}
		e.finish(last)
	})
	for i, v := range e.readU32(q, b, cells) {
		if v != manyGoroutines*each {
			e.fatalf("cell %d was counted %d times by %d goroutines, want %d", i, v, manyGoroutines, manyGoroutines*each)
		}
	}
}

// steady counts the allocations of f, which enqueues burst commands through
// the function it is given, in steady state.
func (e *env) steady(what string, enqueue func(wait []devices.Event) (devices.Event, error)) {
	const burst = 64
	events := make([]devices.Event, 0, burst)
	done := make(told, 1)
	var failure error
	round := func() {
		for i := range burst {
			var wait []devices.Event
			if i%4 == 3 {
				wait = events[i-2 : i]
			}
			ev, err := enqueue(wait)
			if err != nil {
				failure = err
				return
			}
			events = append(events, ev)
		}
		events[burst-1].Notify(done)
		if err := <-done; err != nil {
			failure = err
		}
		for _, ev := range events {
			ev.Release()
		}
		events = events[:0]
	}
	for range 20 { // fills the pools
		round()
	}
	// Something else in the process may allocate meanwhile: the least counts.
	least := 1e9
	for range 5 {
		least = min(least, testing.AllocsPerRun(20, round))
		runtime.Gosched()
	}
	e.must(failure, "%s", what)
	if least >= 1 {
		e.fatalf("%d %s allocate %v times in steady state, want 0", burst, what, least)
	}
}

func noAllocationLaunch(e *env) {
	q, b, k := e.compute(), e.alloc(4096), e.kernel("mad_u32")
	for _, n := range []int{1, 1024} {
		l := &devices.Launch{Kernel: k, Range: line(n), Args: []devices.Arg{buf(b), num(uint32(3)), num(uint32(5))}}
		e.steady(fmt.Sprintf("launches of %d work-items", n), func(wait []devices.Event) (devices.Event, error) { return q.Launch(l, wait) })
	}
}

func noAllocationCopy(e *env) {
	q, b, m := e.compute(), e.alloc(4096), e.host(4096)
	up := &devices.Copy{Kind: devices.HostToDevice, Dst: b, Host: m, Size: 4096}
	e.steady("uploads of 4096 bytes", func(wait []devices.Event) (devices.Event, error) { return q.Copy(up, wait) })
	down := &devices.Copy{Kind: devices.DeviceToHost, Src: b, Host: m, Size: 4096}
	e.steady("downloads of 4096 bytes", func(wait []devices.Event) (devices.Event, error) { return q.Copy(down, wait) })
}
