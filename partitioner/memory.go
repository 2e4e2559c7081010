package partitioner

// workingSet is the memory a task needs on one node while it runs, in bytes:
// what it reads and writes, versions of one buffer once, and its scratch.
func (s *setup) workingSet(t *Task) int64 {
	need := t.Scratch
	var buffers map[int]int64
	count := func(datum int, bytes int64) {
		if b := s.Data[datum].Buffer; b != 0 {
			if buffers == nil {
				buffers = map[int]int64{}
			}
			if old := buffers[b]; bytes > old {
				need += bytes - old
				buffers[b] = bytes
			}
			return
		}
		need += bytes
	}
	for i := range t.Reads {
		if r := &t.Reads[i]; r.Datum >= 0 && r.Datum < len(s.Data) {
			lo, hi := r.span(&s.Data[r.Datum])
			count(r.Datum, hi-lo)
		}
	}
	for _, d := range t.Writes {
		if d >= 0 && d < len(s.Data) {
			count(d, s.Data[d].Bytes)
		}
	}
	return need
}
