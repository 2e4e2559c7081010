package partitioner

import (
	"slices"
	"time"
)

// piece is a range of bytes of a datum and, for each node, when a replica of it
// is there (never: it is not).
type piece struct {
	lo, hi int64
	at     []time.Duration
}

// replicas is where the data are. A datum that was never cut is one row of
// whole; one that was is a list of pieces, ascending and without gaps.
type replicas struct {
	nn    int
	whole []time.Duration // [datum·nn + node]
	cut   [][]piece
	dirty []int // data with cut set, for reset
}

func (r *replicas) reset(s *setup) {
	r.nn = s.nn
	if r.whole == nil {
		r.whole = make([]time.Duration, len(s.Data)*s.nn)
		r.cut = make([][]piece, len(s.Data))
	}
	for i := range r.whole {
		r.whole[i] = never
	}
	for d := range s.Data {
		for _, n := range s.Data[d].Nodes {
			r.whole[d*s.nn+n] = 0
		}
	}
	for _, d := range r.dirty {
		r.cut[d] = nil
	}
	r.dirty = r.dirty[:0]
}

// row is when a replica of an uncut datum is on each node.
func (r *replicas) row(d int) []time.Duration { return r.whole[d*r.nn : (d+1)*r.nn] }

// setCut replaces a datum's pieces.
func (r *replicas) setCut(d int, pieces []piece) {
	if r.cut[d] == nil {
		r.dirty = append(r.dirty, d)
	}
	r.cut[d] = pieces
}

// isolate makes [lo, hi) of a datum pieces of their own and returns them.
func (r *replicas) isolate(d int, lo, hi, size int64) []piece {
	if r.cut[d] == nil {
		r.setCut(d, []piece{{0, size, slices.Clone(r.row(d))}})
	}
	for _, at := range [2]int64{lo, hi} {
		for i, p := range r.cut[d] {
			if p.lo < at && at < p.hi {
				rest := piece{at, p.hi, slices.Clone(p.at)}
				r.cut[d][i].hi = at
				r.cut[d] = slices.Insert(r.cut[d], i+1, rest)
				break
			}
		}
	}
	first, last := 0, 0
	for i, p := range r.cut[d] {
		if p.hi <= lo {
			first = i + 1
		}
		if p.lo < hi {
			last = i + 1
		}
	}
	return r.cut[d][first:max(first, last)]
}

// source is the node from which bytes bytes get to node first, and when they
// are ready there: at[source]. -1: there is no replica.
func (s *setup) source(at []time.Duration, node int, bytes int64) (from int) {
	from = -1
	best := never
	for n, t := range at {
		if t == never {
			continue
		}
		if arrive := t + s.move(n, node, bytes); arrive < best || from < 0 {
			from, best = n, arrive
		}
	}
	return from
}
