package tandem

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// maxPending bounds the operations of one run that are lowered and not over:
// the memory of a run does not depend on how many tasks it has.
const maxPending = 4096

// A Run is a graph that was submitted. It is safe for concurrent use.
type Run struct {
	id       int64
	session  *Session
	graph    *Graph
	plan     *Plan
	observed bool // an observer wants launches or copies
	started  time.Duration

	pending atomic.Int64 // ops lowered and not over
	waiting atomic.Bool  // lowering waits for pending to fall
	drift   drift
	current *Plan // the plan in force, see replan; lowering only
	room    roomy // wakes lowering when pending has fallen
	done    chan struct{}
	lowered chan struct{} // closed when every op has been put in order

	partsLeft []atomic.Int32 // by task; nil where it runs as one batch
	last      map[int][]*op  // of tasks that others wait for by request; lowering only
	tasksDone atomic.Int64
	stop      atomic.Pointer[error] // why the run was cancelled
	unhook    func() bool

	mu       sync.Mutex
	errs     []error // *TaskError each
	failed   map[int]bool
	barred   error // a *TaskError: the first task that did not run, whatever the reason
	makespan time.Duration
	over     bool  // done is closed
	outcome  error // valid when over
	slab     []op  // ops not handed out yet; lowering only
}

// Submit plans the graph, compiles what it needs, and starts it. What is wrong
// with the graph, a kernel that does not compile and a task that no device can
// run are returned here, before anything has run. ctx governs the run too: when
// it ends, the run is cancelled. The same graph may be submitted again at any
// time; runs that share buffers follow each other in the order of Submit.
func (s *Session) Submit(ctx context.Context, g *Graph) (*Run, error) {
	for {
		p, err := s.Plan(ctx, g)
		if err != nil {
			return nil, err
		}
		r, err := s.Start(ctx, p)
		if err != nil && s.dropLost(p, err) {
			continue // plan again for the devices that are left
		}
		return r, err
	}
}

// dropLost takes devices out of use that were lost while compiling, and reports
// whether there were any.
func (s *Session) dropLost(p *Plan, err error) bool {
	dropped := false
	for _, e := range p.lost {
		a := s.agents[e]
		dropped = dropped || !a.lost.Load()
		s.lose(&op{task: -1}, a, err)
	}
	return dropped
}

// Start is Submit for a graph that has been planned.
func (s *Session) Start(ctx context.Context, p *Plan) (*Run, error) {
	if err := s.enter(); err != nil {
		return nil, err
	}
	r, before, err := s.newRun(ctx, p)
	if err != nil {
		s.live.Done()
		return nil, err
	}
	r.started = s.clock.now()
	r.announce()
	r.unhook = context.AfterFunc(ctx, func() { r.Cancel(context.Cause(ctx)) })
	go r.execute(before)
	return r, nil
}

// newRun compiles what the plan needs and registers a run of it; before are the
// runs that have to be lowered before it.
func (s *Session) newRun(ctx context.Context, p *Plan) (r *Run, before []*Run, err error) {
	if err := p.compile(ctx); err != nil {
		return nil, nil, err
	}
	g := p.graph
	r = &Run{session: s, graph: g, plan: p, current: p,
		observed: s.observer.Launched != nil || s.observer.Copied != nil,
		done:     make(chan struct{}), lowered: make(chan struct{}), failed: map[int]bool{}}
	r.room.init(&s.clock)
	if p.direct == nil {
		r.countParts()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, nil, errClosed
	}
	for b := range g.use {
		if b.freed {
			return nil, nil, b.closed()
		}
		if err := s.stuckOn(b); err != nil {
			return nil, nil, err
		}
	}
	for _, other := range s.active {
		if shareBuffers(other.graph, g) {
			before = append(before, other)
		}
	}
	r.id = s.lastRun.Add(1)
	s.active = append(s.active, r)
	s.runs[r] = struct{}{}
	return r, before, nil
}

// countParts makes the run's books on the parts of its tasks.
func (r *Run) countParts() {
	r.last = map[int][]*op{}
	r.drift.ahead = make([]atomic.Int64, len(r.session.agents))
	r.partsLeft = make([]atomic.Int32, r.graph.Len())
	for i := range r.graph.Len() {
		r.partsLeft[i].Store(int32(r.plan.placed[i].parts() * r.graph.task(i).times()))
	}
}

// shareBuffers reports whether two graphs have a buffer in common.
func shareBuffers(a, b *Graph) bool {
	if len(a.use) > len(b.use) {
		a, b = b, a
	}
	for buf := range a.use {
		if _, ok := b.use[buf]; ok {
			return true
		}
	}
	return false
}

// announce sends the events that come before the first operation.
func (r *Run) announce() {
	ob := &r.session.observer
	if ob.RunStarted != nil {
		ob.RunStarted(RunStarted{Run: r.id, Name: r.graph.name, Devices: r.session.Devices(), Tasks: r.plan.Tasks(), At: r.started})
	}
	if ob.Decided != nil {
		if d := r.plan.direct; d != nil {
			d.decide(r.id, ob.Decided)
			return
		}
		for i := range r.graph.Len() {
			ob.Decided(r.plan.decision(r.id, i))
		}
	}
}

// execute lowers the graph and waits for the end.
func (r *Run) execute(before []*Run) {
	s := r.session
	defer s.live.Done()
	for _, b := range before {
		<-b.lowered
	}
	r.room.begin()
	if !r.executeDirect() {
		r.lower()
		r.allLowered()
		for r.pending.Load() > 0 {
			r.room.sleep()
		}
	}
	// Nothing of the run is left: let its operations be collected, and mark
	// what failed tasks left undefined.
	s.mu.Lock()
	for b := range r.graph.use {
		if !b.freed {
			b.tracker.Settle((*op).state)
			b.tracker.EndRun(func(o *op) bool { done, _ := o.state(); return done })
		}
	}
	delete(s.stuck, r)
	s.forgetCohorts(r)
	s.mu.Unlock()
	r.unhook()
	r.end()
	r.room.end()
}

// lower puts every task in order.
func (r *Run) lower() {
	// What a task writes last goes home right behind it: in a run that is lowered
	// bit by bit the copies would come too late to hide behind later tasks.
	home := map[int][]*Buffer{}
	for _, b := range r.graph.home {
		last := int(r.graph.use[b].writer) // -1: none
		home[last] = append(home[last], b)
	}
	order := r.current.order
	for n := 0; n < len(order); {
		r.replan(order[n:])
		first := r.graph.task(order[n])
		tasks := order[n : n+1]
		if first.wish().gang != nil { // they stand one behind the other
			tasks = first.wish().gang.members
		}
		n += len(tasks)
		for range first.times() {
			stop := r.cancelled() != nil
			r.waitRoom()
			if first.wish().gang != nil {
				r.lowerTogether(tasks)
			} else {
				r.lowerTask(tasks[0])
			}
			if stop {
				break // once is enough to leave undefined what it writes
			}
		}
		for _, t := range tasks {
			for _, b := range home[t] {
				r.lowerReturn(b)
			}
		}
	}
	for _, b := range home[-1] {
		r.lowerReturn(b)
	}
}

// allLowered lets those go on that wait until the run is in order.
func (r *Run) allLowered() {
	s := r.session
	s.mu.Lock()
	s.active = slices.DeleteFunc(s.active, func(a *Run) bool { return a == r })
	s.mu.Unlock()
	close(r.lowered)
}

// opDone notes the end of an op.
func (r *Run) opDone() {
	if n := r.pending.Add(-1); n == 0 || r.waiting.Load() {
		r.room.wake()
	}
}

// waitRoom holds lowering while enough is ahead.
func (r *Run) waitRoom() {
	if !r.far() {
		return
	}
	r.waiting.Store(true)
	for r.far() {
		r.room.sleep()
	}
	r.waiting.Store(false)
}

// end closes the run once.
func (r *Run) end() {
	r.mu.Lock()
	if r.over {
		r.mu.Unlock()
		return
	}
	r.over = true
	r.makespan = r.session.clock.now() - r.started
	err := r.err()
	r.outcome = err
	r.mu.Unlock()
	s := r.session
	s.mu.Lock()
	delete(s.runs, r)
	s.mu.Unlock()
	if f := s.observer.RunFinished; f != nil {
		f(RunFinished{r.id, s.clock.now(), err})
	}
	close(r.done)
}

// err is the outcome so far; r.mu is held.
func (r *Run) err() error {
	if len(r.errs) > 0 {
		return errors.Join(r.errs...)
	}
	if p := r.stop.Load(); p != nil && r.tasksDone.Load() < int64(r.graph.Len()) {
		return *p
	}
	return r.barred // what it needed was another run's, or the host's
}

// Wait blocks until the run is over and returns its outcome: nil, the failed
// tasks (each a *TaskError, joined), or the cause of its cancellation. A run
// that needs what a failed or cancelled run should have computed fails too. If
// ctx ends first, Wait returns its cause and the run goes on.
func (r *Run) Wait(ctx context.Context) error {
	select {
	case <-r.done:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.outcome
}

// Done is closed when the run is over.
func (r *Run) Done() <-chan struct{} { return r.done }

// Cancel keeps tasks that have not been handed to a device from starting. What
// runs already runs to its end. Wait then returns cause (context.Canceled if
// nil). Cancelling a run that is over changes nothing.
func (r *Run) Cancel(cause error) {
	if cause == nil {
		cause = context.Canceled
	}
	r.stop.CompareAndSwap(nil, &cause)
}

func (r *Run) cancelled() error {
	if p := r.stop.Load(); p != nil {
		return *p
	}
	return nil
}

// Progress is how many tasks are over, of how many.
func (r *Run) Progress() (done, total int) {
	return int(r.tasksDone.Load()), r.graph.Len()
}

// Makespan is the time from the start of the run to its end, 0 before.
func (r *Run) Makespan() time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.makespan
}

// Plan is the plan that the run began with.
func (r *Run) Plan() *Plan { return r.plan }

// ended turns the error of an op into what its successors see, and keeps the
// run's books. It is called once for each op, by its agent.
func (r *Run) ended(o *op, a *agent, err error) error {
	var skip *skipped
	switch {
	case err == nil:
	case !errors.As(err, &skip):
		err = r.fail(o.task, o.attempt+1, a.info.ID, err)
	case o.kind == opLaunch:
		r.bar(o.task, err)
	}
	if o.kind == opLaunch {
		r.drift.over(o)
	}
	if o.kind == opLaunch && err == nil && r.partsLeft[o.task].Add(-1) == 0 {
		r.tasksDone.Add(1)
	}
	return err
}

// bar records the first task that did not run.
func (r *Run) bar(task int, err error) {
	r.mu.Lock()
	if r.barred == nil {
		r.barred = &TaskError{Task: r.graph.nameOf(task), Attempt: 1, Err: err}
	}
	r.mu.Unlock()
}

// fail records the first failure of a task, -1: of a copy for the host.
func (r *Run) fail(task, attempt int, device string, err error) error {
	te := &TaskError{Task: "bringing results to the host", Device: device, Attempt: attempt, Err: err}
	if task >= 0 {
		te.Task = r.graph.nameOf(task)
	}
	r.mu.Lock()
	first := !r.failed[task]
	if first {
		r.failed[task] = true
		r.errs = append(r.errs, te)
	}
	r.mu.Unlock()
	if f := r.session.observer.Faulted; f != nil && first {
		f(FaultEvent{r.id, task, device, err, "failed the task and what depends on it", true, r.session.clock.now()})
	}
	return te
}

// Run is Submit and Wait. When ctx ends, Run returns its cause at once; what
// runs on a device already still runs to its end.
func (s *Session) Run(ctx context.Context, g *Graph) error {
	r, err := s.Submit(ctx, g)
	if err != nil {
		return err
	}
	return r.Wait(ctx)
}
