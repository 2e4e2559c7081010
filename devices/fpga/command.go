package fpga

import (
	"github.com/tandemrun/tandem/devices"
)

// command is an enqueued launch or copy and at the same time its event. All
// fields are guarded by the device's mu, but for what the command does, which
// belongs to its worker while it runs. A record is used again once nobody
// refers to it.
type command struct {
	d    *device
	next *command // in a worker's list, or among the spare ones

	pending   int // predecessors that are not done, and one for enqueueing
	refs      int
	followers []follower
	state     uint8
	owned     bool
	failed    error // of a predecessor
	err       error
	notify    devices.Completion
	times     devices.Times

	// What it does: a launch if in is set, else a copy, of nothing perhaps.
	in     *instance
	image  string
	plan   plan
	report LaunchReport
	dst    []byte
	src    []byte
	broken error // for tests: fails with it instead
}

// The states of a command.
const (
	waiting = iota
	done
)

// follower waits for a command; order: it does so only because it is behind it
// in a queue, and does not fail with it.
type follower struct {
	c     *command
	order bool
}

// take is a record to fill in. d.mu is held.
func (d *device) take() *command {
	c := d.spare
	if c == nil {
		return &command{d: d}
	}
	d.spare = c.next
	c.next = nil
	return c
}

// discard gives a record back. d.mu is held.
func (d *device) discard(c *command) {
	clear(c.followers)
	c.followers = c.followers[:0]
	c.state, c.failed, c.err, c.notify = waiting, nil, nil, nil
	c.in, c.image, c.dst, c.src, c.broken = nil, "", nil, nil, nil
	c.report = LaunchReport{}
	c.plan.clear()
	c.next = d.spare
	d.spare = c
}

// after has c wait for before. d.mu is held.
func (c *command) after(before *command, order bool) {
	if before.state == done {
		if before.err != nil && !order {
			c.fail(before.err)
		}
		return
	}
	before.followers = append(before.followers, follower{c, order})
	c.pending++
}

// fail has the command fail with err instead of running; the first call wins.
func (c *command) fail(err error) {
	if c.failed == nil {
		c.failed = err
	}
}

// met counts one predecessor less and hands c to its worker after the last.
// d.mu is held.
func (d *device) met(c *command) {
	if c.pending--; c.pending > 0 {
		return
	}
	c.times.Submitted = max(devices.Now(), c.times.Queued)
	if c.in != nil {
		d.compute.put(c)
	} else {
		d.copies.put(c)
	}
}

// finish ends a command that its worker has run; start is when it began.
func (d *device) finish(c *command, err error) {
	d.mu.Lock()
	if c.times.Start < c.times.Submitted {
		c.times.Start = c.times.Submitted
	}
	c.times.End = max(devices.Now(), c.times.Start)
	c.err = err
	c.state = done
	for _, f := range c.followers {
		if err != nil && !f.order {
			f.c.fail(err)
		}
		d.met(f.c)
	}
	clear(c.followers)
	c.followers = c.followers[:0]
	n := c.notify
	c.notify = nil
	d.unref(c)
	d.mu.Unlock()
	if n != nil {
		n.Complete(err)
	}
}

// unref gives one reference up. d.mu is held.
func (d *device) unref(c *command) {
	if c.refs--; c.refs == 0 {
		d.discard(c)
	}
}

// release gives the event back. d.mu is held.
func (d *device) release(c *command) {
	if !c.owned {
		panic("fpga: an event was released twice")
	}
	c.owned = false
	d.events--
	d.unref(c)
}

// Done reports whether the command has finished.
func (c *command) Done() (bool, error) {
	c.d.mu.Lock()
	defer c.d.mu.Unlock()
	return c.state == done, c.err
}

// Notify has n told once the command has finished.
func (c *command) Notify(n devices.Completion) {
	c.d.mu.Lock()
	if c.state != done {
		twice := c.notify != nil
		c.notify = n
		c.d.mu.Unlock()
		if twice {
			panic("fpga: a second Notify of one event")
		}
		return
	}
	err := c.err
	c.d.mu.Unlock()
	n.Complete(err)
}

// Times says when the command ran. A launch that was checked first starts
// after the checks.
func (c *command) Times() (devices.Times, error) {
	c.d.mu.Lock()
	defer c.d.mu.Unlock()
	if c.state != done {
		return devices.Times{}, c.d.errorf(devices.ErrInvalid, "Times of a command that has not finished")
	}
	return c.times, nil
}

// Release gives the event back.
func (c *command) Release() {
	c.d.mu.Lock()
	defer c.d.mu.Unlock()
	c.d.release(c)
}
