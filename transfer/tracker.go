package transfer

import (
	"errors"
	"math/bits"
	"slices"
)

// A Node is a memory: the host's or a device's own.
type Node uint8

// Host is the host's memory. Devices that work on host pages without any
// hand-over share this node.
const Host Node = 0

// MaxNodes bounds the nodes of a session.
const MaxNodes = 64

// NodeSet is a set of nodes.
type NodeSet uint64

// Has reports whether n is in the set.
func (s NodeSet) Has(n Node) bool { return s&(1<<n) != 0 }

// With is the set and n.
func (s NodeSet) With(n Node) NodeSet { return s | 1<<n }

// First is the smallest node of a set that is not empty.
func (s NodeSet) First() Node { return Node(bits.TrailingZeros64(uint64(s))) }

// A Move is a copy that has to happen before a read: bytes [Lo, Hi) from one
// node to another.
type Move struct {
	From, To Node
	Lo, Hi   int64
}

// A Lowering is how a tracker talks to whoever puts an operation in order.
type Lowering[O comparable] interface {
	// Direct reports whether bytes can go from one node to another without
	// the host.
	Direct(from, to Node) bool
	// Move makes an operation that copies the part and waits for each of after.
	// src are the versions that it copies.
	Move(m Move, after []O, src []Part[O]) O
	// Wait is called with every operation that the one being lowered has to
	// wait for. flow: it needs that one's result; else only its end.
	Wait(o O, flow bool)
	// Reads tells which contents the operation reads.
	Reads(p Part[O])
}

// A Tracker follows the replicas of one buffer, by region. O is the type of an
// operation; its zero value means none. A Tracker is not safe for concurrent
// use.
//
// The rules: an operation that reads waits for what made its replica valid; one
// that writes waits for the last writer and for everything that has read since.
// A write leaves the writer's node as the only valid one (owner); a copy adds
// its target (shared).
type Tracker[O comparable] struct {
	size int64
	segs []segment[O] // cover [0, size) without gaps, ascending

	seq  uint64 // accesses put in order so far
	logs map[Node]*memoryLog[O]

	load     int // operations recorded, an upper bound
	settleAt int
}

type segment[O comparable] struct {
	lo, hi  int64
	valid   NodeSet
	writer  O         // last operation that wrote the range, zero: none
	made    []made[O] // what made replicas valid on other nodes since
	readers []O       // operations that read the range since, copies included
	version *Version[O]
	taint   *Taint // contents undefined, and why
}

type made[O comparable] struct {
	node Node
	op   O
}

// minSettle is the fewest recorded operations that are worth a Settle.
const minSettle = 64

// NewTracker tracks a buffer of size bytes that is valid on the host.
func NewTracker[O comparable](size int64) *Tracker[O] {
	t := &Tracker[O]{size: size, settleAt: minSettle}
	if size > 0 {
		v := &Version[O]{tracker: t, holders: []holder[O]{{node: Host, hi: size}}}
		t.segs = []segment[O]{{hi: size, valid: NodeSet(0).With(Host), version: v}}
	}
	return t
}

// Valid is the set of nodes on which all of [lo, hi) is valid.
func (t *Tracker[O]) Valid(lo, hi int64) NodeSet {
	all := ^NodeSet(0)
	for i := t.find(lo); i < len(t.segs) && t.segs[i].lo < hi; i++ {
		all &= t.segs[i].valid
	}
	return all
}

// ValidBytes is how many bytes of [lo, hi) are valid on node.
func (t *Tracker[O]) ValidBytes(node Node, lo, hi int64) int64 {
	var n int64
	for i := t.find(lo); i < len(t.segs) && t.segs[i].lo < hi; i++ {
		if s := &t.segs[i]; s.valid.Has(node) {
			n += min(s.hi, hi) - max(s.lo, lo)
		}
	}
	return n
}

// Read records that op reads [lo, hi) on node. Every part that is not valid
// there is moved; where no direct path exists, by way of the host. The error, if
// any, is a *Taint of the first undefined range; nothing has been recorded then.
func (t *Tracker[O]) Read(node Node, lo, hi int64, op O, l Lowering[O]) error {
	if lo >= hi {
		return nil
	}
	if err := t.tainted(lo, hi); err != nil {
		return err
	}
	t.seq++
	first, last := t.cut(lo, hi)
	for i := first; i < last; {
		s := &t.segs[i]
		if s.valid.Has(node) {
			i++
			continue
		}
		from := s.source(node, l)
		j := i + 1
		for j < last && !t.segs[j].valid.Has(node) && t.segs[j].source(node, l) == from && t.together(i, j, from) {
			j++
		}
		if from != Host && node != Host && !l.Direct(from, node) {
			t.copyTo(Host, from, i, j, l)
			from = Host
		}
		t.copyTo(node, from, i, j, l)
		i = j
	}
	var none O
	for i := first; i < last; i++ {
		s := &t.segs[i]
		if w := s.ready(node); w != none {
			l.Wait(w, true)
		}
		l.Reads(Part[O]{s.lo, s.hi, s.version, t.seq})
		s.readers = append(s.readers, op)
	}
	t.load += last - first
	return nil
}

// apart is from how many bytes on a range is copied by itself when its bytes
// are ready at another time than its neighbour's: the first can travel while the
// second is still being computed.
const apart = 256 << 10

// together reports whether segment j had better travel with the segments from i
// on: one copy is cheaper than two, unless it makes one wait for the other.
func (t *Tracker[O]) together(i, j int, from Node) bool {
	return t.segs[j-1].ready(from) == t.segs[j].ready(from) || t.segs[j].hi-t.segs[i].lo < apart
}

// copyTo makes one copy for the segments [i, j) and records it.
func (t *Tracker[O]) copyTo(to, from Node, i, j int, l Lowering[O]) {
	var none O
	var after []O
	src := make([]Part[O], 0, j-i)
	for k := i; k < j; k++ {
		s := &t.segs[k]
		if w := s.ready(from); w != none && !slices.Contains(after, w) {
			after = append(after, w)
		}
		src = append(src, Part[O]{s.lo, s.hi, s.version, t.seq})
	}
	c := l.Move(Move{From: from, To: to, Lo: t.segs[i].lo, Hi: t.segs[j-1].hi}, after, src)
	for k := i; k < j; k++ {
		s := &t.segs[k]
		s.valid = s.valid.With(to)
		s.made = append(s.made, made[O]{to, c})
		s.readers = append(s.readers, c)
		t.hold(s.version, to, s.lo, s.hi, c)
	}
	t.load += j - i
}

// source picks where to copy from: a node with a direct path, else any valid
// one.
func (s *segment[O]) source(to Node, l Lowering[O]) Node {
	for v := s.valid; v != 0; v &= v - 1 {
		if n := v.First(); n == Host || to == Host || l.Direct(n, to) {
			return n
		}
	}
	return s.valid.First()
}

// ready is the operation that made the replica on node valid, zero if it has
// been so from the beginning.
func (s *segment[O]) ready(node Node) O {
	for _, m := range s.made {
		if m.node == node {
			return m.op
		}
	}
	return s.writer
}

// Write records that op writes [lo, hi) on node, which becomes the only valid
// one. An operation that also reads calls Read first. The result is the version
// that op makes, whose lineage the caller states or cuts.
func (t *Tracker[O]) Write(node Node, lo, hi int64, op O, l Lowering[O]) Part[O] {
	if lo >= hi {
		return Part[O]{}
	}
	t.seq++
	var none O
	first, last := t.cut(lo, hi)
	for i := first; i < last; i++ {
		s := &t.segs[i]
		if s.writer != none && s.writer != op {
			l.Wait(s.writer, false)
		}
		for _, r := range s.readers {
			if r != op {
				l.Wait(r, false)
			}
		}
	}
	v := &Version[O]{Producer: op, tracker: t}
	t.hold(v, node, lo, hi, op)
	t.segs[first] = segment[O]{lo: lo, hi: hi, valid: NodeSet(0).With(node), writer: op, version: v}
	t.segs = slices.Delete(t.segs, first+1, last)
	t.load++
	return Part[O]{lo, hi, v, t.seq}
}

// Taint is an undefined range: its writer failed or was cancelled.
type Taint struct {
	Lo, Hi int64
	Err    error
}

func (e *Taint) Error() string { return e.Err.Error() }

func (e *Taint) Unwrap() error { return e.Err }

// Undefined is the first range that is undefined, nil if there is none. What
// operations leave that are not over does not count yet.
func (t *Tracker[O]) Undefined() error { return t.tainted(0, t.size) }

func (t *Tracker[O]) tainted(lo, hi int64) error {
	for i := t.find(lo); i < len(t.segs) && t.segs[i].lo < hi; i++ {
		if s := &t.segs[i]; s.taint != nil {
			return s.taint
		}
	}
	return nil
}

// Settle forgets operations that are over, so that they can be collected, and
// marks as undefined what a failed writer left. state tells whether an
// operation is over and with which error. Neighbours that have become alike
// merge.
func (t *Tracker[O]) Settle(state func(O) (done bool, err error)) {
	var none O
	for i := range t.segs {
		s := &t.segs[i]
		if s.writer != none {
			if done, err := state(s.writer); done {
				s.writer = none
				if err != nil {
					s.taint = &Taint{s.lo, s.hi, err}
					s.valid = NodeSet(0).With(Host)
				}
			}
		}
		s.readers = slices.DeleteFunc(s.readers, func(o O) bool { done, _ := state(o); return done })
		s.made = slices.DeleteFunc(s.made, func(m made[O]) bool {
			done, err := state(m.op)
			if done && err != nil { // a copy that failed made nothing valid
				s.valid &^= 1 << m.node
			}
			return done
		})
		if s.valid == 0 {
			s.valid = NodeSet(0).With(Host)
			if s.taint == nil {
				s.taint = &Taint{s.lo, s.hi, errLost}
			}
		}
	}
	t.settleVersions(state)
	t.merge()
	t.load = 0
	for i := range t.segs {
		t.load += 1 + len(t.segs[i].readers) + len(t.segs[i].made)
	}
	t.settleAt = max(2*t.load, minSettle)
}

// Crowded reports whether enough operations have been recorded since the last
// Settle to make another one worth its while: the tracker's memory stays within
// a constant factor of the operations that are not over.
func (t *Tracker[O]) Crowded() bool { return t.load >= t.settleAt }

// Drop removes node from the valid sets; it must not be the only valid node of
// any range (see Sole). What made the node's replica valid is forgotten.
func (t *Tracker[O]) Drop(node Node) {
	for i := range t.segs {
		s := &t.segs[i]
		s.valid &^= 1 << node
		s.made = slices.DeleteFunc(s.made, func(m made[O]) bool { return m.node == node })
	}
	t.Displace(node, 0, t.size) // the memory is somebody else's now
	t.merge()
}

// Sole reports the ranges that are valid on node alone, merged.
func (t *Tracker[O]) Sole(node Node) [][2]int64 {
	var r [][2]int64
	for i := range t.segs {
		s := &t.segs[i]
		if s.valid != NodeSet(0).With(node) {
			continue
		}
		if n := len(r); n > 0 && r[n-1][1] == s.lo {
			r[n-1][1] = s.hi
		} else {
			r = append(r, [2]int64{s.lo, s.hi})
		}
	}
	return r
}

// Pending calls f with every operation the tracker still remembers.
func (t *Tracker[O]) Pending(f func(O)) {
	var none O
	for i := range t.segs {
		s := &t.segs[i]
		if s.writer != none {
			f(s.writer)
		}
		for _, m := range s.made {
			f(m.op)
		}
		for _, r := range s.readers {
			f(r)
		}
	}
}

// Segments is the number of ranges with a state of their own.
func (t *Tracker[O]) Segments() int { return len(t.segs) }

// find is the index of the segment that holds byte at.
func (t *Tracker[O]) find(at int64) int {
	if len(t.segs) == 1 {
		return 0
	}
	i, _ := slices.BinarySearchFunc(t.segs, at, func(s segment[O], at int64) int {
		switch {
		case s.hi <= at:
			return -1
		case s.lo > at:
			return 1
		}
		return 0
	})
	return i
}

// cut splits segments so that [lo, hi) is made of whole ones, and returns their
// index range.
func (t *Tracker[O]) cut(lo, hi int64) (first, last int) {
	if len(t.segs) == 1 && lo == 0 && hi == t.size {
		return 0, 1
	}
	first = t.cutAt(lo)
	return first, t.cutAt(hi)
}

// cutAt makes at a boundary and returns the index of the segment that starts
// there.
func (t *Tracker[O]) cutAt(at int64) int {
	if at >= t.size {
		return len(t.segs)
	}
	i := t.find(at)
	if t.segs[i].lo == at {
		return i
	}
	left := t.segs[i]
	right := left
	left.hi, right.lo = at, at
	right.made = slices.Clone(left.made)
	right.readers = slices.Clone(left.readers)
	t.segs[i] = left
	t.segs = slices.Insert(t.segs, i+1, right)
	return i + 1
}

// merge joins neighbours in the same state.
func (t *Tracker[O]) merge() {
	if len(t.segs) < 2 {
		return
	}
	out := t.segs[:1]
	for _, s := range t.segs[1:] {
		p := &out[len(out)-1]
		if p.valid == s.valid && p.writer == s.writer && p.taint == s.taint && p.alike(&s) &&
			slices.Equal(p.made, s.made) && slices.Equal(p.readers, s.readers) {
			t.join(p, &s)
			p.hi = s.hi
			continue
		}
		out = append(out, s)
	}
	clear(t.segs[len(out):])
	t.segs = out
}

var errLost = errors.New("every replica was lost")
