package tandem

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/kernels"
	"github.com/tandemrun/tandem/transfer"
)

// opKind says what an operation does.
type opKind uint8

const (
	opLaunch opKind = iota
	opCopy
	opHost // the host reads or writes a buffer between waitReady and finish
)

// An op is one command for one queue: a launch, a copy, or an access by the
// host. Lowering makes ops and links them; agents issue them.
//
// An op becomes issuable when every predecessor is over, or is issued on the
// same device: then the device's own wait list keeps the order and the host
// takes no round trip.
type op struct {
	id        OpID
	kind      opKind
	run       *Run             // nil for host accesses
	agent     *agent           // nil for host accesses
	planned   *agent           // whose it was before it was stolen; nil: it was not
	variant   *kernels.Variant // of a launch
	share     *placedShare     // of a launch
	predicted time.Duration    // what the launch is expected to take
	queue     devices.QueueKind

	// pending counts what still has to happen before the op is issuable, plus
	// one until lowering has added all predecessors.
	pending atomic.Int32

	mu       sync.Mutex
	begun    bool // it has been handed to a device, or is about to be
	issued   bool
	finished bool
	err      error // valid when finished
	poison   error // a predecessor whose result is needed failed: do not run
	gone     bool  // opHost: the caller gave up; it ends by itself when issuable
	succs    []edge
	native   []edge // predecessors that the device's wait list covers

	fault error  // found while lowering: the op fails in its turn
	after []OpID // for observers only

	task  int // -1: none
	part  int32
	parts int32

	division *division // of a piece that was cut while the task runs; nil: it was planned

	launch  devices.Launch
	zero    int64 // bytes the launch touches on the host's own pages
	copy    devices.Copy
	buf     *Buffer // of a copy
	offset  int64
	careful bool   // a copy, or a launch on windows, that must not spoil what it overwrites before all of it has arrived
	held    []byte // where it arrives meanwhile
	from    transfer.Node
	to      transfer.Node

	reads   []access // with Session.lineage: which contents it reads and makes
	writes  []access
	hosted  bool     // a staged copy or a launch on windows: the host joins it with what is before and behind it on its device
	cut     *cutting // of a launch on windows of its arrays
	windows []window
	late    atomic.Bool // a launch on windows exceeds its time limit
	staged  transfer.Staged
	final   bool // nothing is ever recomputed through it: its reads are of no use once it is over

	event    devices.Event // while issued; the agent's, like the two below
	where    *agentQueue
	notified bool
	issues   uint32        // how often it was issued
	cohort   *cohort       // those it runs together with; nil: none
	here     bool          // of a cohort: it is issuable
	over     bool          // of a cohort: it has been issued and is retired
	attempt  int           // launches and copies that failed before and were tried again
	ready    chan struct{} // opHost: closed when issuable
	home     bool          // opHost: ends by itself when issuable
}

// edge is a dependency as one end sees it. A flow dependency needs the other's
// result, so a failure spreads along it; the others (write after read, write
// after write) only need its end.
type edge struct {
	op    *op
	flow  bool
	issue uint32 // native: which issue of op is in the wait list
}

// skipped is the error of an op that did not run because of an earlier failure.
type skipped struct{ cause error }

func (e *skipped) Error() string { return fmt.Sprintf("not run: %v", e.cause) }

func (e *skipped) Unwrap() error { return e.cause }

// rootCause is what made an op fail or be skipped.
func rootCause(err error) error {
	var s *skipped
	if errors.As(err, &s) {
		return s.cause
	}
	return err
}

// waitFor makes o wait for p; flow: and need its result. It is called by
// lowering only, before o.release.
func (o *op) waitFor(p *op, flow bool) {
	if p == nil || p == o {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.finished:
		if p.err != nil && flow {
			o.addPoison(p.err)
		}
		return
	case p.issued && p.agent == o.agent && o.agent != nil && !o.hosted:
		o.mu.Lock()
		o.native = append(o.native, edge{op: p, flow: flow})
		o.mu.Unlock()
	default:
		o.pending.Add(1)
		p.succs = append(p.succs, edge{op: o, flow: flow})
		if p.issued {
			p.agent.watch(p)
		}
	}
	if o.run != nil && o.run.observed {
		o.after = append(o.after, p.id)
	}
}

func (o *op) addPoison(err error) {
	o.mu.Lock()
	if o.poison == nil {
		o.poison = &skipped{rootCause(err)}
	}
	o.mu.Unlock()
}

// release ends lowering of o: it runs as soon as its predecessors allow.
func (o *op) release() { o.countDown() }

// countDown notes that one thing o waited for has happened.
func (o *op) countDown() {
	if o.pending.Add(-1) > 0 {
		return
	}
	if o.agent != nil {
		o.agent.push(o)
		return
	}
	o.mu.Lock()
	poison, ends := o.poison, o.home || o.gone
	if !ends {
		close(o.ready)
	}
	o.mu.Unlock()
	if !ends {
		return
	}
	o.finish(poison)
	if o.run != nil {
		o.run.opDone()
	}
}

// markIssued lets successors on the same device follow; cross reports whether
// others wait for o's completion.
func (o *op) markIssued() (cross bool) {
	o.mu.Lock()
	o.issued = true
	o.issues++
	succs := o.succs
	keep := succs[:0]
	var follow []*op
	for _, s := range succs {
		if s.op.agent == o.agent && !s.op.hosted {
			s.op.mu.Lock()
			s.op.native = append(s.op.native, edge{op: o, flow: s.flow})
			s.op.mu.Unlock()
			follow = append(follow, s.op)
		} else {
			keep = append(keep, s)
		}
	}
	clear(succs[len(keep):])
	o.succs = keep
	cross = len(keep) > 0
	o.mu.Unlock()
	for _, s := range follow {
		s.countDown()
	}
	return cross
}

// finish marks o as over and lets its successors go on.
func (o *op) finish(err error) {
	o.mu.Lock()
	o.finished = true
	o.err = err
	succs := o.succs
	o.succs, o.native = nil, nil
	if o.final {
		// What they refer to has an operation before it, and so on to the
		// beginning of a long run.
		o.reads, o.writes = nil, nil
	}
	o.mu.Unlock()
	for _, s := range succs {
		if err != nil && s.flow {
			s.op.addPoison(err)
		}
		s.op.countDown()
	}
}

// state reports whether o is over, for Tracker.Settle.
func (o *op) state() (done bool, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.finished, o.err
}

// waitReady blocks a host access until its predecessors are over. On an error
// the access is off: it ends by itself, in its turn, and leaves what the
// predecessors made.
func (o *op) waitReady(ctx context.Context) error {
	select {
	case <-o.ready:
	case <-ctx.Done():
		o.mu.Lock()
		select {
		case <-o.ready:
		default:
			o.gone = true
			o.mu.Unlock()
			return context.Cause(ctx)
		}
		o.mu.Unlock()
	}
	o.mu.Lock()
	err := o.poison
	o.mu.Unlock()
	if err == nil && ctx.Err() != nil {
		err = context.Cause(ctx)
		o.finish(nil)
	} else if err != nil {
		o.finish(err)
	}
	return err
}

// Complete implements devices.Completion: the driver's thread only notes it.
func (o *op) Complete(error) { o.agent.completed(o) }

// waitEnd blocks until o is over.
func (o *op) waitEnd() {
	end := &op{kind: opHost, ready: make(chan struct{})}
	end.pending.Store(1)
	end.waitFor(o, false)
	end.release()
	<-end.ready
}
