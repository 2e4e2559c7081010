package cpu

import (
	"runtime"
	"runtime/debug"
	"unsafe"

	"github.com/tandemrun/tandem/devices"
)

// loop is the life of a worker. The goroutine is not locked to a thread:
// kernels in Go have no use for it, and the scheduler switches between
// unlocked goroutines without the kernel's help.
func (w *worker) loop() {
	defer func() {
		if w.at != nil { // the kernel called runtime.Goexit
			w.revive()
			return
		}
		if w.in != nil {
			w.reviveBatch()
			go w.loop()
			return
		}
		w.pool.ended.Done()
	}()
	// A kernel that touches pages that are gone (an imported file that was
	// cut short) panics like any other instead of ending the process.
	debug.SetPanicOnFault(true)
	if c := w.left; c != nil {
		w.left = nil
		w.chain(w.help(c))
	}
	for {
		j := w.next()
		if j.none() {
			return
		}
		w.fresh = false
		switch {
		case j.batch != nil:
			w.batch(j.batch, j.task)
		case j.help:
			w.chain(w.help(j.c))
		default:
			w.chain(w.run(j.c))
		}
		w.yield()
	}
}

// chain runs c and the commands that become ready one by another.
func (w *worker) chain(c *command) {
	for n := 1; c != nil; n++ {
		w.fresh = true
		if n%fairness == 0 {
			if other := w.pool.get(w); other != nil {
				w.pool.hand(w, c)
				c = other
			}
		}
		c = w.run(c)
	}
}

// yield lets other goroutines have the core now and then.
func (w *worker) yield() {
	if w.now-w.yielded > yieldAfter {
		runtime.Gosched()
		w.yielded = devices.Now()
	}
}

// run runs a ready command and returns one that became ready by that.
func (w *worker) run(c *command) (next *command) {
	n := c.cut.chunks
	if n == 0 || c.failed.Load() != nil {
		return c.complete(w)
	}
	if !w.fresh {
		w.now = devices.Now()
	}
	start := w.now
	c.times.Start = max(start, c.times.Submitted)
	for i := range n {
		if n > 1 && (!c.short || w.now-start > helpAfter) {
			c.refs.Add(1)
			w.pool.share(c, i)
			return w.help(c)
		}
		w.chunk(c, i, true)
		if c.failed.Load() != nil {
			break
		}
		if n > 1 {
			w.now = devices.Now()
		}
	}
	if c.fn != nil {
		fn, items := c.fn, c.cut.r.Items()
		next = c.complete(w)
		fn.learn(items, w.now-start)
		return next
	}
	return c.complete(w)
}

// help runs chunks of c until there is none to begin, and gives up a
// reference to c.
func (w *worker) help(c *command) (next *command) {
	w.now = devices.Now()
	for {
		i, ok := c.begin(w.index)
		if !ok {
			break
		}
		before := w.now
		items := w.chunk(c, i, false)
		w.now = devices.Now()
		if c.fn != nil && items > 0 {
			c.fn.learn(items, w.now-before)
		}
		if c.left.Add(-1) == 0 {
			next = c.complete(w)
		}
		w.yield()
	}
	w.pool.unshare(c)
	c.unref()
	return next
}

// chunk runs chunk i of c, unless c has failed, and says how many work-items
// that were.
func (w *worker) chunk(c *command, i int32, alone bool) (items int64) {
	if c.failed.Load() != nil {
		return 0
	}
	r := c.cut.chunk(i)
	w.at, w.alone = c, alone
	if c.fn == nil {
		w.move(c, &r)
	} else {
		args := &c.args
		if len(c.locals) > 0 {
			args = w.scratch.fill(c)
		}
		w.call(c, &r, args)
	}
	w.at = nil
	return int64(r.Hi[0]-r.Lo[0]) * int64(r.Hi[1]-r.Lo[1]) * int64(r.Hi[2]-r.Lo[2])
}

// call calls the kernel. Its name is where a stack in a PanicError ends.
func (w *worker) call(c *command, r *devices.Range, args *devices.Args) {
	returned := false
	defer func() {
		if !returned {
			w.caught(c, r, recover())
		}
	}()
	c.fn.f(*r, args)
	returned = true
}

func (w *worker) move(c *command, r *devices.Range) {
	returned := false
	defer func() {
		if !returned { // pages that are gone
			value := recover()
			c.fail(c.q.d.errorf(devices.ErrInvalid, "Copy of %d bytes: %v", len(c.dst), value))
		}
	}()
	copy(c.dst[r.Lo[0]:r.Hi[0]], c.src[r.Lo[0]:r.Hi[0]])
	returned = true
}

// caught fails c for a kernel that did not return.
func (w *worker) caught(c *command, r *devices.Range, value any) {
	err := &PanicError{Device: c.q.d.info.ID, Kernel: c.fn.name, Range: *r, Value: value}
	if value != nil {
		err.Stack = kernelStack()
	}
	c.fail(err)
}

// revive runs at the end of a goroutine that a kernel ended: it does what was
// left to do for the chunk and goes on in a new goroutine.
func (w *worker) revive() {
	c := w.at
	w.at = nil
	if w.alone || c.left.Add(-1) == 0 {
		if next := c.complete(w); next != nil {
			w.pool.hand(w, next)
		}
	}
	if !w.alone {
		w.left = c
	}
	go w.loop()
}

// scratch is a worker's memory for the arguments in local memory of the call
// that it makes.
type scratch struct {
	mem  []uint64
	host []devices.HostArg
	args devices.Args

	form     *form // that taskArgs are for, but for the buffers and local memory
	taskHost []devices.HostArg
	taskArgs devices.Args
}

// fill is c's arguments with local memory put in.
func (s *scratch) fill(c *command) *devices.Args {
	s.host = append(s.host[:0], c.host...)
	s.place(s.host, c.locals)
	s.args = devices.MakeArgs(s.host)
	return &s.args
}

// place gives arguments in local memory their part of the worker's.
func (s *scratch) place(args []devices.HostArg, locals []local) {
	words := 0
	for _, l := range locals {
		words += (l.bytes + 7) / 8
	}
	if len(s.mem) < words {
		s.mem = make([]uint64, words)
	}
	at := s.mem
	for _, l := range locals {
		args[l.index].Bytes = unsafe.Slice((*byte)(unsafe.Pointer(&at[0])), l.bytes)
		at = at[(l.bytes+7)/8:]
	}
}
