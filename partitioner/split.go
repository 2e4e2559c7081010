package partitioner

import (
	"math"
	"time"

	"github.com/tandemrun/tandem/devices"
)

// splitGain is how much earlier a divided task has to finish than on the best
// single device. Below that the predictions are not good enough to pay for the
// additional launches.
const splitGain = 0.03

// partRun is what a part of n of the split's work-items takes on a device,
// launch included.
func (s *setup) partRun(t, dev, n int) time.Duration {
	c, items := &s.Tasks[t].Cost[dev], s.Tasks[t].Split.Items
	if n >= items {
		return s.Devices[dev].Launch + c.Run
	}
	fixed := min(c.Fixed, c.Run)
	return s.Devices[dev].Launch + fixed + time.Duration(math.Ceil(float64(c.Run-fixed)*float64(n)/float64(items)))
}

// partSpan is the range of bytes of a read that work-items [lo, hi) need.
func (s *setup) partSpan(r *Read, lo, hi, items int) (from, to int64) {
	d := &s.Data[r.Datum]
	a, b := r.span(d)
	if !r.ByShare || items <= 0 {
		return a, b
	}
	n := b - a
	from = a + scale(n, lo, items) - r.Halo
	to = a + scale(n, hi, items) + r.Halo
	return max(from, a), min(to, b)
}

// scale is n·i/of without overflow of the product for any sizes that occur.
func scale(n int64, i, of int) int64 {
	q, rest := n/int64(of), n%int64(of)
	return q*int64(i) + int64(math.Round(float64(rest)*float64(i)/float64(of)))
}

// faces picks, for each resource, the device that would run all of t fastest.
func (st *state) faces(t int) []int {
	var faces []int
	for r := range st.resources {
		best := -1
		for d := range st.Devices {
			if run := st.wholeRun(t, d); st.resource[d] == r && st.parts[t*st.nd+d] && (best < 0 || run < st.wholeRun(t, best)) {
				best = d
			}
		}
		if best >= 0 {
			faces = append(faces, best)
		}
	}
	return faces
}

// divide finds how to divide t over devices. ok is false where that does not
// pay; what is returned is then meaningless. The shares are not placed.
func (st *state) divide(t int, ready, single time.Duration) (shares []Share, ok bool) {
	sp := st.Tasks[t].Split
	if sp == nil || sp.Items <= 1 {
		return nil, false
	}
	if sp.Shares != nil {
		shares = st.cut(Fractions(sp.Items, sp.Grain, st.allowed(t, sp.Shares)), nil)
		st.time(t, shares, ready)
		return shares, len(shares) > 1 && st.fits(t, shares)
	}
	faces := st.faces(t)
	if len(faces) < 2 {
		return nil, false
	}
	ask := make([]ShareDevice, len(faces))
	for i, d := range faces {
		ask[i] = st.ask(t, d, ready)
	}
	held := st.hold(t, faces, ask)
	best := never
	try := func(parts []int) {
		sh := st.cut(parts, faces)
		if len(sh) < 2 || !st.fits(t, sh) {
			return
		}
		if finish := st.time(t, sh, ready); finish < best {
			best, shares = finish, sh
		}
	}
	try(Shares(sp.Items, sp.Grain, ask))
	if parts := st.likeInput(t, faces); parts != nil {
		try(parts)
	}
	gain := splitGain
	if held {
		gain = -splitGain // measuring a device is worth a little
	}
	if best == never || single != never && float64(best) > float64(single)-gain*float64(single-ready) {
		return nil, false
	}
	return shares, true
}

// allowed takes the shares away from devices that cannot run t.
func (st *state) allowed(t int, shares []float64) []float64 {
	out := make([]float64, len(shares))
	for d, f := range shares {
		if st.parts[t*st.nd+d] {
			out[d] = f
		}
	}
	return out
}

// ask puts a device's terms for parts of t together.
func (st *state) ask(t, dev int, ready time.Duration) ShareDevice {
	task := &st.Tasks[t]
	node, items := st.node[dev], task.Split.Items
	fixed := min(task.Cost[dev].Fixed, task.Cost[dev].Run)
	a := ShareDevice{
		Ready: ready,
		Fixed: st.Devices[dev].Launch + fixed + st.loading(t, dev),
		Item:  (task.Cost[dev].Run - fixed).Seconds() / float64(items),
	}
	a.Ready = max(ready, st.lines[st.resource[dev]].free)
	var c chain
	var moved float64 // weighted by time, ns per work-item
	var latency time.Duration
	for i := range task.Reads {
		r := &task.Reads[i]
		lo, hi := r.span(&st.Data[r.Datum])
		if !r.ByShare {
			a.Ready = max(a.Ready, st.fetch(t, r.Datum, lo, hi, node, &c, false))
			continue
		}
		ns, lat := st.missing(r.Datum, lo, hi, node)
		moved += ns / float64(items)
		latency = max(latency, lat)
	}
	if moved > 0 {
		a.In, a.InBytes = devices.Link{Latency: latency, Bandwidth: 1e9}, moved // 1 byte stands for 1 ns
	}
	if node != 0 {
		for _, d := range task.Writes {
			if st.Data[d].Return {
				k := node * st.nn
				a.Out.Latency = max(a.Out.Latency, st.lat[k])
				a.OutBytes += st.perByte[k] * float64(st.Data[d].Bytes) / float64(items)
			}
		}
		a.Out.Bandwidth = 1e9
		a.Most = st.most(t, node)
	}
	return a
}

// most is how many of t's work-items a node has memory for; 0: all, -1: none.
func (st *state) most(t, node int) int {
	limit := st.Nodes[node].Memory
	if limit <= 0 {
		return 0
	}
	task := &st.Tasks[t]
	fixed, items := float64(task.Scratch), float64(task.Split.Items)
	perItem := 0.0
	for i := range task.Reads {
		r := &task.Reads[i]
		lo, hi := r.span(&st.Data[r.Datum])
		if r.ByShare {
			perItem += float64(hi-lo) / items
			fixed += float64(2*r.Halo) + 1
		} else {
			fixed += float64(hi - lo)
		}
	}
	for _, d := range task.Writes {
		perItem += float64(st.Data[d].Bytes) / items
		fixed++
	}
	switch left := float64(limit) - fixed; {
	case left < perItem:
		return -1
	case left >= perItem*items:
		return 0
	default:
		return int(left / perItem)
	}
}

// missing is the time, in ns and without latencies, that moving what a node
// lacks of [lo, hi) takes, and the longest latency.
func (st *state) missing(datum int, lo, hi int64, node int) (ns float64, latency time.Duration) {
	add := func(at []time.Duration, bytes int64) {
		if bytes <= 0 || at[node] != never {
			return
		}
		if from := st.source(at, node, bytes); from >= 0 {
			k := from*st.nn + node
			ns += st.perByte[k] * float64(bytes)
			latency = max(latency, st.lat[k])
		}
	}
	if st.replicas.cut[datum] == nil {
		add(st.replicas.row(datum), hi-lo)
		return ns, latency
	}
	for _, p := range st.replicas.cut[datum] {
		add(p.at, min(p.hi, hi)-max(p.lo, lo))
	}
	return ns, latency
}

// likeInput divides t as its first divided input lies on the nodes, so that
// nothing has to move; nil: there is none.
func (st *state) likeInput(t int, faces []int) []int {
	sp := st.Tasks[t].Split
	for i := range st.Tasks[t].Reads {
		r := &st.Tasks[t].Reads[i]
		pieces := st.replicas.cut[r.Datum]
		lo, hi := r.span(&st.Data[r.Datum])
		if !r.ByShare || len(pieces) < 2 || hi <= lo {
			continue
		}
		parts := make([]int, len(faces))
		grain := max(sp.Grain, 1)
		end := 0
		for f, dev := range faces {
			// Faces lie in the order of their parts, so the end of the last
			// piece that is on a face's node is the end of its part.
			last := lo
			for _, p := range pieces {
				if p.at[st.node[dev]] != never && p.lo < hi {
					last = max(last, min(p.hi, hi))
				}
			}
			to := int(math.Round(float64(last-lo) / float64(hi-lo) * float64(sp.Items) / float64(grain)))
			to = min(max(to*grain, end), sp.Items)
			if f == len(faces)-1 {
				to = sp.Items
			}
			parts[f], end = to-end, to
		}
		return parts
	}
	return nil
}

// fits reports whether the nodes have the memory that the parts need, all parts
// on one node together.
func (st *state) fits(t int, shares []Share) bool {
	for n := 1; n < len(st.Nodes); n++ {
		if st.Nodes[n].Memory <= 0 {
			continue
		}
		var need int64
		for _, sh := range shares {
			if st.node[sh.Device] == n {
				need += st.partSet(part{t, sh.Lo, sh.Hi})
			}
		}
		if need > st.Nodes[n].Memory {
			return false
		}
	}
	return true
}

// partSet is the memory that a part needs, in bytes; versions of one buffer are
// counted each.
func (st *state) partSet(p part) int64 {
	t := &st.Tasks[p.task]
	need := t.Scratch
	for i := range t.Reads {
		lo, hi := st.readSpan(p, &t.Reads[i])
		need += max(0, hi-lo)
	}
	for _, d := range t.Writes {
		lo, hi := st.writeSpan(p, d)
		need += hi - lo
	}
	return need
}

// cut lays parts one behind the other. faces nil: parts are by device.
func (st *state) cut(parts, faces []int) []Share {
	var shares []Share
	at := 0
	for i, n := range parts {
		d := i
		if faces != nil {
			d = faces[i]
		}
		if n > 0 {
			shares = append(shares, Share{Device: d, Lo: at, Hi: at + n})
		}
		at += n
	}
	return shares
}

// time fills in when the shares of t would run and returns when the last one,
// outputs on the host where they have to be, is done. Devices of one resource
// run one after the other.
func (st *state) time(t int, shares []Share, ready time.Duration) time.Duration {
	var finish time.Duration
	for i := range shares {
		sh := &shares[i]
		sh.Load = st.loading(t, sh.Device)
		run := sh.Load + st.partRun(t, sh.Device, sh.Hi-sh.Lo)
		arrive := max(ready, st.inputs(part{t, sh.Lo, sh.Hi}, st.node[sh.Device], false))
		for _, other := range shares[:i] {
			if st.resource[other.Device] == st.resource[sh.Device] {
				arrive = max(arrive, other.Finish)
			}
		}
		sh.Start = st.slot(sh.Device, arrive, run)
		sh.Finish = sh.Start + run
		finish = max(finish, sh.Finish+st.partHome(t, sh))
	}
	return finish
}

func (st *state) partHome(t int, sh *Share) time.Duration {
	node := st.node[sh.Device]
	if node == 0 {
		return 0
	}
	var longest time.Duration
	for _, d := range st.Tasks[t].Writes {
		if st.Data[d].Return {
			longest = max(longest, st.move(node, 0, scale(st.Data[d].Bytes, sh.Hi-sh.Lo, st.Tasks[t].Split.Items)))
		}
	}
	return longest
}

// putShares places the parts of t, as divide made them.
func (st *state) putShares(t int, shares []Share, ready time.Duration) {
	task := &st.Tasks[t]
	var finish time.Duration
	for i := range shares {
		sh := &shares[i]
		sh.Load = st.loading(t, sh.Device)
		run := sh.Load + st.partRun(t, sh.Device, sh.Hi-sh.Lo)
		p, node := part{t, sh.Lo, sh.Hi}, st.node[sh.Device]
		arrive := max(ready, st.inputs(p, node, true))
		sh.Start = st.slot(sh.Device, arrive, run)
		st.lines[st.resource[sh.Device]].take(sh.Start, run)
		st.loaded(t, sh.Device)
		sh.Finish = sh.Start + run
		st.ran(p, node, sh.Finish)
		finish = max(finish, sh.Finish)
	}
	for _, d := range task.Writes {
		var pieces []piece
		size := st.Data[d].Bytes
		for i := range shares {
			sh := &shares[i]
			p := piece{scale(size, sh.Lo, task.Split.Items), scale(size, sh.Hi, task.Split.Items), make([]time.Duration, st.nn)}
			for n := range p.at {
				p.at[n] = never
			}
			p.at[st.node[sh.Device]] = sh.Finish
			if p.hi > p.lo {
				pieces = append(pieces, p)
			}
		}
		if len(pieces) > 0 {
			st.replicas.setCut(d, pieces)
		}
	}
	st.done(t, finish)
}
