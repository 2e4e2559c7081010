package partitioner

// part is what work-items [lo, hi) of a task read and write; the whole task
// where it is not divided.
type part struct {
	task, lo, hi int
}

func (st *state) wholeTask(t int) part {
	if sp := st.Tasks[t].Split; sp != nil {
		return part{t, 0, sp.Items}
	}
	return part{t, 0, 0}
}

func (st *state) readSpan(p part, r *Read) (lo, hi int64) {
	if sp := st.Tasks[p.task].Split; sp != nil {
		return st.partSpan(r, p.lo, p.hi, sp.Items)
	}
	return r.span(&st.Data[r.Datum])
}

func (st *state) writeSpan(p part, d int) (lo, hi int64) {
	if sp := st.Tasks[p.task].Split; sp != nil && sp.Items > 0 {
		return scale(st.Data[d].Bytes, p.lo, sp.Items), scale(st.Data[d].Bytes, p.hi, sp.Items)
	}
	return 0, st.Data[d].Bytes
}

// workingSet is the memory a task needs on one node while it runs, in bytes:
// what it reads and writes, versions of one buffer once, and its scratch.
func (s *setup) workingSet(t *Task) int64 {
	type span struct {
		datum, buffer int
		lo, hi        int64
	}
	var spans []span
	count := func(datum int, lo, hi int64) {
		for i := range spans {
			if x := &spans[i]; x.datum == datum {
				x.lo, x.hi = min(x.lo, lo), max(x.hi, hi)
				return
			}
		}
		spans = append(spans, span{datum, s.Data[datum].Buffer, lo, hi})
	}
	for i := range t.Reads {
		if r := &t.Reads[i]; r.Datum >= 0 && r.Datum < len(s.Data) {
			lo, hi := r.span(&s.Data[r.Datum])
			count(r.Datum, lo, hi)
		}
	}
	for _, d := range t.Writes {
		if d >= 0 && d < len(s.Data) {
			count(d, 0, s.Data[d].Bytes)
		}
	}
	need := t.Scratch
	for i, x := range spans {
		need += x.hi - x.lo
		for _, y := range spans[:i] {
			if x.buffer != 0 && x.buffer == y.buffer {
				need -= min(x.hi-x.lo, y.hi-y.lo)
				break
			}
		}
	}
	return need
}

// findTight marks the nodes whose memory cannot hold everything at once. The
// host is never one: it is where evicted data go.
func (s *setup) findTight() {
	s.tight = make([]bool, s.nn)
	var all int64
	largest := map[int]int64{}
	for _, d := range s.Data {
		if d.Buffer == 0 {
			all += d.Bytes
			continue
		}
		all += max(d.Bytes-largest[d.Buffer], 0)
		largest[d.Buffer] = max(largest[d.Buffer], d.Bytes)
	}
	var once, parts int64
	for _, t := range s.Tasks {
		if t.Split == nil {
			once += t.Scratch
		} else {
			parts += t.Scratch
		}
	}
	for n := range s.Nodes {
		scratch := once
		for d := range s.Devices { // each may have a part of a divided task
			if s.node[d] == n {
				scratch += parts
			}
		}
		s.tight[n] = n > 0 && s.Nodes[n].Memory > 0 && all+scratch > s.Nodes[n].Memory
		s.anyTight = s.anyTight || s.tight[n]
	}
}
