package devicetest

import (
	"runtime"
	"sync/atomic"
	"time"

	"github.com/tandemrun/tandem/devices"
)

func eventCases() []testCase {
	return []testCase{
		{"notify-once", "a completion that comes twice runs a task twice; one that never comes hangs the run", notifyOnce},
		{"notify-error", "who is told that a command finished is told that it failed", notifyError},
		{"notify-released", "an event may be released while its completion is still to come", notifyReleased},
		{"done-error", "Done and Notify say the same, as often as they are asked", doneError},
		{"times-order", "time that runs backwards makes a cost model learn nonsense", timesOrder},
		{"times-early", "a time asked for too early is an error, not a zero that goes into a cost model", timesEarly},
		{"flush", "handing over what was enqueued is never wrong", flush},
	}
}

// counted counts its completions.
type counted struct {
	calls atomic.Int32
	err   error
}

func (c *counted) Complete(err error) {
	if c.calls.Add(1) == 1 {
		c.err = err
	}
}

func notifyOnce(e *env) {
	q, b, fill := e.compute(), e.alloc(16), e.kernel("fill")
	const n = 300
	told := make([]counted, 2*n)
	for i := range n {
		ev := e.launch(q, fill, line(1), nil, buf(b), num(uint8(1)))
		if i%3 == 0 {
			// Often done already, sometimes not, sometimes just now.
			for spin := i; spin > 0; spin-- {
				if done, _ := ev.Done(); done {
					break
				}
			}
		}
		ev.Notify(&told[i])
	}
	last := e.launch(q, fill, line(1), nil, buf(b), num(uint8(1)))
	e.finish(last)
	for i := range n {
		ev := e.launch(q, fill, line(1), nil, buf(b), num(uint8(1)))
		for done := false; !done && e.ctx.Err() == nil; done, _ = ev.Done() {
			e.must(q.Flush(), "Flush")
		}
		ev.Notify(&told[n+i])
		if c := told[n+i].calls.Load(); c != 1 {
			e.fatalf("Notify of a finished command called Complete %d times before it returned, want 1", c)
		}
	}
	e.must(q.Close(), "Queue.Close")
	// A completion runs on a thread of the driver and may come a little later
	// than the event is done.
	for i := range told {
		for told[i].calls.Load() == 0 && e.ctx.Err() == nil {
			runtime.Gosched()
		}
		if c := told[i].calls.Load(); c != 1 || told[i].err != nil {
			e.fatalf("completion %d of %d was called %d times, error %v; want once and none", i, len(told), c, told[i].err)
		}
	}
}

func notifyError(e *env) {
	q := e.compute()
	early := e.wait(e.failed(q))
	if early == nil {
		e.fatalf("Notify of a command that fails later was told of no error")
	}
	ev := e.failed(q)
	for done := false; !done && e.ctx.Err() == nil; done, _ = ev.Done() {
		e.must(q.Flush(), "Flush")
	}
	var late counted
	ev.Notify(&late)
	if late.calls.Load() != 1 || late.err == nil || late.err.Error() != early.Error() {
		e.fatalf("Notify of a command that has failed called %d times with error %v, want once with %v", late.calls.Load(), late.err, early)
	}
}

type told chan error

func (t told) Complete(err error) { t <- err }

func notifyReleased(e *env) {
	q, out, spin, fill := e.compute(), e.alloc(4), e.kernel("spin"), e.kernel("fill")
	e.finish(e.slow(q, spin, out))
	for range 3 {
		done := make(told, 8)
		for i := range 4 {
			var ev devices.Event
			if i == 0 {
				ev = e.slow(q, spin, out)
			} else {
				ev = e.launch(q, fill, line(1), nil, buf(out), num(uint8(1)))
			}
			ev.Notify(done)
			e.release(ev)
		}
		for i := range 4 {
			select {
			case err := <-done:
				e.must(err, "a command whose event was released")
			case <-e.ctx.Done():
				e.fatalf("%d of 4 completions came of events that were released before they were done", i)
			}
		}
		e.must(q.Flush(), "Flush")
		if len(done) != 0 {
			e.fatalf("more completions than commands")
		}
	}
}

func doneError(e *env) {
	q := e.compute()
	bad := e.failed(q)
	want := e.wait(bad)
	good := e.launch(q, e.kernel("fill"), line(0), nil, buf(e.alloc(1)), num(uint8(1)))
	e.finish(good)
	for range 3 {
		if done, err := bad.Done(); !done || err == nil || err.Error() != want.Error() {
			e.fatalf("Done of a failed command says %v, %v; Notify said %v", done, err, want)
		}
		if done, err := good.Done(); !done || err != nil {
			e.fatalf("Done of a finished command says %v, %v", done, err)
		}
	}
}

// slack is how far a device's clock, mapped to the host's, may be off it.
const slack = 20 * time.Millisecond

func timesOrder(e *env) {
	q, q2, b, scrap := e.compute(), e.compute(), e.alloc(4), e.alloc(4)
	fill, spin := e.kernel("fill"), e.kernel("spin")
	e.finish(e.slow(q, spin, scrap))
	before := devices.Now()
	slow := e.slow(q, spin, scrap)
	events := []devices.Event{slow}
	for i := range 50 {
		on := []devices.Queue{q, q2}[i%2]
		events = append(events, e.launch(on, fill, line(1), events[len(events)-1:], buf(b), num(uint8(1))))
	}
	copied := e.keep(q.Copy(&devices.Copy{Kind: devices.DeviceToDevice, Src: b, Dst: scrap, Size: 1}, events[len(events)-1:]))
	events = append(events, copied)
	e.finish(copied)
	after := devices.Now()
	var last devices.Times
	for i, ev := range events {
		t, err := ev.Times()
		e.must(err, "Times")
		if t.Queued > t.Submitted || t.Submitted > t.Start || t.Start > t.End {
			e.fatalf("command %d ran backwards: queued %v, submitted %v, start %v, end %v", i, t.Queued, t.Submitted, t.Start, t.End)
		}
		if t.Queued < before-slack || t.End > after+slack {
			e.fatalf("command %d was queued at %v and ended at %v, but was enqueued after %v and done before %v", i, t.Queued, t.End, before, after)
		}
		if i > 0 && t.Start < last.End {
			e.fatalf("command %d started at %v, before the one that it waits for ended at %v", i, t.Start, last.End)
		}
		again, err := ev.Times()
		if err != nil || again != t {
			e.fatalf("Times of command %d changed from %v to %v, error %v", i, t, again, err)
		}
		last = t
	}
	t, _ := slow.Times()
	if run := t.Run(); run < time.Millisecond || run > after-before+slack {
		e.fatalf("a kernel of some 30 ms took %v by its Times and less than %v by the host's clock", run, after-before)
	}
}

func timesEarly(e *env) {
	q, out, spin := e.compute(), e.alloc(4), e.kernel("spin")
	for range 10 { // see returnsAtOnce
		ev := e.slow(q, spin, out)
		_, err := ev.Times()
		done, _ := ev.Done()
		e.finish(ev)
		if !done || err != nil {
			e.wantErr(err, devices.ErrInvalid, "Times of a command that has not finished", e.id())
			return
		}
	}
	e.fatalf("ten kernels of 30 ms were all done when Launch had returned")
}

func flush(e *env) {
	q, b, fill := e.compute(), e.alloc(4), e.kernel("fill")
	e.must(q.Flush(), "Flush of an empty queue")
	ev := e.launch(q, fill, line(4), nil, buf(b), num(uint8(5)))
	e.must(q.Flush(), "Flush")
	for done := false; !done; done, _ = ev.Done() {
		if e.ctx.Err() != nil {
			e.fatalf("a command was flushed but never done")
		}
	}
	e.must(q.Flush(), "Flush")
}
