package cpu

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// pool is the workers of a device and where they find ready commands: their
// own deques, the submitted list, the launches that others may help with, and
// the batches.
//
// No wake-up is lost: whoever publishes work does so before it looks at idle
// and searching, and a worker that is about to sleep enters idle and leaves
// searching before it looks for work a last time. While a worker searches,
// nobody is woken: it finds the work, and wakes the next one when it does.
type pool struct {
	workers []*worker
	ended   sync.WaitGroup
	closing atomic.Bool

	searching atomic.Int32 // workers that look for work and will wake others
	idle      atomic.Int32 // len(asleep)
	sleep     sync.Mutex
	asleep    []*worker

	submitted      atomic.Int32 // length of the list
	submitMu       sync.Mutex
	oldest, newest *command

	shared  atomic.Int32 // length of the list
	shareMu sync.Mutex
	first   *command

	batches atomic.Int32 // length of the list
	batchMu sync.Mutex
	batch   *batch
}

// worker is one goroutine of the pool.
type worker struct {
	pool  *pool
	index int
	deque deque
	wake  chan struct{} // one token per removal from asleep

	searching bool
	tick      uint32
	now       time.Duration // the last reading of the clock
	yielded   time.Duration // when others had a chance to run on this core
	fresh     bool          // now was read just now
	scratch   scratch
	at        *command // whose chunk runs now
	alone     bool     // no other worker has a part of at
	left      *command // to go on helping with after a kernel ended the goroutine
	in        *batch   // whose task inTask runs now
	inTask    int32
	batches   []*batch // room for findTask
}

const (
	// looks is how often a worker that ran out of work looks around before it
	// sleeps: some ten microseconds, less than what waking it takes.
	looks = 64
	// fairness: after so many commands handed over directly a worker looks at
	// the submitted ones, so that an endless chain starves nobody.
	fairness = 61
	// yieldAfter is how long a worker keeps its core from other goroutines.
	yieldAfter = 200 * time.Microsecond
)

func newPool(n int) *pool {
	p := &pool{asleep: make([]*worker, 0, n)}
	for i := range n {
		p.workers = append(p.workers, &worker{pool: p, index: i, wake: make(chan struct{}, 1)})
	}
	p.ended.Add(n)
	for _, w := range p.workers {
		go w.loop()
	}
	return p
}

// stop ends the workers once they have run out of work.
func (p *pool) stop() {
	p.closing.Store(true)
	for p.wakeUp() {
	}
	p.ended.Wait()
}

// submit takes a ready command from outside of the workers.
func (p *pool) submit(c *command) {
	if c.cut.chunks == 0 || c.failed.Load() != nil {
		c.complete(nil) // nobody can wait for it yet
		return
	}
	p.put(c)
	p.wakeOne()
}

// hand takes a ready command from w, or from outside if w is nil.
func (p *pool) hand(w *worker, c *command) {
	if w == nil || !w.deque.push(c) {
		p.put(c)
	}
	p.wakeOne()
}

func (p *pool) put(c *command) {
	p.submitMu.Lock()
	c.next = nil
	if p.newest == nil {
		p.oldest = c
	} else {
		p.newest.next = c
	}
	p.newest = c
	p.submitted.Add(1)
	p.submitMu.Unlock()
}

// get takes the oldest submitted command for w, and moves w's share of the
// others to its deque.
func (p *pool) get(w *worker) *command {
	if p.submitted.Load() == 0 {
		return nil
	}
	p.submitMu.Lock()
	defer p.submitMu.Unlock()
	c := p.pull()
	for range int(p.submitted.Load()) / len(p.workers) {
		more := p.pull()
		if !w.deque.push(more) {
			more.next = p.oldest
			p.oldest = more
			if p.newest == nil {
				p.newest = more
			}
			p.submitted.Add(1)
			break
		}
	}
	return c
}

// pull takes the oldest command off the list. The caller holds submitMu.
func (p *pool) pull() *command {
	c := p.oldest
	if c == nil {
		return nil
	}
	p.oldest = c.next
	if p.oldest == nil {
		p.newest = nil
	}
	c.next = nil
	p.submitted.Add(-1)
	return c
}

// share lets other workers help with the chunks of c from first on. The
// caller holds a reference to c and calls unshare before it gives it up.
func (p *pool) share(c *command, first int32) {
	c.left.Store(c.cut.chunks - first)
	c.deal(first, len(p.workers))
	p.shareMu.Lock()
	c.shared = true
	c.before, c.after = nil, p.first
	if p.first != nil {
		p.first.before = c
	}
	p.first = c
	p.shared.Add(1)
	p.shareMu.Unlock()

	// One worker waking the next would take long where there are many.
	for range min(int(c.cut.chunks-first)-1, len(p.workers)-1) {
		if !p.wakeUp() {
			break
		}
	}
}

func (p *pool) unshare(c *command) {
	p.shareMu.Lock()
	defer p.shareMu.Unlock()
	if !c.shared {
		return
	}
	c.shared = false
	if c.before != nil {
		c.before.after = c.after
	} else {
		p.first = c.after
	}
	if c.after != nil {
		c.after.before = c.before
	}
	c.before, c.after = nil, nil
	p.shared.Add(-1)
}

// join finds a launch to help with and takes a reference to it.
func (p *pool) join() *command {
	if p.shared.Load() == 0 {
		return nil
	}
	p.shareMu.Lock()
	defer p.shareMu.Unlock()
	for c := p.first; c != nil; c = c.after {
		if c.open() {
			c.refs.Add(1)
			return c
		}
	}
	return nil
}

// hasWork reports whether there is anything to find.
func (p *pool) hasWork() bool {
	if p.submitted.Load() > 0 {
		return true
	}
	if p.shared.Load() > 0 {
		if c := p.join(); c != nil {
			c.unref()
			return true
		}
	}
	for _, w := range p.workers {
		if !w.deque.empty() {
			return true
		}
	}
	return p.batchWork()
}

// wakeOne wakes a worker unless one searches anyway.
func (p *pool) wakeOne() {
	for p.idle.Load() > 0 && p.searching.CompareAndSwap(0, 1) {
		if w := p.pop(); w != nil {
			w.wake <- struct{}{}
			return
		}
		// Whoever published work meanwhile saw a searcher, which was nobody:
		// look again whether one has gone to sleep.
		p.searching.Add(-1)
	}
}

// wakeUp wakes a worker if one sleeps.
func (p *pool) wakeUp() bool {
	w := p.pop()
	if w == nil {
		return false
	}
	p.searching.Add(1)
	w.wake <- struct{}{}
	return true
}

func (p *pool) pop() *worker {
	p.sleep.Lock()
	defer p.sleep.Unlock()
	n := len(p.asleep)
	if n == 0 {
		return nil
	}
	w := p.asleep[n-1]
	p.asleep = p.asleep[:n-1]
	p.idle.Add(-1)
	return w
}

// lieDown enters w among the sleepers.
func (p *pool) lieDown(w *worker) {
	p.sleep.Lock()
	p.asleep = append(p.asleep, w)
	p.idle.Add(1)
	p.sleep.Unlock()
}

// getUp takes w out from among the sleepers, or reports that someone has done
// so and that a token is on its way.
func (p *pool) getUp(w *worker) bool {
	p.sleep.Lock()
	defer p.sleep.Unlock()
	for i, s := range p.asleep {
		if s == w {
			p.asleep = append(p.asleep[:i], p.asleep[i+1:]...)
			p.idle.Add(-1)
			return true
		}
	}
	return false
}

// job is what a worker does next: a command, its own or another's to help
// with, or a task of a batch. The zero job is none.
type job struct {
	c     *command
	help  bool
	batch *batch
	task  int32
}

func (j job) none() bool { return j.c == nil && j.batch == nil }

// find looks once through everything that w may do: its own, launches to help
// with, submitted ones, others', batches.
func (w *worker) find() job {
	p := w.pool
	w.tick++
	if w.tick%fairness == 0 {
		if c := p.get(w); c != nil {
			return job{c: c}
		}
	}
	if c := w.deque.pop(); c != nil {
		return job{c: c}
	}
	if c := p.join(); c != nil {
		return job{c: c, help: true}
	}
	if c := p.get(w); c != nil {
		return job{c: c}
	}
	for i := 1; i < len(p.workers); i++ {
		if c := p.workers[(w.index+i)%len(p.workers)].deque.steal(); c != nil {
			return job{c: c}
		}
	}
	r, t := p.findTask(w)
	return job{batch: r, task: t}
}

// next is what w does next; it sleeps until there is something. None: the pool
// is closing.
func (w *worker) next() job {
	p := w.pool
	for {
		if j := w.find(); !j.none() {
			return w.found(j)
		}
		if !w.searching && p.searching.CompareAndSwap(0, 1) {
			w.searching = true
		}
		if w.searching {
			for i := range looks {
				if i%8 == 7 {
					runtime.Gosched()
				}
				if j := w.find(); !j.none() {
					return w.found(j)
				}
			}
		}
		p.lieDown(w)
		if w.searching {
			w.searching = false
			p.searching.Add(-1)
		}
		closing := p.closing.Load()
		if work := p.hasWork(); (work || closing) && p.getUp(w) {
			if !work {
				return job{}
			}
			continue
		}
		<-w.wake
		w.searching = true // whoever woke w has counted it
	}
}

// found ends a search. The last one to do so sees to it that another worker
// looks for what else there is.
func (w *worker) found(j job) job {
	if w.searching {
		w.searching = false
		if p := w.pool; p.searching.Add(-1) == 0 && p.idle.Load() > 0 && p.hasWork() {
			p.wakeOne()
		}
	}
	return j
}
