package transfer

import (
	"errors"
	"sync"

	"github.com/tandemrun/tandem/devices"
)

// lane is one direction of a Stager.
type lane struct {
	s     *Stager
	queue devices.Queue
	name  string
	down  bool
	chunk int64
	o     *StagerOptions

	mu    sync.Mutex
	first *Job // not begun, in order
	last  *Job
	again bool // a chunk is over
	awake bool // counted in by Busy
	stop  bool
	wake  chan struct{} // holds a token while there is something to do
	ended chan struct{}

	// Used by the lane's goroutine only.
	pool     pinnedPool
	asked    bool    // for pinned memory
	current  *Job    // of which chunks are still to be handed over
	inFlight []*slot // in order
}

func newLane(s *Stager, q devices.Queue, kind devices.QueueKind, chunk int64, o *StagerOptions) *lane {
	l := &lane{s: s, queue: q, name: "staged-" + kind.String(), down: kind == devices.Download, chunk: chunk, o: o,
		wake: make(chan struct{}, 1), ended: make(chan struct{})}
	go l.loop()
	return l
}

// note hands over a job, or says that a chunk is over.
func (l *lane) note(j *Job) {
	l.mu.Lock()
	switch {
	case j == nil:
		l.again = true
	case l.last == nil:
		l.first, l.last = j, j
	default:
		l.last.next, l.last = j, j
	}
	if !l.awake {
		l.awake = true
		l.busy(1)
	}
	l.mu.Unlock()
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

func (l *lane) busy(n int) {
	if l.o.Busy != nil {
		l.o.Busy(n)
	}
}

func (l *lane) close() error {
	l.mu.Lock()
	l.stop = true
	l.mu.Unlock()
	select {
	case l.wake <- struct{}{}:
	default:
	}
	<-l.ended
	return errors.Join(l.queue.Close(), l.pool.close())
}

// loop is the lane's goroutine.
func (l *lane) loop() {
	defer close(l.ended)
	for {
		l.mu.Lock()
		l.again = false
		l.mu.Unlock()
		for l.reap() || l.issue() {
		}
		l.mu.Lock()
		// Of the jobs that have not begun, issue would have taken one if there
		// were room.
		idle := !l.again && (l.first == nil || l.current != nil || len(l.inFlight) > 0 && l.full())
		over := l.stop && l.first == nil && l.current == nil && len(l.inFlight) == 0
		if idle && l.awake {
			l.awake = false
			l.busy(-1)
		}
		l.mu.Unlock()
		if over {
			return
		}
		if idle {
			<-l.wake
		}
	}
}

// full reports whether no chunk can be handed over before one is over.
func (l *lane) full() bool {
	if l.pool.mem == nil {
		return len(l.inFlight) >= maxSlots
	}
	return len(l.pool.free) == 0
}

// issue hands one chunk to the device; false: there is none, or no room for it.
func (l *lane) issue() bool {
	j := l.current
	if j == nil {
		if j = l.begin(); j == nil {
			return false
		}
	}
	l.pin()
	if l.full() {
		return false
	}
	size := j.Copy.Size
	c := j.Copy
	s := &slot{lane: l}
	if l.pool.mem == nil {
		s.at, s.n = 0, size
	} else {
		s = l.pool.take()
		s.at = j.issued
		s.n = min(size-s.at, int64(len(s.mem)))
		c.Host, c.Size = s.mem[:s.n], s.n
		if l.down {
			c.SrcOffset += s.at
		} else {
			c.DstOffset += s.at
			copy(c.Host, j.Copy.Host[s.at:s.at+s.n])
		}
	}
	s.job = j
	event, err := l.queue.Copy(&c, nil)
	if err == nil {
		_ = l.queue.Flush() // a flush that fails shows in the events
		s.event = event
		l.inFlight = append(l.inFlight, s)
		j.issued += s.n
		j.left++
		event.Notify(s)
	} else {
		j.refused = err
		l.release(s)
	}
	if err != nil || j.issued == size {
		l.current = nil
		l.finish(j)
	}
	return true
}

// begin takes the next job, nil if there is none.
func (l *lane) begin() *Job {
	l.mu.Lock()
	defer l.mu.Unlock()
	j := l.first
	if j != nil {
		if l.first = j.next; l.first == nil {
			l.last = nil
		}
		l.current = j
	}
	return j
}

// pin gets pinned memory, before the first chunk.
func (l *lane) pin() {
	if l.asked {
		return
	}
	l.asked = true
	if err := l.pool.fill(l, l.s.pinner, l.chunk); err != nil && l.o.Unpinned != nil {
		l.o.Unpinned(err)
	}
}

// reap ends the chunk that was handed over first, if the device is done with
// it.
func (l *lane) reap() bool {
	if len(l.inFlight) == 0 {
		return false
	}
	s := l.inFlight[0]
	done, err := s.event.Done()
	if !done {
		return false
	}
	l.inFlight = append(l.inFlight[:0], l.inFlight[1:]...)
	j := s.job
	times, terr := s.event.Times()
	if err == nil && terr == nil {
		if j.result.Times == (devices.Times{}) {
			j.result.Times = times
		}
		j.result.Times.End = max(j.result.Times.End, times.End)
	}
	switch {
	case err != nil:
		if j.result.Err == nil {
			j.result.Err = err
		}
		if l.current == j { // the rest would be for nothing
			l.current = nil
		}
	case s.mem != nil:
		if l.down && j.result.Err == nil {
			copy(j.Copy.Host[s.at:s.at+s.n], s.mem[:s.n])
		}
		j.result.Pinned += s.n
	}
	s.event.Release()
	l.release(s)
	j.left--
	l.finish(j)
	return true
}

// release gives a slot back.
func (l *lane) release(s *slot) {
	if s.mem != nil {
		l.pool.give(s)
	}
}

// finish ends a job of which nothing is left to do.
func (l *lane) finish(j *Job) {
	if j.left > 0 || l.current == j {
		return
	}
	j.result.Queue = l.name
	if j.result.Err == nil {
		j.result.Err = j.refused
	}
	j.Done(j.result)
}
