package tandem

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/partitioner/costmodel"
	"github.com/tandemrun/tandem/transfer"
)

// maxInFlight bounds what one queue of a device holds at once: enough to keep
// it busy without a gap, little enough that cancelling drains soon.
const maxInFlight = 64

// watchEvery is how many commands of a queue share one completion callback.
const watchEvery = 16

// An agent feeds one device: one goroutine issues the ops that are ready on the
// device's queues and retires those that are over. Drivers call completed from
// their own threads, which only leaves a note; nothing polls.
type agent struct {
	session  *Session
	index    int // position in Session.agents
	device   devices.Device
	info     devices.Info
	modelKey string                 // names the device in the cost model
	images   devices.Reconfigurable // nil: nothing has to be loaded on the device
	onCall   bool                   // emulated, for tasks that ask for it or run nowhere else
	node     transfer.Node          // the device's own memory
	memory   *transfer.Memory

	mu    sync.Mutex
	ready []*op // issuable, in order
	done  []*op // whose Complete has been called
	moved []*op // staged copies that are over
	look  []*op // that another device now waits for
	held  []*op // issuable, but every queue they fit has enough
	again bool  // an op has ended that held ones may wait for
	stop  bool
	awake bool          // counted in by the session's clock
	wake  chan struct{} // holds a token while there is something to do

	courier          *courier
	stager           *transfer.Stager // nil: the device copies by itself
	feeder           *feeder
	compute          []*agentQueue
	upload, download *agentQueue
	exited           chan struct{}
	counters         counters
	launches         atomic.Int64 // issued and not retired
	lost             atomic.Bool  // the device is gone
	told             atomic.Bool  // that there is no pinned memory
	hung             atomic.Bool  // a launch exceeded its time limit: the device is not used again

	// Used by the agent's goroutine only.
	wait   []devices.Event
	aboard map[*op]struct{} // staged copies that are not over
	ended  bool             // an op has ended while others were looked at, which held ones may wait for
	timer  *time.Timer
}

// newAgent opens the device's queues and starts the goroutine.
func newAgent(s *Session, index int, d devices.Device, limit int64) (*agent, error) {
	info := d.Info()
	a := &agent{session: s, index: index, device: d, info: info, modelKey: costmodel.DeviceKey(info), node: transfer.Node(index + 1),
		memory: transfer.NewMemory(d, limit), wake: make(chan struct{}, 1), aboard: map[*op]struct{}{}, exited: make(chan struct{})}
	a.images, _ = devices.As[devices.Reconfigurable](d)
	open := func(kind devices.QueueKind, n int) (*agentQueue, error) {
		q, err := d.NewQueue(kind)
		if err != nil {
			return nil, fmt.Errorf("%s: %s queue: %w", info.ID, kind, err)
		}
		return &agentQueue{queue: q, name: fmt.Sprintf("%s#%d", kind, n)}, nil
	}
	var err error
	for n := range max(info.Queues, 1) {
		q, e := open(devices.Compute, n)
		if e != nil {
			err = e
			break
		}
		a.compute = append(a.compute, q)
	}
	if err == nil {
		a.upload, err = open(devices.Upload, 0)
	}
	if err == nil {
		a.download, err = open(devices.Download, 0)
	}
	if err == nil {
		err = a.openStager()
	}
	if err != nil {
		return nil, errors.Join(err, a.closeQueues())
	}
	a.courier = newCourier(a)
	a.feeder = newFeeder(a)
	a.timer = time.NewTimer(time.Hour)
	a.timer.Stop()
	go a.loop()
	return a, nil
}

// queues are all queues of the device.
func (a *agent) queues() []*agentQueue {
	all := append([]*agentQueue{}, a.compute...)
	for _, q := range []*agentQueue{a.upload, a.download} {
		if q != nil {
			all = append(all, q)
		}
	}
	return all
}

func (a *agent) closeQueues() error {
	var errs []error
	for _, q := range a.queues() {
		errs = append(errs, q.queue.Close())
	}
	return errors.Join(errs...)
}

// push hands over an op that is issuable.
func (a *agent) push(o *op) { a.note(&a.ready, o) }

// completed notes that a watched op's event is done.
func (a *agent) completed(o *op) { a.note(&a.done, o) }

// watch asks for word of an issued op's end without delay: another device waits
// for it.
func (a *agent) watch(o *op) { a.note(&a.look, o) }

// retry has the agent look again at ops that it could not issue.
func (a *agent) retry() {
	a.mu.Lock()
	a.again = true
	a.countIn()
	a.mu.Unlock()
	a.rouse()
}

func (a *agent) note(list *[]*op, o *op) {
	a.mu.Lock()
	*list = append(*list, o)
	a.countIn()
	a.mu.Unlock()
	a.rouse()
}

// countIn keeps a simulated clock where it is until the agent has nothing more
// to say. a.mu is held.
func (a *agent) countIn() {
	if !a.awake {
		a.awake = true
		a.session.clock.change(1, 0, 0)
	}
}

func (a *agent) rouse() {
	select {
	case a.wake <- struct{}{}:
	default:
	}
}

// take moves a list to the end of another and leaves nothing of it behind: an op
// that is over keeps its whole run from being collected.
func take(to []*op, from *[]*op) []*op {
	to = append(to, *from...)
	clear(*from)
	*from = (*from)[:0]
	return to
}

// loop is the agent's goroutine.
func (a *agent) loop() {
	defer close(a.exited)
	var ready, done, moved, look []*op
	for {
		a.mu.Lock()
		idle := len(a.ready)+len(a.done)+len(a.moved)+len(a.look) == 0 && !a.again
		if !idle {
			ready = take(ready, &a.held)
		}
		ready, done, moved, look = take(ready, &a.ready), take(done, &a.done), take(moved, &a.moved), take(look, &a.look)
		stop := a.stop
		a.again = false
		if idle && a.awake {
			a.awake = false
			a.session.clock.change(-1, 0, 0)
		}
		a.mu.Unlock()
		if idle && stop {
			return
		}
		if idle {
			a.sleep()
			continue
		}
		if len(done) > 0 {
			a.retire()
		}
		a.ended = false
		for _, o := range moved {
			a.landed(o)
		}
		kept := ready[:0]
		for _, o := range ready {
			if !a.issue(o) {
				kept = append(kept, o)
			}
		}
		if len(kept) > 0 {
			a.mu.Lock()
			a.held = append(a.held, kept...)
			a.again = a.again || a.ended
			a.mu.Unlock()
			a.session.offer(a)
		} else if a.launches.Load() == 0 {
			a.steal()
		}
		for _, o := range look {
			a.notify(o)
		}
		a.flush()
		clear(ready)
		clear(done)
		clear(moved)
		clear(look)
		ready, done, moved, look = ready[:0], done[:0], moved[:0], look[:0]
	}
}

// issue puts o on a queue; false: not yet, all of them are full or o is not to
// run and others still do.
func (a *agent) issue(o *op) bool {
	if o.cohort != nil {
		return a.issueTogether(o)
	}
	if o.cut != nil {
		a.courier.start(o, a.refusal(o))
		return true
	}
	if o.run != nil && o.kind == opLaunch { // others may need what a copy brings
		if err := o.run.cancelled(); err != nil {
			return a.pass(o, &skipped{err})
		}
	}
	if o.fault != nil {
		return a.pass(o, o.fault)
	}
	if !a.usable() {
		a.end(o, fmt.Errorf("%s: out of use: %w", a.info.ID, devices.ErrDeviceLost), devices.Times{}, "")
		return true
	}
	o.mu.Lock()
	poison := o.poison
	native := o.native
	o.mu.Unlock()
	a.wait = a.wait[:0]
	var last *op
	waited := 0 // of native, moved to its front
	for i, e := range native {
		e.op.mu.Lock()
		switch {
		case !e.op.finished && e.op.event == nil: // it failed and will be issued again
			e.op.mu.Unlock()
			return false
		case !e.op.finished:
			a.wait = append(a.wait, e.op.event)
			last = e.op
			native[waited], native[i] = native[i], native[waited]
			native[waited].issue = e.op.issues
			waited++
		case e.op.err != nil && e.flow && poison == nil:
			poison = &skipped{rootCause(e.op.err)}
		}
		e.op.mu.Unlock()
	}
	if poison != nil {
		return a.pass(o, poison)
	}
	o.hold()
	if o.hosted {
		a.stage(o)
		return true
	}
	q := a.pick(o, last)
	if q == nil {
		return false
	}
	o.mu.Lock()
	o.begun = true
	o.native = native[:waited]
	o.mu.Unlock()
	var err error
	var ev devices.Event
	if o.kind == opLaunch {
		ev, err = q.queue.Launch(&o.launch, a.wait)
	} else {
		ev, err = q.queue.Copy(&o.copy, a.wait)
	}
	if err != nil {
		if a.session.recoverLater(o, a, err) {
			return true
		}
		o.fault = err
		return a.pass(o, err)
	}
	o.event, o.where = ev, q
	a.issued(o)
	return true
}

// issued takes an op that its queue has accepted into the books.
func (a *agent) issued(o *op) {
	q := o.where
	if q.inFlight() == 0 {
		q.since = devices.Now()
	}
	q.issued = append(q.issued, o)
	q.unwatched++
	if o.kind == opLaunch {
		a.launches.Add(1)
		q.ahead += o.predicted
	}
	if cross := o.markIssued(); cross || q.unwatched >= watchEvery || a.fewAhead(o) {
		a.notify(o)
	}
}

// refusal is why o, with nothing left to wait for, is not to run; nil: it is.
func (a *agent) refusal(o *op) error {
	if err := o.run.cancelled(); err != nil {
		return &skipped{err}
	}
	if o.fault != nil {
		return o.fault
	}
	if !a.usable() {
		return fmt.Errorf("%s: out of use: %w", a.info.ID, devices.ErrDeviceLost)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.poison
}

// fewAhead reports whether o is one of the few launches that a queue holds where
// others could steal: the next is handed over when the first of them ends, so
// each has to say so.
func (a *agent) fewAhead(o *op) bool {
	return a.session.stealing && o.kind == opLaunch && 2*o.predicted > maxAhead/maxInFlight
}

// pass ends an op that does not run, if what it waits for on this device is over;
// false: not yet. Who waits for it relies on its predecessors' end too.
func (a *agent) pass(o *op, err error) bool {
	if o.unfinished() != nil {
		return false
	}
	a.end(o, err, devices.Times{}, "")
	return true
}

// usable reports whether the device takes work: it is neither lost nor hung.
func (a *agent) usable() bool { return !a.hung.Load() && !a.lost.Load() }

// end reports o and lets its successors go. What can be tried again, here or
// elsewhere, is handed to the session's recovery instead.
func (a *agent) end(o *op, err error, t devices.Times, queue string) {
	o.let(err == nil)
	if err != nil && a.session.recoverLater(o, a, err) {
		return
	}
	a.ended = true
	if o.run != nil {
		err = o.run.ended(o, a, err)
	}
	a.session.report(o, a, err, t, queue)
	o.finish(err)
	if o.run != nil {
		o.run.opDone()
	}
}

// close stops the goroutine and closes queues and device. Every op is over.
func (a *agent) close() error {
	a.mu.Lock()
	a.stop = true
	a.mu.Unlock()
	a.rouse()
	<-a.exited
	err := errors.Join(a.courier.close(), a.closeStager(), a.closeQueues(), a.feeder.close(), a.device.Close())
	if a.lost.Load() { // known already, and nothing can be done about it
		return nil
	}
	return err
}
