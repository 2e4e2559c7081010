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
	mu      sync.Mutex // held while compiling: a plan may be started by several goroutines
	ready   bool       // everything is compiled
	lost    []int      // agents that were lost while compiling
	// Predicted is the makespan that the cost model expects.
	Predicted time.Duration
	// Problem and Schedule are what the partitioner was asked and what it
	// answered, for reports; nil for an empty graph.
	Problem  *partitioner.Problem
	Schedule *partitioner.Plan
}

// placement is where one task runs.
type placement struct {
	shares []placedShare
	dim    int             // along which it may be cut; -1: not at all
	bands  []*kernels.Band // by argument; nil: all of the array
	reason string
}

// placedShare is the part of a task that one device runs.
type placedShare struct {
	agent     int
	nd        devices.NDRange
	head      bool // the first chunk of the share
	variant   *kernels.Variant
	kernel    devices.Kernel // set by compile
	key       costmodel.Key
	size      costmodel.Size
	predicted time.Duration
	spread    time.Duration // of predicted, one standard deviation
}

// Plan checks the graph and decides where its tasks run. Nothing is compiled
// and nothing runs.
func (s *Session) Plan(ctx context.Context, g *Graph) (*Plan, error) {
	if err := g.Err(); err != nil {
		return nil, err
	}
	if err := s.owns(g); err != nil {
		return nil, err
	}
	order, err := g.sorted()
	if err != nil {
		return nil, err
	}
	p := &Plan{session: s, graph: g, order: order, placed: make([]placement, len(g.tasks))}
	if len(order) == 0 {
		return p, nil
	}
	pl := newPlanner(p)
	if err := pl.build(); err != nil {
		return nil, err
	}
	p.Schedule, err = partitioner.HEFT(p.Problem)
	if err != nil {
		return nil, err
	}
	if effort := improveEffort(p.Schedule.Makespan); effort > 0 && len(s.agents) > 1 {
		if p.Schedule, err = partitioner.Improve(p.Problem, p.Schedule, planSeed, effort); err != nil {
			return nil, err
		}
	}
	p.Predicted = p.Schedule.Makespan
	if err := ctx.Err(); err != nil {
		return nil, context.Cause(ctx)
	}
	pl.place()
	return p, nil
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
	for _, c := range p.Schedule.Tasks[i].Candidates {
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
	all := make([]DecisionEvent, len(p.placed))
	for i := range all {
		all[i] = p.decision(0, i)
	}
	return all
}

// Tasks describes the graph's tasks, by number.
func (p *Plan) Tasks() []TaskInfo {
	all := make([]TaskInfo, len(p.graph.tasks))
	for i := range all {
		t := &p.graph.tasks[i]
		all[i] = TaskInfo{i, p.graph.nameOf(i), t.call.Kernel.Name, t.waitsFor()}
	}
	return all
}
