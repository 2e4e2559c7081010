package partitioner

import (
	"slices"
	"strings"
)

// Tasks that run together (Task.Together) are planned as one task that takes as
// long as the longest of them, reads and writes what any of them does, and runs
// where all of them can. gangs leads from the tasks of a problem to those of
// the problem with each such group made one task, and back.
type gangs struct {
	whole  *Problem // with every task by itself
	merged *Problem
	tasks  [][]int // by task of merged: the tasks of whole, ascending
	at     []int   // by task of whole: the task of merged
}

// gather merges the groups of a problem; nil where there are none.
func gather(p *Problem) (*gangs, error) {
	if !slices.ContainsFunc(p.Tasks, func(t Task) bool { return t.Together != 0 }) {
		return nil, nil
	}
	g := &gangs{whole: p, at: make([]int, len(p.Tasks))}
	group := map[int]int{} // task of merged by number of the group
	for i := range p.Tasks {
		n, known := 0, false
		if number := p.Tasks[i].Together; number != 0 {
			n, known = group[number]
			if !known {
				group[number] = len(g.tasks)
			}
		}
		if !known {
			n = len(g.tasks)
			g.tasks = append(g.tasks, nil)
		}
		g.tasks[n] = append(g.tasks[n], i)
		g.at[i] = n
	}
	q := *p
	q.Tasks = make([]Task, len(g.tasks))
	for n, members := range g.tasks {
		t, err := g.merge(members)
		if err != nil {
			return nil, err
		}
		q.Tasks[n] = t
	}
	g.merged = &q
	return g, nil
}

// merge makes one task of the members of a group.
func (g *gangs) merge(members []int) (Task, error) {
	first := &g.whole.Tasks[members[0]]
	t := *first
	t.Together = 0
	t.After = nil
	if len(members) == 1 {
		t.After = g.after(members)
		return t, nil
	}
	t.Cost, t.Devices = slices.Clone(first.Cost), slices.Clone(first.Devices)
	t.Reads, t.Writes = slices.Clone(first.Reads), slices.Clone(first.Writes)
	names := []string{first.Name}
	for _, i := range members[1:] {
		m := &g.whole.Tasks[i]
		if m.Split != nil || first.Split != nil {
			return t, invalid("plan: task %q runs together with %q and is divided", m.Name, first.Name)
		}
		if len(m.Cost) != len(t.Cost) {
			return t, invalid("plan: task %q: costs for %d devices, %q has them for %d", m.Name, len(m.Cost), first.Name, len(t.Cost))
		}
		names = append(names, m.Name)
		for d := range t.Cost {
			a, b := &t.Cost[d], m.Cost[d]
			switch {
			case a.Refused != "":
			case b.Refused != "" || b.Run > a.Run:
				b.Fixed, b.Spread = max(a.Fixed, b.Fixed), max(a.Spread, b.Spread)
				*a = b
			default:
				a.Fixed, a.Spread = max(a.Fixed, b.Fixed), max(a.Spread, b.Spread)
			}
		}
		t.allow(m.Devices)
		for _, r := range m.Reads {
			t.read(r)
		}
		for _, w := range m.Writes {
			if slices.Contains(t.Writes, w) {
				return t, invalid("plan: two of the tasks that run together, %q, write datum %d", names, w)
			}
			t.Writes = append(t.Writes, w)
		}
		t.Scratch += m.Scratch
	}
	t.Name = strings.Join(names, " + ")
	for _, i := range members {
		if err := g.apart(i, members); err != nil {
			return t, err
		}
	}
	t.After = g.after(members)
	return t, nil
}

// allow keeps the devices that a further member may run on.
func (t *Task) allow(devices []int) {
	switch {
	case len(devices) == 0:
	case len(t.Devices) == 0:
		t.Devices = slices.Clone(devices)
	default:
		t.Devices = slices.DeleteFunc(t.Devices, func(d int) bool { return !slices.Contains(devices, d) })
		if len(t.Devices) == 0 {
			for d := range t.Cost {
				t.Cost[d].Refused = "the tasks that run together are to run on different devices"
			}
		}
	}
}

// read adds what a further member reads.
func (t *Task) read(r Read) {
	i := slices.IndexFunc(t.Reads, func(o Read) bool { return o.Datum == r.Datum })
	if i < 0 {
		t.Reads = append(t.Reads, r)
		return
	}
	o := &t.Reads[i]
	if o.Lo == 0 && o.Hi == 0 || r.Lo == 0 && r.Hi == 0 {
		o.Lo, o.Hi = 0, 0
		return
	}
	o.Lo, o.Hi = min(o.Lo, r.Lo), max(o.Hi, r.Hi)
}

// apart checks that task i waits for no other member of its group: neither on
// its own account nor for memory.
func (g *gangs) apart(i int, members []int) error {
	t := &g.whole.Tasks[i]
	for _, j := range members {
		if i == j {
			continue
		}
		m := &g.whole.Tasks[j]
		if slices.Contains(t.After, j) {
			return invalid("plan: task %q is to run together with %q and waits for it", t.Name, m.Name)
		}
		for _, w := range m.Writes {
			if w < 0 || w >= len(g.whole.Data) {
				continue // prepare says so
			}
			for _, r := range t.Reads {
				if r.Datum == w || r.Datum >= 0 && r.Datum < len(g.whole.Data) && g.whole.Data[w].Buffer != 0 && g.whole.Data[r.Datum].Buffer == g.whole.Data[w].Buffer {
					return invalid("plan: task %q is to run together with %q and reads what that writes (%q)", t.Name, m.Name, g.whole.Data[w].Name)
				}
			}
		}
	}
	return nil
}

// after are the tasks of merged that a group waits for by request.
func (g *gangs) after(members []int) []int {
	var list []int
	for _, i := range members {
		for _, a := range g.whole.Tasks[i].After {
			if a >= 0 && a < len(g.at) {
				a = g.at[a]
			}
			list = append(list, a) // prepare refuses one that does not exist
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// spread makes a plan for the whole problem of one for merged.
func (g *gangs) spread(merged *Plan) *Plan {
	pl := *merged
	pl.Tasks = make([]Placement, len(g.whole.Tasks))
	pl.Order = make([]int, 0, len(pl.Tasks))
	for _, n := range merged.Order {
		pl.Order = append(pl.Order, g.tasks[n]...)
	}
	for n, members := range g.tasks {
		for _, i := range members {
			pl.Tasks[i] = merged.Tasks[n]
			pl.Tasks[i].Shares = slices.Clone(merged.Tasks[n].Shares)
			pl.Tasks[i].Candidates = slices.Clone(merged.Tasks[n].Candidates)
			if len(members) > 1 {
				pl.Tasks[i].Reason += "; " + g.merged.Tasks[n].Name + " run together"
			}
		}
	}
	pl.Transfers = slices.Clone(merged.Transfers)
	for i := range pl.Transfers {
		if t := &pl.Transfers[i]; t.Task >= 0 {
			t.Task = g.reader(g.tasks[t.Task], t.Datum)
		}
	}
	return &pl
}

// reader is the member of a group that a datum is moved for.
func (g *gangs) reader(members []int, datum int) int {
	for _, i := range members {
		if slices.ContainsFunc(g.whole.Tasks[i].Reads, func(r Read) bool { return r.Datum == datum }) {
			return i
		}
	}
	return members[0]
}

// fold makes a plan for merged of one for the whole problem, and checks that
// the members of a group are at one.
func (g *gangs) fold(pl *Plan) (*Plan, error) {
	if len(pl.Tasks) != len(g.whole.Tasks) || len(pl.Order) != len(pl.Tasks) {
		return nil, invalid("plan: %d placements in an order of %d, there are %d tasks", len(pl.Tasks), len(pl.Order), len(g.whole.Tasks))
	}
	merged := *pl
	merged.Tasks = make([]Placement, len(g.tasks))
	for n, members := range g.tasks {
		first := pl.Tasks[members[0]]
		for _, i := range members[1:] {
			if !slices.Equal(pl.Tasks[i].Shares, first.Shares) || pl.Tasks[i].Start != first.Start || pl.Tasks[i].Finish != first.Finish {
				return nil, invalid("plan: task %q is to run together with %q and is placed elsewhere: %v, %v",
					g.whole.Tasks[i].Name, g.whole.Tasks[members[0]].Name, pl.Tasks[i].Shares, first.Shares)
			}
		}
		merged.Tasks[n] = first
	}
	merged.Order = make([]int, 0, len(g.tasks))
	seen := make([]bool, len(pl.Tasks))
	for at := 0; at < len(pl.Order); {
		t := pl.Order[at]
		if t < 0 || t >= len(seen) || seen[t] {
			return nil, invalid("plan: order lists task %d twice or it does not exist", t)
		}
		n := g.at[t]
		for range g.tasks[n] {
			if at == len(pl.Order) || pl.Order[at] < 0 || pl.Order[at] >= len(seen) || seen[pl.Order[at]] || g.at[pl.Order[at]] != n {
				return nil, invalid("plan: order has other tasks between those of %q, which run together", g.merged.Tasks[n].Name)
			}
			seen[pl.Order[at]] = true
			at++
		}
		merged.Order = append(merged.Order, n)
	}
	merged.Transfers = slices.Clone(pl.Transfers)
	for i := range merged.Transfers {
		if t := &merged.Transfers[i]; t.Task >= 0 && t.Task < len(g.at) {
			t.Task = g.at[t.Task]
		}
	}
	return &merged, nil
}
