package partitioner

import (
	"time"
)

// state is a plan in the making: what is placed so far, and what follows from
// it for the rest.
type state struct {
	*setup
	lines    []timeline // by resource
	in, out  []timeline // by node; Contention only
	replicas replicas
	memory   []nodeMemory    // by node; nil: none is tight
	left     []int           // by datum, how many readers are still to come; with memory
	finish   []time.Duration // by task
	image    []string        // by device: what is loaded behind all that was placed
	makespan time.Duration
	now      time.Duration // nothing is placed before; Online only

	plan    *Plan // where transfers are recorded; nil: only times count
	explain bool  // keep candidates
}

func newState(s *setup) *state {
	return &state{
		setup:  s,
		lines:  make([]timeline, s.resources),
		in:     make([]timeline, s.nn),
		out:    make([]timeline, s.nn),
		finish: make([]time.Duration, len(s.Tasks)),
		image:  make([]string, s.nd),
	}
}

// reset forgets everything that was placed.
func (st *state) reset() {
	for r := range st.lines {
		st.lines[r].reset(0, st.short[r]-1)
	}
	for d, dev := range st.Devices {
		l := &st.lines[st.resource[d]]
		l.free = max(l.free, dev.Ready)
		st.image[d] = dev.Image
	}
	for n := range st.in {
		// No transfer is shorter than a link's latency.
		in, out := never, never
		for m := range st.in {
			if m != n {
				in, out = min(in, st.lat[m*st.nn+n]), min(out, st.lat[n*st.nn+m])
			}
		}
		st.in[n].reset(0, max(in-1, 0))
		st.out[n].reset(0, max(out-1, 0))
	}
	st.replicas.reset(st.setup)
	st.resetMemory()
	st.makespan = 0
}

// ready is when everything that a task waits for has finished.
func (st *state) ready(t int) time.Duration {
	at := st.now
	for _, p := range st.pred[t] {
		at = max(at, st.finish[p])
	}
	return at
}

// chain is when the next transfer for a task may begin.
type chain struct {
	after time.Duration // when there is memory for it
	busy  time.Duration // end of the last one: with Contention a task's own transfers go one after another
}

// fetch is when [lo, hi) of a datum is on a node, at the earliest. With commit
// the transfers that it takes are entered into the plan.
func (st *state) fetch(task, datum int, lo, hi int64, node int, chain *chain, commit bool) time.Duration {
	if hi <= lo {
		return 0
	}
	r := &st.replicas
	size := st.Data[datum].Bytes
	if r.cut[datum] == nil {
		at := r.row(datum)
		if at[node] != never {
			return at[node]
		}
		if lo == 0 && hi == size || !commit {
			return st.pull(task, datum, lo, hi, at, node, chain, commit)
		}
	}
	var arrive time.Duration
	if commit {
		for _, p := range r.isolate(datum, lo, hi, size) {
			if p.at[node] == never {
				arrive = max(arrive, st.pull(task, datum, p.lo, p.hi, p.at, node, chain, true))
			} else {
				arrive = max(arrive, p.at[node])
			}
		}
		return arrive
	}
	for _, p := range r.cut[datum] {
		a, b := max(p.lo, lo), min(p.hi, hi)
		if a >= b {
			continue
		}
		if p.at[node] == never {
			arrive = max(arrive, st.pull(task, datum, a, b, p.at, node, chain, false))
		} else {
			arrive = max(arrive, p.at[node])
		}
	}
	return arrive
}

// pull is when bytes of one piece that is not on a node can be there.
func (st *state) pull(task, datum int, lo, hi int64, at []time.Duration, node int, chain *chain, commit bool) time.Duration {
	from := st.source(at, node, hi-lo)
	if from < 0 {
		return 0 // undefined contents: nothing to move
	}
	start, dur := max(at[from], chain.after, st.now), st.move(from, node, hi-lo)
	if st.Contention {
		start = max(start, chain.busy)
		for {
			next := start
			if node != 0 {
				next = st.in[node].fit(next, dur)
			}
			if from != 0 {
				next = st.out[from].fit(next, dur)
			}
			if next == start {
				break
			}
			start = next
		}
		chain.busy = start + dur
	}
	if !commit {
		return start + dur
	}
	if st.Contention {
		if node != 0 {
			st.in[node].take(start, dur)
		}
		if from != 0 {
			st.out[from].take(start, dur)
		}
	}
	at[node] = start + dur
	st.arrived(datum, node, hi-lo)
	st.touched(datum, from, start+dur)
	if st.plan != nil {
		st.plan.Transfers = append(st.plan.Transfers, Transfer{
			Datum: datum, Lo: lo, Hi: hi, From: from, To: node, Start: start, End: start + dur, Task: task,
		})
	}
	return start + dur
}

// inputs is when all that a part reads is on a node and there is memory for
// the rest.
func (st *state) inputs(p part, node int, commit bool) time.Duration {
	free := st.room(p, node, commit)
	arrive := free
	c := chain{after: free}
	reads := st.Tasks[p.task].Reads
	for i := range reads {
		lo, hi := st.readSpan(p, &reads[i])
		arrive = max(arrive, st.fetch(p.task, reads[i].Datum, lo, hi, node, &c, commit))
	}
	return arrive
}

// look is how a device looks for a whole task that is ready at the given time.
func (st *state) look(t, dev int, ready time.Duration) Candidate {
	k := t*st.nd + dev
	c := Candidate{Device: dev, Source: st.Tasks[t].Cost[dev].Source}
	if st.run[k] < 0 {
		c.Refused = st.refused[k]
		return c
	}
	c.Run = st.run[k] + st.loading(t, dev)
	arrive := max(ready, st.inputs(st.wholeTask(t), st.node[dev], false))
	c.Start = st.slot(dev, arrive, c.Run)
	c.Finish = c.Start + c.Run
	c.Move, c.Wait = arrive-ready, c.Start-arrive
	return c
}

// eft is the finish time of a whole task on a device, never where it is
// refused: look without the explanation.
func (st *state) eft(t, dev int, ready time.Duration) time.Duration {
	run := st.run[t*st.nd+dev]
	if run < 0 {
		return never
	}
	run += st.loading(t, dev)
	arrive := max(ready, st.inputs(st.wholeTask(t), st.node[dev], false))
	return st.slot(dev, arrive, run) + run
}

// put places a whole task on a device.
func (st *state) put(t, dev int, ready time.Duration) Share {
	node, load := st.node[dev], st.loading(t, dev)
	run := load + st.run[t*st.nd+dev]
	p := st.wholeTask(t)
	arrive := max(ready, st.inputs(p, node, true))
	start := st.slot(dev, arrive, run)
	st.lines[st.resource[dev]].take(start, run)
	st.loaded(t, dev)
	finish := start + run
	st.ran(p, node, finish)
	for _, d := range st.Tasks[t].Writes {
		st.replicas.row(d)[node] = finish
	}
	st.done(t, finish)
	return Share{Device: dev, Lo: p.lo, Hi: p.hi, Start: start, Finish: finish, Load: load}
}

// done closes a task whose outputs are in place.
func (st *state) done(t int, finish time.Duration) {
	st.finish[t] = finish
	st.makespan = max(st.makespan, finish)
	if st.anyTight {
		for i := range st.Tasks[t].Reads {
			st.left[st.Tasks[t].Reads[i].Datum]--
		}
	}
	for _, d := range st.Tasks[t].Writes {
		if st.Data[d].Return {
			st.makespan = max(st.makespan, st.bringHome(d, true))
		}
	}
}

// close brings home what the host wants and no task writes.
func (st *state) close() {
	for d := range st.Data {
		if st.Data[d].Return && st.writer[d] < 0 {
			st.makespan = max(st.makespan, st.bringHome(d, true))
		}
	}
}

// bringHome is when a datum is on the host.
func (st *state) bringHome(d int, commit bool) time.Duration {
	return st.fetch(-1, d, 0, st.Data[d].Bytes, 0, &chain{}, commit)
}

// home is what bringing a task's outputs to the host takes after it has run on
// a node.
func (st *state) home(t, node int) time.Duration {
	var longest time.Duration
	if node == 0 {
		return 0
	}
	for _, d := range st.Tasks[t].Writes {
		if st.Data[d].Return {
			longest = max(longest, st.move(node, 0, st.Data[d].Bytes))
		}
	}
	return longest
}
