package tandem

import (
	"cmp"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/partitioner"
	"github.com/tandemrun/tandem/partitioner/costmodel"
)

// A task on several devices that all work in the host's memory is not cut when it
// is planned, unless it is short and the model is sure of its times. Its pieces
// are cut while it runs, smaller and smaller, in proportion to the speed seen so
// far (partitioner.Chunks): each is a launch like any other, lowered when its
// device is about to run out of them. So neither a wrong prediction nor
// work-items that differ leave a device idle at the end.

const (
	// sureWithin is the spread of a prediction, relative to it, within which a
	// task that takes less than laterFrom is cut when it is planned.
	sureWithin = 0.1
	laterFrom  = 5 * time.Millisecond
	// piecesAhead is how many pieces a device has at once: the next one waits on
	// its queue when one ends.
	piecesAhead = 2
	// pieceCost is the least that a piece is taken to cost besides its
	// work-items, with what it takes to hand out the next one. Pieces are nine
	// times as long.
	pieceCost = 50 * time.Microsecond
	// maxFixed bounds what of a launch does not shrink with its work-items, one
	// part in so many: pieces correct what the model does not know, and it is
	// least sure of this.
	maxFixed = 50
)

// division is a task that is being handed out. Lowering takes the pieces, the
// agents say when they are over.
type division struct {
	run  *Run
	task int

	mu     sync.Mutex
	chunks *partitioner.Chunks
	parts  []divisionPart // by device of the division
	handed int            // pieces
	all    bool           // nothing is left to be handed out
	over   int            // pieces
	pieces []dividedPiece // those that are over, of which the model can learn
}

// divisionPart is what one device does of a division.
type divisionPart struct {
	share *placedShare // what it was to do, as planned
	item  float64      // seconds per work-item; 0: not known
	ahead int          // pieces handed out and not over
	begun bool         // it has been given one
}

// dividedPiece is a piece that is over.
type dividedPiece struct {
	lo, hi int // work-items in the dimension that is divided
	part   int
	run    time.Duration
}

// dividesLater reports whether task i, placed on several devices, is handed out
// while it runs.
func (pl *planner) dividesLater(i int) bool {
	s, task, pt := pl.session, pl.graph.task(i), &pl.problem.Tasks[i]
	shares := pl.schedule.Tasks[i].Shares
	if len(shares) < 2 || !s.stealing || pt.Split == nil || pt.Split.Shares != nil || task.wish().selector != "" {
		return false
	}
	unsure := false
	for _, sh := range shares {
		a, e := s.agents[sh.Device], &pt.Cost[sh.Device]
		if !a.info.UnifiedMemory || !a.info.HostCoherent || a.info.Emulated || pl.cuts[cutKey{i, sh.Device}] != nil {
			return false
		}
		unsure = unsure || e.Run <= 0 || sh.Finish-sh.Start > laterFrom || float64(e.Spread) > sureWithin*float64(e.Run)
	}
	return unsure
}

// newDivision begins to hand out task t.
func newDivision(r *Run, t int) *division {
	d := &division{run: r, task: t}
	p, placed := r.current, &r.current.placed[t]
	split := p.problem.Tasks[t].Split
	var devs []partitioner.ChunkDevice
	for n := range placed.shares {
		sh := &placed.shares[n]
		e := &p.problem.Tasks[t].Cost[sh.agent]
		dev := partitioner.ChunkDevice{Fixed: max(pieceCost, p.problem.Devices[sh.agent].Launch+min(e.Fixed, e.Run/maxFixed))}
		if e.Measured() {
			dev.Item = (e.Run - min(e.Fixed, e.Run*9/10)).Seconds() / float64(split.Items)
		}
		devs = append(devs, dev)
		d.parts = append(d.parts, divisionPart{share: sh, item: dev.Item})
	}
	d.chunks = partitioner.NewChunks(split.Items, split.Grain, piecesAhead, devs)
	return d
}

// next is a piece for a device that has room for one; ok is false if there is
// none, now or any more. What a cancelled run leaves undefined is one piece.
func (d *division) next(cancelled bool) (share *placedShare, n int, ok bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	dim := d.run.current.placed[d.task].dim
	take := func(k, lo, hi int) (*placedShare, int, bool) {
		p := &d.parts[k]
		sh := *p.share
		whole := d.run.graph.task(d.task).call.Range.Norm()
		sh.nd = whole
		sh.nd.Offset[dim] += lo
		sh.nd.Size[dim] = hi - lo
		sh.head, p.begun = !p.begun, true
		sh.size = size(d.run.graph.task(d.task).call, sh.nd.Items())
		sh.predicted = time.Duration(p.item * float64(hi-lo) * float64(time.Second))
		sh.spread = sh.predicted
		p.ahead++
		d.handed++
		d.all = d.chunks.Left() == 0
		return &sh, d.handed - 1, true
	}
	waiting := 0
	for k := range d.parts {
		p := &d.parts[k]
		waiting += p.ahead
		if !cancelled && !d.run.session.agents[p.share.agent].usable() {
			d.chunks.Drop(k)
			continue
		}
		if cancelled || p.ahead >= piecesAhead {
			continue
		}
		if lo, hi, ok := d.chunks.Next(k); ok {
			return take(k, lo, hi)
		}
	}
	if !cancelled && waiting > 0 {
		return nil, 0, false
	}
	// No device is left, or nothing more is to run.
	if lo, hi, ok := d.chunks.Rest(); ok {
		return take(0, lo, hi)
	}
	return nil, 0, false
}

// left reports whether something has still to be handed out.
func (d *division) left() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return !d.all
}

// ended notes that a piece is over on a, failed where err is set. Once all are,
// the model learns from them.
func (d *division) ended(o *op, a *agent, t devices.Times, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	dim := d.run.current.placed[d.task].dim
	k := slices.IndexFunc(d.parts, func(p divisionPart) bool { return p.share.agent == o.share.agent })
	p, lo, n := &d.parts[k], o.launch.Range.Offset[dim], o.launch.Range.Size[dim]
	p.ahead--
	if err != nil || o.agent != a || o.planned != nil || t.Run() <= 0 {
		d.chunks.Done(k, n, 0) // it tells nothing about the device
	} else {
		d.chunks.Done(k, n, t.Run()+pieceCost)
		p.item = d.chunks.Item(k)
		d.pieces = append(d.pieces, dividedPiece{lo, lo + n, k, t.Cost()})
	}
	if d.over++; d.all && d.over == d.handed && len(d.pieces) == d.handed {
		d.learn()
	}
}

// learn tells the model what the whole task would have taken on each of the
// devices. Their pieces say nothing alone where work-items differ, but two that
// lie side by side and were done by different devices tell how fast these are in
// comparison, and that converts the time of all pieces into one device's.
func (d *division) learn() {
	slices.SortFunc(d.pieces, func(a, b dividedPiece) int { return a.lo - b.lo })
	task := d.run.graph.task(d.task)
	whole := size(task.call, task.call.Range.Items())
	for k := range d.parts {
		total := 0.0 // nanoseconds
		for other := range d.parts {
			var run time.Duration
			for _, p := range d.pieces {
				if p.part == other {
					run += p.run
				}
			}
			if run == 0 {
				continue
			}
			total += float64(run) * d.slower(k, other)
		}
		if total > 0 && !math.IsInf(total, 0) && !math.IsNaN(total) {
			p := d.parts[k].share
			d.run.session.learn(costmodel.Sample{Key: p.key, Size: whole, Run: time.Duration(total)}, d.run.session.agents[p.agent])
		}
	}
}

// slower is how many times as long part k takes for a work-item as part other
// does, NaN if nothing tells: the median over neighbouring pieces, each weighted
// by the time of the shorter one.
func (d *division) slower(k, other int) float64 {
	if k == other {
		return 1
	}
	type ratio struct{ times, weight float64 }
	var seen []ratio
	all := 0.0
	for i := 1; i < len(d.pieces); i++ {
		a, b := d.pieces[i-1], d.pieces[i]
		if a.part == other && b.part == k {
			a, b = b, a
		}
		if a.part != k || b.part != other {
			continue
		}
		w := float64(min(a.run, b.run))
		seen = append(seen, ratio{float64(a.run) / float64(a.hi-a.lo) / (float64(b.run) / float64(b.hi-b.lo)), w})
		all += w
	}
	slices.SortFunc(seen, func(a, b ratio) int { return cmp.Compare(a.times, b.times) })
	sum := 0.0
	for _, r := range seen {
		if sum += r.weight; sum >= all/2 {
			return r.times
		}
	}
	return math.NaN()
}

// count is how many pieces there are, one more than have been handed out while
// something is left.
func (d *division) count() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.all {
		return d.handed
	}
	return d.handed + 1
}

// lowerDivided hands task t out, and returns when nothing is left of it to be
// handed out.
func (r *Run) lowerDivided(t int) {
	d := newDivision(r, t)
	r.waiting.Store(true)
	for d.left() {
		share, n, ok := d.next(r.cancelled() != nil)
		if !ok {
			r.room.sleep()
			continue
		}
		r.partsLeft[t].Add(1)
		r.lowerPiece(d, t, n, share)
	}
	r.waiting.Store(false)
	if r.partsLeft[t].Add(-1) == 0 {
		r.tasksDone.Add(1)
	}
}

// lowerPiece lowers one piece of a division.
func (r *Run) lowerPiece(d *division, t, n int, share *placedShare) {
	r.session.mu.Lock()
	defer r.session.mu.Unlock()
	o := r.newOp()
	o.division = d
	if err := r.lowerLaunch(o, t, n, share); err != nil {
		o.fault = err
	}
	o.release()
}
