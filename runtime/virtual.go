package tandem

import (
	"sync"
	"time"

	"github.com/tandemrun/tandem/devices"
)

// hostClock is the clock that a session's times are on: the host's, or that of
// a simulated device. The latter stands still while the host still has
// something to say about what has happened, so that the host takes no time on
// it. The host is busy while an agent is awake, and while a goroutine lowers a
// run; one that waits for a device with the session's lock, to make room or to
// redo what was lost, keeps others from lowering, so that theirs does not
// count meanwhile. On the host's clock all of this does nothing.
type hostClock struct {
	device devices.Clocked // nil: the host's clock

	mu                         sync.Mutex
	awake, lowering, suspended int
	held                       bool
}

// now is the time on the session's clock.
func (c *hostClock) now() time.Duration {
	if c.device == nil {
		return devices.Now()
	}
	return c.device.Now()
}

// follow makes the clock that of d, if d has one and none was followed yet.
func (c *hostClock) follow(d devices.Device) {
	if clock, ok := devices.As[devices.Clocked](d); ok && c.device == nil {
		c.device = clock
	}
}

// change counts goroutines in and out. What is counted in before something
// else is counted out keeps the clock held without a gap.
func (c *hostClock) change(awake, lowering, suspended int) {
	if c.device == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.awake += awake
	c.lowering += lowering
	c.suspended += suspended
	hold := c.awake > 0 || c.lowering > 0 && c.suspended == 0
	switch {
	case hold && !c.held:
		c.device.Hold()
	case !hold && c.held:
		c.device.Release()
	}
	c.held = hold
}

// roomy is the part of a run that lets lowering sleep until operations are
// over. With a clock to hold, who wakes it counts it in before.
type roomy struct {
	clock *hostClock
	token chan struct{} // holds one while there may be room

	mu       sync.Mutex
	lowering bool // counted in
	over     bool
}

func (r *roomy) init(c *hostClock) { r.clock, r.token = c, make(chan struct{}, 1) }

// begin counts lowering in.
func (r *roomy) begin() {
	if r.clock.device == nil {
		return
	}
	r.mu.Lock()
	r.lowering = true
	r.mu.Unlock()
	r.clock.change(0, 1, 0)
}

// sleep waits for a token.
func (r *roomy) sleep() {
	if r.clock.device != nil {
		r.mu.Lock()
		select {
		case <-r.token:
			r.mu.Unlock()
			return
		default:
		}
		r.lowering = false
		r.clock.change(0, -1, 0)
		r.mu.Unlock()
	}
	<-r.token
}

// wake leaves a token.
func (r *roomy) wake() {
	if r.clock.device != nil {
		r.mu.Lock()
		defer r.mu.Unlock()
		if !r.lowering && !r.over {
			r.lowering = true
			r.clock.change(0, 1, 0)
		}
	}
	select {
	case r.token <- struct{}{}:
	default:
	}
}

// end counts lowering out for good.
func (r *roomy) end() {
	if r.clock.device == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.over = true
	if r.lowering {
		r.lowering = false
		r.clock.change(0, -1, 0)
	}
}
