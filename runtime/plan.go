package tandem

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/kernels"
	"github.com/tandemrun/tandem/partitioner"
	"github.com/tandemrun/tandem/partitioner/costmodel"
)

// A Plan says where every task of a graph runs, and why. It belongs to the
// session that made it and may be started many times.
type Plan struct {
	session *Session
	graph   *Graph
	order   []int // topological, as lowering follows it
	placed  []placement
	direct  *direct    // the graph runs as one batch; nil: task by task
	mu      sync.Mutex // held while compiling: a plan may be started by several goroutines
	ready   bool       // everything is compiled
	lost    []int      // agents that were lost while compiling
	// Predicted is the makespan that the cost model expects.
	Predicted time.Duration

	problem    *partitioner.Problem
	schedule   *partitioner.Plan
	completing sync.Mutex
}

// Problem is what the partitioner was asked, for reports; nil for an empty
// graph.
func (p *Plan) Problem() *partitioner.Problem {
	_ = p.complete() // without devices left there is no problem either
	return p.problem
}

// Schedule is what the partitioner answered; nil for an empty graph.
func (p *Plan) Schedule() *partitioner.Plan {
	_ = p.complete()
	return p.schedule
}

// complete decides what a plan of a graph that runs as one batch left open,
// because only reports ask for it.
func (p *Plan) complete() error {
	p.completing.Lock()
	defer p.completing.Unlock()
	if p.placed != nil || p.graph.Len() == 0 {
		return nil
	}
	return p.decide()
}

// placement is where one task runs.
type placement struct {
	shares []placedShare
	dim    int             // along which it may be cut; -1: not at all
	bands  []*kernels.Band // by argument; nil: all of the array
	reason string
	later  bool // handed out while it runs: shares are what each device is expected to do
}

// parts is how many launches the task is known to have before it runs; of one
// that is handed out later, one stands for what has not been handed out.
func (p *placement) parts() int {
	if p.later {
		return 1
	}
	return len(p.shares)
}

// placedShare is the part of a task that one device runs.
type placedShare struct {
	agent     int
	nd        devices.NDRange
	head      bool // the first chunk of the share
	variant   *kernels.Variant
	cut       *cutting       // it runs on windows of the arrays; nil: on whole ones
	kernel    devices.Kernel // set by compile
	key       costmodel.Key
	size      costmodel.Size
	predicted time.Duration
	spread    time.Duration // of predicted, one standard deviation
}

// guessed reports whether the prediction says little.
func (s *placedShare) guessed() bool { return 2*s.spread >= s.predicted }

// Plan checks the graph and decides where its tasks run. Nothing is compiled
// and nothing runs.
func (s *Session) Plan(ctx context.Context, g *Graph) (*Plan, error) {
	if err := g.Err(); err != nil {
		return nil, err
	}
	if err := s.owns(g); err != nil {
		return nil, err
	}
	p := &Plan{session: s, graph: g}
	if g.Len() == 0 {
		return p, nil
	}
	if p.direct = s.directly(g); p.direct != nil {
		p.Predicted = p.direct.predict()
		return p, nil
	}
	if err := p.decide(); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, context.Cause(ctx)
	}
	return p, nil
}

// decide places every task.
func (p *Plan) decide() error {
	order, err := p.graph.sorted()
	if err != nil {
		return err
	}
	placed := make([]placement, len(order))
	pl := newPlanner(p, placed)
	if err := pl.build(); err != nil {
		return err
	}
	if p.schedule, err = partitioner.HEFT(p.problem); err != nil {
		return err
	}
	// For a single task every choice has been looked at.
	if effort := improveEffort(p.schedule.Makespan); effort > 0 && len(p.session.agents) > 1 && len(order) > 1 {
		if p.schedule, err = partitioner.Improve(p.problem, p.schedule, planSeed, effort); err != nil {
			return err
		}
	}
	p.order, p.placed = order, placed
	if p.direct == nil {
		p.Predicted = p.schedule.Makespan
	}
	pl.place()
	return nil
}

// owns checks that the session is open and that the graph's buffers are its own.
func (s *Session) owns(g *Graph) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return errClosed
	}
	for b := range g.use {
		if b.session != s {
			return fmt.Errorf("buffer %q belongs to another session: %w", b.array.Name, devices.ErrInvalid)
		}
		if b.freed {
			return b.closed()
		}
	}
	return nil
}

// planSeed makes the search for a better plan repeatable.
const planSeed = 1

// improveEffort is how many placements to try for a plan of the given length:
// about one in a microsecond, so a fiftieth of the run, and at most 50 ms.
func improveEffort(makespan time.Duration) int {
	return min(int(makespan/(50*time.Microsecond)), 50_000)
}

// maxCompilers bounds the compilations at one time.
const maxCompilers = 4

// compile compiles what the plan needs and has not been compiled yet. All
// errors are returned, each naming the first task that needs the kernel.
func (p *Plan) compile(ctx context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.direct != nil {
		return p.direct.compile(ctx)
	}
	return p.compilePlaced(ctx)
}

// compilePlaced compiles what the placed tasks need. p.mu is held.
func (p *Plan) compilePlaced(ctx context.Context) error {
	if p.ready {
		return nil
	}
	type need struct {
		agent   int
		variant *kernels.Variant
	}
	kernelOf := map[need]devices.Kernel{}
	firstTask := map[need]string{}
	var order []need
	for i := range p.placed {
		for _, sh := range p.placed[i].shares {
			n := need{sh.agent, sh.variant}
			if _, seen := firstTask[n]; !seen {
				firstTask[n] = p.graph.nameOf(i)
				order = append(order, n)
			}
		}
	}
	compiled := make([]devices.Kernel, len(order))
	errs := make([]error, len(order))
	var group errgroup.Group
	group.SetLimit(maxCompilers)
	for i, n := range order {
		group.Go(func() error {
			a := p.session.agents[n.agent]
			k, err := p.session.programs.kernel(ctx, a, n.variant)
			if err != nil {
				errs[i] = &TaskError{Task: firstTask[n], Attempt: 1, Err: err}
			}
			compiled[i] = k
			return nil
		})
	}
	_ = group.Wait() // the functions report through errs
	for i, n := range order {
		if errors.Is(errs[i], devices.ErrDeviceLost) {
			p.lost = append(p.lost, n.agent)
		}
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	for i, n := range order {
		kernelOf[n] = compiled[i]
	}
	for i := range p.placed {
		for j := range p.placed[i].shares {
			sh := &p.placed[i].shares[j]
			sh.kernel = kernelOf[need{sh.agent, sh.variant}]
		}
	}
	p.ready = true
	return nil
}

// decision explains the placement of task i.
func (p *Plan) decision(run int64, i int) DecisionEvent {
	e := DecisionEvent{Run: run, Task: i, Reason: p.placed[i].reason}
	for _, c := range p.schedule.Tasks[i].Candidates {
		e.Candidates = append(e.Candidates, Candidate{Device: p.session.agents[c.Device].info.ID, Run: c.Run, Move: c.Move, Start: c.Start, Refused: c.Refused})
	}
	for _, sh := range p.placed[i].shares {
		dim := max(p.placed[i].dim, 0)
		lo, id := sh.nd.Offset[dim], p.session.agents[sh.agent].info.ID
		if n := len(e.Chosen); n > 0 && e.Chosen[n-1].Device == id && e.Chosen[n-1].Hi == lo {
			e.Chosen[n-1].Hi += sh.nd.Size[dim] // chunks of one share
			continue
		}
		e.Chosen = append(e.Chosen, Share{id, dim, lo, lo + sh.nd.Size[dim]})
	}
	return e
}

// Decisions explains every placement, by task number.
func (p *Plan) Decisions() []DecisionEvent {
	_ = p.complete() // a plan was made, so that it can be made in full
	all := make([]DecisionEvent, len(p.placed))
	for i := range all {
		all[i] = p.decision(0, i)
	}
	return all
}

// Tasks describes the graph's tasks, by number.
func (p *Plan) Tasks() []TaskInfo {
	names := p.graph.allNames()
	all := make([]TaskInfo, len(names))
	for i, name := range names {
		t := p.graph.task(i)
		all[i] = TaskInfo{i, name, t.call.Kernel.Name, t.waitsFor()}
	}
	return all
}
