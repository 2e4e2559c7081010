package tandem

import (
	"github.com/tandemrun/tandem/devices/hostmem"
	"github.com/tandemrun/tandem/transfer"
)

// Careful copies. What a device computed may have been computed from what the
// host still holds of the same bytes, in place or by way of other buffers. A
// copy that brings the results home overwrites that; if the device is lost
// half-way, both are gone. Such a copy goes to memory of its own first, and from
// there, when all of it has arrived, to its place.

// maxAncestors bounds the search for what a version was computed from; where
// there are more, a copy is careful.
const maxAncestors = 256

// rooted reports whether contents that were computed from those parts were
// computed from bytes [lo, hi) of b. s.mu is held.
func rooted(b *Buffer, lo, hi int64, parts []part) bool {
	seen := map[*transfer.Version[*op]]bool{}
	todo := append([]part{}, parts...)
	for len(todo) > 0 {
		p := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if p.Version == nil || seen[p.Version] {
			continue
		}
		seen[p.Version] = true
		o := p.Version.Producer
		if o == nil {
			continue
		}
		if len(seen) > maxAncestors {
			return true
		}
		o.mu.Lock()
		reads := o.reads
		o.mu.Unlock()
		for _, r := range reads {
			if r.buf == b && r.part.Lo < hi && lo < r.part.Hi {
				return true
			}
			todo = append(todo, r.part)
		}
	}
	return false
}

// hold gives a careful copy memory of its own. Without any it goes to its place
// directly.
func (o *op) hold() {
	if !o.careful || o.held != nil {
		return
	}
	mem, err := hostmem.Alloc(o.copy.Size)
	o.mu.Lock()
	defer o.mu.Unlock()
	if err != nil {
		o.careful = false
		return
	}
	o.held, o.copy.Host = mem, mem
}

// let ends what hold began: what has arrived goes to its place.
func (o *op) let(arrived bool) {
	if o.held == nil {
		return
	}
	if arrived {
		copy(o.buf.host[o.offset:o.offset+o.copy.Size], o.held)
	}
	_ = hostmem.Free(o.held) // it was its own
	o.held = nil
}
