package fpga

import (
	"runtime"
	"sync"

	"github.com/tandemrun/tandem/devices"
)

// worker is one of the two threads of a device and the commands that are ready
// for it. Guarded by the device's mu, which wake uses.
type worker struct {
	first, last *command
	end         bool
	wake        sync.Cond
	passed      int // how often the first command was passed over
}

// put appends a ready command.
func (w *worker) put(c *command) {
	c.next = nil
	if w.last == nil {
		w.first = c
	} else {
		w.last.next = c
	}
	w.last = c
	w.wake.Signal()
}

const (
	// lookAhead is how many ready commands are looked at for one whose image
	// is loaded.
	lookAhead = 16
	// maxPassed is how often the first command lets others go before it.
	maxPassed = 32
)

// get takes the next command: the first one of the loaded image near the front,
// so that images are loaded less often. nil: the device ends.
func (w *worker) get(image func() string) *command {
	for w.first == nil {
		if w.end {
			return nil
		}
		w.wake.Wait()
	}
	var before *command
	c := w.first
	if image != nil && w.passed < maxPassed {
		loaded := image()
		for at, prev, n := w.first, (*command)(nil), 0; at != nil && n < lookAhead; prev, at, n = at, at.next, n+1 {
			if at.image == loaded {
				before, c = prev, at
				break
			}
		}
	}
	if before == nil {
		w.first, w.passed = c.next, 0
	} else {
		before.next = c.next
		w.passed++
	}
	if w.last == c {
		w.last = before
	}
	c.next = nil
	return c
}

// runCopies is the thread that copies.
func (d *device) runCopies() {
	defer d.ended.Done()
	for {
		d.mu.Lock()
		c := d.copies.get(nil)
		if c == nil {
			d.mu.Unlock()
			return
		}
		err := c.failed
		if err == nil {
			err = c.broken
		}
		d.mu.Unlock()
		c.times.Start = devices.Now()
		if err == nil {
			copy(c.dst, c.src)
		}
		d.finish(c, err)
	}
}

// runKernels is the thread that runs kernels. It keeps its OS thread: the
// emulation holds its state in variables of the thread.
func (d *device) runKernels() {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer d.ended.Done()
	loaded := func() string { return d.loaded }
	for {
		d.mu.Lock()
		c := d.compute.get(loaded)
		if c == nil {
			for _, in := range d.instances {
				in.close()
			}
			d.mu.Unlock()
			return
		}
		failed := c.failed
		loads := failed == nil && !c.plan.empty && d.loaded != c.image
		if loads {
			d.loaded = c.image
		}
		d.mu.Unlock()
		if failed != nil {
			c.times.Start = devices.Now()
			d.finish(c, failed)
			continue
		}
		err := d.runLaunch(c, loads)
		told, report := d.driver.OnLaunch != nil && err == nil, c.report
		times := c.times
		times.End = devices.Now()
		d.finish(c, err) // c may be used again from here on
		if told {
			d.driver.OnLaunch(d.info.ID, times, report)
		}
	}
}
