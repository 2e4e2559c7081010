package cpu

import (
	"sync"
	"sync/atomic"

	"github.com/tandemrun/tandem/devices"
)

// batch is a running devices.Batch. Nothing is allocated for a task: its state
// is one counter, and where it waits for a worker it is a number in a deque.
type batch struct {
	d     *device
	b     *devices.Batch
	forms []form
	mem   [][]byte       // of b.Buffers
	waits []atomic.Int32 // by task: predecessors that are not over; at 0 the next of the overflow
	queue *queue         // makes the commands of tasks that several workers share

	fresh    atomic.Int64 // tasks from here on have not been looked at for ones without predecessors
	ready    []indices    // by worker
	overflow atomic.Int32 // 1 + a ready task for which a deque had no room; 0: none
	popping  sync.Mutex   // held while taking from overflow
	left     atomic.Int64 // tasks that are not over, as far as workers have said

	failMu sync.Mutex
	failed map[int32]error // tasks that must not run, and why
	anyErr atomic.Bool     // failed is not empty

	before, after *batch // in the pool's list
}

// form is what launches of one form have in common.
type form struct {
	fn      *function
	launch  *devices.Launch
	whole   devices.Range
	items   int64
	host    []devices.HostArg // without the buffers
	buffers []int32           // arguments that are one
	locals  []local
}

const (
	// lookAt is how many tasks a worker looks at for one without predecessors
	// at a time.
	lookAt = 32
	// learnEvery is how many short tasks teach a function once.
	learnEvery = 32
)

// RunBatch starts a batch on the device's workers.
func (d *device) RunBatch(b *devices.Batch) error {
	if err := d.open("RunBatch of %d tasks", len(b.Tasks)); err != nil {
		return err
	}
	r := &batch{d: d, b: b, queue: &queue{d: d, name: "batch"}}
	if err := r.prepare(); err != nil {
		return err
	}
	if len(b.Tasks) == 0 {
		b.Host.Over()
		return nil
	}
	r.left.Store(int64(len(b.Tasks)))
	r.waits = make([]atomic.Int32, len(b.Tasks))
	for i := range b.Tasks {
		r.waits[i].Store(b.Tasks[i].Waits)
	}
	r.ready = make([]indices, len(d.pool.workers))
	d.pool.begin(r)
	return nil
}

// prepare checks the batch as far as a driver has to: what its forms launch,
// and that nothing points out of it.
func (r *batch) prepare() error {
	d, b := r.d, r.b
	for i := range b.Forms {
		l := &b.Forms[i]
		k, err := d.check(l)
		if err != nil {
			return err
		}
		f := form{fn: k.fn, launch: l, items: l.Range.Items(), host: make([]devices.HostArg, len(l.Args))}
		if whole := cutRange(l.Range.Norm(), 1); whole.chunks == 1 {
			f.whole = whole.chunk(0)
		}
		for j := range l.Args {
			switch a := &l.Args[j]; {
			case a.Buffer != nil:
				f.buffers = append(f.buffers, int32(j))
			case len(a.Value) > 0:
				f.host[j].Bytes = a.Value
			case a.LocalBytes > 0:
				f.locals = append(f.locals, local{j, int(a.LocalBytes)})
			}
		}
		r.forms = append(r.forms, f)
	}
	for i, buf := range b.Buffers {
		m, ok := buf.(*buffer)
		if !ok || m == nil || m.d != d || m.freed.Load() {
			return d.errorf(devices.ErrInvalid, "RunBatch: buffer %d is not one of this device", i)
		}
		r.mem = append(r.mem, m.mem)
	}
	n := int32(len(b.Tasks))
	for i := range b.Tasks {
		t := &b.Tasks[i]
		end := int32(len(b.Next))
		if i+1 < len(b.Tasks) {
			end = b.Tasks[i+1].Next
		}
		if t.Form < 0 || int(t.Form) >= len(r.forms) || t.Args < 0 || int(t.Args)+len(r.forms[t.Form].buffers) > len(b.Args) || t.Next < 0 || t.Next > end || int(end) > len(b.Next) {
			return d.errorf(devices.ErrInvalid, "RunBatch: task %d points out of the batch", i)
		}
		for _, s := range b.Next[t.Next:end] {
			if s <= int32(i) || s >= n {
				return d.errorf(devices.ErrInvalid, "RunBatch: task %d of %d is followed by %d", i, n, s)
			}
		}
	}
	for i, a := range b.Args {
		if a < 0 || int(a) >= len(r.mem) {
			return d.errorf(devices.ErrInvalid, "RunBatch: argument %d is buffer %d of %d", i, a, len(r.mem))
		}
	}
	return nil
}

// take finds a ready task for w, -1 if there is none.
func (r *batch) take(w *worker) int32 {
	own := &r.ready[w.index]
	if t := own.pop(); t >= 0 {
		return t
	}
	if t := r.spilled(); t >= 0 {
		return t
	}
	n := int64(len(r.b.Tasks))
	for r.fresh.Load() < n {
		from := r.fresh.Add(lookAt) - lookAt
		first := int32(-1)
		for i := from; i < min(from+lookAt, n); i++ {
			if r.b.Tasks[i].Waits > 0 {
				continue
			}
			if first < 0 {
				first = int32(i)
			} else {
				r.put(w, int32(i))
			}
		}
		if first >= 0 {
			w.pool.wakeOne()
			return first
		}
	}
	for i := 1; i < len(r.ready); i++ {
		if t := r.ready[(w.index+i)%len(r.ready)].steal(); t >= 0 {
			return t
		}
	}
	return -1
}

// put keeps a ready task for w or whoever is faster.
func (r *batch) put(w *worker, t int32) {
	if r.ready[w.index].push(t) {
		return
	}
	for {
		head := r.overflow.Load()
		r.waits[t].Store(head)
		if r.overflow.CompareAndSwap(head, t+1) {
			return
		}
	}
}

// spilled takes a task from the overflow.
func (r *batch) spilled() int32 {
	if r.overflow.Load() == 0 {
		return -1
	}
	r.popping.Lock() // one taker at a time: nothing comes back meanwhile
	defer r.popping.Unlock()
	for {
		head := r.overflow.Load()
		if head == 0 {
			return -1
		}
		if r.overflow.CompareAndSwap(head, r.waits[head-1].Load()) {
			return head - 1
		}
	}
}

// hasWork reports whether take could find something.
func (r *batch) hasWork() bool {
	if r.fresh.Load() < int64(len(r.b.Tasks)) || r.overflow.Load() != 0 {
		return true
	}
	for i := range r.ready {
		if !r.ready[i].empty() {
			return true
		}
	}
	return false
}

// batch runs t and whatever of r the worker finds after it.
func (w *worker) batch(r *batch, t int32) {
	w.now = devices.Now()
	for n := 1; ; n++ {
		t = w.task(r, t)
		if n%fairness == 0 {
			w.aside(r)
		}
		if t < 0 {
			if t = r.take(w); t < 0 {
				break
			}
		}
	}
	r.settle(w)
	w.scratch.form = nil // a worker keeps nothing of a batch
	clear(w.scratch.taskHost)
}

// aside lets others have their turn in the middle of a batch: other goroutines,
// and commands from outside of it.
func (w *worker) aside(r *batch) {
	if w.now-w.yielded > yieldAfter {
		w.yield()
		w.now = devices.Now()
	}
	c, help := w.deque.pop(), false
	if c == nil {
		if c = w.pool.get(w); c == nil {
			c, help = w.pool.join(), true
		}
	}
	if c == nil {
		return
	}
	r.settle(w) // a kernel may end the goroutine
	w.fresh = false
	if help {
		c = w.help(c)
	}
	w.chain(c)
	w.now = devices.Now()
}

// settle says what the worker has ended. Whoever says the last ends the batch.
func (r *batch) settle(w *worker) {
	own := &r.ready[w.index]
	n := own.done
	own.done = 0
	if n > 0 && r.left.Add(-n) == 0 {
		w.pool.end(r)
		r.b.Host.Over()
	}
}

// task runs t and returns one that became ready by that, -1: none.
func (w *worker) task(r *batch, t int32) (next int32) {
	if err := r.b.Host.Begin(t); err != nil {
		return r.over(w, t, devices.Times{}, err)
	}
	if r.anyErr.Load() {
		if err := r.barred(t); err != nil {
			return r.over(w, t, devices.Times{}, err)
		}
	}
	f := &r.forms[r.b.Tasks[t].Form]
	start := w.now
	n, short := f.fn.pieces(f.items, len(w.pool.workers))
	if n > 1 && !short {
		c := r.command(t, f)
		r.settle(w) // its kernel may end the goroutine
		w.fresh = true
		w.run(c) // ends in r.ended, here or on another worker
		w.now = devices.Now()
		return -1
	}
	var err error
	if f.items > 0 {
		err = w.callTask(r, t, f)
	}
	w.now = devices.Now()
	if f.items > 1 {
		if w.tick++; w.tick%learnEvery == 0 || w.now-start > helpAfter {
			f.fn.learn(f.items, w.now-start)
		}
	}
	return r.over(w, t, devices.Times{Queued: start, Submitted: start, Start: start, End: w.now}, err)
}

// command makes a launch that the workers share of a task.
func (r *batch) command(t int32, f *form) *command {
	r.queue.mu.Lock()
	c := r.queue.take()
	r.queue.mu.Unlock()
	l := *f.launch
	l.Args = append([]devices.Arg(nil), l.Args...)
	for i, at := range f.buffers {
		l.Args[at].Buffer = r.b.Buffers[r.b.Args[int(r.b.Tasks[t].Args)+i]]
	}
	c.launch(f.fn, &l, len(r.d.pool.workers))
	c.batch, c.task = r, t
	c.refs.Store(1)
	now := devices.Now()
	c.times = devices.Times{Queued: now, Submitted: now}
	return c
}

// ended is over for a task that ran as a command.
func (r *batch) ended(w *worker, c *command) {
	t := c.task
	c.batch = nil
	if next := r.over(w, t, c.times, c.err); next >= 0 {
		r.put(w, next)
		w.pool.wakeOne()
	}
	r.settle(w)
}

// over ends a task: it tells the host and lets successors go, of which it
// returns one for w to run next.
func (r *batch) over(w *worker, t int32, times devices.Times, err error) (next int32) {
	r.b.Host.Ended(w.index, t, times, err)
	next = -1
	woken := false
	for _, s := range r.b.Successors(t) {
		if err != nil {
			if r.b.Host.Needs(t, s) {
				r.bar(s, r.b.Host.Barred(err))
			}
		}
		if r.waits[s].Add(-1) > 0 {
			continue
		}
		if next < 0 {
			next = s
			continue
		}
		r.put(w, s)
		woken = true
	}
	if woken {
		w.pool.wakeOne()
	}
	r.ready[w.index].done++
	return next
}

func (r *batch) bar(t int32, err error) {
	r.failMu.Lock()
	if r.failed == nil {
		r.failed = map[int32]error{}
	}
	if r.failed[t] == nil {
		r.failed[t] = err
	}
	r.failMu.Unlock()
	r.anyErr.Store(true)
}

// barred is why t must not run, nil if it may.
func (r *batch) barred(t int32) error {
	r.failMu.Lock()
	defer r.failMu.Unlock()
	return r.failed[t]
}

// callTask calls the kernel for all of a task's work-items.
func (w *worker) callTask(r *batch, t int32, f *form) (err error) {
	args := w.scratch.task(r, t, f)
	returned := false
	w.in, w.inTask = r, t
	defer func() {
		if !returned {
			err = w.broken(r, f, recover())
		}
	}()
	f.fn.f(f.whole, args)
	returned = true
	w.in = nil
	return nil
}

// broken is the error of a kernel that did not return. Where it ended the
// goroutine, the worker's life goes on in revive.
func (w *worker) broken(r *batch, f *form, value any) error {
	err := &PanicError{Device: r.d.info.ID, Kernel: f.fn.name, Range: f.whole, Value: value}
	if value != nil {
		err.Stack = kernelStack()
		w.in = nil
	}
	return err
}

// reviveBatch ends a task whose kernel ended the goroutine.
func (w *worker) reviveBatch() {
	r, t := w.in, w.inTask
	w.in = nil
	f := &r.forms[r.b.Tasks[t].Form]
	now := devices.Now()
	err := &PanicError{Device: r.d.info.ID, Kernel: f.fn.name, Range: f.whole}
	if next := r.over(w, t, devices.Times{Queued: w.now, Submitted: w.now, Start: w.now, End: now}, err); next >= 0 {
		r.put(w, next)
	}
	r.settle(w)
}

// task is the arguments of a task.
func (s *scratch) task(r *batch, t int32, f *form) *devices.Args {
	if s.form != f {
		s.form = f
		s.taskHost = append(s.taskHost[:0], f.host...)
		s.taskArgs = devices.MakeArgs(s.taskHost)
	}
	at := r.b.Args[r.b.Tasks[t].Args:]
	for i, arg := range f.buffers {
		s.taskHost[arg].Bytes = r.mem[at[i]]
	}
	if len(f.locals) > 0 {
		s.place(s.taskHost, f.locals)
	}
	return &s.taskArgs
}
