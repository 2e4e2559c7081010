package tandem

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/partitioner/costmodel"
	"github.com/tandemrun/tandem/transfer"
)

// directRun is one run of a graph as a batch. For what comes before and after
// it, it looks like one access by the host that reads and writes the graph's
// buffers, each of which is free again for readers when its last writer has
// ended, and for writers at the end of all.
type directRun struct {
	run *Run
	*direct
	start  *op             // waits for what came before
	end    *op             // reads everything, to the end
	made   []*op           // by position in Graph.order: over with the last writer; nil: not written
	needed []needed        // what start waits for and the graph reads
	barred map[int32]error // tasks whose inputs another run or the host left undefined
	first  OpID            // of task 0, for observers
	books  []directBook
	lanes  lanes
	over   chan struct{}
}

// needed is an operation before the run whose result it reads.
type needed struct {
	op     *op
	buffer int32
}

// directBook is what one worker has to say of the tasks that it has ended. It
// is passed on now and then: what all workers write to is slow to write to.
type directBook struct {
	tasks, items, busy, zero int64
	all                      int64 // tasks of the run so far
	_                        [24]byte
}

const (
	// tellEvery is how many short tasks a worker ends between two entries in
	// the session's books, tellAfter how long a task is worth one of its own.
	tellEvery = 64
	tellAfter = 50 * time.Microsecond
	// learnFirst short tasks of each worker are told to the cost model, then
	// one in learnEvery.
	learnFirst = 16
	learnEvery = 256
)

// executeDirect runs the graph as a batch, if it is to be one and nothing
// speaks against it now. It returns when every task is over.
func (r *Run) executeDirect() bool {
	d := r.plan.direct
	if d == nil {
		return false
	}
	s := r.session
	dr := &directRun{run: r, direct: d, over: make(chan struct{})}
	s.mu.Lock()
	batch, ok := dr.lower()
	s.mu.Unlock()
	if !ok {
		r.mustPlace()
		return false
	}
	r.allLowered()
	<-dr.start.ready
	dr.bar()
	dr.start.finish(nil)
	err := error(fmt.Errorf("%s: out of use: %w", d.agent.info.ID, devices.ErrDeviceLost))
	if d.agent.usable() {
		err = d.agent.batcher().RunBatch(batch)
	}
	if err != nil { // nothing of it runs
		err = r.fail(0, 1, d.agent.info.ID, err)
		dr.finish(err)
		return true
	}
	<-dr.over
	dr.learn(dr.lanes.rest(nil)...)
	for i := range dr.books {
		dr.tell(&dr.books[i])
	}
	dr.finish(nil)
	return true
}

// batcher is what runs batches on the device.
func (a *agent) batcher() devices.Batcher {
	// Not through wrappers: they want to see every launch.
	if b, ok := a.device.(devices.Batcher); ok {
		return b
	}
	return a.feeder
}

// mustPlace has the run go task by task after all.
func (r *Run) mustPlace() {
	p := r.plan
	err := p.complete()
	if err == nil {
		p.mu.Lock()
		err = p.compilePlaced(context.Background())
		p.mu.Unlock()
	}
	if err != nil {
		r.Cancel(err)
	}
	r.countParts()
}

// lower puts the run in order with everything that uses its buffers. false: it
// has to go task by task. s.mu is held.
func (dr *directRun) lower() (*devices.Batch, bool) {
	s, g, a := dr.session, dr.graph, dr.agent
	batch := &devices.Batch{Forms: make([]devices.Launch, len(dr.launches)), Tasks: dr.tasks, Args: g.args, Next: dr.next, Host: dr,
		Buffers: make([]devices.Buffer, len(g.order))}
	for i, u := range g.order {
		b := u.buf
		if err := s.replica(b, a); err != nil {
			return nil, false // there is no room, or no way to work on its pages
		}
		b.tracker.Settle((*op).state)
		rep := b.replicas[a.index]
		if s.nodeOf(a, rep) != transfer.Host || b.tracker.Undefined() != nil {
			return nil, false
		}
		batch.Buffers[i] = rep.Buffer
	}
	for i := range dr.launches {
		l := &batch.Forms[i]
		*l = dr.launches[i]
		l.Args = append([]devices.Arg(nil), l.Args...)
	}
	filled := make([]bool, len(batch.Forms))
	for i := range dr.tasks {
		t := &dr.tasks[i]
		if filled[t.Form] {
			continue
		}
		filled[t.Form] = true
		for j, u := range g.task(i).uses() {
			batch.Forms[t.Form].Args[j].Buffer = batch.Buffers[u.index]
		}
	}
	host := func(ready chan struct{}) *op {
		o := &op{kind: opHost, ready: ready}
		s.initOp(o)
		return o
	}
	dr.start, dr.end = host(make(chan struct{})), host(make(chan struct{}))
	dr.made = make([]*op, len(g.order))
	for i, u := range g.order {
		b := u.buf
		l := &directLowering{lowering{s, b, dr.start}, dr, int32(i), u.read}
		// Nothing is undefined, as looked at above.
		_ = b.tracker.Read(transfer.Host, 0, b.bytes, dr.end, l)
		if u.writer < 0 {
			continue
		}
		dr.made[i] = host(nil)
		if w := b.tracker.Write(transfer.Host, 0, b.bytes, dr.made[i], l); w.Version != nil {
			w.Version.Cut()
		}
		l.needs = false
		_ = b.tracker.Read(transfer.Host, 0, b.bytes, dr.end, l)
	}
	if r := dr.run; r.observed {
		dr.first = OpID(s.lastOp.Add(int64(len(dr.tasks)))) - OpID(len(dr.tasks)) + 1
	}
	dr.books = make([]directBook, max(a.info.ComputeUnits, a.info.Queues, 1))
	dr.lanes.list = make([]lane, len(dr.books))
	dr.start.release()
	return batch, true
}

// directLowering has the run's start wait for what one buffer's tracker says.
type directLowering struct {
	lowering
	dr    *directRun
	index int32
	needs bool // the graph reads what is there before it
}

// Wait makes the start wait for p's end only: which tasks cannot do without its
// result is seen when it is known to have failed.
func (l *directLowering) Wait(p *op, flow bool) {
	if p == l.dr.end || p == l.dr.made[l.index] {
		return
	}
	l.o.waitFor(p, false)
	if flow && l.needs {
		l.dr.needed = append(l.dr.needed, needed{p, l.index})
	}
}

// Reads has nothing to note: with one device nothing is recomputed.
func (l *directLowering) Reads(part) {}

// bar finds the tasks that read what was not made.
func (dr *directRun) bar() {
	for _, n := range dr.needed {
		_, err := n.op.state()
		if err == nil {
			continue
		}
		if dr.barred == nil {
			dr.barred = map[int32]error{}
		}
		b := dr.graph.order[n.buffer].buf
		for i := range dr.graph.Len() {
			t := dr.graph.task(i)
			for j, x := range t.buffers() {
				if x == b && t.call.Args[j].Mode.Reads() {
					dr.barred[int32(i)] = &skipped{&UndefinedError{b.array.Name, rootCause(err)}}
				}
			}
			if t.writes(b) {
				break
			}
		}
	}
	dr.needed = nil
}

// finish ends what others still wait for. err is what buffers get whose last
// writer did not run.
func (dr *directRun) finish(err error) {
	for _, o := range dr.made {
		if o == nil {
			continue
		}
		if done, _ := o.state(); !done {
			o.finish(err)
		}
	}
	dr.end.finish(nil)
}

// Begin is asked by the device before each task.
func (dr *directRun) Begin(task int32) error {
	if err := dr.run.cancelled(); err != nil {
		return &skipped{err}
	}
	if dr.barred != nil {
		return dr.barred[task]
	}
	return nil
}

// Barred is asked by the device for the error of a task that does not run.
func (dr *directRun) Barred(err error) error { return &skipped{rootCause(err)} }

// Ended is told by the device.
func (dr *directRun) Ended(worker int, task int32, t devices.Times, err error) {
	r, f := dr.run, &dr.forms[dr.tasks[task].Form]
	if err != nil {
		if skip := (*skipped)(nil); errors.As(err, &skip) {
			r.bar(int(task), err)
		} else {
			err = r.fail(int(task), 1, dr.agent.info.ID, err)
		}
	} else {
		run := t.Run()
		book := &dr.books[worker]
		book.tasks++
		book.items += f.call.Range.Items()
		book.busy += int64(run)
		book.zero += f.zero
		if n := book.all + book.tasks; n <= learnFirst || n%learnEvery == 0 || run >= shortLaunch {
			sample := costmodel.Sample{Key: f.key, Size: f.size, Run: run, Elapsed: t.End - t.Queued}
			if f.call.Range.Items() == 1 || len(dr.tasks) == 1 { // one work-item never has more than its worker
				dr.learn(sample)
			} else {
				dr.learn(dr.lanes.ended(worker, t, sample, nil)...)
			}
		}
		if book.tasks >= tellEvery || run >= tellAfter {
			dr.tell(book)
		}
	}
	if dr.last.has(task) {
		dr.release(task, err)
	}
	if launched := r.session.observer.Launched; launched != nil {
		launched(dr.event(worker, task, f, t, err))
	}
}

// learn tells the model about launches.
func (dr *directRun) learn(samples ...costmodel.Sample) {
	for _, s := range samples {
		_ = dr.session.predictor.model.Observe(s) // what cannot be true is counted there
	}
}

// tell passes on what a worker has done.
func (dr *directRun) tell(b *directBook) {
	c := &dr.agent.counters
	c.launches.Add(b.tasks)
	c.tasks.Add(b.tasks)
	c.items.Add(b.items)
	c.busy.Add(b.busy)
	c.zero.Add(b.zero)
	dr.run.tasksDone.Add(b.tasks)
	*b = directBook{all: b.all + b.tasks}
}

// release lets those go on that wait for what the task is the last to write.
func (dr *directRun) release(task int32, err error) {
	t := dr.graph.task(int(task))
	for j, u := range t.uses() {
		if u.writer != task || !t.call.Args[j].Mode.Writes() {
			continue
		}
		o := dr.made[u.index]
		if done, _ := o.state(); !done { // it may be two of its arguments
			o.finish(err)
		}
	}
}

func (dr *directRun) event(worker int, task int32, f *directForm, t devices.Times, err error) LaunchEvent {
	after := dr.graph.task(int(task)).after()
	e := LaunchEvent{Run: dr.run.id, Op: dr.first + OpID(task), Task: int(task), Name: dr.graph.nameOf(int(task)), Kernel: f.call.Kernel.Name,
		Parts: 1, Device: dr.agent.info.ID, Queue: dr.agent.compute[worker%len(dr.agent.compute)].name, Range: f.call.Range,
		ZeroCopy: f.zero, Times: t, Err: err}
	if len(after) > 0 {
		e.After = make([]OpID, len(after))
		for i, p := range after {
			e.After[i] = dr.first + OpID(p)
		}
	}
	return e
}

// Over is told by the device.
func (dr *directRun) Over() { close(dr.over) }
