package main

import (
	"cmp"
	"slices"
	"sync"
	"time"

	tandem "github.com/tandemrun/tandem/runtime"
)

// hiddenMeter measures how much of the time spent in copies some device
// computed. It keeps a bounded number of intervals, so that a run may be as
// long as it likes; what is dropped can only make the ratio smaller.
type hiddenMeter struct {
	mu        sync.Mutex
	computing []interval
	copies    []interval
	total     time.Duration // of copies settled
	hidden    time.Duration
}

type interval struct{ from, to time.Duration }

const (
	maxIntervals  = 1 << 15
	keptIntervals = 1 << 10 // of computing, for copies that are reported late
)

func (m *hiddenMeter) observer() tandem.Observer {
	return tandem.Observer{
		Launched: func(e tandem.LaunchEvent) {
			m.add(&m.computing, interval{e.Times.Start, e.Times.End})
		},
		Copied: func(e tandem.CopyEvent) {
			if !e.ZeroCopy {
				m.add(&m.copies, interval{e.Times.Start, e.Times.End})
			}
		},
	}
}

func (m *hiddenMeter) add(list *[]interval, v interval) {
	if v.to <= v.from {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if *list = append(*list, v); len(*list) >= maxIntervals {
		m.settle()
	}
}

// settle counts the copies so far and forgets them.
func (m *hiddenMeter) settle() {
	merged := union(m.computing)
	for _, c := range m.copies {
		m.total += c.to - c.from
		at, _ := slices.BinarySearchFunc(merged, c.from, func(v interval, t time.Duration) int { return cmp.Compare(v.to, t) })
		for ; at < len(merged) && merged[at].from < c.to; at++ {
			m.hidden += max(min(c.to, merged[at].to)-max(c.from, merged[at].from), 0)
		}
	}
	m.copies = m.copies[:0]
	m.computing = append(m.computing[:0], merged[max(len(merged)-keptIntervals, 0):]...)
}

// union sorts intervals and joins those that touch.
func union(all []interval) []interval {
	sorted := slices.Clone(all)
	slices.SortFunc(sorted, func(a, b interval) int { return cmp.Compare(a.from, b.from) })
	out := sorted[:0]
	for _, v := range sorted {
		if n := len(out); n > 0 && v.from <= out[n-1].to {
			out[n-1].to = max(out[n-1].to, v.to)
		} else {
			out = append(out, v)
		}
	}
	return out
}

// ratio is the part of copying time that was hidden, 1 if nothing was copied.
func (m *hiddenMeter) ratio() float64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.settle()
	if m.total == 0 {
		return 1
	}
	return float64(m.hidden) / float64(m.total)
}
