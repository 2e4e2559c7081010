package partitioner

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// Validate checks that the plan can be carried out and is what it says: each
// task runs once, whole, on devices that can run it, for as long as the
// problem says; after everything it waits for; with every byte it reads on its
// memory node in time, brought there by transfers that start where the bytes
// are and take as long as the links say; no resource, and with Contention no
// node's link, used twice at a time; no node's memory overfull; and the
// makespan the end of it all, not below the lower bound. It replays the plan and
// shares no code with what made it beyond the reading of the problem. The error
// names what is wrong.
func (pl *Plan) Validate(p *Problem) error {
	g, err := gather(p)
	if err != nil {
		return err
	}
	if g != nil {
		merged, err := g.fold(pl)
		if err != nil {
			return err
		}
		return merged.Validate(g.merged)
	}
	s, err := prepare(p)
	if err != nil {
		return err
	}
	if len(pl.Tasks) != len(p.Tasks) {
		return invalid("plan: %d placements of %d tasks", len(pl.Tasks), len(p.Tasks))
	}
	c := &check{setup: s, pl: pl}
	for _, step := range []func() error{c.order, c.shares, c.precedence, c.transfers, c.inputs, c.resources, c.images, c.links, c.memory, c.makespan} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// check replays a plan.
type check struct {
	*setup
	pl     *Plan
	copies [][]replica // by datum
}

// replica is a range of a datum on a node: valid from from on and taking memory
// from alloc on, both until until.
type replica struct {
	lo, hi             int64
	node               int
	alloc, from, until time.Duration
}

func (c *check) order() error {
	if len(c.pl.Order) != len(c.Tasks) {
		return invalid("plan: order of %d tasks, there are %d", len(c.pl.Order), len(c.Tasks))
	}
	seen := make([]bool, len(c.Tasks))
	for _, t := range c.pl.Order {
		if t < 0 || t >= len(seen) || seen[t] {
			return invalid("plan: order lists task %d twice or it does not exist", t)
		}
		for _, q := range c.pred[t] {
			if !seen[q] {
				return invalid("plan: order has %q before %q, for which it waits", c.Tasks[t].Name, c.Tasks[q].Name)
			}
		}
		seen[t] = true
	}
	return nil
}

func (c *check) shares() error {
	for t, pm := range c.pl.Tasks {
		name, sp := c.Tasks[t].Name, c.Tasks[t].Split
		if len(pm.Shares) == 0 || sp == nil && len(pm.Shares) > 1 {
			return invalid("plan: task %q has %d parts", name, len(pm.Shares))
		}
		at, start, finish := 0, never, time.Duration(0)
		for i, sh := range pm.Shares {
			if sh.Device < 0 || sh.Device >= c.nd {
				return invalid("plan: task %q: device %d of %d", name, sh.Device, c.nd)
			}
			id := c.Devices[sh.Device].ID
			if why := c.partRefused(t, sh.Device, len(pm.Shares) > 1); why != "" {
				return invalid("plan: task %q on %s, which cannot run it: %s", name, id, why)
			}
			run, end := c.run[t*c.nd+sh.Device], 0
			if sp != nil {
				end = sp.Items
			}
			if len(pm.Shares) > 1 {
				end = sh.Hi
				run = c.partRun(t, sh.Device, sh.Hi-sh.Lo)
				last := i == len(pm.Shares)-1
				if sh.Hi <= sh.Lo || !last && sh.Hi%max(sp.Grain, 1) != 0 || last && sh.Hi != sp.Items {
					return invalid("plan: task %q: part %d is work-items %d to %d of %d in grains of %d", name, i, sh.Lo, sh.Hi, sp.Items, sp.Grain)
				}
			}
			if sh.Lo != at || sh.Hi != end {
				return invalid("plan: task %q: part %d begins at work-item %d, the one before ends at %d", name, i, sh.Lo, at)
			}
			at = sh.Hi
			run += sh.Load
			if sh.Start < 0 || sh.Load < 0 || sh.Finish-sh.Start != run {
				return invalid("plan: task %q on %s from %v to %v, it takes %v", name, id, sh.Start, sh.Finish, run)
			}
			start, finish = min(start, sh.Start), max(finish, sh.Finish)
		}
		if pm.Start != start || pm.Finish != finish {
			return invalid("plan: task %q from %v to %v, its parts from %v to %v", name, pm.Start, pm.Finish, start, finish)
		}
	}
	return nil
}

func (c *check) precedence() error {
	for t := range c.Tasks {
		for _, q := range c.pred[t] {
			if c.pl.Tasks[t].Start < c.pl.Tasks[q].Finish {
				return invalid("plan: task %q starts at %v, %q for which it waits ends at %v",
					c.Tasks[t].Name, c.pl.Tasks[t].Start, c.Tasks[q].Name, c.pl.Tasks[q].Finish)
			}
		}
	}
	return nil
}

// transfers collects all replicas and checks that transfers start from one.
func (c *check) transfers() error {
	c.copies = make([][]replica, len(c.Data))
	for d := range c.Data {
		for _, n := range c.Data[d].Nodes {
			c.copies[d] = append(c.copies[d], replica{hi: c.Data[d].Bytes, node: n, until: never})
		}
		w := c.writer[d]
		if w < 0 {
			continue
		}
		shares := c.pl.Tasks[w].Shares
		for _, sh := range shares {
			r := replica{0, c.Data[d].Bytes, c.node[sh.Device], sh.Start, sh.Finish, never}
			if len(shares) > 1 {
				r.lo, r.hi = scale(r.hi, sh.Lo, c.Tasks[w].Split.Items), scale(r.hi, sh.Hi, c.Tasks[w].Split.Items)
			}
			c.copies[d] = append(c.copies[d], r)
		}
	}
	for i, x := range c.pl.Transfers {
		if x.Datum < 0 || x.Datum >= len(c.Data) || x.Lo < 0 || x.Hi <= x.Lo || x.Hi > c.Data[x.Datum].Bytes ||
			x.From < 0 || x.To < 0 || x.From >= c.nn || x.To >= c.nn || x.From == x.To {
			return invalid("plan: transfer %d: %+v", i, x)
		}
		if took := c.move(x.From, x.To, x.Hi-x.Lo); x.Start < 0 || x.End-x.Start != took {
			return invalid("plan: transfer %d of %q from %v to %v, it takes %v", i, c.Data[x.Datum].Name, x.Start, x.End, took)
		}
		c.copies[x.Datum] = append(c.copies[x.Datum], replica{x.Lo, x.Hi, x.To, x.Start, x.End, never})
	}
	if err := c.evict(); err != nil {
		return err
	}
	for i, x := range c.pl.Transfers {
		if at, ok := c.covered(x.Datum, x.Lo, x.Hi, x.From, x.Start, x.End); !ok {
			return invalid("plan: transfer %d of %q bytes %d to %d from node %d at %v: byte %d is not there", i, c.Data[x.Datum].Name, x.Lo, x.Hi, x.From, x.Start, at)
		}
	}
	return nil
}

// evict ends replicas.
func (c *check) evict() error {
	evictions := slices.Clone(c.pl.Evictions)
	slices.SortStableFunc(evictions, func(a, b Eviction) int { return cmp.Compare(a.At, b.At) })
	for _, e := range evictions {
		if e.Datum < 0 || e.Datum >= len(c.Data) || e.Node < 0 || e.Node >= c.nn {
			return invalid("plan: eviction %+v", e)
		}
		if !c.end(e) {
			return invalid("plan: eviction of %q from node %d at %v: it is not there", c.Data[e.Datum].Name, e.Node, e.At)
		}
	}
	return nil
}

// end ends the replica of each byte of an eviction that has been there longest:
// the same byte may be evicted and come back in one moment.
func (c *check) end(e Eviction) (hit bool) {
	copies := c.copies[e.Datum]
	slices.SortStableFunc(copies, func(a, b replica) int { return cmp.Compare(a.from, b.from) })
	var kept []replica
	todo := [][2]int64{{e.Lo, e.Hi}}
	for _, r := range copies {
		if r.node != e.Node || r.until != never || r.from > e.At {
			kept = append(kept, r)
			continue
		}
		var next [][2]int64
		rest := r.lo // of r, from here on nothing was ended yet
		for _, x := range todo {
			lo, hi := max(r.lo, x[0]), min(r.hi, x[1])
			if lo >= hi {
				next = append(next, x)
				continue
			}
			hit = true
			if rest < lo {
				kept = append(kept, replica{rest, lo, r.node, r.alloc, r.from, never})
			}
			kept = append(kept, replica{lo, hi, r.node, r.alloc, r.from, e.At})
			rest = hi
			if x[0] < lo {
				next = append(next, [2]int64{x[0], lo})
			}
			if hi < x[1] {
				next = append(next, [2]int64{hi, x[1]})
			}
		}
		if rest < r.hi {
			kept = append(kept, replica{rest, r.hi, r.node, r.alloc, r.from, never})
		}
		todo = next
	}
	c.copies[e.Datum] = kept
	return hit
}

// covered reports whether [lo, hi) of a datum is on a node all the time from
// start to end, else which byte is not.
func (c *check) covered(d int, lo, hi int64, node int, start, end time.Duration) (missing int64, ok bool) {
	if c.undefined(d) {
		return 0, true
	}
	at := lo
	for at < hi {
		next := at
		for _, r := range c.copies[d] {
			if r.node == node && r.lo <= at && at < r.hi && r.from <= start && end <= r.until {
				next = max(next, r.hi)
			}
		}
		if next == at {
			return at, false
		}
		at = next
	}
	return 0, true
}

func (c *check) inputs() error {
	for t := range c.Tasks {
		task, shares := &c.Tasks[t], c.pl.Tasks[t].Shares
		for _, sh := range shares {
			for i := range task.Reads {
				r := &task.Reads[i]
				lo, hi := r.span(&c.Data[r.Datum])
				if len(shares) > 1 {
					lo, hi = c.partSpan(r, sh.Lo, sh.Hi, task.Split.Items)
				}
				if at, ok := c.covered(r.Datum, lo, hi, c.node[sh.Device], sh.Start, sh.Finish); !ok {
					return invalid("plan: task %q starts on %s at %v without byte %d of %q", task.Name, c.Devices[sh.Device].ID, sh.Start, at, c.Data[r.Datum].Name)
				}
			}
		}
	}
	return nil
}

// use is something that keeps a resource busy.
type use struct {
	start, end time.Duration
	what       string
}

func overlap(where string, uses []use) error {
	slices.SortFunc(uses, func(a, b use) int { return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(a.end, b.end)) })
	for i := 1; i < len(uses); i++ {
		if a, b := uses[i-1], uses[i]; b.start < a.end && b.end > b.start {
			return invalid("plan: %s is used twice: %s until %v, %s from %v", where, a.what, a.end, b.what, b.start)
		}
	}
	return nil
}

func (c *check) resources() error {
	uses := make([][]use, c.setup.resources)
	free := make([]time.Duration, len(uses))
	name := make([]string, len(uses))
	for d, r := range c.resource {
		free[r] = max(free[r], c.Devices[d].Ready)
		name[r] = c.Devices[d].Resource
		if name[r] == "" {
			name[r] = c.Devices[d].ID
		}
	}
	for t, pm := range c.pl.Tasks {
		for _, sh := range pm.Shares {
			r := c.resource[sh.Device]
			if sh.Start < free[r] {
				return invalid("plan: task %q starts at %v, %s is free at %v", c.Tasks[t].Name, sh.Start, name[r], free[r])
			}
			uses[r] = append(uses[r], use{sh.Start, sh.Finish, c.Tasks[t].Name})
		}
	}
	for r := range uses {
		if err := overlap(name[r], uses[r]); err != nil {
			return err
		}
	}
	return nil
}

func (c *check) links() error {
	if !c.Contention {
		return nil
	}
	in, out := make([][]use, c.nn), make([][]use, c.nn)
	for i, x := range c.pl.Transfers {
		u := use{x.Start, x.End, fmt.Sprintf("transfer %d", i)}
		if x.To != 0 {
			in[x.To] = append(in[x.To], u)
		}
		if x.From != 0 {
			out[x.From] = append(out[x.From], u)
		}
	}
	for n := range in {
		if err := overlap(fmt.Sprintf("the way into node %d", n), in[n]); err != nil {
			return err
		}
		if err := overlap(fmt.Sprintf("the way out of node %d", n), out[n]); err != nil {
			return err
		}
	}
	return nil
}

func (c *check) makespan() error {
	var end time.Duration
	for _, pm := range c.pl.Tasks {
		end = max(end, pm.Finish)
	}
	for d := range c.Data {
		if !c.Data[d].Return {
			continue
		}
		if at, ok := c.covered(d, 0, c.Data[d].Bytes, 0, c.pl.Makespan, c.pl.Makespan); !ok {
			return invalid("plan: byte %d of %q is not on the host at the end", at, c.Data[d].Name)
		}
	}
	for _, x := range c.pl.Transfers {
		if x.Task < 0 && c.Data[x.Datum].Return && x.To == 0 {
			end = max(end, x.End)
		}
	}
	if c.pl.Makespan != end {
		return invalid("plan: makespan %v, the last work ends at %v", c.pl.Makespan, end)
	}
	if bound := c.lowerBound(); c.pl.LowerBound != bound || bound > end {
		return invalid("plan: makespan %v, lower bound %v, stated as %v", end, bound, c.pl.LowerBound)
	}
	return nil
}
