package pipeline

import (
	"fmt"
	"slices"

	"github.com/tandemrun/tandem/kernels"
	tandem "github.com/tandemrun/tandem/runtime"
)

// companion is a step that another names as running at the same time.
type companion struct {
	at   *node
	path string
	name string
}

// gang is a group of steps that run at the same time, in the order of the file.
type gang struct {
	steps []*step
	at    *node // where the first of them says so
	path  string
}

// readTogether reads the steps that a step runs together with.
func (r *reader) readTogether(st *step, n *node, path string) {
	names, nodes := r.textList(n, path)
	for i, name := range names {
		st.together = append(st.together, companion{nodes[i], fmt.Sprintf("%s[%d]", path, i), name})
	}
}

// resolveTogether makes groups of the steps that name each other: who names one
// of a group belongs to it.
func (r *reader) resolveTogether() {
	var ids []string
	for _, st := range r.p.steps {
		if st.id != "" {
			ids = append(ids, st.id)
		}
	}
	for _, st := range r.p.steps {
		for _, c := range st.together {
			other := r.byID[c.name]
			switch {
			case other == nil:
				r.add(c.at, c.path, "there is no step %q to run together with", clip(c.name)).Hint = near(c.name, ids)
			case other == st:
				r.add(c.at, c.path, "the step names itself; the others are enough")
			case other.body != st.body:
				r.add(c.at, c.path, "step %q stands in another loop: what runs together is of one iteration", clip(c.name))
			case st.gang != nil && st.gang != other.gang && len(st.gang.steps) >= maxTogether:
				r.add(c.at, c.path, "more than %d steps are to run together", maxTogether)
				return
			default:
				r.join(st, other, c)
			}
		}
	}
	seen := map[*gang]bool{}
	for _, st := range r.p.steps {
		if g := st.gang; g != nil && !seen[g] {
			seen[g] = true
			r.checkGang(g)
		}
	}
}

// join puts two steps into one group.
func (r *reader) join(a, b *step, c companion) {
	g := a.gang
	if g == nil {
		g = &gang{at: c.at, path: c.path}
	}
	for _, st := range []*step{a, b} {
		if st.gang == g {
			continue
		}
		all := []*step{st}
		if st.gang != nil {
			all = st.gang.steps
		}
		for _, s := range all {
			s.gang = g
		}
		g.steps = append(g.steps, all...)
	}
	slices.SortFunc(g.steps, func(a, b *step) int { return a.pos - b.pos })
}

// maxTogether bounds the steps of a group; no device runs so many kernels at a
// time.
const maxTogether = 64

// checkGang finds what keeps steps from running together, whatever the devices.
func (r *reader) checkGang(g *gang) {
	for _, st := range g.steps {
		parts := 0
		for _, s := range st.shares {
			if s > 0 {
				parts++
			}
		}
		if parts > 1 {
			r.add(st.at.get("split"), st.path+".split", "a step that runs together with others cannot be divided").Hint = "take split out, or write split: none"
		}
		if st.kernel != nil && st.kernel.Compose != nil {
			r.add(g.at, g.path, "step %q is several launches, which run one after the other: it cannot run together with others", st.name)
		}
		for _, a := range st.after {
			if a.target != nil && a.target.gang == g {
				r.add(a.at, a.path, "step %q waits for %q, with which it is to run together", st.name, a.name)
			}
		}
		for _, other := range g.steps {
			if b := st.sends(other); b != nil && other != st {
				r.add(g.at, g.path, "steps %q and %q are to run together, and %q writes buffer %q, for which %q would wait", st.name, other.name, st.name, b.array.Name, other.name).
					Hint = "what one kernel sends to the other while both run goes through a channel"
			}
		}
	}
}

// sends is a buffer that st writes and other uses, nil if there is none.
func (st *step) sends(other *step) *buffer {
	for i, a := range st.args {
		if a.buf == nil || !st.modeOf(i, a).Writes() {
			continue
		}
		for _, b := range other.args {
			if b.buf == a.buf {
				return a.buf
			}
		}
	}
	return nil
}

// modeOf is what the step does with argument i, as far as the file and the
// kernel say.
func (st *step) modeOf(i int, a *argument) kernels.Access {
	if a.mode != 0 || st.kernel == nil {
		return a.mode
	}
	if a.name != "" {
		i = st.kernel.Param(a.name)
	}
	if i >= 0 && i < len(st.kernel.Params) {
		return st.kernel.Params[i].Mode
	}
	return 0
}

// together has the tasks of each group run at the same time, iteration by
// iteration. tasks are by position in the pipeline.
func (b *Built) together(tasks []tandem.Task) {
	type group struct {
		g  *gang
		in *iteration
	}
	members := map[group][]tandem.Task{}
	var order []group
	for i := range b.pipeline.tasks {
		t := &b.pipeline.tasks[i]
		if t.step.gang == nil {
			continue
		}
		key := group{t.step.gang, t.in}
		if members[key] == nil {
			order = append(order, key)
		}
		members[key] = append(members[key], tasks[i])
	}
	for _, key := range order {
		b.Graph.Together(members[key]...)
	}
}
