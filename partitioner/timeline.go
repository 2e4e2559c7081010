package partitioner

import "time"

// timeline is when one resource is busy, kept as the gaps between what it does:
// a task may be put into a gap that is long enough (the insertion policy of
// HEFT), else behind the last one.
type timeline struct {
	gaps []gap // ascending, disjoint, all before free
	free time.Duration
	// short is a length below which a gap can hold nothing; it keeps the list
	// small.
	short time.Duration
}

type gap struct{ lo, hi time.Duration }

func (l *timeline) reset(ready, short time.Duration) {
	l.gaps, l.free, l.short = l.gaps[:0], ready, short
}

// fit is the earliest start ≥ ready of something that takes dur.
func (l *timeline) fit(ready, dur time.Duration) time.Duration {
	if n := len(l.gaps); n > 0 && l.gaps[n-1].hi >= ready+dur {
		for i := l.after(ready); i < n; i++ {
			if start := max(l.gaps[i].lo, ready); start+dur <= l.gaps[i].hi {
				return start
			}
		}
	}
	return max(l.free, ready)
}

// after is the index of the first gap that ends after t.
func (l *timeline) after(t time.Duration) int {
	lo, hi := 0, len(l.gaps)
	for lo < hi {
		if m := int(uint(lo+hi) >> 1); l.gaps[m].hi > t {
			hi = m
		} else {
			lo = m + 1
		}
	}
	return lo
}

// take makes the resource busy from start, which fit returned, for dur.
func (l *timeline) take(start, dur time.Duration) {
	end := start + dur
	if start >= l.free {
		if start-l.free > l.short {
			l.gaps = append(l.gaps, gap{l.free, start})
		}
		l.free = end
		return
	}
	if dur == 0 {
		return
	}
	i := l.after(start)
	g := l.gaps[i]
	left, right := gap{g.lo, start}, gap{end, g.hi}
	keepL, keepR := left.hi-left.lo > l.short, right.hi-right.lo > l.short
	switch {
	case keepL && keepR:
		l.gaps = append(l.gaps, gap{})
		copy(l.gaps[i+1:], l.gaps[i:])
		l.gaps[i], l.gaps[i+1] = left, right
	case keepL:
		l.gaps[i] = left
	case keepR:
		l.gaps[i] = right
	default:
		l.gaps = append(l.gaps[:i], l.gaps[i+1:]...)
	}
}
