package partitioner

import (
	"math"
	"time"
)

// ChunkDevice is a device that takes part in a division piece by piece.
type ChunkDevice struct {
	// Item is the expected time per work-item in seconds, moves included; 0: not
	// known.
	Item float64
	// Fixed is what each launch costs besides its work-items.
	Fixed time.Duration
}

const (
	// chunkSlack is k of HGuided for a device that holds one piece at a time: a
	// piece is 1/k of what would keep the device busy to the end, so that there
	// is a rest to correct with.
	chunkSlack = 2
	// firstChunk is the part of the whole that a device of unknown speed gets as
	// a first piece. A device a hundred times slower than another one is done
	// with it in under half of the other's time alone.
	firstChunk = 256
	// launchPart bounds the time that pieces lose to launching: pieces are not
	// made so small that Fixed is more than this part of them.
	launchPart = 0.1
	// mostVaried bounds how much smaller pieces become where their times vary:
	// 1 + mostVaried times.
	mostVaried = 2
)

// Chunks divides total work-items of an ND-range over devices whose speed is
// not known well: each takes a piece when it is free, large ones first, smaller
// and smaller towards the end, in proportion to the speed seen so far (HGuided,
// Pérez, Stafford, Bosque and Beivide, IEEE Access 2017), and up to three times
// smaller where pieces take other times than was expected of them. A device that
// would hold the others up gets nothing. It is not safe for concurrent use.
type Chunks struct {
	grain, next, total int
	slack              float64
	varies             float64 // how far pieces lately were off what was expected, as a logarithm
	whole              int
	devs               []chunkState
	back               [][2]int // pieces given back, to be handed out again
}

type chunkState struct {
	item    float64 // seconds, 0: not known
	known   bool    // it was from the beginning
	fixed   float64 // seconds
	items   float64 // what the speed was measured over, decaying
	time    float64
	out     int // work-items it is working on
	dropped bool
}

// NewChunks begins a division; pieces are cut at multiples of grain. A device
// asks for the next piece when it has less than ahead of them.
func NewChunks(total, grain, ahead int, devs []ChunkDevice) *Chunks {
	c := &Chunks{grain: max(grain, 1), total: max(total, 0), whole: max(total, 0), slack: chunkSlack * float64(max(ahead, 1))}
	for _, d := range devs {
		c.devs = append(c.devs, chunkState{item: max(d.Item, 0), known: d.Item > 0, fixed: d.Fixed.Seconds()})
	}
	return c
}

// Left is how many work-items nobody has been given.
func (c *Chunks) Left() int {
	n := c.total - c.next
	for _, b := range c.back {
		n += b[1] - b[0]
	}
	return n
}

// Next is the next piece for a device that is free or soon will be, work-items [lo, hi). ok is
// false if nothing is left, or if the rest is done sooner without the device;
// it may ask again after another one was dropped or gave a piece back. While
// something is left there is always a device that gets it.
func (c *Chunks) Next(dev int) (lo, hi int, ok bool) {
	left := c.Left()
	if left == 0 || c.devs[dev].dropped {
		return 0, 0, false
	}
	n := c.size(dev, left)
	if n == 0 {
		return 0, 0, false
	}
	lo, hi = c.take(n)
	c.devs[dev].out += hi - lo
	return lo, hi, true
}

// size is how many work-items a device should get of those that are left.
func (c *Chunks) size(dev, left int) int {
	d := &c.devs[dev]
	if c.alone(dev) {
		return left
	}
	if d.item == 0 {
		if d.out > 0 {
			return 0 // not measured yet
		}
		return c.round(float64(c.whole)/firstChunk, left)
	}
	others, fixed, busy := 0.0, math.Inf(1), 0.0
	for i := range c.devs {
		if o := &c.devs[i]; i != dev && !o.dropped && o.item > 0 {
			others += 1 / o.item
			fixed = min(fixed, o.fixed)
			busy += float64(o.out)
		}
	}
	slack := c.slack * (1 + c.varies)
	if others == 0 {
		// The others are still being measured; leave them something.
		return c.round(float64(left)/slack, left)
	}
	rate := 1 / d.item
	n := float64(left) * rate / (slack * (rate + others))
	n = max(n, d.fixed/d.item*(1-launchPart)/launchPart)
	// The others would be done with the rest at this time, with half of what
	// they work on now still to do.
	done := fixed + (float64(left)+busy/2)/others
	if most := (done-d.fixed)/d.item - float64(d.out); n > most && !c.first(dev, left) {
		if most < float64(c.grain) {
			return 0
		}
		return int(most) / c.grain * c.grain
	}
	return c.round(n, left)
}

// alone reports whether no other device is in the division.
func (c *Chunks) alone(dev int) bool {
	for i := range c.devs {
		if i != dev && !c.devs[i].dropped {
			return false
		}
	}
	return true
}

// first reports whether the device would be done first with a piece of grain:
// the one that is never refused.
func (c *Chunks) first(dev, left int) bool {
	n := float64(min(c.grain, left))
	end := func(d *chunkState) float64 { return d.fixed + (n+float64(d.out))*d.item }
	mine := end(&c.devs[dev])
	for i := range c.devs {
		if o := &c.devs[i]; i != dev && !o.dropped && o.item > 0 && end(o) < mine {
			return false
		}
	}
	return true
}

// round makes n a multiple of grain, at least one and at most what is left; a
// rest smaller than a grain goes with it.
func (c *Chunks) round(n float64, left int) int {
	k := int(math.Ceil(min(n, float64(left)) / float64(c.grain)))
	k = max(k, 1) * c.grain
	if left-k < c.grain {
		return left
	}
	return k
}

// take cuts a piece of at most n off: what was given back first.
func (c *Chunks) take(n int) (lo, hi int) {
	if k := len(c.back) - 1; k >= 0 {
		b := c.back[k]
		if b[1]-b[0] <= n {
			c.back = c.back[:k]
			return b[0], b[1]
		}
		c.back[k][0] += n
		return b[0], b[0] + n
	}
	lo = c.next
	c.next = min(c.next+n, c.total)
	return lo, c.next
}

// Done tells how long a device took for a piece of items work-items, launch
// included, building the kernel not included.
func (c *Chunks) Done(dev, items int, took time.Duration) {
	d := &c.devs[dev]
	d.out = max(0, d.out-items)
	sec := took.Seconds()
	if items <= 0 || sec <= 0 {
		return
	}
	// Fixed may be overrated; it never explains more than most of a piece.
	sec = max(sec-d.fixed, sec/10)
	// Work-items that differ make the rest as hard to foresee as this piece was.
	// Of a device that begins unknown Fixed is not known either, and pieces of
	// other sizes differ by that.
	c.varies *= 0.7
	if d.known {
		c.varies = max(c.varies, min(math.Abs(math.Log(sec/float64(items)/d.item)), mostVaried))
	}
	d.items = d.items/2 + float64(items)
	d.time = d.time/2 + sec
	d.item = d.time / d.items
}

// GiveBack returns a piece that the device did not do; it is handed out again.
func (c *Chunks) GiveBack(dev, lo, hi int) {
	if hi > lo {
		c.devs[dev].out = max(0, c.devs[dev].out-(hi-lo))
		c.back = append(c.back, [2]int{lo, hi})
	}
}

// Item is the time per work-item in seconds that a device is taken to need; 0:
// not known.
func (c *Chunks) Item(dev int) float64 { return c.devs[dev].item }

// Rest takes what is left, as one piece or the first of several that were given
// back: what no device in the division is to do any more. ok is false if nothing
// is left.
func (c *Chunks) Rest() (lo, hi int, ok bool) {
	if c.Left() == 0 {
		return 0, 0, false
	}
	lo, hi = c.take(c.Left())
	return lo, hi, true
}

// Drop takes a device out of the division. Pieces it has are given back with
// GiveBack.
func (c *Chunks) Drop(dev int) { c.devs[dev].dropped = true }
