package cpu

import (
	"math"
	"sync/atomic"
	"time"

	"github.com/tandemrun/tandem/devices"
)

// cut is an ND-range cut into pieces along its dimensions, the slowest first,
// so that a chunk is as contiguous in memory as can be.
type cut struct {
	r      devices.NDRange // normed
	pieces [3]int          // by dimension; all 0: nothing to do
	chunks int32
}

const (
	// wide: pieces of at least so many work-items begin at a multiple of
	// lines, which keeps two workers off one cache line.
	wide  = 256
	lines = 64
	// copyPiece is the least that is worth another worker's help.
	copyPiece = 1 << 18
	// chunkTime is how long a chunk should take: long against what taking one
	// costs, short against the time that the last one makes others wait.
	chunkTime = 20 * time.Microsecond
	// helpAfter is how long a worker runs a launch that was expected to be
	// short on its own before others are called: about what calling them costs.
	helpAfter = 4 * time.Microsecond
	// Most chunks per worker, and how many where the time is not known.
	manyChunks, someChunks = 32, 8
	// fewChunks: a launch that is expected to be short still has some, in
	// case it is not.
	fewChunks = 4
)

// cutRange cuts a normed range into about want chunks, at least one unless it
// is empty.
func cutRange(r devices.NDRange, want int) cut {
	c := cut{r: r}
	if r.Items() == 0 {
		return c
	}
	want = max(want, 1)
	for d := 2; d >= 0; d-- {
		c.pieces[d] = min(r.Size[d], want)
		want /= c.pieces[d]
	}
	c.chunks = int32(c.pieces[0] * c.pieces[1] * c.pieces[2])
	return c
}

// edge is where piece i of dimension d begins, relative to the range.
func (c *cut) edge(d, i int) int {
	size, n := c.r.Size[d], c.pieces[d]
	if i == n {
		return size
	}
	at := size/n*i + min(i, size%n)
	if d == 0 && size/n >= wide {
		at -= at % lines
	}
	return at
}

// chunk is the i-th chunk.
func (c *cut) chunk(i int32) devices.Range {
	r := devices.Range{Global: c.r.Whole}
	rest := int(i)
	for d := range 3 {
		at := rest % c.pieces[d]
		rest /= c.pieces[d]
		r.Lo[d] = c.r.Offset[d] + c.edge(d, at)
		r.Hi[d] = c.r.Offset[d] + c.edge(d, at+1)
	}
	return r
}

// pieces is into how many chunks a launch of f should be cut, and whether it
// is expected to be over before another worker could help.
func (f *function) pieces(items int64, workers int) (n int, short bool) {
	if workers == 1 || items <= 1 {
		return 1, true
	}
	want := float64(someChunks * workers)
	if per := math.Float64frombits(f.perItem.Load()); per > 0 {
		whole := per * float64(items)
		want = min(max(whole/float64(chunkTime), fewChunks), float64(manyChunks*workers))
		short = whole < float64(2*helpAfter)
	}
	return int(min(int64(want), items)), short
}

// learn takes in that items work-items took some time. Concurrent calls may
// overwrite each other, which does no harm to an estimate.
func (f *function) learn(items int64, took time.Duration) {
	per := max(float64(took)/float64(items), 1e-3)
	if old := math.Float64frombits(f.perItem.Load()); old > 0 {
		per = old + (per-old)/4
	}
	f.perItem.Store(math.Float64bits(per))
}

// span is the chunks from lo up to but not including hi, in one word. Workers
// take from the front of their own and steal from the back of others'.
type span struct {
	v atomic.Uint64
	_ [56]byte // one per cache line
}

func pack(lo, hi int32) uint64 { return uint64(uint32(lo))<<32 | uint64(uint32(hi)) }

func unpack(v uint64) (lo, hi int32) { return int32(v >> 32), int32(uint32(v)) }

func (s *span) left() int32 {
	lo, hi := unpack(s.v.Load())
	return hi - lo
}

// deal shares the chunks from first on out to the workers.
func (c *command) deal(first int32, workers int) {
	if cap(c.spans) < workers {
		c.spans = make([]span, workers)
	}
	c.spans = c.spans[:workers]
	n := int(c.cut.chunks - first)
	for i := range c.spans {
		lo, hi := int32(n*i/workers), int32(n*(i+1)/workers)
		c.spans[i].v.Store(pack(first+lo, first+hi))
	}
}

// begin is a chunk for worker i to run: the next one of its own, or of half of
// what the worker with the most has left.
func (c *command) begin(i int) (chunk int32, ok bool) {
	own := &c.spans[i].v
	for {
		v := own.Load()
		lo, hi := unpack(v)
		if lo >= hi {
			break
		}
		if own.CompareAndSwap(v, pack(lo+1, hi)) {
			return lo, true
		}
	}
	for {
		var victim *span
		most := int32(0)
		for j := range c.spans {
			if n := c.spans[j].left(); n > most {
				victim, most = &c.spans[j], n
			}
		}
		if victim == nil {
			return 0, false
		}
		v := victim.v.Load()
		lo, hi := unpack(v)
		if lo >= hi {
			continue
		}
		middle := lo + (hi-lo)/2
		if victim.v.CompareAndSwap(v, pack(lo, middle)) {
			// Nobody else writes to an empty span.
			own.Store(pack(middle+1, hi))
			return middle, true
		}
	}
}

// open reports whether there are chunks to begin.
func (c *command) open() bool {
	for i := range c.spans {
		if c.spans[i].left() > 0 {
			return true
		}
	}
	return false
}
