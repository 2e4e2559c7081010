package pipeline

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tandemrun/tandem/kernels"
)

// maxRings bounds how many rings are spelled out.
const maxRings = 10

// order are the waits between tasks: through data, which only point back in
// the file, and by request, which may point ahead.
type order struct {
	tasks []task
	after [][]int32
	next  [][]int32
}

// checkOrder finds tasks that wait for each other. Only an after that points
// ahead can close a ring, so most pipelines are done at once.
func (r *reader) checkOrder() {
	ahead := false
	for i := range r.tasks {
		for _, a := range r.tasks[i].after {
			ahead = ahead || int(a) >= i
		}
	}
	if !ahead {
		return
	}
	o := &order{tasks: r.tasks, after: make([][]int32, len(r.tasks)), next: make([][]int32, len(r.tasks))}
	o.link()
	stuck := o.stuck()
	rings := 0
	seen := make([]int32, len(r.tasks)) // by which walk; 0: not
	for start := range stuck {
		if !stuck[start] || seen[start] != 0 {
			continue
		}
		// Backwards along waits that are not met: that ends in a ring, or where
		// an earlier walk has been.
		mark := int32(start) + 1
		var path []int32
		at := int32(start)
		for seen[at] == 0 {
			seen[at] = mark
			path = append(path, at)
			for _, a := range o.after[at] {
				if stuck[a] {
					at = a
					break
				}
			}
		}
		if seen[at] != mark {
			continue
		}
		ring := path[slices.Index(path, at):]
		r.ringFault(o, ring)
		if rings++; rings == maxRings {
			return
		}
	}
}

// link fills in the waits, as the graph will have them.
func (o *order) link() {
	type use struct {
		writer  int32
		readers []int32
	}
	uses := map[*kernels.Array]*use{}
	for i := range o.tasks {
		t := &o.tasks[i]
		var waits []int32
		each := func(f func(u *use, mode kernels.Access)) {
			for _, a := range t.call.Args {
				if a.Array == nil {
					continue
				}
				u := uses[a.Array]
				if u == nil {
					u = &use{writer: -1}
					uses[a.Array] = u
				}
				f(u, a.Mode)
			}
		}
		each(func(u *use, mode kernels.Access) {
			if u.writer >= 0 {
				waits = append(waits, u.writer)
			}
			if mode.Writes() {
				waits = append(waits, u.readers...)
			}
		})
		each(func(u *use, mode kernels.Access) {
			if mode.Writes() {
				u.writer, u.readers = int32(i), u.readers[:0]
			} else if u.writer != int32(i) {
				u.readers = append(u.readers, int32(i))
			}
		})
		waits = append(waits, t.after...)
		slices.Sort(waits)
		o.after[i] = slices.Compact(waits)
		for _, a := range o.after[i] {
			o.next[a] = append(o.next[a], int32(i))
		}
	}
}

// stuck are the tasks that never get their turn (Kahn's algorithm).
func (o *order) stuck() []bool {
	stuck := make([]bool, len(o.tasks))
	waits := make([]int, len(o.tasks))
	var ready []int32
	for i := range o.tasks {
		waits[i] = len(o.after[i])
		if stuck[i] = true; waits[i] == 0 {
			ready = append(ready, int32(i))
		}
	}
	for len(ready) > 0 {
		at := ready[len(ready)-1]
		ready = ready[:len(ready)-1]
		stuck[at] = false
		for _, n := range o.next[at] {
			if waits[n]--; waits[n] == 0 {
				ready = append(ready, n)
			}
		}
	}
	return stuck
}

// ringFault reports a ring, as short as its request to wait can close one, at
// the place of that request. ring is in the order of waiting: each task waits
// for the next.
func (r *reader) ringFault(o *order, ring []int32) {
	for n, waiter := range ring {
		target := ring[(n+1)%len(ring)]
		if target < waiter {
			continue
		}
		for _, a := range o.tasks[waiter].step.after {
			if a.target != o.tasks[target].step || !slices.Contains(o.tasks[waiter].after, target) {
				continue
			}
			if target == waiter {
				r.add(a.at, a.path, "step %q waits for itself", o.tasks[waiter].name)
				return
			}
			path := o.shortest(waiter, target)
			names := make([]string, 0, len(path)+1)
			for _, i := range append(path, waiter) {
				names = append(names, o.tasks[i].name)
			}
			if len(names) > maxListed {
				names = append(append(names[:maxListed/2:maxListed/2], fmt.Sprintf("… %d more …", len(names)-maxListed+1)), names[len(names)-maxListed/2:]...)
			}
			r.add(a.at, a.path, "steps wait for each other in a ring: %s", strings.Join(names, " -> ")).
				Hint = "an arrow leads to the step that waits; take one of the waits out"
			return
		}
	}
}

// shortest is a shortest way from one task to another along waiting tasks; it
// is there.
func (o *order) shortest(from, to int32) []int32 {
	came := map[int32]int32{from: from}
	for queue := []int32{from}; len(queue) > 0; queue = queue[1:] {
		at := queue[0]
		if at == to {
			break
		}
		for _, n := range o.next[at] {
			if _, seen := came[n]; !seen {
				came[n] = at
				queue = append(queue, n)
			}
		}
	}
	path := []int32{to}
	for at := to; at != from; {
		at = came[at]
		path = append(path, at)
	}
	slices.Reverse(path)
	return path
}

// warnUnused notes what the pipeline defines and does not need.
func (r *reader) warnUnused() {
	for _, b := range r.p.buffers {
		path := join("buffers", b.array.Name)
		switch used := b.read || b.written; {
		case !used && b.out == "":
			r.warnings.add(b.key, path, "no step uses the buffer")
		case !used && b.in == "" && b.fill == nil:
			r.warnings.add(b.outAt, path+".out", "no step writes the buffer: the file will hold zeros")
		case b.zeroRead && b.fill == nil:
			r.warnings.add(b.key, path, "the buffer is read before any step writes it: it holds zeros then").Hint = "say so with fill: 0"
		}
	}
}
