package costmodel

import (
	"math"
	"slices"
	"sync"
	"time"

	"github.com/tandemrun/tandem/partitioner"
)

const (
	maxPoints  = 64    // sizes kept for each series; the least recently used goes
	maxSeries  = 2048  // series kept
	maxPending = 20000 // samples kept for the store, at least; the oldest go
	slowWindow = 31    // elapsed-to-run ratios kept for each series
)

// Model learns run times. The zero Model knows nothing and is ready for use. It
// is safe for concurrent use; it must not be copied.
type Model struct {
	mu       sync.Mutex
	series   map[Key]*series
	seq      uint64
	pending  []Sample
	observed uint64 // samples learnt in all
	rejected int
}

// series is what is known of one kernel variant on one device.
type series struct {
	points map[string]*point
	slow   []float64 // elapsed/run of recent samples, oldest first
	seq    uint64
	total  uint64 // samples learnt
	atFit  uint64 // and how many there were at the last fit
	fitOK  bool
	fit    fit
}

// Observe learns from a launch. What cannot be true (a run of no or negative
// time, longer than the wall time it lies in, faster than any hardware) is not
// learnt and returned as an error that wraps devices.ErrInvalid; so is nothing
// else. A contended sample counts for Slowdown only.
func (m *Model) Observe(s Sample) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := s.check(); err != nil {
		m.rejected++
		return err
	}
	m.learn(&s)
	if len(m.pending) >= 2*maxPending { // in bulk: moving them all for each sample would cost more than the launch
		m.pending = slices.Delete(m.pending, 0, maxPending)
	}
	m.pending = append(m.pending, s)
	m.observed++
	return nil
}

func (m *Model) learn(s *Sample) {
	m.seq++
	if m.series == nil {
		m.series = map[Key]*series{}
	}
	sr := m.series[s.Key]
	if sr == nil {
		if len(m.series) >= maxSeries {
			m.forgetSeries()
		}
		sr = &series{points: map[string]*point{}}
		m.series[s.Key] = sr
	}
	sr.seq = m.seq
	if s.Elapsed > 0 {
		if len(sr.slow) >= slowWindow {
			sr.slow = slices.Delete(sr.slow, 0, 1)
		}
		sr.slow = append(sr.slow, max(1, s.Elapsed.Seconds()/s.Run.Seconds()))
	}
	if s.Contended {
		return
	}
	run := s.Run.Seconds()
	if s.Share > 0 {
		run *= s.Share
	}
	fp := s.Size.footprint()
	p := sr.points[fp]
	if p == nil {
		if len(sr.points) >= maxPoints {
			sr.forgetPoint()
		}
		p = &point{size: s.Size}
		p.size.Footprint = fp
		sr.points[fp] = p
	}
	p.seq = m.seq
	p.add(run)
	sr.total++
}

func (m *Model) forgetSeries() {
	var oldest Key
	at := uint64(math.MaxUint64)
	for k, s := range m.series {
		if s.seq < at {
			oldest, at = k, s.seq
		}
	}
	delete(m.series, oldest)
}

func (s *series) forgetPoint() {
	oldest, at := "", uint64(math.MaxUint64)
	for k, p := range s.points {
		if p.seq < at {
			oldest, at = k, p.seq
		}
	}
	delete(s.points, oldest)
}

// Predict says what a call would take on a device that it has to itself, launch
// latency not included. on is used where nothing was learnt. The source is
// "history", "fit", "roofline" or "guess".
func (m *Model) Predict(k Key, size Size, on Machine) partitioner.Estimate {
	prior := on.Estimate(size)
	m.mu.Lock()
	defer m.mu.Unlock()
	sr := m.series[k]
	if sr == nil || len(sr.points) == 0 {
		return prior
	}
	sr.refit()
	p := sr.points[size.footprint()]
	if p == nil {
		return sr.extend(size, on, prior)
	}
	e := partitioner.Estimate{Run: seconds(p.center()), Spread: seconds(p.spread()), Source: "history"}
	if sr.fitOK {
		guess := sr.fit.at(size)
		if len(p.runs) < 3 && sr.fit.points >= 4 && sr.fit.err < 0.2 && p.center() > 3*guess {
			// One or two runs far slower than everything else says: disturbed.
			return sr.extend(size, on, prior)
		}
		e.Fixed = seconds(min(sr.fit.law.fixed(), 0.9*p.center()))
	}
	return e
}

// extend predicts a size that was not seen.
func (s *series) extend(size Size, on Machine, prior partitioner.Estimate) partitioner.Estimate {
	if s.fitOK {
		sec := s.fit.at(size)
		e := partitioner.Estimate{Run: seconds(sec), Fixed: seconds(min(s.fit.law.fixed(), sec)), Source: "fit"}
		e.Spread = seconds(sec * s.fit.spread(size))
		return e
	}
	// One size alone: scale the roofline so that it meets that point. How much of
	// the time does not grow with the size cannot be known; the spread says so.
	var seen *point
	for _, p := range s.points {
		if seen == nil || p.seq > seen.seq {
			seen = p
		}
	}
	ref := on.Estimate(seen.size)
	if ref.Run <= 0 || prior.Run <= 0 {
		return prior
	}
	factor := float64(prior.Run) / float64(ref.Run)
	sec := seen.center() * factor
	e := partitioner.Estimate{Run: seconds(sec), Source: "fit"}
	e.Spread = seconds(max(0.3*sec, 0.5*math.Abs(sec-seen.center())))
	return e
}

// refitAt is how much a series grows before it is fitted again: by one part in
// so many. A fit over many sizes takes milliseconds, a launch may take less.
const refitAt = 8

// refit brings the fit up to date.
func (s *series) refit() {
	if s.total-s.atFit <= s.atFit/refitAt {
		return
	}
	s.atFit = s.total
	data := make([]datum, 0, len(s.points))
	for _, p := range s.points {
		data = append(data, datum{p.size, p.center(), float64(len(p.runs)) / float64(len(p.runs)+1), len(p.runs)})
	}
	// Sums in a fixed order: the same samples give the same prediction.
	slices.SortFunc(data, func(a, b datum) int {
		if a.size.Footprint < b.size.Footprint {
			return -1
		}
		return 1
	})
	s.fitOK = false
	if len(data) >= 2 {
		s.fit, s.fitOK = fitLaw(data)
	}
}

// Slowdown is how much longer than their run the launches of a series took
// lately from being handed over to their end, waiting for the device and for
// others on it included: 1 is not at all. A series never seen: 1.
func (m *Model) Slowdown(k Key) float64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	sr := m.series[k]
	if sr == nil || len(sr.slow) == 0 {
		return 1
	}
	return lowerMedian(sr.slow)
}

// Rejected counts the samples that could not be true.
func (m *Model) Rejected() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.rejected
}

// Entry describes one series, for people.
type Entry struct {
	Key    Key
	Runs   int    // runs kept
	Law    string // "line over operations"; empty: no fit
	Error  float64
	Points []Point
}

// Point is one size of a series.
type Point struct {
	Size        Size
	Runs        int
	Run, Spread time.Duration
}

// Entries lists what was learnt, by device and kernel, sizes ascending.
func (m *Model) Entries() []Entry {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []Entry
	for k, sr := range m.series {
		sr.refit()
		e := Entry{Key: k}
		if sr.fitOK {
			e.Law, e.Error = sr.fit.law.name(), sr.fit.err
		}
		for _, p := range sr.points {
			e.Runs += len(p.runs)
			e.Points = append(e.Points, Point{p.size, len(p.runs), seconds(p.center()), seconds(p.spread())})
		}
		slices.SortFunc(e.Points, comparePoints)
		out = append(out, e)
	}
	slices.SortFunc(out, func(a, b Entry) int { return compareKeys(a.Key, b.Key) })
	return out
}
