package devicetest

import (
	"errors"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/tandemrun/tandem/devices"
)

func orderCases() []testCase {
	return []testCase{
		{"returns-at-once", "a caller that is held up until the work is done cannot feed a second device", returnsAtOnce},
		{"order-in-queue", "commands of one queue run in the order in which they got in", orderInQueue},
		{"order-copies", "copies and launches of one queue keep their order too", orderCopies},
		{"wait-across-queues", "a command starts after every event of its wait list", waitAcrossQueues},
		{"queues-at-once", "work that does not depend on a slow command does not wait for it", queuesAtOnce},
		{"failed-dependency", "a task must not run on what a failed one did not write; others must", failedDependency},
		{"failed-many", "a failure reaches every command that depends on it, late ones too", failedMany},
		{"foreign-event", "an event of another device means nothing to this one; waiting for it would wait forever", foreignEvent},
		{"wait-list-released", "the runtime forgets an event as soon as nothing new will wait for it", waitListReleased},
	}
}

func returnsAtOnce(e *env) {
	q, out, k := e.compute(), e.alloc(4), e.kernel("spin")
	// A busy machine may stop this thread for longer than the kernel runs;
	// it does not do so ten times in a row.
	for range 10 {
		ev := e.slow(q, k, out)
		done, err := ev.Done()
		e.must(err, "Done of a running command")
		e.finish(ev)
		if !done {
			return
		}
	}
	e.fatalf("Launch came back only when the kernel had finished, ten times out of ten")
}

// mads are random launches of mad_u32 and what they make of x.
type mads struct {
	rng *rand.Rand
	x   []uint32
}

func (m *mads) next() (a, b uint32) {
	a, b = m.rng.Uint32()|1, m.rng.Uint32()
	for i := range m.x {
		m.x[i] = m.x[i]*a + b
	}
	return a, b
}

func (e *env) checkMads(q devices.Queue, b devices.Buffer, m *mads, seed uint64) {
	if got := e.readU32(q, b, len(m.x)); !slices.Equal(got, m.x) {
		e.fatalf("the launches did not run in order: %d of the %d numbers are wrong (seed %d)", differences(got, m.x), len(m.x), seed)
	}
}

func differences(a, b []uint32) (n int) {
	for i := range a {
		if a[i] != b[i] {
			n++
		}
	}
	return n
}

func orderInQueue(e *env) {
	rng, seed := e.random()
	q := e.compute()
	m := &mads{rng, make([]uint32, 300)}
	b, k, scrap := e.u32(q, m.x), e.kernel("mad_u32"), e.alloc(4)
	e.slow(q, e.kernel("spin"), scrap) // so that the launches pile up behind it
	for range 200 {
		a, s := m.next()
		e.launch(q, k, line(len(m.x)), nil, buf(b), num(a), num(s))
	}
	e.checkMads(q, b, m, seed)
}

func orderCopies(e *env) {
	rng, seed := e.random()
	q := e.compute()
	m := &mads{rng, make([]uint32, 1000)}
	b, c, k := e.u32(q, m.x), e.alloc(4000), e.kernel("mad_u32")
	h := e.host(4000)
	for range 50 {
		a, s := m.next()
		e.launch(q, k, line(len(m.x)), nil, buf(b), num(a), num(s))
		e.keep(q.Copy(&devices.Copy{Kind: devices.DeviceToDevice, Src: b, Dst: c, Size: 4000}, nil))
		a, s = m.next()
		e.launch(q, k, line(len(m.x)), nil, buf(c), num(a), num(s))
		e.keep(q.Copy(&devices.Copy{Kind: devices.DeviceToHost, Src: c, Host: h, Size: 4000}, nil))
		e.keep(q.Copy(&devices.Copy{Kind: devices.HostToDevice, Dst: b, Host: h, Size: 4000}, nil))
	}
	e.checkMads(q, b, m, seed)
}

func waitAcrossQueues(e *env) {
	rng, seed := e.random()
	queues := []devices.Queue{e.compute(), e.queue(devices.Upload), e.queue(devices.Download), e.compute()}
	m := &mads{rng, make([]uint32, 100)}
	b, k, scrap, spin := e.u32(queues[0], m.x), e.kernel("mad_u32"), e.alloc(4), e.kernel("spin")
	last := e.slow(queues[1], spin, scrap)
	for i := range 200 {
		a, s := m.next()
		// Sometimes with events that are long done, or twice the same.
		wait := []devices.Event{last}
		if i%3 == 0 {
			wait = append(wait, last)
		}
		if i%50 == 49 {
			wait = append(wait, e.slow(queues[rng.IntN(4)], spin, scrap))
		}
		last = e.launch(queues[rng.IntN(4)], k, line(len(m.x)), wait, buf(b), num(a), num(s))
	}
	e.finish(last)
	e.checkMads(queues[0], b, m, seed)

	// A join: one command waits for many, and finds what each has written.
	cells := e.u32(queues[0], make([]uint32, 64))
	var wait []devices.Event
	for i := range 63 {
		q := queues[rng.IntN(4)]
		if i == 31 || i == 62 {
			e.slow(q, spin, scrap) // so that some of them are not done when the join is enqueued
		}
		wait = append(wait, e.launch(q, e.kernel("count"), line(1), nil, buf(cells), num(uint32(1)), num(uint32(1)), num(uint32(2))))
	}
	copied := e.alloc(4)
	e.finish(e.keep(queues[0].Copy(&devices.Copy{Kind: devices.DeviceToDevice, Src: cells, Dst: copied, Size: 4}, wait)))
	if got := e.readU32(queues[0], copied, 1)[0]; got != 63 {
		e.fatalf("a command that waits for 63 others found the work of %d (seed %d)", got, seed)
	}
}

func queuesAtOnce(e *env) {
	if n := e.device().Info().Queues; n < 2 {
		e.skipf("%s runs %d queue at a time", e.id(), n)
	}
	q, q2, out, spin, fill := e.compute(), e.compute(), e.alloc(8), e.kernel("spin"), e.kernel("fill")
	for range 5 { // see returnsAtOnce
		long := e.slow(q, spin, out)
		for range 3 {
			long = e.slow(q, spin, out)
		}
		e.must(q.Flush(), "Flush")
		e.finish(e.launch(q2, fill, line(1), nil, buf(out), num(uint8(1))))
		done, _ := long.Done()
		e.finish(long)
		if !done {
			return
		}
	}
	e.fatalf("a short launch on one queue was never done before four long ones on another, in five attempts")
}

func failedDependency(e *env) {
	q, q2 := e.compute(), e.compute()
	b, fill := e.alloc(4), e.kernel("fill")
	e.write(q, b, 0, []byte{1, 1, 1, 1})

	first := e.failed(q)
	second := e.launch(q2, fill, line(1), []devices.Event{first}, buf(b), num(uint8(9)))
	third := e.keep(q.Copy(&devices.Copy{Kind: devices.DeviceToDevice, Src: b, SrcOffset: 0, Dst: b, DstOffset: 1, Size: 1}, []devices.Event{second}))
	same := e.launch(q, fill, line(2), []devices.Event{first}, buf(b), num(uint8(8)))
	behind := e.launch(q, fill, line(3), nil, buf(b), num(uint8(3)))
	behind2 := e.launch(q2, fill, line(1), nil, buf(b), num(uint8(2)))

	err := e.wait(first)
	if err == nil {
		e.fatalf("the command that should fail did not")
	}
	for _, s := range sentinels {
		if err == s {
			e.fatalf("the failed command's error is the bare sentinel %q", s)
		}
	}
	if !strings.Contains(err.Error(), e.id()) {
		e.fatalf("the failed command's error %q does not name %s", err, e.id())
	}
	if e.o.Fail == nil && (!strings.Contains(err.Error(), "fail") || !strings.Contains(err.Error(), FailMessage)) {
		e.fatalf("the failed command's error %q does not say what the kernel fail said, %q", err, FailMessage)
	}
	for name, ev := range map[string]devices.Event{"a launch that waits for it": second, "a copy that waits for that": third, "a launch on the same queue that waits for it": same} {
		got := e.wait(ev)
		if got == nil {
			e.fatalf("a command failed with %q, but %s did not", err, name)
		}
		if !errors.Is(got, err) && !strings.Contains(got.Error(), err.Error()) {
			e.fatalf("a command failed with %q, but %s with another error: %q", err, name, got)
		}
	}
	e.must(e.wait(behind), "a command behind a failed one that does not wait for it")
	e.must(e.wait(behind2), "a command behind one that was not run")
	want := []byte{2, 3, 3, 1}
	if got := e.read(q, b, 0, 4); !slices.Equal(got[1:], want[1:]) || got[0] != 2 && got[0] != 3 {
		e.fatalf("after failures memory holds %v, want %v with the first either 2 or 3: a command that had to be left out ran, or one that had to run did not", got, want)
	}
}

func failedMany(e *env) {
	q, q2, b, fill := e.compute(), e.compute(), e.alloc(256), e.kernel("fill")
	e.write(q, b, 0, make([]byte, 256))
	bad := e.failed(q)
	good := e.launch(q2, fill, line(0), nil, buf(b), num(uint8(1)))
	var events []devices.Event
	for i := range 100 {
		if i == 50 {
			if err := e.wait(bad); err == nil {
				e.fatalf("the command that should fail did not")
			}
		}
		ev := e.launch(q2, fill, line(256), []devices.Event{good, bad}, buf(b), num(uint8(1)))
		events = append(events, ev)
	}
	for i, ev := range events {
		if err := e.wait(ev); err == nil {
			e.fatalf("command %d of 100 that wait for a failed one did not fail", i)
		}
	}
	for i, v := range e.read(q2, b, 0, 256) {
		if v != 0 {
			e.fatalf("a command that waits for a failed one ran: byte %d is %d", i, v)
		}
	}
	roundTrip(e, 64)
}

func foreignEvent(e *env) {
	other := e.another()
	oq := e.queueOn(other, devices.Compute)
	m := e.host(1)
	ob := e.allocOn(other, 1)
	foreign := e.keep(oq.Copy(&devices.Copy{Kind: devices.HostToDevice, Dst: ob, Host: m, Size: 1}, nil))
	q, b, k := e.compute(), e.alloc(64), e.kernel("fill")
	l := &devices.Launch{Kernel: k, Range: line(1), Args: []devices.Arg{buf(b), num(uint8(1))}}
	c := &devices.Copy{Kind: devices.HostToDevice, Dst: b, Host: m, Size: 1}
	own := e.keep(q.Copy(c, nil))
	for what, wait := range map[string][]devices.Event{
		"another device's event": {foreign}, "another device's event behind an own one": {own, foreign}, "a nil event": {nil},
	} {
		e.refused("a launch that waits for "+what, "fill")(q.Launch(l, wait))
		e.refused("a copy that waits for " + what)(q.Copy(c, wait))
	}
	e.finish(e.keep(q.Launch(l, []devices.Event{own})))
}

func waitListReleased(e *env) {
	rng, seed := e.random()
	q, q2 := e.compute(), e.compute()
	m := &mads{rng, make([]uint32, 10)}
	b, k, scrap, spin := e.u32(q, m.x), e.kernel("mad_u32"), e.alloc(4), e.kernel("spin")
	last := e.slow(q, spin, scrap)
	for i := range 300 {
		a, s := m.next()
		next := e.launch([]devices.Queue{q, q2}[i%2], k, line(len(m.x)), []devices.Event{last}, buf(b), num(a), num(s))
		e.release(last) // not done yet, and its record is soon used again
		last = next
		if i%100 == 50 {
			slow := e.slow(q2, spin, scrap, last)
			e.release(last)
			last = slow
		}
	}
	e.finish(last)
	e.checkMads(q, b, m, seed)
}
