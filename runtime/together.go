package tandem

import (
	"container/heap"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tandemrun/tandem/devices"
)

// Together has tasks run at the same time, on one device, each on a queue of its
// own: kernels that send data to each other while they run, through the
// channels or pipes of one program. None of them starts before all can; a
// launch that the device refuses keeps the others from running too. They are
// never divided, and if their device is lost they fail and do not move to
// another.
//
// The tasks are of one graph, their kernels of one source. They must not wait
// for each other, neither by After nor for data in a buffer that one of them
// writes, and they are repeated equally often. A device has to promise to run so
// many kernels at a time (devices.Info.Concurrent). What is against these rules
// is an error of Submit. A task belongs to one such group at most.
func (g *Graph) Together(tasks ...Task) *Graph {
	var members []int
	for _, t := range tasks {
		switch {
		case t.g != g:
			g.fault(errors.New("Together takes tasks of the same graph"))
			return g
		case t.id < 0:
			return g // the graph knows
		case t.first != t.id:
			g.fault(fmt.Errorf("task %q is several tasks, which run one after the other: it cannot run together with others", g.nameOf(t.id)))
			return g
		case g.task(t.id).wish().gang != nil:
			g.fault(fmt.Errorf("task %q runs together with others already: name all tasks of a group at once", g.nameOf(t.id)))
			return g
		case slices.Contains(members, t.id):
			g.fault(fmt.Errorf("task %q is named twice among those that run together", g.nameOf(t.id)))
			return g
		}
		members = append(members, t.id)
	}
	if len(members) < 2 {
		g.fault(errors.New("Together takes at least two tasks"))
		return g
	}
	slices.Sort(members)
	g.gangs++
	for _, i := range members {
		g.task(i).ask().gang = &gang{g.gangs, members}
	}
	return g
}

// gang is a group of tasks that run together.
type gang struct {
	number  int   // from 1
	members []int // tasks, ascending
}

// names of the tasks of a group, `"a" and "b"`.
func (g *Graph) gangNames(members []int) string {
	names := make([]string, len(members))
	for i, m := range members {
		names[i] = fmt.Sprintf("%q", g.nameOf(m))
	}
	return strings.Join(names, " and ")
}

// checkGangs reports what keeps tasks from running together, whatever the
// devices.
func (g *Graph) checkGangs() error {
	var errs []error
	for i := range g.Len() {
		t, gang := g.task(i), g.task(i).wish().gang
		if gang == nil {
			continue
		}
		name := g.nameOf(i)
		refuse := func(format string, args ...any) {
			errs = append(errs, &TaskError{Task: name, Attempt: 1, Err: fmt.Errorf("%s are to run together: %s: %w",
				g.gangNames(gang.members), fmt.Sprintf(format, args...), devices.ErrInvalid)})
		}
		parts := 0
		for _, f := range t.wish().split.Shares {
			if f > 0 {
				parts++
			}
		}
		if parts > 1 {
			refuse("%q cannot be divided into %d shares", name, parts)
		}
		if first := g.task(gang.members[0]); t.times() != first.times() {
			refuse("%q is repeated %d times, %q %d times", name, t.times(), g.nameOf(gang.members[0]), first.times())
		}
		for _, a := range t.after() {
			if slices.Contains(gang.members, int(a)) {
				refuse("%q waits for %q%s", name, g.nameOf(int(a)), g.shared(i, int(a)))
			}
		}
	}
	return errors.Join(errs...)
}

// shared says which buffer has task i wait for task a.
func (g *Graph) shared(i, a int) string {
	for j, b := range g.task(i).buffers() {
		for k, c := range g.task(a).buffers() {
			if b == c && (g.task(i).call.Args[j].Mode.Writes() || g.task(a).call.Args[k].Mode.Writes()) {
				return fmt.Sprintf(", since they share buffer %q and one writes it; data that one sends to the other goes through a channel", b.array.Name)
			}
		}
	}
	return ""
}

// orderGangs is sorted where tasks run together: those of a group come one
// behind the other.
func (g *Graph) orderGangs() ([]int, error) {
	if err := g.checkGangs(); err != nil {
		return nil, err
	}
	// A group is known by its first task.
	unit := make([]int, g.Len())
	waits := make([]int, g.Len())
	next := make([][]int, g.Len())
	units := 0
	for i := range g.Len() {
		unit[i] = i
		if s := g.task(i).wish().gang; s != nil {
			unit[i] = s.members[0]
		}
		if unit[i] == i {
			units++
		}
	}
	for i := range g.Len() {
		for _, a := range g.task(i).after() {
			next[unit[a]] = append(next[unit[a]], unit[i])
			waits[unit[i]]++
		}
	}
	ready := &taskHeap{}
	for i := range unit {
		if unit[i] == i && waits[i] == 0 {
			heap.Push(ready, i)
		}
	}
	order := make([]int, 0, g.Len())
	for ready.Len() > 0 {
		i := heap.Pop(ready).(int)
		units--
		if s := g.task(i).wish().gang; s != nil {
			order = append(order, s.members...)
		} else {
			order = append(order, i)
		}
		for _, u := range next[i] {
			if waits[u]--; waits[u] == 0 {
				heap.Push(ready, u)
			}
		}
	}
	if units == 0 {
		return order, nil
	}
	return nil, &CycleError{g.gangRing(unit, waits)}
}

// gangRing is ring with groups in place of tasks.
func (g *Graph) gangRing(unit, waits []int) []string {
	before := func(u int) int { // a unit that u waits for and that waits itself
		for i := range g.Len() {
			if unit[i] != u {
				continue
			}
			for _, a := range g.task(i).after() {
				if waits[unit[a]] > 0 {
					return unit[a]
				}
			}
		}
		return u
	}
	at := slices.IndexFunc(waits, func(w int) bool { return w > 0 })
	seen := map[int]int{}
	var path []int
	for {
		if from, ok := seen[at]; ok {
			path = path[from:]
			break
		}
		seen[at] = len(path)
		path = append(path, at)
		at = before(at)
	}
	slices.Reverse(path)
	names := make([]string, len(path))
	for n, u := range path {
		names[n] = g.nameOf(u)
		if s := g.task(u).wish().gang; s != nil {
			var all []string
			for _, m := range s.members {
				all = append(all, g.nameOf(m))
			}
			names[n] = strings.Join(all, " + ")
		}
	}
	return names
}

// notTogether says why a device cannot run a task together with the others of
// its group; "" if it can.
func (t task) notTogether(a *agent) string {
	switch {
	case t.wish().gang == nil:
		return ""
	case a.info.Concurrent == 0:
		return fmt.Sprintf("%s is not sure to run kernels at the same time, and %d are to run together", a.info.ID, len(t.wish().gang.members))
	case len(t.wish().gang.members) > min(a.info.Concurrent, len(a.compute)):
		return fmt.Sprintf("%s runs at most %d kernels at the same time, and %d are to run together", a.info.ID, min(a.info.Concurrent, len(a.compute)), len(t.wish().gang.members))
	}
	return ""
}

// otherSource says why task i cannot be part of its group on a device: what runs
// together is one program there. "" if it can.
func (g *Graph) otherSource(i int, a *agent) string {
	t := g.task(i)
	if t.wish().gang == nil {
		return ""
	}
	first := g.task(t.wish().gang.members[0])
	v, err := t.call.Kernel.VariantFor(a.info)
	w, err2 := first.call.Kernel.VariantFor(a.info)
	if err != nil || err2 != nil || v.Source == w.Source {
		return ""
	}
	return fmt.Sprintf("%s: kernels %s and %s come from different sources (%s, %s); what runs together is one program", a.info.ID,
		first.call.Kernel.Name, t.call.Kernel.Name, w.Source.Name, v.Source.Name)
}
