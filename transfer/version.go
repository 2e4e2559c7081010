package transfer

import "slices"

// A Version is the contents that one operation gave to a range of bytes, or
// that were there from the beginning. It knows which memories still hold it, so
// that it can be found again, or recomputed, after a device is lost.
type Version[O comparable] struct {
	Producer O // zero: nothing can recompute it
	Length   int
	holders  []holder[O]
}

// holder is a memory that holds a version until by overwrites it.
type holder[O comparable] struct {
	node Node
	by   O // zero: nothing lowered so far
}

// held is what a memory holds of a segment.
type held[O comparable] struct {
	node    Node
	version *Version[O]
}

// MaxLineage bounds how many operations a lost version may be recomputed
// through; older ones are let go, so that a long run does not keep its history.
const MaxLineage = 1024

// Cut forgets how the version was made.
func (v *Version[O]) Cut() {
	var none O
	v.Producer = none
}

// Holders are the memories that hold the version now; started tells whether an
// operation may have begun to overwrite.
func (v *Version[O]) Holders(started func(O) bool) NodeSet {
	var none O
	var set NodeSet
	for _, h := range v.holders {
		if h.by == none || !started(h.by) {
			set = set.With(h.node)
		}
	}
	return set
}

// Hold notes that node holds the version now, by an operation that is over.
func (v *Version[O]) Hold(node Node) {
	v.holders = slices.DeleteFunc(v.holders, func(h holder[O]) bool { return h.node == node })
	v.holders = append(v.holders, holder[O]{node: node})
}

// overwrite notes that op will overwrite the version on node, or a part of it.
func (v *Version[O]) overwrite(node Node, op O) {
	var none O
	for i := range v.holders {
		if h := &v.holders[i]; h.node == node && h.by == none {
			h.by = op
		}
	}
}

// kept reports whether some memory holds the version and nothing lowered so far
// overwrites it.
func (v *Version[O]) kept() bool {
	var none O
	return slices.ContainsFunc(v.holders, func(h holder[O]) bool { return h.by == none })
}

// Lineage decides how long the history of a new version is, from what its
// producer reads, and cuts it where nothing could be recomputed from it anyway.
func (v *Version[O]) Lineage(reads []Part[O]) {
	var none O
	for _, r := range reads {
		if r.Version == nil || r.Version == v {
			continue
		}
		if !r.Version.kept() && r.Version.Producer == none {
			v.Cut()
			return
		}
		v.Length = max(v.Length, r.Version.Length+1)
	}
	if v.Length > MaxLineage {
		v.Length = 0
		v.Cut()
	}
}

// hold notes that op copies version to node.
func (s *segment[O]) hold(node Node, v *Version[O], op O) {
	for i := range s.physical {
		if s.physical[i].node == node {
			s.physical[i].version.overwrite(node, op)
			s.physical = slices.Delete(s.physical, i, i+1)
			break
		}
	}
	v.holders = append(slices.DeleteFunc(v.holders, func(h holder[O]) bool { return h.node == node }), holder[O]{node: node})
	s.physical = append(s.physical, held[O]{node, v})
}

// alike reports whether two settled segments need not be told apart for their
// versions' sake: the histories of both are over.
func (t *Tracker[O]) alike(a, b *segment[O]) bool {
	var none O
	return a.version == b.version || (a.version.Producer == none && b.version.Producer == none)
}

// EndRun cuts the histories that end in operations that are over, so that they
// can be collected.
func (t *Tracker[O]) EndRun(over func(O) bool) {
	var none O
	for i := range t.segs {
		s := &t.segs[i]
		if s.version.Producer != none && over(s.version.Producer) {
			s.version.Cut()
			s.version.Length = 0
		}
		// Only what is valid is worth remembering.
		s.physical = slices.DeleteFunc(s.physical, func(h held[O]) bool { return h.version != s.version })
	}
	t.merge()
}

// release notes that node's memory was given to something else.
func (v *Version[O]) release(node Node) {
	v.holders = slices.DeleteFunc(v.holders, func(h holder[O]) bool { return h.node == node })
}
