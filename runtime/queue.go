package tandem

import (
	"time"

	"github.com/tandemrun/tandem/devices"
)

// agentQueue is one queue of the device and what is on it.
type agentQueue struct {
	queue     devices.Queue
	name      string
	issued    []*op // in order; [head:] are not retired yet
	head      int
	ahead     time.Duration // predicted run of the launches that are not retired
	unwatched int           // ops issued since the last one that has a Notify
	since     time.Duration // when the op at head could begin, or later
}

func (q *agentQueue) inFlight() int { return len(q.issued) - q.head }

// pick chooses the queue: the one that holds the last predecessor, where order
// is free, else the one with the least on it.
func (a *agent) pick(o *op, last *op) *agentQueue {
	var q *agentQueue
	switch o.queue {
	case devices.Upload:
		q = a.upload
	case devices.Download:
		q = a.download
	default:
		if last != nil && last.where != nil && last.queue == devices.Compute {
			q = last.where
			break
		}
		for _, c := range a.compute {
			if q == nil || c.inFlight() < q.inFlight() {
				q = c
			}
		}
	}
	if n := q.inFlight(); n >= maxInFlight || n >= 2 && a.session.stealing && o.kind == opLaunch && (q.ahead+o.predicted > maxAhead || o.guessed()) {
		return nil
	}
	return q
}

// guessed reports whether o is a part of a divided task of which nothing is
// known yet: its prediction is no measure for how much of it to hold.
func (o *op) guessed() bool {
	return o.parts > 1 && o.share != nil && o.share.spread > o.predicted
}

// notify asks the driver to call o.Complete; an event takes one Notify only.
func (a *agent) notify(o *op) {
	if o.where == nil || o.notified { // retired meanwhile, or asked already
		return
	}
	o.notified = true
	if q := o.where; q.issued[len(q.issued)-1] == o {
		q.unwatched = 0 // what was issued behind an earlier one still needs a word of its own
	}
	o.event.Notify(o)
}

// flush hands issued work to the device and makes sure that the last op of
// every queue reports its end.
func (a *agent) flush() {
	for _, q := range a.compute {
		a.flushQueue(q)
	}
	a.flushQueue(a.upload)
	a.flushQueue(a.download)
}

func (a *agent) flushQueue(q *agentQueue) {
	if q.unwatched == 0 {
		return
	}
	_ = q.queue.Flush() // a failed flush shows as failed events
	a.notify(q.issued[len(q.issued)-1])
}

// retire ends every op, in queue order, whose event is done.
func (a *agent) retire() {
	for _, q := range a.compute {
		a.retireQueue(q)
	}
	a.retireQueue(a.upload)
	a.retireQueue(a.download)
}

func (a *agent) retireQueue(q *agentQueue) {
	began := q.since
	for q.head < len(q.issued) {
		o := q.issued[q.head]
		done, err := o.event.Done()
		if !done {
			break
		}
		if o.kind == opLaunch {
			a.launches.Add(-1)
			q.ahead -= o.predicted
		}
		times, terr := o.event.Times()
		if terr != nil {
			times = devices.Times{}
		}
		q.since = devices.Now()
		if a.session.clock.device == nil && times.End > began { // it may have been over for a while
			q.since = min(q.since, times.End)
		}
		o.event.Release()
		o.event, o.where, o.notified, o.over = nil, nil, false, true
		q.issued[q.head] = nil
		q.head++
		if err != nil && o.cohort == nil && o.barred() {
			o.mu.Lock()
			o.issued = false
			o.mu.Unlock()
			a.push(o)
			continue
		}
		a.end(o, err, times, q.name)
	}
	if q.head == len(q.issued) {
		q.issued, q.head, q.unwatched = q.issued[:0], 0, 0
	} else if q.head > 4*maxInFlight {
		n := copy(q.issued, q.issued[q.head:])
		clear(q.issued[n:])
		q.issued = q.issued[:n]
		q.head = 0
	}
}

// barred reports whether an issued op failed because one that it waited for on
// the device did, and so never ran. It is issued again: by then it is known
// whether it needed that one's result or only its end, and whether that one will
// be tried again.
func (o *op) barred() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, e := range o.native {
		e.op.mu.Lock()
		over, failed, again := e.op.finished, e.op.err != nil, e.op.issues != e.issue
		e.op.mu.Unlock()
		switch {
		case again: // o waited for an issue that failed
			return true
		case over && !failed:
			continue
		case over || e.op.event == nil:
			return true
		}
		if done, err := e.op.event.Done(); done && err != nil {
			return true
		}
	}
	return false
}
