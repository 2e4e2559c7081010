package transfer

import "slices"

// A Version is the contents that one operation gave to a range of bytes, or
// that were there from the beginning. It knows which memories hold it, so that
// it can be found again, or recomputed, after a device is lost.
type Version[O comparable] struct {
	Producer O // zero: nothing can recompute it
	Length   int
	holders  []holder[O]
	tracker  *Tracker[O]
}

// A Part is a range of bytes with the version it holds, as one operation reads
// or writes it.
type Part[O comparable] struct {
	Lo, Hi  int64
	Version *Version[O]
	seq     uint64 // when the operation was put in order
}

// holder is a memory that has bytes [lo, hi) of a version.
type holder[O comparable] struct {
	node   Node
	lo, hi int64
	from   O      // what puts them there; zero: they have been there from the beginning
	seq    uint64 // writes to the memory that come later in order spoil them
	epoch  uint32 // of the memory; see Displace
}

// memoryLog is what was written, or will be, to the buffer's memory on one node.
type memoryLog[O comparable] struct {
	writes []logged[O] // in order
	over   []overRange // where writes that are over have been dropped; disjoint, ascending
	epoch  uint32
	out    []displaced // what was written out of turn
}

// displaced is a range that was written out of turn: what holders of an earlier
// epoch had of it is gone.
type displaced struct {
	lo, hi int64
	epoch  uint32
}

// maxDisplaced bounds the ranges of one memory that are remembered one by one.
const maxDisplaced = 1024

// overRange is a range of which the last write that is over came at seq: what
// was there before is gone.
type overRange struct {
	lo, hi int64
	seq    uint64
}

// drop forgets a write that is over and later in order than all dropped before,
// but for when and where it was.
func (l *memoryLog[O]) drop(w logged[O]) {
	if w.lo >= w.hi {
		return
	}
	first := l.overFrom(w.lo)
	last := first
	rest := []overRange{{w.lo, w.hi, w.seq}}
	for ; last < len(l.over) && l.over[last].lo < w.hi; last++ {
		if r := l.over[last]; r.lo < w.lo {
			rest = append([]overRange{{r.lo, w.lo, r.seq}}, rest...)
		}
		if r := l.over[last]; r.hi > w.hi {
			rest = append(rest, overRange{w.hi, r.hi, r.seq})
		}
	}
	l.over = slices.Replace(l.over, first, last, rest...)
}

// gone reports whether nothing is left of h.
func (l *memoryLog[O]) gone(h *holder[O]) bool {
	at := h.lo
	for i := l.overFrom(at); i < len(l.over) && l.over[i].lo <= at && l.over[i].seq > h.seq; i++ {
		if at = l.over[i].hi; at >= h.hi {
			return true
		}
	}
	return false
}

// overFrom is the index of the first range that ends behind lo.
func (l *memoryLog[O]) overFrom(lo int64) int {
	i, _ := slices.BinarySearchFunc(l.over, lo, func(r overRange, lo int64) int {
		if r.hi <= lo {
			return -1
		}
		return 1
	})
	return i
}

type logged[O comparable] struct {
	lo, hi int64
	op     O
	seq    uint64
}

// MaxLineage bounds how many operations a lost version may be recomputed
// through; older ones are let go, so that a long run does not keep its history.
const MaxLineage = 1024

// Progress tells how far an operation has come.
type Progress uint8

// The stages of an operation.
const (
	Waiting Progress = iota // it has not begun
	Running                 // it may have begun
	Done                    // it is over and has done what it should
	Failed                  // it is over and has not
)

// Cut forgets how the version was made.
func (v *Version[O]) Cut() {
	var none O
	v.Producer = none
}

// Holders are the memories that hold all of p now.
func (p Part[O]) Holders(progress func(O) Progress) NodeSet {
	var set NodeSet
	for _, h := range p.Version.holders {
		if !set.Has(h.node) && p.Version.covers(h.node, p.Lo, p.Hi, progress) {
			set = set.With(h.node)
		}
	}
	return set
}

// covers reports whether what node holds of the version covers [lo, hi).
func (v *Version[O]) covers(node Node, lo, hi int64, progress func(O) Progress) bool {
	var none O
	for lo < hi {
		next := lo
		for i := range v.holders {
			h := v.holders[i]
			if h.node != node || h.lo > lo || h.hi <= next || h.from != none && progress(h.from) != Done {
				continue
			}
			if h.lo, h.hi = lo, min(h.hi, hi); v.intact(&h, progress) {
				next = h.hi
			}
		}
		if next == lo {
			return false
		}
		lo = next
	}
	return true
}

// intact reports whether nothing that came later has begun to overwrite h.
func (v *Version[O]) intact(h *holder[O], progress func(O) Progress) bool {
	log := v.tracker.logs[h.node]
	if log == nil {
		return true
	}
	for i := log.overFrom(h.lo); i < len(log.over) && log.over[i].lo < h.hi; i++ {
		if log.over[i].seq > h.seq {
			return false
		}
	}
	for _, d := range log.out {
		if h.epoch < d.epoch && d.lo < h.hi && h.lo < d.hi {
			return false
		}
	}
	for i := len(log.writes) - 1; i >= 0 && log.writes[i].seq > h.seq; i-- {
		if w := &log.writes[i]; w.lo < h.hi && h.lo < w.hi && progress(w.op) != Waiting {
			return false
		}
	}
	return true
}

// allDone is the progress of everything put in order so far, when it is over.
func allDone[O comparable](O) Progress { return Done }

// Lineage decides how long the history of a new version is, from what its
// producer reads, and cuts it where nothing could be recomputed from it anyway.
func (v *Version[O]) Lineage(r Part[O]) {
	var none O
	if r.Version == v || v.Producer == none {
		return
	}
	if r.Version.Producer == none && r.Holders(allDone) == 0 {
		v.Cut()
		return
	}
	v.Length = max(v.Length, r.Version.Length+1)
	if v.Length > MaxLineage {
		v.Length = 0
		v.Cut()
	}
}

// hold notes that op puts bytes [lo, hi) of v on node.
func (t *Tracker[O]) hold(v *Version[O], node Node, lo, hi int64, op O) {
	log := t.log(node)
	log.writes = append(log.writes, logged[O]{lo, hi, op, t.seq})
	v.add(holder[O]{node: node, lo: lo, hi: hi, from: op, seq: t.seq, epoch: log.epoch})
}

func (v *Version[O]) add(h holder[O]) {
	v.holders = slices.DeleteFunc(v.holders, func(o holder[O]) bool { return o.node == h.node && h.lo <= o.lo && o.hi <= h.hi })
	v.holders = append(v.holders, h)
}

func (t *Tracker[O]) log(node Node) *memoryLog[O] {
	if t.logs == nil {
		t.logs = map[Node]*memoryLog[O]{}
	}
	log := t.logs[node]
	if log == nil {
		log = &memoryLog[O]{}
		t.logs[node] = log
	}
	return log
}

// Displace notes that bytes [lo, hi) of node's memory of the buffer are about to
// be written out of turn, to put a version where a lost device would have needed
// it. What the memory held there or was to hold is not counted on any more.
func (t *Tracker[O]) Displace(node Node, lo, hi int64) {
	log := t.log(node)
	log.epoch++
	if lo == 0 && hi == t.size || len(log.out) == maxDisplaced {
		lo, hi, log.out = 0, t.size, log.out[:0]
	}
	log.out = append(log.out, displaced{lo, hi, log.epoch})
}

// Restore notes that node holds p now, after Displace or because an operation
// was run there instead of on a lost device.
func (t *Tracker[O]) Restore(p Part[O], node Node) {
	p.Version.add(holder[O]{node: node, lo: p.Lo, hi: p.Hi, seq: p.seq, epoch: t.log(node).epoch})
	for i := range t.segs {
		s := &t.segs[i]
		if s.version == p.Version && s.lo >= p.Lo && s.hi <= p.Hi {
			s.valid = s.valid.With(node)
			s.made = slices.DeleteFunc(s.made, func(m made[O]) bool { return m.node == node })
		}
	}
}

// Saved notes that bytes [lo, hi) have been copied to the host out of turn, from
// where they were valid. Every operation is over.
func (t *Tracker[O]) Saved(lo, hi int64) {
	first, last := t.cut(lo, hi)
	for i := first; i < last; i++ {
		t.segs[i].valid = t.segs[i].valid.With(Host)
	}
	t.Displace(Host, lo, hi)
	t.seq++
	for i := range t.segs { // what else is valid there is still there
		if s := &t.segs[i]; s.valid.Has(Host) {
			s.version.add(holder[O]{node: Host, lo: s.lo, hi: s.hi, seq: t.seq, epoch: t.log(Host).epoch})
		}
	}
}

// settleVersions forgets operations that are over.
func (t *Tracker[O]) settleVersions(state func(O) (bool, error)) {
	var none O
	for i := range t.segs {
		v := t.segs[i].version
		v.holders = slices.DeleteFunc(v.holders, func(h holder[O]) bool {
			if h.from == none {
				return false
			}
			done, err := state(h.from)
			return done && err != nil
		})
		for k := range v.holders {
			if h := &v.holders[k]; h.from != none {
				if done, _ := state(h.from); done {
					h.from = none
				}
			}
		}
	}
	for node, log := range t.logs {
		over := 0
		for over < len(log.writes) {
			if done, _ := state(log.writes[over].op); !done {
				break
			}
			over++
		}
		if over == 0 {
			continue
		}
		floor := log.writes[over-1].seq
		for _, w := range log.writes[:over] {
			log.drop(w)
		}
		log.writes = slices.Delete(log.writes, 0, over)
		gone := func(h holder[O]) bool { return h.node == node && log.gone(&h) }
		if len(log.over) > maxDisplaced {
			// What is current now stays so; of a holder that was overwritten in
			// part, the rest.
			for i := range t.segs {
				t.segs[i].refresh(node, floor)
			}
			log.over = append(log.over[:0], overRange{0, t.size, floor})
		}
		for i := range t.segs { // several segments may have one version
			v := t.segs[i].version
			v.holders = slices.DeleteFunc(v.holders, gone)
		}
	}
}

// refresh makes what holds the segment on node independent of the writes up to
// floor, which are over.
func (s *segment[O]) refresh(node Node, floor uint64) {
	v := s.version
	for _, h := range v.holders {
		if h.node != node || h.seq >= floor || h.lo >= s.hi || h.hi <= s.lo {
			continue
		}
		h.lo, h.hi = max(h.lo, s.lo), min(h.hi, s.hi)
		if v.intact(&h, allDone) {
			h.seq = floor
			v.holders = append(v.holders, h)
		}
	}
}

// alike reports whether two settled segments need not be told apart for their
// versions' sake: the histories of both are over.
func (a *segment[O]) alike(b *segment[O]) bool {
	var none O
	return a.version == b.version || (a.version.Producer == none && b.version.Producer == none)
}

// join gives a, which is about to take in b, a version of its own with what
// holds either. Operations may still know the old ones.
func (t *Tracker[O]) join(a, b *segment[O]) {
	if a.version == b.version {
		return
	}
	v := &Version[O]{tracker: t}
	for _, s := range []*segment[O]{a, b} {
		for _, h := range s.version.holders {
			h.lo, h.hi = max(h.lo, s.lo), min(h.hi, s.hi)
			if h.lo < h.hi && s.version.intact(&h, allDone) {
				v.extend(h)
			}
		}
	}
	a.version = v
}

// extend adds a holder, of which nothing in order so far spoils a byte, to one
// that it continues, if there is one.
func (v *Version[O]) extend(h holder[O]) {
	var none O
	if h.from == none {
		h.seq = v.tracker.seq
	}
	for i := range v.holders {
		if p := &v.holders[i]; p.node == h.node && p.from == h.from && p.seq == h.seq && p.epoch == h.epoch && p.lo <= h.hi && h.lo <= p.hi {
			p.lo, p.hi = min(p.lo, h.lo), max(p.hi, h.hi)
			return
		}
	}
	v.holders = append(v.holders, h)
}

// EndRun cuts the histories that end in operations that are over and whose
// results the host holds, so that they can be collected. What lies on a device
// alone keeps its history: the device may still be lost.
func (t *Tracker[O]) EndRun(over func(O) bool) {
	var none O
	for i := range t.segs {
		s := &t.segs[i]
		v := s.version
		if v.Producer != none && over(v.Producer) && v.covers(Host, s.lo, s.hi, func(O) Progress { return Done }) {
			v.Cut()
			v.Length = 0
		}
	}
	t.merge()
}
