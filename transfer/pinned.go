package transfer

import (
	"errors"
	"fmt"
	"time"

	"github.com/tandemrun/tandem/devices"
)

// Sizes of the chunks in which copies pass through pinned memory.
const (
	minChunk = 64 << 10
	maxChunk = 4 << 20

	// latencyShare is how much of a chunk's time its latency may be: one part
	// in so many.
	latencyShare = 32

	// maxSlots chunks of pinned memory keep a link busy: one travels, one is
	// filled or emptied, one waits. With fewer than minSlots nothing overlaps.
	maxSlots = 3
	minSlots = 2
)

// ChunkBytes is the size of the chunks for a link: as small as its latency
// allows, so that little pinned memory is needed and the first chunk is on its
// way soon. It is a power of two between 64 KiB and 4 MiB.
func ChunkBytes(l devices.Link) int64 {
	want := int64(min(float64(l.Latency)/float64(time.Second)*l.Bandwidth*latencyShare, maxChunk))
	n := int64(minChunk)
	for n < want {
		n *= 2
	}
	return n
}

// slot is pinned memory for one chunk at a time, and the chunk that is in it.
type slot struct {
	lane *lane
	mem  []byte

	job   *Job
	at, n int64 // bytes [at, at+n) of the job
	event devices.Event
}

// Complete implements devices.Completion.
func (s *slot) Complete(error) { s.lane.note(nil) }

// pinnedPool is the pinned memory of one lane.
type pinnedPool struct {
	mem  devices.Pinned // nil: there is none
	free []*slot
}

// fill gets pinned memory for chunks of the given size, or for smaller or fewer
// ones where the system gives no more.
func (p *pinnedPool) fill(l *lane, from devices.HostPinner, chunk int64) error {
	var first error
	for ; chunk >= minChunk; chunk /= 2 {
		for slots := int64(maxSlots); slots >= minSlots; slots-- {
			mem, err := from.AllocPinned(slots * chunk)
			if errors.Is(err, devices.ErrOutOfMemory) {
				if first == nil {
					first = err
				}
				continue
			}
			if err != nil {
				return err
			}
			p.mem = mem
			for i := range slots {
				p.free = append(p.free, &slot{lane: l, mem: mem.Bytes()[i*chunk : (i+1)*chunk : (i+1)*chunk]})
			}
			return nil
		}
	}
	return fmt.Errorf("no pinned memory, not even %d bytes of it: %w", int64(minSlots*minChunk), first)
}

// take is a slot that is free, nil if there is none.
func (p *pinnedPool) take() *slot {
	n := len(p.free)
	if n == 0 {
		return nil
	}
	s := p.free[n-1]
	p.free = p.free[:n-1]
	return s
}

func (p *pinnedPool) give(s *slot) {
	s.job, s.event = nil, nil
	p.free = append(p.free, s)
}

func (p *pinnedPool) close() error {
	if p.mem == nil {
		return nil
	}
	return p.mem.Free()
}
