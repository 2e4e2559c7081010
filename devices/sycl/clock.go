package sycl

import (
	"sync"
	"time"

	"github.com/tandemrun/tandem/devices"
)

// clock maps a device's time to the host's.
//
// The offset is first measured with empty commands. After that every command
// whose times are read corrects it: it was queued while the host was enqueueing
// it, and it had ended when the host saw it. So the two clocks may drift apart
// and no time ever lies outside what the host knows.
type clock struct {
	mu     sync.Mutex
	args   [3]uintptr // of the shim's event_times
	memory *clockMemory
	offset int64 // host minus device, nanoseconds
	known  bool
}

// clockMemory is what the shim writes to. It lies outside the Go heap.
type clockMemory struct {
	times [4]uint64
	err   errorBlock
}

// calibrate takes one measurement: at device time dev the host's clock was
// between lo and hi. Of several the tightest is to be used.
func (c *clock) calibrate(dev uint64, lo, hi time.Duration) {
	c.mu.Lock()
	c.offset = int64(lo+(hi-lo)/2) - int64(dev)
	c.known = true
	c.mu.Unlock()
}

// times maps the device's queued, submitted, start and end. queued is the
// host time just before the command was enqueued, seen that at which it was
// known to be finished.
func (c *clock) times(dev [4]uint64, queued, seen time.Duration) devices.Times {
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
