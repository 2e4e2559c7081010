package partitioner

import "slices"

// link connects tasks through their data and their After lists.
func (s *setup) link() error {
	s.writer = make([]int, len(s.Data))
	s.readers = make([]int, len(s.Data))
	for d := range s.writer {
		s.writer[d] = noWriter
	}
	for i := range s.Tasks {
		if err := s.checkWrites(i); err != nil {
			return err
		}
	}
	s.pred = make([][]int, len(s.Tasks))
	s.succ = make([][]edge, len(s.Tasks))
	for i := range s.Tasks {
		if err := s.linkTask(i); err != nil {
			return err
		}
	}
	return nil
}

// Values of setup.writer that are no task.
const (
	noWriter   = -1
	pastWriter = -2 // a task that was forgotten after it had finished
)

// checkWrites makes a task the writer of what it writes.
func (s *setup) checkWrites(i int) error {
	t := &s.Tasks[i]
	for _, d := range t.Writes {
		if d < 0 || d >= len(s.Data) {
			return invalid("plan: task %q writes datum %d of %d", t.Name, d, len(s.Data))
		}
		if w := s.writer[d]; w >= 0 {
			return invalid("plan: datum %d %q is written by %q and by %q", d, s.Data[d].Name, s.Tasks[w].Name, t.Name)
		}
		if len(s.Data[d].Nodes) > 0 || s.writer[d] == pastWriter {
			return invalid("plan: datum %d %q is there already and written by %q", d, s.Data[d].Name, t.Name)
		}
		s.writer[d] = i
	}
	return nil
}

// linkTask connects a task with those it waits for.
func (s *setup) linkTask(to int) error {
	t := &s.Tasks[to]
	add := func(from int, bytes int64) {
		// Several data between the same two tasks are one edge. Edges to a task
		// are added one after another, so an old one is the last of its list.
		if n := len(s.succ[from]); n > 0 && s.succ[from][n-1].to == to {
			s.succ[from][n-1].bytes += bytes
			return
		}
		s.succ[from] = append(s.succ[from], edge{to, bytes})
		s.pred[to] = append(s.pred[to], from)
	}
	for _, r := range t.Reads {
		if r.Datum < 0 || r.Datum >= len(s.Data) {
			return invalid("plan: task %q reads datum %d of %d", t.Name, r.Datum, len(s.Data))
		}
		d := &s.Data[r.Datum]
		if r.Lo < 0 || r.Hi < r.Lo || r.Hi > d.Bytes || r.Halo < 0 {
			return invalid("plan: task %q reads bytes %d to %d (halo %d) of datum %q with %d", t.Name, r.Lo, r.Hi, r.Halo, d.Name, d.Bytes)
		}
		s.readers[r.Datum]++
		w := s.writer[r.Datum]
		if w < 0 {
			continue
		}
		if w == to {
			return invalid("plan: task %q reads datum %d %q that it writes itself", t.Name, r.Datum, d.Name)
		}
		lo, hi := r.span(d)
		add(w, hi-lo)
	}
	for _, a := range t.After {
		if a < 0 || a >= len(s.Tasks) {
			return invalid("plan: task %q comes after task %d of %d", t.Name, a, len(s.Tasks))
		}
		add(a, 0)
	}
	return nil
}

// span is what a read covers of its datum, in bytes.
func (r *Read) span(d *Datum) (lo, hi int64) {
	if r.Lo == 0 && r.Hi == 0 {
		return 0, d.Bytes
	}
	return r.Lo, r.Hi
}

// sort finds a topological order, or a cycle.
func (s *setup) sort() error {
	wait := make([]int, len(s.Tasks))
	for i := range s.pred {
		wait[i] = len(s.pred[i])
	}
	s.order = make([]int, 0, len(s.Tasks))
	for i, w := range wait {
		if w == 0 {
			s.order = append(s.order, i)
		}
	}
	for at := 0; at < len(s.order); at++ {
		for _, e := range s.succ[s.order[at]] {
			if wait[e.to]--; wait[e.to] == 0 {
				s.order = append(s.order, e.to)
			}
		}
	}
	if len(s.order) == len(s.Tasks) {
		return nil
	}
	// Walking backwards over tasks that still wait must come round.
	at := slices.IndexFunc(wait, func(w int) bool { return w > 0 })
	seen := map[int]int{}
	var path []int
	for {
		if first, ok := seen[at]; ok {
			path = path[first:]
			break
		}
		seen[at] = len(path)
		path = append(path, at)
		at = s.pred[at][slices.IndexFunc(s.pred[at], func(q int) bool { return wait[q] > 0 })]
	}
	slices.Reverse(path)
	e := &CycleError{}
	for _, i := range path {
		e.Tasks = append(e.Tasks, s.Tasks[i].Name)
	}
	return e
}
