// Package hostclock maps the times that a device's own clock gives its commands
// to the host's clock.
package hostclock

import (
	"sync"
	"time"

	"github.com/tandemrun/tandem/devices"
)

// A Clock maps one device's time to the host's.
//
// The offset is first measured with empty commands. After that every command
// whose times are read corrects it: it was queued while the host was enqueueing
// it, and it had ended when the host saw it. So the two clocks may drift apart
// and no time ever lies outside what the host knows.
//
// The zero Clock is ready; its methods may be called at the same time.
type Clock struct {
	mu     sync.Mutex
	offset int64 // host minus device, nanoseconds
	known  bool
}

// Calibrate takes one measurement: at device time dev, in nanoseconds, the host's
// clock was between lo and hi. Of several the tightest is to be used.
func (c *Clock) Calibrate(dev uint64, lo, hi time.Duration) {
	c.mu.Lock()
	c.offset = int64(lo+(hi-lo)/2) - int64(dev)
	c.known = true
	c.mu.Unlock()
}

// Times maps the device's queued, submitted, start and end, in nanoseconds.
// queued is the host time just before the command was enqueued, seen that at
// which it was known to be finished.
func (c *Clock) Times(dev [4]uint64, queued, seen time.Duration) devices.Times {
	c.mu.Lock()
	if !c.known {
		c.offset, c.known = int64(queued)-int64(dev[0]), true
	}
	if late := int64(queued) - (int64(dev[0]) + c.offset); late > 0 {
		c.offset += late
	}
	if early := int64(dev[3]) + c.offset - int64(seen); early > 0 {
		c.offset -= early
	}
	offset := c.offset
	c.mu.Unlock()
	var at [4]time.Duration
	low := queued
	for i := range at {
		at[i] = min(max(time.Duration(int64(dev[i])+offset), low), max(seen, low))
		low = at[i]
	}
	return devices.Times{Queued: at[0], Submitted: at[1], Start: at[2], End: at[3]}
}
