package sim

import (
	"time"
	"unsafe"

	"github.com/tandemrun/tandem/devices"
)

// command is one enqueued launch or copy and at the same time its event. It
// belongs to its queue, which uses it again once nobody refers to it. All of
// it is guarded by the clock's lock, except what execute reads: that does not
// change between enqueueing and the end.
type command struct {
	q    *queue
	next *command // in the queue, or in its list of free commands

	refs      int  // the event's owner, and the simulation until it has told
	owned     bool // the event was not released yet
	pending   int  // predecessors that have not ended
	ended     bool
	err       error // why it fails or failed
	followers []*command
	notify    devices.Completion
	asked     bool // Notify was called
	times     devices.Times
	engine    *engine // nil: it takes none, and no time

	// A launch.
	fn     devices.GoFunc
	entry  string
	nd     devices.NDRange
	work   time.Duration
	args   devices.Args
	host   []devices.HostArg // what args wraps
	values []uint64          // the bytes of value arguments
	locals []local           // arguments in local memory

	// A copy.
	kind     devices.CopyKind
	size     int64
	dst, src []byte
	peer     bool // from another device's memory
	pinned   bool // the host's side is pinned memory
}

// local is an argument in local memory.
type local struct{ index, bytes int }

// reset makes a used command ready to be filled in.
func (c *command) reset() {
	c.next, c.pending, c.ended, c.err, c.notify, c.asked, c.engine = nil, 0, false, nil, nil, false, nil
	c.fn, c.dst, c.src, c.peer, c.pinned, c.size = nil, nil, nil, false, false, 0
	c.times = devices.Times{}
	clear(c.host)
	c.host, c.locals = c.host[:0], c.locals[:0]
}

// what names the command for messages.
func (c *command) what() string {
	if c.fn != nil {
		return "Launch " + c.entry
	}
	return "Copy " + c.kind.String()
}

// fail has the command fail instead of running; the first error counts.
func (c *command) fail(err error) {
	if c.err == nil {
		c.err = err
	}
}

// makeReady hands a command whose predecessors have ended to its engine.
func (c *command) makeReady(k *clock) {
	c.times.Submitted = k.now
	if c.err == nil && c.q.d.lost {
		c.err = c.q.d.lostError(c.what())
	}
	if c.err != nil || c.engine == nil {
		c.engine = nil
		c.times.Start, c.times.End = k.now, k.now
		k.running.push(c)
		return
	}
	c.engine.ready = append(c.engine.ready, c)
}

// duration is how long the command keeps its engine.
func (c *command) duration(start time.Duration) time.Duration {
	d := c.q.d
	if c.fn == nil {
		return d.spec.move(c)
	}
	if c.nd.Items() == 0 {
		return d.spec.LaunchLatency
	}
	return d.spec.run(start, c.work, d.noise)
}

// finish ends the command and lets others go.
func (c *command) finish() {
	q := c.q
	k := q.d.clock
	if c.engine != nil && c.engine.current == c {
		c.engine.current = nil
	}
	c.ended = true
	if q.head = c.next; q.head == nil {
		q.tail = nil
		if q.closed {
			k.drained.Broadcast()
		}
	} else {
		q.head.countDown(k)
	}
	for _, f := range c.followers {
		if c.err != nil {
			f.fail(c.err)
		}
		f.countDown(k)
	}
	clear(c.followers)
	c.followers = c.followers[:0]
}

func (c *command) countDown(k *clock) {
	if c.pending--; c.pending == 0 {
		c.makeReady(k)
	}
}

func (c *command) unref() {
	if c.refs--; c.refs == 0 {
		c.reset()
		c.next, c.q.free = c.q.free, c
	}
}

// Done reports whether the command has ended.
func (c *command) Done() (bool, error) {
	k := c.q.d.clock
	k.mu.Lock()
	defer k.mu.Unlock()
	if !c.ended {
		return false, nil
	}
	return true, c.err
}

// Notify has n told once the command has ended.
func (c *command) Notify(n devices.Completion) {
	k := c.q.d.clock
	k.mu.Lock()
	if c.asked {
		k.mu.Unlock()
		panic("sim: a second Notify of one event")
	}
	c.asked = true
	if !c.ended {
		c.notify = n
		k.mu.Unlock()
		return
	}
	err := c.err
	k.mu.Unlock()
	n.Complete(err)
}

// Times says when the command ran, on the virtual clock.
func (c *command) Times() (devices.Times, error) {
	d := c.q.d
	d.clock.mu.Lock()
	defer d.clock.mu.Unlock()
	if !c.ended {
		return devices.Times{}, d.errorf(devices.ErrInvalid, "Times of a command that has not finished")
	}
	return c.times, nil
}

// Release gives the event back.
func (c *command) Release() {
	d := c.q.d
	d.clock.mu.Lock()
	defer d.clock.mu.Unlock()
	if !c.owned {
		panic("sim: an event was released twice")
	}
	c.owned = false
	d.events--
	c.unref()
}

// launch fills in the work of l, which was checked.
func (c *command) launch(kn *kernel, l *devices.Launch) {
	c.fn, c.entry, c.nd = kn.f, kn.entry, l.Range.Norm()
	words := 0
	var buffers int64
	for i := range l.Args {
		words += (len(l.Args[i].Value) + 7) / 8
	}
	if cap(c.values) < words {
		c.values = make([]uint64, words)
	}
	values := c.values[:words]
	for i := range l.Args {
		a := &l.Args[i]
		var mem []byte
		switch {
		case a.Buffer != nil:
			mem = a.Buffer.(*buffer).mem
			buffers += int64(len(mem))
		case len(a.Value) > 0:
			mem = unsafe.Slice((*byte)(unsafe.Pointer(&values[0])), len(a.Value))
			copy(mem, a.Value)
			values = values[(len(a.Value)+7)/8:]
		case a.LocalBytes > 0:
			c.locals = append(c.locals, local{i, int(a.LocalBytes)})
		}
		c.host = append(c.host, devices.HostArg{Bytes: mem})
	}
	c.work = c.q.d.spec.work(c.entry, &c.nd, buffers)
	c.engine = &c.q.d.engines[compute]
}

// copy fills in the work of a copy whose sides were checked.
func (c *command) copy(cp *devices.Copy, dst, src []byte, peer bool) {
	c.kind, c.size, c.dst, c.src, c.peer = cp.Kind, int64(len(dst)), dst, src, peer
	if c.size > 0 {
		c.pinned = c.q.d.isPinned(cp.Host)
		c.engine = c.q.d.copyEngine(cp.Kind, peer)
	}
}

// execute does the command's work, for real. It sets c.err if that fails.
func (c *command) execute(s *scratch) {
	r := devices.Range{Lo: c.nd.Offset, Global: c.nd.Whole}
	returned := false
	defer func() {
		if !returned {
			c.caught(&r, recover())
		}
	}()
	switch {
	case c.fn == nil:
		copy(c.dst, c.src)
	case c.nd.Items() > 0:
		for d := range 3 {
			r.Hi[d] = r.Lo[d] + c.nd.Size[d]
		}
		c.args = devices.MakeArgs(s.fill(c))
		c.fn(r, &c.args)
	}
	returned = true
}

// scratch is memory for arguments in local memory.
type scratch struct{ mem []uint64 }

// fill is c's arguments with local memory put in.
func (s *scratch) fill(c *command) []devices.HostArg {
	words := 0
	for _, l := range c.locals {
		words += (l.bytes + 7) / 8
	}
	if len(s.mem) < words {
		s.mem = make([]uint64, words)
	}
	at := s.mem
	for _, l := range c.locals {
		c.host[l.index].Bytes = unsafe.Slice((*byte)(unsafe.Pointer(&at[0])), l.bytes)
		at = at[(l.bytes+7)/8:]
	}
	return c.host
}
