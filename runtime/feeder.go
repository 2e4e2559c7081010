package tandem

import (
	"errors"
	"time"

	"github.com/tandemrun/tandem/devices"
)

// A feeder runs batches on a device that does not take them itself: one
// goroutine hands the tasks to the device's queues in their order, and the
// queues and wait lists keep the order between them. No task has more than its
// event.
type feeder struct {
	device devices.Device
	queues int

	// Sets of queues that no batch uses.
	idle chan []devices.Queue
}

// maxFeeds is how many sets of queues are kept for further batches.
const maxFeeds = 4

func newFeeder(a *agent) *feeder {
	return &feeder{device: a.device, queues: max(a.info.Queues, 1), idle: make(chan []devices.Queue, maxFeeds)}
}

// take is a set of queues for one batch.
func (f *feeder) take() ([]devices.Queue, error) {
	select {
	case set := <-f.idle:
		return set, nil
	default:
	}
	var set []devices.Queue
	for range f.queues {
		q, err := f.device.NewQueue(devices.Compute)
		if err != nil {
			return nil, errors.Join(err, closeAll(set))
		}
		set = append(set, q)
	}
	return set, nil
}

// give takes a set back on which nothing runs.
func (f *feeder) give(set []devices.Queue) {
	select {
	case f.idle <- set:
	default:
		_ = closeAll(set) // an error of one that has nothing to do concerns nobody
	}
}

func closeAll(set []devices.Queue) error {
	var errs []error
	for _, q := range set {
		errs = append(errs, q.Close())
	}
	return errors.Join(errs...)
}

// close closes the queues. Every batch is over.
func (f *feeder) close() error {
	var errs []error
	for {
		select {
		case set := <-f.idle:
			errs = append(errs, closeAll(set))
		default:
			return errors.Join(errs...)
		}
	}
}

// RunBatch implements devices.Batcher.
func (f *feeder) RunBatch(b *devices.Batch) error {
	set, err := f.take()
	if err != nil {
		return err
	}
	r := &feed{f: f, b: b, wake: make(chan struct{}, 1), place: make([]feedPlace, len(b.Tasks))}
	for _, q := range set {
		r.queues = append(r.queues, &feedQueue{queue: q, depth: maxInFlight})
	}
	go r.run()
	return nil
}

// feed is a batch that is being fed.
type feed struct {
	f      *feeder
	b      *devices.Batch
	queues []*feedQueue
	wake   chan struct{}
	place  []feedPlace // by task
	before []int32     // predecessors of the tasks, in turn
	starts []int32     // where those of each task begin in before
	barred map[int32]error
	wait   []devices.Event
	launch devices.Launch // the one that is handed over
}

// feedPlace is where a task was put: the position on a queue, from 1; 0: it is
// on none.
type feedPlace struct {
	queue int32
	at    int32
}

// feedQueue is a queue and what is on it.
type feedQueue struct {
	queue   devices.Queue
	issued  []issuedTask // not retired, in order
	retired int32        // how many were
	watched int32        // position of the last that reports its end; up to retired: none does
	depth   int          // how many it may hold
	looked  int          // tasks issued since it was last looked at
	ended   time.Duration
}

type issuedTask struct {
	task  int32
	event devices.Event
}

// A queue may hold maxInFlight tasks, and more of short ones: up to feedDeep, as
// many as take feedAhead, which is how long a cancelled run goes on. So the
// device has enough to do while the feeder sleeps, and wakes it seldom.
const (
	feedDeep  = 1024
	feedAhead = 4 * time.Millisecond
	// feedLook is after how many tasks a queue is looked at for what has ended.
	feedLook = 64
)

// feedSlack is how many tasks more than another a queue may hold and still get
// one that comes after a task of its own.
const feedSlack = 8

// Complete is told by the driver of the end of a watched task.
func (r *feed) Complete(error) {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// run is the feeding goroutine.
func (r *feed) run() {
	r.turnRound()
	for t := range int32(len(r.b.Tasks)) {
		r.one(t)
	}
	for r.inFlight() > 0 {
		r.retireOrSleep()
	}
	var set []devices.Queue
	for _, q := range r.queues {
		set = append(set, q.queue)
	}
	r.f.give(set)
	r.b.Host.Over()
}

// turnRound makes lists of predecessors of those of successors.
func (r *feed) turnRound() {
	b := r.b
	r.starts = make([]int32, len(b.Tasks)+1)
	for i := range b.Tasks {
		r.starts[i+1] = r.starts[i] + b.Tasks[i].Waits
	}
	r.before = make([]int32, len(b.Next))
	filled := make([]int32, len(b.Tasks))
	for i := range int32(len(b.Tasks)) {
		for _, s := range r.b.Successors(i) {
			r.before[r.starts[s]+filled[s]] = i
			filled[s]++
		}
	}
}

// predecessors are the tasks that t comes after.
func (r *feed) predecessors(t int32) []int32 { return r.before[r.starts[t]:r.starts[t+1]] }

func (r *feed) inFlight() (n int) {
	for _, q := range r.queues {
		n += len(q.issued)
	}
	return n
}

// one hands over a task, or ends it if it is not to run.
func (r *feed) one(t int32) {
	before := r.predecessors(t)
	err := r.barred[t]
	if err == nil {
		err = r.b.Host.Begin(t)
	}
	if err != nil {
		// In its turn, like all others: after those that it comes after.
		for r.waits(before) {
			r.retireOrSleep()
		}
		r.over(0, t, devices.Times{}, err)
		return
	}
	n := r.choose(before)
	q := r.queues[n]
	if q.looked++; q.looked >= feedLook {
		q.looked = 0
		r.retire(n, q)
	}
	for len(q.issued) >= q.depth || r.onlyAfter(n, t) {
		r.retireOrSleep()
	}
	l := &r.b.Forms[r.b.Tasks[t].Form]
	launch := &r.launch
	launch.Kernel, launch.Range, launch.Args = l.Kernel, l.Range, append(launch.Args[:0], l.Args...)
	at := r.b.Tasks[t].Args
	for i := range launch.Args {
		if launch.Args[i].Buffer != nil {
			launch.Args[i].Buffer = r.b.Buffers[r.b.Args[at]]
			at++
		}
	}
	if r.barred[t] != nil { // meanwhile
		r.one(t)
		return
	}
	ev, err := q.queue.Launch(launch, r.events(n, before))
	if errors.Is(err, devices.ErrOutOfMemory) { // what is in flight may hold it
		for r.inFlight() > 0 {
			r.retireOrSleep()
		}
		ev, err = q.queue.Launch(launch, nil)
	}
	if err != nil {
		for r.waits(before) {
			r.retireOrSleep()
		}
		r.over(n, t, devices.Times{}, err)
		return
	}
	q.issued = append(q.issued, issuedTask{t, ev})
	r.place[t] = feedPlace{int32(n), q.retired + int32(len(q.issued))}
}

// choose is the queue for a task: the one whose last task it comes after, or one
// that holds a task before it, unless that has much more on it than another.
func (r *feed) choose(before []int32) int {
	least := 0
	for i, q := range r.queues {
		if len(q.issued) < len(r.queues[least].issued) {
			least = i
		}
	}
	for i := len(before) - 1; i >= 0; i-- {
		p := r.place[before[i]]
		if p.at == 0 {
			continue
		}
		q := r.queues[p.queue]
		if p.at == q.retired+int32(len(q.issued)) || len(q.issued) <= len(r.queues[least].issued)+feedSlack {
			return int(p.queue)
		}
	}
	return least
}

// flying is the event of a task that is on a queue and not retired.
func (r *feed) flying(t int32) devices.Event {
	p := r.place[t]
	q := r.queues[p.queue]
	if p.at <= q.retired {
		return nil
	}
	return q.issued[p.at-q.retired-1].event
}

// events are those that a task on queue n has to wait for.
func (r *feed) events(n int, before []int32) []devices.Event {
	r.wait = r.wait[:0]
	for _, p := range before {
		if int(r.place[p].queue) == n {
			continue
		}
		if ev := r.flying(p); ev != nil {
			r.wait = append(r.wait, ev)
		}
	}
	return r.wait
}

// onlyAfter reports whether t, which is to go on queue n, has to come after a
// task on another queue of which it needs nothing. An event of that one must not
// be waited for by the device, which would not run t if it failed.
func (r *feed) onlyAfter(n int, t int32) bool {
	for _, p := range r.predecessors(t) {
		if int(r.place[p].queue) != n && r.flying(p) != nil && !r.b.Host.Needs(p, t) {
			return true
		}
	}
	return false
}

// elsewhere reports whether one of the tasks is on another queue than n and not
// retired. What comes after it is retired later: it may have run on what a
// failed one left, and ended well.
func (r *feed) elsewhere(n int, tasks []int32) bool {
	for _, p := range tasks {
		if int(r.place[p].queue) != n && r.flying(p) != nil {
			return true
		}
	}
	return false
}

// waits reports whether one of the tasks is not over.
func (r *feed) waits(before []int32) bool {
	for _, p := range before {
		if r.flying(p) != nil {
			return true
		}
	}
	return false
}

// retireOrSleep ends what the device has finished, or waits until there is
// something.
func (r *feed) retireOrSleep() {
	any := false
	for n, q := range r.queues {
		any = r.retire(n, q) || any
	}
	if any {
		return
	}
	for _, q := range r.queues {
		r.watch(q)
	}
	<-r.wake
}

// watch has the end of a task on a queue reported, if there is any and none is
// already: the last one's, or of a full queue that of one in the middle, for
// there to be work while more is issued.
func (r *feed) watch(q *feedQueue) {
	if len(q.issued) == 0 || q.watched > q.retired {
		return
	}
	i := len(q.issued) - 1
	if len(q.issued) >= q.depth {
		i /= 2
	}
	q.watched = q.retired + int32(i) + 1
	_ = q.queue.Flush() // a failed flush shows as failed events
	q.issued[i].event.Notify(r)
}

// retire ends the tasks at the head of a queue that are done. What lies between
// two of them that are seen to end together is taken to have been even.
func (r *feed) retire(n int, q *feedQueue) bool {
	done := 0
	for done < len(q.issued) {
		over, err := q.issued[done].event.Done()
		if !over || r.elsewhere(n, r.predecessors(q.issued[done].task)) {
			break
		}
		if done++; err != nil {
			break
		}
	}
	if done == 0 {
		return false
	}
	last := q.issued[done-1].event
	times, terr := last.Times()
	_, err := last.Done()
	exact := done == 1 && terr == nil
	begin := max(q.ended, times.Queued)
	if first, ferr := q.issued[0].event.Times(); ferr == nil && first.Start > q.ended {
		begin = first.Start
	}
	each := max(times.End-begin, 0) / time.Duration(done)
	for i := range q.issued[:done] {
		t := q.issued[i].task
		q.issued[i].event.Release()
		ti := devices.Times{Queued: begin, Submitted: begin, Start: begin, End: begin + each}
		begin += each
		switch {
		case exact:
			ti = times
		case terr != nil:
			ti = devices.Times{}
		}
		why := r.barred[t]
		if why == nil && i == done-1 {
			why = err
		}
		if why != nil {
			ti = devices.Times{}
		}
		r.over(n, t, ti, why)
	}
	if each > 0 {
		q.depth = int(min(max(feedAhead/each, maxInFlight), feedDeep))
	}
	q.ended = times.End
	q.retired += int32(done)
	rest := copy(q.issued, q.issued[done:])
	clear(q.issued[rest:])
	q.issued = q.issued[:rest]
	return true
}

// over tells the host of the end of a task.
func (r *feed) over(worker int, t int32, times devices.Times, err error) {
	if err != nil {
		for _, s := range r.b.Successors(t) {
			if r.b.Host.Needs(t, s) && r.barred[s] == nil {
				if r.barred == nil {
					r.barred = map[int32]error{}
				}
				r.barred[s] = r.b.Host.Barred(err)
			}
		}
	}
	r.b.Host.Ended(worker, t, times, err)
}
