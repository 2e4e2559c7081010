package observe

import (
	"cmp"
	"slices"
	"time"
)

// interval is a stretch of time, from inclusive to exclusive.
type interval struct{ from, to time.Duration }

// union sorts intervals and joins those that overlap or touch. It works in
// place. Intervals without a length vanish.
func union(all []interval) []interval {
	all = slices.DeleteFunc(all, func(v interval) bool { return v.to <= v.from })
	slices.SortFunc(all, func(a, b interval) int { return cmp.Compare(a.from, b.from) })
	out := all[:0]
	for _, v := range all {
		if n := len(out); n > 0 && v.from <= out[n-1].to {
			out[n-1].to = max(out[n-1].to, v.to)
			continue
		}
		out = append(out, v)
	}
	return out
}

func length(all []interval) (sum time.Duration) {
	for _, v := range all {
		sum += v.to - v.from
	}
	return sum
}

// overlap is how much of v lies within a union.
func overlap(v interval, all []interval) (sum time.Duration) {
	i, _ := slices.BinarySearchFunc(all, v.from, func(u interval, at time.Duration) int {
		if u.to <= at {
			return -1
		}
		return 1
	})
	for ; i < len(all) && all[i].from < v.to; i++ {
		sum += min(v.to, all[i].to) - max(v.from, all[i].from)
	}
	return sum
}
