package partitioner

import (
	"cmp"
	"slices"
	"time"
)

// Memory is planned on nodes that cannot hold everything at once (tight). There
// the order of decisions is an order in time: what is decided later allocates
// at or after floor, the moment up to which evictions were needed so far. So at
// any time the node holds a subset of what was resident at some decision, which
// fitted.

// nodeMemory is what a tight node holds.
type nodeMemory struct {
	used    int64
	floor   time.Duration // nothing more is allocated before
	data    []int         // data with a replica of any part, unordered
	lastUse []time.Duration
	scratch []scratchUse
}

// scratchUse is scratch memory that is taken until a task has finished.
type scratchUse struct {
	bytes int64
	until time.Duration
}

func (st *state) resetMemory() {
	if !st.anyTight {
		return
	}
	if st.memory == nil {
		st.memory = make([]nodeMemory, st.nn)
		st.left = make([]int, len(st.Data))
	}
	copy(st.left, st.readers)
	for n := range st.memory {
		if !st.tight[n] {
			continue
		}
		m := &st.memory[n]
		if m.lastUse == nil {
			m.lastUse = make([]time.Duration, len(st.Data))
		}
		m.used, m.floor, m.data, m.scratch = 0, 0, m.data[:0], m.scratch[:0]
		clear(m.lastUse)
		for d := range st.Data {
			if slices.Contains(st.Data[d].Nodes, n) {
				m.used += st.Data[d].Bytes
				m.data = append(m.data, d)
			}
		}
	}
}

// resident is how many bytes of [lo, hi) of a datum are on a node.
func (st *state) resident(d, node int, lo, hi int64) int64 {
	if st.replicas.cut[d] == nil {
		if st.replicas.row(d)[node] == never {
			return 0
		}
		return hi - lo
	}
	var n int64
	for _, p := range st.replicas.cut[d] {
		if p.at[node] != never {
			n += max(0, min(p.hi, hi)-max(p.lo, lo))
		}
	}
	return n
}

// replaced is the datum on node whose memory output d takes over: an earlier
// version of the buffer that nobody else will read; -1: none.
func (st *state) replaced(p part, d, node int) int {
	b := st.Data[d].Buffer
	if b == 0 {
		return -1
	}
	reads := st.Tasks[p.task].Reads
	for i := range reads {
		if v := reads[i].Datum; st.Data[v].Buffer == b && st.left[v] == 1 && !st.Data[v].Return {
			return v
		}
	}
	for _, v := range st.memory[node].data {
		if v != d && st.Data[v].Buffer == b && st.left[v] == 0 && !st.Data[v].Return {
			return v
		}
	}
	return -1
}

// need is how many bytes a part will add to what a tight node holds.
func (st *state) need(p part, node int) int64 {
	t := &st.Tasks[p.task]
	need := t.Scratch
	for i := range t.Reads {
		r := &t.Reads[i]
		if st.undefined(r.Datum) {
			continue
		}
		lo, hi := st.readSpan(p, r)
		if hi > lo {
			need += hi - lo - st.resident(r.Datum, node, lo, hi)
		}
	}
	for _, d := range t.Writes {
		lo, hi := st.writeSpan(p, d)
		bytes := hi - lo
		if v := st.replaced(p, d, node); v >= 0 {
			// Its bytes are resident by then, or counted as missing above.
			end := min(hi, st.Data[v].Bytes)
			have := st.resident(v, node, lo, max(lo, end))
			for i := range t.Reads {
				if r := &t.Reads[i]; r.Datum == v && !st.undefined(v) {
					a, b := st.readSpan(p, r)
					if a, b = max(a, lo), min(b, end); a < b {
						have += b - a - st.resident(v, node, a, b)
					}
				}
			}
			bytes -= min(bytes, have)
		}
		need += bytes
	}
	return need
}

func (s *setup) undefined(d int) bool { return s.writer[d] == noWriter && len(s.Data[d].Nodes) == 0 }

// room is when a tight node can have what a part needs. With commit it evicts.
func (st *state) room(p part, node int, commit bool) time.Duration {
	if !st.anyTight || !st.tight[node] {
		return 0
	}
	m := &st.memory[node]
	at := m.floor
	limit := st.Nodes[node].Memory
	short := m.used + st.need(p, node) - limit
	if short <= 0 {
		return at
	}
	// Scratch of tasks that have finished goes first: it costs nothing.
	slices.SortFunc(m.scratch, func(a, b scratchUse) int { return cmp.Compare(a.until, b.until) })
	done := 0
	for done < len(m.scratch) && short > 0 {
		short -= m.scratch[done].bytes
		at = max(at, m.scratch[done].until)
		done++
	}
	if commit {
		for _, u := range m.scratch[:done] {
			m.used -= u.bytes
		}
		m.scratch = slices.Delete(m.scratch, 0, done)
	}
	if short > 0 {
		at = max(at, st.evict(p, node, short, commit))
	}
	if commit {
		m.floor = at
	}
	return at
}

// evict drops replicas, least recently used first, until short bytes are free,
// and returns when they are. What the part itself reads stays.
func (st *state) evict(p part, node int, short int64, commit bool) time.Duration {
	m := &st.memory[node]
	order := slices.Clone(m.data)
	own := func(d int) int {
		for i := range st.Tasks[p.task].Reads {
			if st.Tasks[p.task].Reads[i].Datum == d {
				return 1
			}
		}
		return 0
	}
	slices.SortFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(own(a), own(b)), cmp.Compare(m.lastUse[a], m.lastUse[b]), cmp.Compare(a, b))
	})
	var at time.Duration
	for _, d := range order {
		if short <= 0 {
			break
		}
		freed, when := st.drop(p, d, node, own(d) == 1, commit)
		short -= freed
		at = max(at, when)
	}
	return at
}

// drop evicts the replicas of a datum from a node, writing back what is nowhere
// else and still wanted. keep: what the part reads of it stays.
func (st *state) drop(p part, d, node int, keep, commit bool) (freed int64, at time.Duration) {
	m := &st.memory[node]
	wanted := st.left[d] > 0 || st.Data[d].Return
	if keep && commit {
		// Cut out what stays, so that the rest can go.
		for i := range st.Tasks[p.task].Reads {
			if r := &st.Tasks[p.task].Reads[i]; r.Datum == d {
				if lo, hi := st.readSpan(p, r); lo < hi {
					st.replicas.isolate(d, lo, hi, st.Data[d].Bytes)
				}
			}
		}
	}
	pieces := st.replicas.cut[d]
	if pieces == nil {
		pieces = []piece{{0, st.Data[d].Bytes, st.replicas.row(d)}}
	}
	remains := false
	for i := range pieces {
		pc := &pieces[i]
		if pc.at[node] == never {
			continue
		}
		bytes := pc.hi - pc.lo
		if keep {
			stays := st.reads(p, d, pc.lo, pc.hi)
			if remains = remains || stays > 0; stays >= bytes || commit && stays > 0 {
				continue
			}
			bytes -= stays
		}
		gone := max(m.lastUse[d], pc.at[node])
		alone := true
		for n, t := range pc.at {
			alone = alone && (n == node || t == never)
		}
		if wanted && alone {
			if commit {
				gone = max(gone, st.pull(-1, d, pc.lo, pc.hi, pc.at, 0, &chain{}, true))
			} else {
				gone = max(gone, pc.at[node]+st.move(node, 0, bytes))
			}
		}
		freed += bytes
		at = max(at, gone)
		if commit {
			pc.at[node] = never
			m.used -= pc.hi - pc.lo
			if st.plan != nil {
				st.plan.Evictions = append(st.plan.Evictions, Eviction{Datum: d, Lo: pc.lo, Hi: pc.hi, Node: node, At: gone})
			}
		}
	}
	if commit && !remains {
		m.data = slices.DeleteFunc(m.data, func(x int) bool { return x == d })
	}
	return freed, at
}

// reads is how many bytes of [lo, hi) of a datum a part reads, at most: bytes
// that it reads twice count twice.
func (st *state) reads(p part, d int, lo, hi int64) (n int64) {
	for i := range st.Tasks[p.task].Reads {
		if r := &st.Tasks[p.task].Reads[i]; r.Datum == d {
			a, b := st.readSpan(p, r)
			n += max(0, min(b, hi)-max(a, lo))
		}
	}
	return n
}

// arrived notes bytes of a datum that are on a tight node from now on.
func (st *state) arrived(d, node int, bytes int64) {
	if !st.anyTight || !st.tight[node] {
		return
	}
	m := &st.memory[node]
	m.used += bytes
	if !slices.Contains(m.data, d) {
		m.data = append(m.data, d)
	}
}

// touched notes that a datum is in use on a node until t.
func (st *state) touched(d, node int, t time.Duration) {
	if st.anyTight && st.tight[node] {
		m := &st.memory[node]
		m.lastUse[d] = max(m.lastUse[d], t)
	}
}

// ran closes the memory side of a part that was placed. Before it, replicas of
// the part's outputs must not be entered yet.
func (st *state) ran(p part, node int, finish time.Duration) {
	if !st.anyTight || !st.tight[node] {
		return
	}
	t := &st.Tasks[p.task]
	m := &st.memory[node]
	for i := range t.Reads {
		st.touched(t.Reads[i].Datum, node, finish)
	}
	if t.Scratch > 0 {
		m.used += t.Scratch
		m.scratch = append(m.scratch, scratchUse{t.Scratch, finish})
	}
	for _, d := range t.Writes {
		lo, hi := st.writeSpan(p, d)
		if v := st.replaced(p, d, node); v >= 0 {
			st.overwrite(v, node, lo, min(hi, st.Data[v].Bytes), finish)
		}
		st.arrived(d, node, hi-lo)
		st.touched(d, node, finish)
	}
}

// overwrite drops [lo, hi) of a version whose memory a new one has taken over.
func (st *state) overwrite(v, node int, lo, hi int64, at time.Duration) {
	if lo >= hi {
		return
	}
	m := &st.memory[node]
	drop := func(lo, hi int64, times []time.Duration) {
		if times[node] == never {
			return
		}
		times[node] = never
		m.used -= hi - lo
		if st.plan != nil {
			st.plan.Evictions = append(st.plan.Evictions, Eviction{Datum: v, Lo: lo, Hi: hi, Node: node, At: at})
		}
	}
	size := st.Data[v].Bytes
	if st.replicas.cut[v] == nil && lo == 0 && hi == size {
		drop(0, size, st.replicas.row(v))
	} else {
		for _, p := range st.replicas.isolate(v, lo, hi, size) {
			drop(p.lo, p.hi, p.at)
		}
	}
	if st.resident(v, node, 0, size) == 0 {
		m.data = slices.DeleteFunc(m.data, func(x int) bool { return x == v })
	}
}
