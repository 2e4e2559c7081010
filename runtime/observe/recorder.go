package observe

import (
	"cmp"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tandemrun/tandem/devices"
	tandem "github.com/tandemrun/tandem/runtime"
)

// Recorder collects the events of a session's runs. The zero value is ready.
// It keeps the events, some 500 bytes for each launch and copy, until it is
// dropped itself, and counts those beyond its limit: the memory of a long run
// does not depend on its length.
type Recorder struct {
	// Limit is the most launches and copies that are kept, and the most
	// decisions and faults. 0 is DefaultLimit. It must not change after
	// Observer.
	Limit int

	shards [16]shard
	taken  atomic.Int64 // launches and copies for which shards have room

	mu        sync.Mutex // guards what follows, which has few events
	runs      []Run
	decisions chunks[tandem.DecisionEvent]
	faults    []tandem.FaultEvent
	dropped   int
}

// DefaultLimit is what a Recorder without a Limit keeps, some 50 MB.
const DefaultLimit = 100_000

func (r *Recorder) limit() int {
	if r.Limit > 0 {
		return r.Limit
	}
	return DefaultLimit
}

// shard holds the launches and copies of some queues, so that those that report
// at the same time seldom meet at a lock.
type shard struct {
	mu       sync.Mutex
	launches chunks[tandem.LaunchEvent]
	copies   chunks[tandem.CopyEvent]
	room     int64 // for how many more
	dropped  int
	_        [64]byte // a cache line of its own
}

// shard is where the events of a queue go: those of one queue come one after
// the other, those of others meanwhile.
func (r *Recorder) shard(device, queue string) *shard {
	h := uint(0)
	for _, s := range [2]string{device, queue} {
		if s != "" {
			h = 31*h + uint(s[len(s)-1]) // "cpu:0", "compute#1"
		}
	}
	return &r.shards[h%uint(len(r.shards))]
}

// chunks is a list that grows without moving what is in it: events are large.
type chunks[E any] struct {
	full [][]E
	last []E
	n    int
}

func (c *chunks[E]) add(e E) {
	if len(c.last) == cap(c.last) {
		if c.last != nil {
			c.full = append(c.full, c.last)
		}
		c.last = make([]E, 0, min(max(8, 2*cap(c.last)), 256))
	}
	c.last = append(c.last, e)
	c.n++
}

func (c *chunks[E]) appendTo(list []E) []E {
	list = slices.Grow(list, c.n)
	for _, part := range c.full {
		list = append(list, part...)
	}
	return append(list, c.last...)
}

// Recording is what a Recorder has seen: plain data, which the functions of
// this package only read.
type Recording struct {
	Runs      []Run                  // by number
	Devices   []devices.Info         // of all runs, each once, in the runs' order
	Launches  []tandem.LaunchEvent   // by run and number
	Copies    []tandem.CopyEvent     // by run and number
	Decisions []tandem.DecisionEvent // as they came
	Faults    []tandem.FaultEvent    // by time
	Dropped   int                    // later events that were beyond the Recorder's limit
}

// Run is one run from beginning to end.
type Run struct {
	tandem.RunStarted
	Finished bool
	End      time.Duration // on the clock of devices.Now, if Finished
	Err      error         // how it failed
}

// Observer is what a session reports to. It may serve several sessions only if
// their runs have different numbers.
func (r *Recorder) Observer() tandem.Observer {
	limit := r.limit()
	// A shard takes room for some events at a time: all shards share a counter.
	block := int64(min(max(limit/1024, 1), 64))
	// room reports whether a shard takes one more; its lock is held.
	room := func(s *shard) bool {
		if s.room == 0 {
			s.room = min(block, max(int64(limit)-(r.taken.Add(block)-block), 0))
		}
		if s.room == 0 {
			s.dropped++
			return false
		}
		s.room--
		return true
	}
	return tandem.Observer{
		RunStarted: func(e tandem.RunStarted) {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.runs = append(r.runs, Run{RunStarted: e})
		},
		Launched: func(e tandem.LaunchEvent) {
			s := r.shard(e.Device, e.Queue)
			s.mu.Lock()
			defer s.mu.Unlock()
			if room(s) {
				e.After = slices.Clone(e.After) // the session's own
				s.launches.add(e)
			}
		},
		Copied: func(e tandem.CopyEvent) {
			s := r.shard(e.Device, e.Queue)
			s.mu.Lock()
			defer s.mu.Unlock()
			if room(s) {
				e.After = slices.Clone(e.After)
				s.copies.add(e)
			}
		},
		Decided: func(e tandem.DecisionEvent) {
			r.mu.Lock()
			defer r.mu.Unlock()
			if r.decisions.n >= limit {
				r.dropped++
				return
			}
			r.decisions.add(e)
		},
		Faulted: func(e tandem.FaultEvent) {
			r.mu.Lock()
			defer r.mu.Unlock()
			if len(r.faults) >= limit {
				r.dropped++
				return
			}
			r.faults = append(r.faults, e)
		},
		RunFinished: func(e tandem.RunFinished) {
			r.mu.Lock()
			defer r.mu.Unlock()
			for i := len(r.runs) - 1; i >= 0; i-- {
				if run := &r.runs[i]; run.Run == e.Run {
					run.Finished, run.End, run.Err = true, e.At, e.Err
					return
				}
			}
		},
	}
}

// Recording is a copy of what has been seen so far. It may be called while
// runs go on, and as often as one likes.
func (r *Recorder) Recording() Recording {
	var rec Recording
	for i := range r.shards {
		s := &r.shards[i]
		s.mu.Lock()
		rec.Launches = s.launches.appendTo(rec.Launches)
		rec.Copies = s.copies.appendTo(rec.Copies)
		rec.Dropped += s.dropped
		s.mu.Unlock()
	}
	r.mu.Lock()
	rec.Runs = slices.Clone(r.runs)
	rec.Decisions = r.decisions.appendTo(nil)
	rec.Faults = slices.Clone(r.faults)
	rec.Dropped += r.dropped
	r.mu.Unlock()
	slices.SortFunc(rec.Runs, func(a, b Run) int { return cmp.Compare(a.Run, b.Run) })
	slices.SortFunc(rec.Launches, func(a, b tandem.LaunchEvent) int {
		return cmp.Or(cmp.Compare(a.Run, b.Run), cmp.Compare(a.Op, b.Op))
	})
	slices.SortFunc(rec.Copies, func(a, b tandem.CopyEvent) int {
		return cmp.Or(cmp.Compare(a.Run, b.Run), cmp.Compare(a.Op, b.Op))
	})
	slices.SortStableFunc(rec.Faults, func(a, b tandem.FaultEvent) int { return cmp.Compare(a.At, b.At) })
	seen := map[string]bool{}
	for _, run := range rec.Runs {
		for _, d := range run.Devices {
			if !seen[d.ID] {
				seen[d.ID] = true
				rec.Devices = append(rec.Devices, d)
			}
		}
	}
	return rec
}

// Span is from the beginning of the first run or event to the end of the last.
// Both are 0 for an empty recording.
func (rec Recording) Span() (from, to time.Duration) {
	first := true
	add := func(a, b time.Duration) {
		if first {
			from, to, first = a, b, false
		}
		from, to = min(from, a), max(to, b)
	}
	for _, r := range rec.Runs {
		add(r.At, r.At)
		if r.Finished {
			add(r.End, r.End)
		}
	}
	for _, e := range rec.Launches {
		add(e.Times.Start, e.Times.End)
	}
	for _, e := range rec.Copies {
		add(e.Times.Start, e.Times.End)
	}
	return from, to
}
