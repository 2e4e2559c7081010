package cuda

import (
	"sync"
	"time"
	"unsafe"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/devices/hostmem"
	"github.com/tandemrun/tandem/devices/internal/dl"
)

// clock maps a device's time to the host's.
//
// CUDA tells the time between two of its events, in milliseconds as a float32,
// whose steps grow with the distance. So times are told from a base event that
// is made anew every rebaseAfter. Where the base lies on the host's clock is
// measured when the device is opened. From then on each new base lies at its
// distance from the old one, moved as far as the commands since then demand:
// none started before it was enqueued or ended after the host saw its end.
// Within the life of a base the mapping does not change, so the times of two
// commands never contradict their order.
type clock struct {
	mu     sync.Mutex
	memory []byte     // what the library writes to
	args   [3]uintptr // of cuEventElapsedTime
	base   uintptr    // CUevent
	next   uintptr    // CUevent that will be the base; recorded if rising
	rising bool
	at     time.Duration // host time of base
	since  time.Duration // host time at which base was made
	late   time.Duration // how much at has to grow, by the commands seen since
	early  time.Duration // and shrink
}

const rebaseAfter = 8 * time.Second

// startClock makes the base. The context is current.
func (d *device) startClock() error {
	c := &d.clock
	var err error
	if c.memory, err = hostmem.Alloc(8); err != nil {
		return err
	}
	out := new(uintptr)
	for _, e := range []*uintptr{&c.base, &c.next} {
		if code := d.api.call(d.api.eventCreate, uintptr(unsafe.Pointer(out)), eventDefault); code != success {
			return d.fail(code, "cuEventCreate")
		}
		*e = *out
	}
	// The quickest round trip tells most.
	tightest := time.Duration(1 << 62)
	for range 8 {
		lo := devices.Now()
		code := d.api.call(d.api.eventRecord, c.next, d.aux.stream)
		if code == success {
			code = d.api.call(d.api.eventSync, c.next)
		}
		hi := devices.Now()
		if code != success {
			return d.fail(code, "cuEventRecord")
		}
		if hi-lo < tightest {
			tightest = hi - lo
			c.base, c.next = c.next, c.base
			c.at, c.since = lo+(hi-lo)/2, hi
		}
	}
	return nil
}

// stopClock gives the base back. The context is current.
func (d *device) stopClock() {
	c := &d.clock
	c.mu.Lock()
	defer c.mu.Unlock()
	d.api.call(d.api.eventDestroy, c.base)
	d.api.call(d.api.eventDestroy, c.next)
	_ = hostmem.Free(c.memory)
	c.memory = nil
}

// profile is when a finished command started and ended, on the host's clock.
func (d *device) profile(e *event) (start, end time.Duration, ok bool) {
	c := &d.clock
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.memory == nil || d.enter() != nil {
		return 0, 0, false
	}
	defer d.leave()
	c.rebase(d)
	from, ok := c.elapsed(d, c.base, e.start[0])
	if !ok {
		return 0, 0, false
	}
	run, ok := c.elapsed(d, e.start[0], e.end[0])
	if !ok {
		return 0, 0, false
	}
	start = c.at + from
	end = start + max(run, 0)
	c.late = max(c.late, e.queued-start)
	c.early = max(c.early, end-e.seen)
	return start, end, true
}

// elapsed is the time between two CUDA events. The context is current.
func (c *clock) elapsed(d *device, from, to uintptr) (time.Duration, bool) {
	c.args = [3]uintptr{uintptr(unsafe.Pointer(&c.memory[0])), from, to}
	if int32(dl.CallArgs(d.api.eventElapsed, c.args[:])) != success {
		return 0, false
	}
	ms := *(*float32)(unsafe.Pointer(&c.memory[0]))
	return time.Duration(float64(ms) * 1e6), true
}

// rebase moves the base when it is old. It never waits: the new one is
// recorded in one call and taken in a later one.
func (c *clock) rebase(d *device) {
	now := devices.Now()
	if now-c.since < rebaseAfter {
		return
	}
	if !c.rising {
		c.rising = d.api.call(d.api.eventRecord, c.next, d.aux.stream) == success
		return
	}
	if d.api.call(d.api.eventQuery, c.next) != success {
		return
	}
	if gone, ok := c.elapsed(d, c.base, c.next); ok {
		c.at += gone
		// Both at once means that the bounds are finer than the clock.
		switch {
		case c.late > 0 && c.early <= 0:
			c.at += c.late
		case c.early > 0 && c.late <= 0:
			c.at -= c.early
		}
		c.base, c.next = c.next, c.base
		c.since, c.late, c.early = now, 0, 0
	}
	c.rising = false
}

// hostTimes puts a command's times in order, within what the host knows.
func hostTimes(queued, submitted, start, end, seen time.Duration) devices.Times {
	start = min(max(start, queued), max(seen, queued))
	end = min(max(end, start), max(seen, start))
	return devices.Times{Queued: queued, Submitted: min(max(submitted, queued), start), Start: start, End: end}
}
