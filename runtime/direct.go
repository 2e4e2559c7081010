package tandem

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/kernels"
	"github.com/tandemrun/tandem/partitioner"
	"github.com/tandemrun/tandem/partitioner/costmodel"
)

// A graph that belongs on one device that works in the host's memory leaves
// nothing to decide and nothing to move: there is no other, or the others are
// slower faces of the same processor. Where the device takes whole graphs
// (devices.Batcher), such a graph runs as one batch: no plan, no operation and
// no event for a task.

// direct is what the runs of such a graph have in common. It is made from the
// graph as it was, and is immutable but for the kernels.
type direct struct {
	session *Session
	agent   *agent
	graph   *Graph
	version int // of the graph
	forms   []directForm
	tasks   []devices.BatchTask
	next    []int32
	asked   []int32 // tasks of which anything was asked
	last    bitSet  // those that are the last to write one of their buffers

	mu       sync.Mutex
	launches []devices.Launch // by form, with the kernels; nil: to be compiled
}

// directForm is a call of the graph.
type directForm struct {
	call    *kernels.Call
	variant *kernels.Variant
	tasks   int // how many have it
	key     costmodel.Key
	size    costmodel.Size
	zero    int64 // bytes of the buffers that it touches
	rivals  []rival
}

// rival is another face of the processor that could run a form.
type rival struct {
	agent   *agent
	variant *kernels.Variant
}

// bitSet is a set of task numbers.
type bitSet []uint64

func (s bitSet) add(i int32)      { s[i/64] |= 1 << (i % 64) }
func (s bitSet) has(i int32) bool { return s[i/64]&(1<<(i%64)) != 0 }

// directly makes what runs of g as one batch need; nil: it has to be planned.
func (s *Session) directly(g *Graph) *direct {
	a := s.batcher()
	if a == nil || g.gangs > 0 { // what runs together is not in any order
		return nil
	}
	d := g.direct.Load()
	if d == nil || d.agent != a || d.version != g.version {
		d = &direct{session: s, agent: a, graph: g, version: g.version}
		if !d.addTasks() || !d.addOrder() {
			return nil
		}
		g.direct.Store(d)
	}
	if !d.fastest() {
		return nil
	}
	return d
}

// batcher is the device that gets whole graphs: the only one, or one that takes
// them itself where every other is a face of the same processor or only for
// tasks that ask for it. One that loads images is planned for. What could be lost while others are left is fed task by
// task, so that it can be done again elsewhere.
func (s *Session) batcher() *agent {
	if len(s.agents) == 1 && s.agents[0].info.HostCoherent && s.agents[0].usable() && s.clock.device == nil && s.agents[0].images == nil {
		return s.agents[0]
	}
	var found *agent
	for _, a := range s.agents {
		// Not through wrappers: they want to see every launch.
		if _, ok := a.device.(devices.Batcher); ok && found == nil && a.info.HostCoherent && a.usable() {
			found = a
		}
	}
	if found == nil {
		return nil
	}
	for _, a := range s.agents {
		if a != found && !a.onCall && a.usable() && !(s.exclusive && a.info.PhysicalID == found.info.PhysicalID) {
			return nil
		}
	}
	return found
}

// fastest reports whether no other face would run one of the forms sooner, as
// far as is known now.
func (d *direct) fastest() bool {
	p := &d.session.predictor
	_, _, launch := p.links(&d.agent.info)
	for i := range d.forms {
		f := &d.forms[i]
		if len(f.rivals) == 0 {
			continue
		}
		took := launch + d.estimate(f).Run
		for _, r := range f.rivals {
			_, _, launch := p.links(&r.agent.info)
			if r.agent.usable() && launch+p.estimate(f.call.Kernel, r.variant, r.agent, f.size).Run < took {
				return false
			}
		}
	}
	return true
}

// addTasks sorts the tasks by form; false: one of them needs to be planned, if
// only to say what is wrong with it.
func (d *direct) addTasks() bool {
	g := d.graph
	d.last = make(bitSet, (g.Len()+63)/64)
	for _, u := range g.order {
		if u.buf.bytes == 0 {
			return false
		}
		if u.writer >= 0 {
			d.last.add(u.writer)
		}
	}
	selected := map[string]*selection{}
	for i, w := range g.asked {
		if w == nil {
			continue
		}
		if w.timeout > 0 || w.repeat > 1 || len(w.split.Shares) > 0 {
			return false
		}
		if w.selector != "" && !d.allows(w.selector, selected) {
			return false
		}
		d.asked = append(d.asked, int32(i))
	}
	d.tasks = make([]devices.BatchTask, 0, g.Len())
	d.forms = make([]directForm, len(g.calls))
	for _, block := range g.tasks {
		for i := range block {
			r := &block[i]
			f := &d.forms[r.call]
			if f.tasks == 0 && !d.prepare(f, g.task(len(d.tasks))) {
				return false
			}
			f.tasks++
			d.tasks = append(d.tasks, devices.BatchTask{Form: r.call, Args: r.args, Waits: r.waits})
		}
	}
	return true
}

// allows reports whether the device is one of those that a task asks for.
func (d *direct) allows(selector string, selected map[string]*selection) bool {
	pl := planner{Plan: &Plan{session: d.session}, selectors: selected}
	chosen, err := pl.selected(selector)
	return err == nil && chosen.ids()[d.agent.info.ID]
}

// prepare makes the form of a task, if the device takes it.
func (d *direct) prepare(f *directForm, t task) bool {
	v, why := candidate(t, d.agent, nil)
	if why != "" {
		return false
	}
	p := &d.session.predictor
	*f = directForm{call: t.call, variant: v, key: p.key(t.call.Kernel, v, d.agent), size: size(t.call, t.call.Range.Items()).WithFootprint()}
	for _, b := range t.buffers() {
		f.zero += b.bytes
	}
	for _, a := range d.session.agents {
		if a == d.agent || a.onCall {
			continue
		}
		if v, why := candidate(t, a, nil); why == "" {
			f.rivals = append(f.rivals, rival{a, v})
		}
	}
	return true
}

// addOrder turns the lists of predecessors into lists of successors; false: the
// order of Add is not the tasks' own.
func (d *direct) addOrder() bool {
	g := d.graph
	if g.turned {
		return false
	}
	edges := len(g.edges)
	for _, p := range g.edges {
		d.tasks[p].Next++
	}
	// A task that was asked to wait for others has a list of its own.
	for _, i := range d.asked {
		own, after := g.task(int(i)).afterData(), g.task(int(i)).after()
		d.tasks[i].Waits = int32(len(after))
		edges += len(after) - len(own)
		for _, p := range own {
			d.tasks[p].Next--
		}
		for _, p := range after {
			d.tasks[p].Next++
		}
	}
	if edges > maxLinks {
		return false
	}
	at := int32(0)
	for i := range d.tasks { // where the list of each ends
		at += d.tasks[i].Next
		d.tasks[i].Next = at
	}
	d.next = make([]int32, edges)
	for i := g.Len() - 1; i >= 0; i-- { // from its end to its beginning
		for _, p := range g.task(i).after() {
			d.tasks[p].Next--
			d.next[d.tasks[p].Next] = int32(i)
		}
	}
	return true
}

// compile compiles every form's kernel.
func (d *direct) compile(ctx context.Context) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.launches != nil {
		return nil
	}
	launches := make([]devices.Launch, len(d.forms))
	for i := range d.forms {
		f := &d.forms[i]
		k, err := d.session.programs.kernel(ctx, d.agent, f.variant)
		if err != nil {
			first := slices.IndexFunc(d.tasks, func(t devices.BatchTask) bool { return int(t.Form) == i })
			return &TaskError{Task: d.graph.nameOf(first), Attempt: 1, Err: err}
		}
		l := &launches[i]
		l.Kernel, l.Range, l.Args = k, f.call.Range, make([]devices.Arg, len(f.call.Args))
		for j := range f.call.Args {
			l.Args[j].Value, l.Args[j].LocalBytes = f.call.Args[j].Value, f.call.Args[j].LocalBytes
		}
	}
	d.launches = launches
	return nil
}

// predict is how long the graph should take. Tasks of one work-item run side by
// side, others can use the whole device one after the other.
func (d *direct) predict() time.Duration {
	var total time.Duration
	for i := range d.forms {
		run := d.estimate(&d.forms[i]).Run * time.Duration(d.forms[i].tasks)
		if d.forms[i].call.Range.Items() == 1 {
			run /= time.Duration(max(min(d.agent.info.ComputeUnits, d.forms[i].tasks), 1))
		}
		total += run
	}
	return total
}

func (d *direct) estimate(f *directForm) partitioner.Estimate {
	return d.session.predictor.estimate(f.call.Kernel, f.variant, d.agent, f.size)
}

// decide explains the placement of every task. Tasks that are alike share what
// they are told with.
func (d *direct) decide(run int64, tell func(DecisionEvent)) {
	known := make([]DecisionEvent, len(d.forms))
	for i := range d.tasks {
		e := &known[d.tasks[i].Form]
		if e.Candidates == nil {
			*e = d.decision(run, &d.forms[d.tasks[i].Form])
		}
		e.Task = i
		tell(*e)
	}
}

// decision explains the placement of the tasks of a form.
func (d *direct) decision(run int64, f *directForm) DecisionEvent {
	id := d.agent.info.ID
	e := DecisionEvent{Run: run, Candidates: []Candidate{{Device: id, Run: d.estimate(f).Run}},
		Chosen: []Share{{Device: id, Hi: max(f.call.Range.Size[0], 1)}}, Reason: "the only device for it"}
	for _, r := range f.rivals {
		run := d.session.predictor.estimate(f.call.Kernel, r.variant, r.agent, f.size).Run
		e.Candidates = append(e.Candidates, Candidate{Device: r.agent.info.ID, Run: run})
		e.Reason = "the fastest face of the processor for every task of the graph"
	}
	return e
}

// Needs reports whether task s needs what task t makes: whether it reads a
// buffer that t is the last to write before it, or was asked to come after it.
func (d *direct) Needs(t, s int32) bool {
	g := d.graph
	after := g.task(int(s))
	if slices.Contains(after.wish().asked, int(t)) {
		return true
	}
	for j, b := range after.buffers() {
		if !after.call.Args[j].Mode.Reads() {
			continue
		}
		for i := s - 1; i >= t; i-- {
			if g.task(int(i)).writes(b) {
				if i == t {
					return true
				}
				break
			}
		}
	}
	return false
}

// writes reports whether the task writes b.
func (t task) writes(b *Buffer) bool {
	for j, x := range t.buffers() {
		if x == b && t.call.Args[j].Mode.Writes() {
			return true
		}
	}
	return false
}
