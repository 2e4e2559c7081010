package sim

import (
	"runtime/debug"
	"sync"
	"time"
)

// clock is the virtual clock and, in one goroutine while any device is open,
// the simulation. Its lock guards all state of all devices on it.
type clock struct {
	mu      sync.Mutex
	changed sync.Cond // something that the simulation may wait for
	drained sync.Cond // a queue that is being closed has become empty

	now     time.Duration
	holds   int
	devices []*device // open ones, by ordinal and then in order of opening
	opened  int       // devices opened so far
	running runHeap

	// batch are the commands that end now; those before done have done their
	// work. They are state and not variables of a loop because a kernel that
	// calls runtime.Goexit takes the goroutine with it; a new one goes on.
	batch  []*command
	done   int
	tell   []told
	looped chan struct{} // closed when the goroutine has ended; nil: there is none
	before chan struct{} // the same of the one before it
	memory scratch
}

// told is a completion to call.
type told struct {
	c   *command
	err error
}

func (k *clock) init() {
	k.changed.L, k.drained.L = &k.mu, &k.mu
}

// Now is the time on the clock.
func (k *clock) Now() time.Duration {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.now
}

// Hold keeps the clock from going on.
func (k *clock) Hold() {
	k.mu.Lock()
	k.holds++
	k.mu.Unlock()
}

// Release undoes one Hold.
func (k *clock) Release() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.holds == 0 {
		panic("sim: Release without Hold")
	}
	if k.holds--; k.holds == 0 {
		k.changed.Broadcast()
	}
}

// add takes a device in and starts the simulation with the first.
func (k *clock) add(d *device) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if d.lostBy(k.now) {
		return d.lostError("Open")
	}
	k.opened++
	d.opened = k.opened
	at := len(k.devices)
	for at > 0 && k.devices[at-1].info.Ordinal > d.info.Ordinal {
		at--
	}
	k.devices = append(k.devices, nil)
	copy(k.devices[at+1:], k.devices[at:])
	k.devices[at] = d
	if k.looped == nil {
		before, ended := k.before, make(chan struct{})
		k.looped, k.before = ended, ended
		go func() {
			if before != nil {
				<-before
			}
			k.loop(ended)
		}()
	}
	return nil
}

// remove takes out a device without work, and ends the simulation with the
// last.
func (k *clock) remove(d *device) {
	k.mu.Lock()
	for i, other := range k.devices {
		if other == d {
			k.devices = append(k.devices[:i], k.devices[i+1:]...)
			break
		}
	}
	var ended chan struct{}
	if len(k.devices) == 0 {
		ended, k.looped = k.looped, nil
		k.changed.Broadcast()
	}
	k.mu.Unlock()
	if ended != nil {
		<-ended
	}
}

// loop is the simulation.
func (k *clock) loop(ended chan struct{}) {
	returned := false
	defer func() {
		if !returned { // a kernel called runtime.Goexit
			go k.loop(ended)
			return
		}
		close(ended)
	}()
	// A kernel that touches pages that are gone (an imported file that was cut
	// short) panics like any other instead of ending the process.
	debug.SetPanicOnFault(true)
	for {
		for k.done < len(k.batch) {
			c := k.batch[k.done]
			k.done++
			if c.err == nil {
				c.execute(&k.memory)
			}
		}
		k.finish()
		k.mu.Lock()
		for k.looped == ended && !k.step() {
			k.changed.Wait()
		}
		over := k.looped != ended
		k.mu.Unlock()
		if over {
			returned = true
			return
		}
	}
}

// finish ends the commands of the batch and tells who wants to know.
func (k *clock) finish() {
	k.mu.Lock()
	for _, c := range k.batch {
		c.finish()
		if c.notify != nil {
			k.tell = append(k.tell, told{c, c.err})
			continue
		}
		c.unref()
	}
	clear(k.batch)
	k.batch, k.done = k.batch[:0], 0
	k.mu.Unlock()
	if len(k.tell) == 0 {
		return
	}
	for _, t := range k.tell {
		t.c.notify.Complete(t.err)
	}
	k.mu.Lock()
	for _, t := range k.tell {
		t.c.unref()
	}
	clear(k.tell)
	k.tell = k.tell[:0]
	k.mu.Unlock()
}

// step starts what can start and takes the clock to the next event, unless it
// is held or there is none. The commands that end then are in k.batch. The
// caller holds k.mu.
func (k *clock) step() bool {
	if k.holds > 0 {
		return false
	}
	for _, d := range k.devices {
		for e := range d.engines {
			d.engines[e].start(k)
		}
	}
	if len(k.running) == 0 {
		return false
	}
	t := k.running[0].times.End
	var lost *device
	for _, d := range k.devices {
		if at := d.spec.LostAt; !d.lost && at > 0 && (at < t || at <= k.now) && (lost == nil || at < lost.spec.LostAt) {
			lost = d
		}
	}
	if lost != nil {
		k.now = max(k.now, lost.spec.LostAt)
		k.lose(lost)
		return true // with an empty batch: what it runs ends now
	}
	k.now = t
	for len(k.running) > 0 && k.running[0].times.End == t {
		k.batch = append(k.batch, k.running.pop())
	}
	return true
}

// lose makes everything that d runs or will ever be asked to run fail.
func (k *clock) lose(d *device) {
	d.lost = true
	for _, c := range k.running {
		if c.q.d == d {
			c.times.End = k.now
			c.fail(d.lostError(c.what()))
		}
	}
	k.running.order()
	for e := range d.engines {
		for _, c := range d.engines[e].ready {
			c.fail(d.lostError(c.what()))
			c.times.Start, c.times.End = k.now, k.now
			k.running.push(c)
		}
		clear(d.engines[e].ready)
		d.engines[e].ready = d.engines[e].ready[:0]
	}
}

// engine does one command at a time.
type engine struct {
	current *command
	ready   []*command // that wait for it, at most one for each queue
}

// start starts the command whose turn it is, if the engine is free.
func (e *engine) start(k *clock) {
	if e.current != nil || len(e.ready) == 0 {
		return
	}
	first := 0
	for i, c := range e.ready {
		f := e.ready[first]
		if c.times.Submitted < f.times.Submitted || c.times.Submitted == f.times.Submitted && c.q.number < f.q.number {
			first = i
		}
	}
	c := e.ready[first]
	last := len(e.ready) - 1
	e.ready[first], e.ready[last] = e.ready[last], nil
	e.ready = e.ready[:last]
	e.current = c
	c.times.Start = k.now
	c.times.End = min(k.now+c.duration(k.now), forever)
	k.running.push(c)
}

// runHeap is a heap of running commands by when they end; those that end
// together are ordered by device and queue, of which each runs one.
type runHeap []*command

func (h runHeap) less(i, j int) bool {
	a, b := h[i], h[j]
	switch {
	case a.times.End != b.times.End:
		return a.times.End < b.times.End
	case a.q.d.info.Ordinal != b.q.d.info.Ordinal:
		return a.q.d.info.Ordinal < b.q.d.info.Ordinal
	case a.q.d != b.q.d:
		return a.q.d.opened < b.q.d.opened
	}
	return a.q.number < b.q.number
}

func (h *runHeap) push(c *command) {
	*h = append(*h, c)
	for i := len(*h) - 1; i > 0; {
		up := (i - 1) / 2
		if !h.less(i, up) {
			break
		}
		(*h)[i], (*h)[up] = (*h)[up], (*h)[i]
		i = up
	}
}

func (h *runHeap) pop() *command {
	old := *h
	c, last := old[0], len(old)-1
	old[0], old[last] = old[last], nil
	*h = old[:last]
	h.sink(0)
	return c
}

func (h runHeap) sink(i int) {
	for {
		least := i
		for child := 2*i + 1; child <= 2*i+2 && child < len(h); child++ {
			if h.less(child, least) {
				least = child
			}
		}
		if least == i {
			return
		}
		h[i], h[least] = h[least], h[i]
		i = least
	}
}

// order makes h a heap again.
func (h runHeap) order() {
	for i := len(h)/2 - 1; i >= 0; i-- {
		h.sink(i)
	}
}
