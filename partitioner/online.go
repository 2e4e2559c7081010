package partitioner

import (
	"slices"
	"time"
)

// Online places tasks one at a time as they become known, on the same cost
// terms as HEFT: what a task runs for, when its inputs can be there, when the
// device is free, what memory is left. What really happened corrects it. It is
// not safe for concurrent use.
type Online struct {
	st      *state
	problem Problem
	ids     map[int]int // task id → slot
	slots   []int       // free slots
	nextID  int
	unused  []int // data numbers that may be used again
	placed  []Placement
}

// endless stands for readers that may still come: nobody knows before Drop.
const endless = 1 << 40

// NewOnline begins with the machine and the data of p; p must have no tasks. p
// is not kept.
func NewOnline(p *Problem) (*Online, error) {
	if len(p.Tasks) > 0 {
		return nil, invalid("plan: online with %d tasks to begin with", len(p.Tasks))
	}
	o := &Online{ids: map[int]int{}, problem: Problem{
		Devices: slices.Clone(p.Devices), Nodes: slices.Clone(p.Nodes), Links: p.Links,
		Contention: p.Contention, Data: slices.Clone(p.Data),
	}}
	s, err := prepare(&o.problem)
	if err != nil {
		return nil, err
	}
	// What will come is not known, so every limited memory may become tight, and
	// every gap may be of use.
	for n := 1; n < len(s.Nodes); n++ {
		s.tight[n] = s.Nodes[n].Memory > 0
		s.anyTight = s.anyTight || s.tight[n]
	}
	for r := range s.short {
		s.short[r] = 1
	}
	for d := range s.readers {
		s.readers[d] = endless
	}
	o.st = newState(s)
	o.st.reset()
	o.st.explain = true
	return o, nil
}

// AddDatum makes a datum known and returns its number for Read.Datum and
// Task.Writes.
func (o *Online) AddDatum(d Datum) (int, error) {
	st := o.st
	for _, n := range d.Nodes {
		if n < 0 || n >= st.nn {
			return 0, invalid("plan: datum %q: memory node %d of %d", d.Name, n, st.nn)
		}
	}
	if d.Bytes < 0 {
		return 0, invalid("plan: datum %q: %d bytes", d.Name, d.Bytes)
	}
	d.Nodes = slices.Clone(d.Nodes)
	var i int
	if k := len(o.unused) - 1; k >= 0 {
		i, o.unused = o.unused[k], o.unused[:k]
		st.Data[i] = d
		st.writer[i] = noWriter
	} else {
		i = len(st.Data)
		st.Data = append(st.Data, d)
		st.writer = append(st.writer, noWriter)
		st.readers = append(st.readers, endless)
		st.replicas.grow()
		if st.anyTight {
			st.left = append(st.left, endless)
			for n := range st.memory {
				if st.tight[n] {
					st.memory[n].lastUse = append(st.memory[n].lastUse, 0)
				}
			}
		}
	}
	for _, n := range d.Nodes {
		st.replicas.row(i)[n] = 0
		st.arrived(i, n, d.Bytes)
	}
	return i, nil
}

// DropDatum forgets a datum that no later task reads and that no task that is
// not Finished yet writes; its memory is free and its number may come back from
// AddDatum.
func (o *Online) DropDatum(d int) {
	st := o.st
	if st.anyTight {
		for n := range st.memory {
			if m := &st.memory[n]; st.tight[n] {
				m.used -= st.resident(d, n, 0, st.Data[d].Bytes)
				m.floor = max(m.floor, m.lastUse[d])
				m.lastUse[d] = 0
				m.data = slices.DeleteFunc(m.data, func(x int) bool { return x == d })
			}
		}
	}
	for n := range st.replicas.row(d) {
		st.replicas.row(d)[n] = never
	}
	if st.replicas.cut[d] != nil {
		st.replicas.cut[d] = nil
		st.replicas.dirty = slices.DeleteFunc(st.replicas.dirty, func(x int) bool { return x == d })
	}
	st.writer[d] = pastWriter
	o.unused = append(o.unused, d)
}

// Place decides where a task runs that becomes known at now, and returns the
// number by which later tasks name it in After. After may name tasks that have
// finished. The task is kept until Finished. now must not go backwards.
func (o *Online) Place(t Task, now time.Duration) (id int, pm Placement, err error) {
	st := o.st
	after := t.After
	t.After = nil
	for _, a := range after {
		if a < 0 || a >= o.nextID {
			return 0, pm, invalid("plan: task %q comes after task %d of %d", t.Name, a, o.nextID)
		}
		if slot, ok := o.ids[a]; ok {
			t.After = append(t.After, slot)
		}
	}
	slot := o.slot(t)
	undo := func(err error) (int, Placement, error) {
		o.release(slot)
		return 0, Placement{}, err
	}
	if err := st.checkTask(slot); err != nil {
		return undo(err)
	}
	if err := st.checkWrites(slot); err != nil {
		return undo(err)
	}
	if err := st.linkTask(slot); err != nil {
		return undo(err)
	}
	for r := range st.short {
		st.short[r] = 1
	}
	st.advance(now)
	if pm, err = st.place(slot); err != nil {
		return undo(err)
	}
	id = o.nextID
	o.nextID++
	o.ids[id] = slot
	o.placed[slot] = pm
	return id, pm, nil
}

// slot puts a task into the tables of the setup.
func (o *Online) slot(t Task) int {
	st := o.st
	if k := len(o.slots) - 1; k >= 0 {
		i := o.slots[k]
		o.slots = o.slots[:k]
		st.Tasks[i] = t
		return i
	}
	st.Tasks = append(st.Tasks, t)
	st.run = append(st.run, make([]time.Duration, st.nd)...)
	st.refused = append(st.refused, make([]string, st.nd)...)
	st.parts = append(st.parts, make([]bool, st.nd)...)
	st.shy = append(st.shy, make([]bool, st.nd)...)
	st.cheapest = append(st.cheapest, 0)
	st.pred = append(st.pred, nil)
	st.succ = append(st.succ, nil)
	st.finish = append(st.finish, 0)
	o.placed = append(o.placed, Placement{})
	return len(st.Tasks) - 1
}

// release empties a slot. Edges to it stay with tasks that come later: they
// were placed already and do not look again.
func (o *Online) release(slot int) {
	st := o.st
	for _, q := range st.pred[slot] {
		st.succ[q] = slices.DeleteFunc(st.succ[q], func(e edge) bool { return e.to == slot })
	}
	for _, e := range st.succ[slot] {
		st.pred[e.to] = slices.DeleteFunc(st.pred[e.to], func(q int) bool { return q == slot })
	}
	for _, d := range st.Tasks[slot].Writes {
		if d >= 0 && d < len(st.writer) && st.writer[d] == slot {
			st.writer[d] = noWriter
		}
	}
	st.pred[slot], st.succ[slot], st.finish[slot] = nil, st.succ[slot][:0], 0
	st.Tasks[slot], o.placed[slot] = Task{}, Placement{}
	clear(st.refused[slot*st.nd : (slot+1)*st.nd])
	o.slots = append(o.slots, slot)
}

// Finished tells when a placed task really finished. What is queued behind it
// moves by the difference, and so do its outputs. A task that is not known any
// more is ignored.
func (o *Online) Finished(id int, at time.Duration) {
	slot, ok := o.ids[id]
	if !ok {
		return
	}
	st := o.st
	for _, sh := range o.placed[slot].Shares {
		late := at - sh.Finish
		if len(o.placed[slot].Shares) > 1 {
			late = at - o.placed[slot].Finish
		}
		st.lines[st.resource[sh.Device]].shift(late, at)
	}
	for _, d := range st.Tasks[slot].Writes {
		st.replicas.written(d, at)
	}
	writes := st.Tasks[slot].Writes
	o.release(slot)
	for _, d := range writes {
		st.writer[d] = pastWriter
	}
	delete(o.ids, id)
}

// Free is when a device is expected to be free, with everything that is placed
// on its resource.
func (o *Online) Free(dev int) time.Duration { return o.st.lines[o.st.resource[dev]].free }

// advance makes now the earliest moment for anything that is placed from now
// on.
func (st *state) advance(now time.Duration) {
	st.now = max(st.now, now)
	for _, lines := range [3][]timeline{st.lines, st.in, st.out} {
		for i := range lines {
			l := &lines[i]
			l.gaps = slices.Delete(l.gaps, 0, l.after(st.now))
			l.free = max(l.free, st.now)
		}
	}
}

// shift moves what is queued behind something that was late (or early) by so
// much and ended at a moment. Gaps are given up: what they lie between moves.
func (l *timeline) shift(late, at time.Duration) {
	if late == 0 {
		return
	}
	l.gaps = l.gaps[:0]
	l.free = max(l.free+late, at)
}

// grow adds a datum that is nowhere.
func (r *replicas) grow() {
	for range r.nn {
		r.whole = append(r.whole, never)
	}
	r.cut = append(r.cut, nil)
}

// written moves the arrival of what a task has written to when it was there;
// what was to be copied later than that keeps its time.
func (r *replicas) written(d int, at time.Duration) {
	fix := func(times []time.Duration) {
		first := slices.Min(times)
		for n, t := range times {
			if t != never && (t == first || t < at) {
				times[n] = at
			}
		}
	}
	if r.cut[d] == nil {
		fix(r.row(d))
		return
	}
	for _, p := range r.cut[d] {
		fix(p.at)
	}
}
