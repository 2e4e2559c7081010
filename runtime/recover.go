package tandem

import (
	"errors"
	"fmt"
	"sync"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/transfer"
)

// recovery deals with operations that failed for a reason that is not theirs.
// Such an operation does not finish: its successors keep waiting until it has
// been done another way, so nothing that it needs can have been overwritten
// meanwhile.
//
// Out of memory: replicas that others used longest ago make room, and the
// operation is issued once more. A lost device: the operation's inputs are
// found in the memories that still hold the very versions it reads, or are
// recomputed from those in memory of their own, and it runs on another device.
type recovery struct {
	mu      sync.Mutex
	queue   []failedOp
	running bool
	wake    chan struct{}
}

type failedOp struct {
	op  *op
	err error
}

// recoverLater takes o over if there is something to be done about err.
func (s *Session) recoverLater(o *op, a *agent, err error) bool {
	var skip *skipped
	if o.kind == opHost || errors.As(err, &skip) || o.fault != nil {
		return false
	}
	switch {
	case errors.Is(err, devices.ErrDeviceLost):
		s.lose(o, a, err)
		if o.cohort != nil { // the others of it may be over: it is not to be had again alone
			return false
		}
	case o.cohort != nil:
		return false
	case errors.Is(err, devices.ErrOutOfMemory) && o.attempt == 0 && o.cut == nil:
	default:
		return false
	}
	r := &s.recovery
	r.mu.Lock()
	defer r.mu.Unlock()
	r.queue = append(r.queue, failedOp{o, err})
	if !r.running {
		r.running = true
		r.wake = make(chan struct{}, 1)
		s.live.Add(1)
		go s.recoverAll()
		return true
	}
	select {
	case r.wake <- struct{}{}:
	default:
	}
	return true
}

func (s *Session) faulted(o *op, a *agent, err error, action string) {
	if f := s.observer.Faulted; f != nil {
		e := FaultEvent{Task: o.task, Device: a.info.ID, Err: err, Action: action, At: s.clock.now()}
		if o.run != nil {
			e.Run = o.run.id
		}
		f(e)
	}
}

// recoverAll works through the queue, each operation after those it waits for.
func (s *Session) recoverAll() {
	defer s.live.Done()
	r := &s.recovery
	var list []failedOp
	for {
		r.mu.Lock()
		list = append(list, r.queue...)
		clear(r.queue)
		r.queue = r.queue[:0]
		if len(list) == 0 {
			r.running = false
			r.mu.Unlock()
			return
		}
		r.mu.Unlock()
		blocked := list[:0]
		var behind *op // what the first blocked operation waits for
		for _, f := range list {
			if p := f.op.unfinished(); p != nil {
				blocked = append(blocked, f)
				if behind == nil {
					behind = p
				}
				continue
			}
			s.recoverOp(f)
		}
		progress := len(blocked) < len(list)
		list = blocked
		if progress || behind == nil {
			continue
		}
		// All wait for operations that still run: they end, or fail and come
		// here too.
		end := &op{kind: opHost, ready: make(chan struct{})}
		end.pending.Store(1)
		end.waitFor(behind, false)
		end.release()
		select {
		case <-end.ready:
		case <-r.wake:
		}
	}
}

// unfinished is a predecessor on the same device that is not over; the others
// were over when o was issued.
func (o *op) unfinished() *op {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, e := range o.native {
		if done, _ := e.op.state(); !done {
			return e.op
		}
	}
	return nil
}

// recoverOp does the work of one failed operation and finishes it.
func (s *Session) recoverOp(f failedOp) {
	o := f.op
	if err := o.inheritedFailure(); err != nil {
		s.conclude(o, o.agent, err, devices.Times{})
		return
	}
	if o.run != nil && o.kind == opLaunch { // others may need what a copy brings
		if cause := o.run.cancelled(); cause != nil {
			s.conclude(o, o.agent, &skipped{cause}, devices.Times{})
			return
		}
	}
	s.mu.Lock()
	s.clock.change(0, 0, 1)
	defer s.clock.change(0, 0, -1)
	j := &rescue{s: s, memo: map[*transfer.Version[*op]]*scratch{}}
	if errors.Is(f.err, devices.ErrOutOfMemory) {
		err := j.makeRoom(o.agent, o)
		s.mu.Unlock()
		if err != nil {
			s.conclude(o, o.agent, f.err, devices.Times{})
			return
		}
		o.attempt++
		o.mu.Lock()
		o.issued = false
		o.mu.Unlock()
		s.faulted(o, o.agent, f.err, "made room and tried again")
		o.agent.push(o)
		return
	}
	a, t, err := j.redo(o)
	err = errors.Join(err, j.free())
	s.mu.Unlock()
	if err != nil {
		err = fmt.Errorf("%w; %w", f.err, err)
	}
	s.conclude(o, a, err, t)
}

// inheritedFailure is set if something that o needs has failed for good.
func (o *op) inheritedFailure() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.poison != nil {
		return o.poison
	}
	for _, e := range o.native {
		if _, err := e.op.state(); err != nil && e.flow {
			return &skipped{rootCause(err)}
		}
	}
	return nil
}

// conclude ends an operation that recovery has dealt with.
func (s *Session) conclude(o *op, a *agent, err error, t devices.Times) {
	if o.run != nil {
		err = o.run.ended(o, a, err)
	}
	s.report(o, a, err, t, "recovery")
	o.finish(err)
	o.agent.retry()
	if o.run != nil {
		o.run.opDone()
	}
}

// makeRoom frees one replica on o's device that neither o nor anything else
// uses. s.mu is held; nothing waits for another operation, which may be waiting
// for this recovery.
func (j *rescue) makeRoom(a *agent, o *op) error {
	var task task // of a copy: none
	if o.task >= 0 {
		task = o.run.graph.task(o.task)
	}
	victim := a.oldest(task, o.buf, nil)
	if victim == nil || victim.Owner.(*Buffer).busy() != nil {
		return devices.ErrOutOfMemory
	}
	b := victim.Owner.(*Buffer)
	b.tracker.Settle((*op).state)
	for _, sole := range b.tracker.Sole(a.node) {
		lo, hi := sole[0], sole[1]
		c := devices.Copy{Kind: devices.DeviceToHost, Src: victim.Buffer, SrcOffset: lo, Host: b.host[lo:hi], Size: hi - lo}
		if victim.Imported {
			c = devices.Copy{Kind: devices.SyncToHost, Dst: victim.Buffer, DstOffset: lo, Size: hi - lo}
		}
		if err := j.copy(a, &c); err != nil {
			return err
		}
		a.counters.d2h.Add(hi - lo)
		b.tracker.Saved(lo, hi)
	}
	return j.s.drop(victim, a)
}
