package costmodel

import (
	"math"
	"slices"
)

const (
	window    = 15   // runs kept for each size: older ones are forgotten
	shiftDown = 3    // runs in a row that make a new, faster level
	shiftUp   = 5    // and a slower one: a run is easily disturbed, but none beats the hardware
	levelStep = 0.10 // a level differs by at least this fraction
	levelMost = 0.30 // a step this large is one however noisy the level before was
	levelSame = 0.25 // runs of one level differ by no more
)

// point is what is known of one size.
type point struct {
	size Size
	runs []float64 // seconds, oldest first
	seq  uint64    // when it was last used, in observations of the model
}

// add takes a run in and forgets what it outdates.
func (p *point) add(run float64) {
	p.runs = append(p.runs, run)
	if len(p.runs) > window {
		p.runs = slices.Delete(p.runs, 0, len(p.runs)-window)
	}
	for _, k := range [2]int{shiftDown, shiftUp} {
		if p.shifted(k, k == shiftDown) {
			p.runs = slices.Delete(p.runs, 0, len(p.runs)-k)
			return
		}
	}
}

// shifted reports whether the last k runs agree with each other on a level
// clearly below (or above) the one before them: a clock that has ramped up, a
// device that has been throttled. Single outliers never do.
func (p *point) shifted(k int, down bool) bool {
	n := len(p.runs) - k
	if n < 1 {
		return false
	}
	before, last := p.runs[:n], p.runs[n:]
	lo, hi := slices.Min(last), slices.Max(last)
	if hi > lo*(1+levelSame) {
		return false
	}
	center := lowerMedian(before)
	gap := max(levelStep*center, min(3*mad(before, center), levelMost*center))
	if down {
		return hi < center-gap
	}
	return lo > center+gap
}

// center is the run time in seconds: the median, of an even number the lower
// one, since disturbances only ever add time.
func (p *point) center() float64 { return lowerMedian(p.runs) }

// spread is one standard deviation of the next run, in seconds.
func (p *point) spread() float64 {
	c := p.center()
	least := 0.02*c + 1e-7
	switch n := len(p.runs); n {
	case 1:
		return 0.30*c + least
	case 2:
		return min(max(math.Abs(p.runs[1]-p.runs[0]), 0.15*c), c) + least
	default:
		return 1.4826*mad(p.runs, c) + least + c*0.2/float64(n)
	}
}

func lowerMedian(x []float64) float64 {
	var room [window + 1]float64
	s := append(room[:0], x...)
	slices.Sort(s)
	return s[(len(s)-1)/2]
}

// mad is the median absolute deviation from center.
func mad(x []float64, center float64) float64 {
	var room [window + 1]float64
	d := room[:0]
	for _, v := range x {
		d = append(d, math.Abs(v-center))
	}
	return lowerMedian(d)
}
