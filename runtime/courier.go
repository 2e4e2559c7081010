package tandem

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/devices/hostmem"
	"github.com/tandemrun/tandem/kernels"
	"github.com/tandemrun/tandem/transfer"
)

// A courier runs the launches on windows of one device. A few goroutines, made
// with the first such launch, take one part each: they fill its windows, launch
// it, empty the windows, and give their memory back, so that the filling of one
// part hides behind the work on another.
type courier struct {
	a *agent

	mu      sync.Mutex
	waiting []*op
	hands   int // goroutines
	due     int // parts in waiting that have woken one of them up
	busy    int // goroutines that have a part, and due; each is counted in by the clock
	stop    bool
	work    sync.Cond
	ended   sync.WaitGroup

	launching                 sync.Mutex // a kernel is used by one goroutine at a time
	opened                    bool
	compute, upload, download devices.Queue

	aboard []*op // parts with windows, guarded by Session.mu
}

func newCourier(a *agent) *courier {
	c := &courier{a: a}
	c.work.L = &c.mu
	return c
}

// expect notes a part that has windows. Session.mu is held.
func (c *courier) expect(o *op) { c.aboard = append(c.aboard, o) }

// streaming is a part that holds windows of the device and is not over, nil if
// there is none. Session.mu is held.
func (a *agent) streaming() *op {
	for _, o := range a.courier.aboard {
		if done, _ := o.state(); !done {
			return o
		}
	}
	return nil
}

// start hands over a part with nothing left to wait for; refused is why it is
// not to run. It runs on the agent's goroutine.
func (c *courier) start(o *op, refused error) {
	a := c.a
	a.aboard[o] = struct{}{}
	o.staged = transfer.Staged{Err: refused}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.waiting = append(c.waiting, o)
	if c.busy == windowSets {
		return
	}
	c.busy++
	c.due++
	a.session.clock.change(1, 0, 0)
	if c.hands < c.busy {
		c.hands++
		c.ended.Add(1)
		go c.loop()
	}
	c.work.Signal()
}

// close waits for the parts that were started.
func (c *courier) close() error {
	c.mu.Lock()
	c.stop = true
	c.work.Broadcast()
	c.mu.Unlock()
	c.ended.Wait()
	var errs []error
	for _, q := range []devices.Queue{c.compute, c.upload, c.download} {
		if q != nil {
			errs = append(errs, q.Close())
		}
	}
	return errors.Join(errs...)
}

// loop is one of the courier's goroutines. It is counted in by the session's
// clock while it has a part and does not wait for the device.
func (c *courier) loop() {
	defer c.ended.Done()
	a := c.a
	c.mu.Lock()
	defer c.mu.Unlock()
	for {
		for c.due == 0 && !c.stop {
			c.work.Wait()
		}
		if c.due == 0 {
			return
		}
		c.due--
		for more := true; more; more = len(c.waiting) > c.due {
			o := c.waiting[0]
			c.waiting = slices.Delete(c.waiting, 0, 1)
			err := c.open()
			c.mu.Unlock()
			c.carry(o, err)
			c.mu.Lock()
		}
		c.busy--
		a.session.clock.change(-1, 0, 0)
	}
}

// carry takes a part through, unless it is refused or err is why it cannot run.
func (c *courier) carry(o *op, err error) {
	if o.staged.Err == nil {
		if err == nil {
			err = c.run(o)
		}
		o.staged.Err = err
	}
	s := c.a.session
	if !s.mu.TryLock() { // whoever has it may wait for the device
		s.clock.change(-1, 0, 0)
		s.mu.Lock()
		s.clock.change(1, 0, 0)
	}
	s.freeWindows(o)
	c.aboard = slices.DeleteFunc(c.aboard, func(other *op) bool { return other == o })
	s.mu.Unlock()
	c.a.note(&c.a.moved, o)
}

// open opens the queues. c.mu is held.
func (c *courier) open() error {
	if c.opened {
		return nil
	}
	for kind, q := range map[devices.QueueKind]*devices.Queue{devices.Compute: &c.compute, devices.Upload: &c.upload, devices.Download: &c.download} {
		if *q != nil {
			continue
		}
		made, err := c.a.device.NewQueue(kind)
		if err != nil {
			return fmt.Errorf("%s: %s queue for windows: %w", c.a.info.ID, kind, err)
		}
		*q = made
	}
	c.opened = true
	return nil
}

// run takes a part from the host's memory to the host's memory.
func (c *courier) run(o *op) error {
	if err := c.move(o, false); err != nil {
		return err
	}
	l := o.launch
	at, whole := make([]int64, len(o.cut.win.Params)), make([]int64, len(o.cut.win.Params))
	for i, p := range o.cut.win.Params {
		for j := range o.windows {
			if w := &o.windows[j]; w.arg == p {
				at[i], whole[i] = w.lo, w.buf.bytes
			}
		}
	}
	l.Args = slices.Concat(l.Args, o.cut.win.Arguments(at, whole))
	if slices.ContainsFunc(o.windows, func(w window) bool { return w.down && w.rep.Imported }) {
		o.begin()
	}
	limit := o.run.graph.task(o.task).wish().timeout
	t, err := c.command(c.compute, limit, func() { o.late.Store(true); c.a.note(&c.a.moved, o) },
		func() (devices.Event, error) {
			c.launching.Lock()
			defer c.launching.Unlock()
			return c.compute.Launch(&l, nil)
		})
	if err != nil {
		return err
	}
	o.staged.Times, o.staged.Queue = t, "windows"
	return c.empty(o)
}

// empty takes the results to the host. What they were computed from is
// overwritten only when all of them have arrived.
func (c *courier) empty(o *op) error {
	for i := range o.windows {
		if w := &o.windows[i]; o.careful && w.down && !w.rep.Imported {
			mem, err := hostmem.Alloc(w.to - w.from)
			if err != nil {
				return fmt.Errorf("memory for what a launch on windows of buffer %q computed: %w", w.buf.array.Name, err)
			}
			w.held = mem
			defer func() { _ = hostmem.Free(mem) }()
		}
	}
	if !o.careful {
		o.begin()
	}
	if err := c.move(o, true); err != nil {
		return err
	}
	o.begin()
	for i := range o.windows {
		if w := &o.windows[i]; w.held != nil {
			copy(w.buf.host[w.from:w.to], w.held)
		}
	}
	return nil
}

// begin notes that what o writes may be half written from now on.
func (o *op) begin() {
	o.mu.Lock()
	o.begun, o.careful = true, false
	o.mu.Unlock()
}

// move fills the windows of a part, or empties them.
func (c *courier) move(o *op, down bool) error {
	g := newGathering(&c.a.session.clock)
	results := make([]transfer.Staged, len(o.windows))
	events := make([]devices.Event, len(o.windows))
	q, name := c.upload, "windows-upload"
	if down {
		q, name = c.download, "windows-download"
	}
	for i := range o.windows {
		w := &o.windows[i]
		if !w.moves(down) || w.rep.Imported && c.a.info.HostCoherent {
			continue
		}
		cp := w.copy(down)
		if !w.rep.Imported && c.a.stager != nil {
			g.add()
			c.a.stager.Start(&transfer.Job{Copy: cp, Done: func(r transfer.Staged) { results[i] = r; g.Complete(nil) }})
			continue
		}
		if events[i], results[i].Err = q.Copy(&cp, nil); results[i].Err == nil {
			g.add()
			events[i].Notify(g)
		}
		results[i].Queue = name
	}
	_ = q.Flush() // a flush that fails shows in the events
	g.wait(0, nil)
	var errs []error
	for i := range o.windows {
		w, r := &o.windows[i], &results[i]
		if e := events[i]; e != nil {
			if _, r.Err = e.Done(); r.Err == nil {
				r.Times, _ = e.Times()
			}
			e.Release()
		}
		if r.Queue != "" {
			c.a.session.reportWindow(o, c.a, w, down, r)
		}
		if r.Err != nil {
			errs = append(errs, fmt.Errorf("a window of buffer %q, bytes %d to %d: %w", w.buf.array.Name, w.from, w.to, r.Err))
		}
	}
	return errors.Join(errs...)
}

// moves reports whether the window is to be filled, or emptied.
func (w *window) moves(down bool) bool {
	if w.from == w.to {
		return false
	}
	return down && w.down || !down && w.up
}

// copy is the command that fills the window, or empties it.
func (w *window) copy(down bool) devices.Copy {
	c := devices.Copy{Host: w.buf.host[w.from:w.to], Size: w.to - w.from}
	if down && w.held != nil {
		c.Host = w.held
	}
	switch {
	case w.rep.Imported && down:
		return devices.Copy{Kind: devices.SyncToHost, Dst: w.rep.Buffer, DstOffset: w.from - w.lo, Size: c.Size}
	case w.rep.Imported:
		return devices.Copy{Kind: devices.SyncToDevice, Dst: w.rep.Buffer, DstOffset: w.from - w.lo, Size: c.Size}
	case down:
		c.Kind, c.Src, c.SrcOffset = devices.DeviceToHost, w.rep.Buffer, w.from-w.lo
	default:
		c.Kind, c.Dst, c.DstOffset = devices.HostToDevice, w.rep.Buffer, w.from-w.lo
	}
	return c
}

// command runs one command and waits for it. late is called if it takes longer
// than limit, where there is one.
func (c *courier) command(q devices.Queue, limit time.Duration, late func(), enqueue func() (devices.Event, error)) (devices.Times, error) {
	e, err := enqueue()
	if err != nil {
		return devices.Times{}, err
	}
	defer e.Release()
	if err := q.Flush(); err != nil {
		return devices.Times{}, err
	}
	g := newGathering(&c.a.session.clock)
	g.add()
	e.Notify(g)
	g.wait(limit, late)
	if _, err := e.Done(); err != nil {
		return devices.Times{}, err
	}
	return e.Times()
}

// gathering waits for several things at once. Whoever waits is not counted in by
// the clock meanwhile; the last thing to end counts it in again.
type gathering struct {
	clock *hostClock
	mu    sync.Mutex
	left  int
	over  chan struct{}
}

func newGathering(clock *hostClock) *gathering {
	return &gathering{clock: clock, left: 1, over: make(chan struct{})}
}

// add expects one more call of Complete.
func (g *gathering) add() {
	g.mu.Lock()
	g.left++
	g.mu.Unlock()
}

// Complete implements devices.Completion.
func (g *gathering) Complete(error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.left--; g.left == 0 {
		g.clock.change(1, 0, 0)
		close(g.over)
	}
}

// wait waits for everything that was added, and calls late if it takes longer
// than limit, where there is one.
func (g *gathering) wait(limit time.Duration, late func()) {
	g.mu.Lock()
	g.left--
	none := g.left == 0
	if !none {
		g.clock.change(-1, 0, 0)
	}
	g.mu.Unlock()
	if none {
		return
	}
	if limit > 0 {
		t := time.NewTimer(limit)
		defer t.Stop()
		select {
		case <-g.over:
			return
		case <-t.C:
			late()
		}
	}
	<-g.over
}

// windowVariants are the variants made so far.
type windowVariants struct {
	mu   sync.Mutex
	made map[windowKey]*kernels.Windowed
}

type windowKey struct {
	variant *kernels.Variant
	params  string
}

// variant makes the variant of v that takes windows of the given parameters, or
// finds it made.
func (w *windowVariants) variant(k *kernels.Kernel, v *kernels.Variant, params []int) (*kernels.Windowed, error) {
	key := windowKey{v, fmt.Sprint(params)}
	w.mu.Lock()
	defer w.mu.Unlock()
	if made := w.made[key]; made != nil {
		return made, nil
	}
	made, err := k.Windowed(v, params)
	if err != nil {
		return nil, err
	}
	if w.made == nil {
		w.made = map[windowKey]*kernels.Windowed{}
	}
	w.made[key] = made
	return made, nil
}
