package strategy

import (
	"context"
	"fmt"
	"time"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/kernels"
	tandem "github.com/tandemrun/tandem/runtime"
)

// defaultDepth of the rings between devices: one buffer is filled while the
// next device works on the other.
const defaultDepth = 2

// A Pipeline is a chain of stages laid out over the devices of a session: each
// device runs a group of neighbouring stages, on one item after the other, all
// groups at the same time. It is not safe for concurrent use. Its buffers belong
// to the session and are freed with it, or earlier by Free.
type Pipeline struct {
	// Groups are the devices and their stages, in the order of the chain.
	Groups []Group

	session *tandem.Session
	chain   []Stage
	on      []string           // device of each stage
	arrays  []kernels.Array    // before each stage, and after the last
	rings   [][]*tandem.Buffer // behind each stage but the last
	depth   int
	items   int // added so far
	made    Temporaries
}

// Group is the stages of one device: First up to Last. Cycle is how often it is
// predicted to take an item.
type Group struct {
	Device      string
	First, Last int
	Cycle       time.Duration
}

// PipelineParallel lays the chain out so that the slowest device is predicted to
// be as fast as possible, moving each item in and out included; devices that would
// not make it faster get nothing. item describes one input. Faces of one processor
// count as one device. The prediction is exact for what the cost model knows: see
// WarmUp.
//
// Between two devices lies a ring of depth buffers (0: 2), between two stages of
// one device a single one. A stage waits until the buffer it fills has been used
// up, so the memory between the stages does not depend on the number of items.
//
// A faulty chain is ErrInvalid; a stage that no device can run is a
// *tandem.PlanError.
func PipelineParallel(ctx context.Context, s *tandem.Session, chain []Stage, item kernels.Array, depth int) (*Pipeline, error) {
	if err := checkChain(chain); err != nil {
		return nil, err
	}
	if depth < 0 {
		return nil, fmt.Errorf("rings of %d buffers, want at least 1: %w", depth, devices.ErrInvalid)
	}
	if depth == 0 {
		depth = defaultDepth
	}
	p := &Pipeline{session: s, chain: chain, depth: depth, arrays: []kernels.Array{{DType: item.DType, Shape: item.Shape}}}
	for n := range chain {
		p.arrays = append(p.arrays, chain[n].result(&p.arrays[n]))
	}
	groups, err := p.lay(ctx)
	if err != nil {
		return nil, err
	}
	infos := s.Devices()
	for _, g := range groups {
		p.Groups = append(p.Groups, Group{infos[g.device].ID, g.first, g.last, g.cycle})
		for n := g.first; n < g.last; n++ {
			p.on = append(p.on, infos[g.device].ID)
		}
	}
	for n := range len(chain) - 1 {
		count := 1
		if p.on[n] != p.on[n+1] {
			count = depth
		}
		ring := make([]*tandem.Buffer, count)
		for i := range ring {
			ring[i] = p.buffer(n+1, fmt.Sprintf("stage%d.%d", n, i))
		}
		p.rings = append(p.rings, ring)
	}
	return p, nil
}

// buffer makes a buffer for what comes before stage n.
func (p *Pipeline) buffer(n int, name string) *tandem.Buffer {
	a := p.arrays[n]
	a.Name = name
	b := p.session.NewBuffer(a)
	p.made = append(p.made, b)
	return b
}

// lay asks the planner what each stage takes on each device, with a graph of
// one item that never runs, and groups the stages.
func (p *Pipeline) lay(ctx context.Context) (groups []group, err error) {
	g := tandem.NewGraph()
	var probe Temporaries
	defer func() {
		if e := probe.Free(); err == nil {
			err = e
		}
	}()
	bytes := make([]int64, len(p.arrays))
	for n := range p.arrays {
		probe = append(probe, p.session.NewBuffer(p.arrays[n]))
		bytes[n] = p.arrays[n].Bytes()
	}
	spans := make([][2]int, len(p.chain))
	for n := range p.chain {
		spans[n][0], spans[n][1] = p.chain[n].add(g, probe[n], probe[n+1]).Span()
	}
	f, err := newForecast(ctx, p.session, g)
	if err != nil {
		return nil, err
	}
	at := map[string]int{}
	var sites []site
	for d := range f.infos {
		one := face{device: d, own: f.problem.Devices[d].Node != 0, engines: f.infos[d].CopyEngines}
		one.up, one.down = f.links(d)
		for _, sp := range spans {
			t, ok := f.run(d, sp[0], sp[1])
			if !ok {
				t = -1
			}
			one.run = append(one.run, t)
		}
		r := f.resource(d)
		n, known := at[r]
		if !known {
			n = len(sites)
			at[r] = n
			sites = append(sites, site{})
		}
		sites[n].faces = append(sites[n].faces, one)
	}
	if groups = layout(sites, bytes); groups != nil {
		return groups, nil
	}
	pe := &tandem.PlanError{Task: "pipeline", Hint: "every device can be used for one run of neighbouring stages only"}
	for d := range f.infos {
		for n, sp := range spans {
			if _, ok := f.run(d, sp[0], sp[1]); !ok {
				pe.Tried = append(pe.Tried, fmt.Sprintf("%s cannot run stage %d (%s)", f.infos[d].ID, n+1, p.chain[n].Kernel.Name))
			}
		}
	}
	return nil, pe
}

// Cycle is the predicted time between two items: that of the slowest group.
func (p *Pipeline) Cycle() time.Duration {
	var c time.Duration
	for _, g := range p.Groups {
		c = max(c, g.Cycle)
	}
	return c
}

// Bytes is the memory between the stages, in host memory; a device with memory
// of its own has as much of what it touches.
func (p *Pipeline) Bytes() int64 {
	var n int64
	for _, r := range p.rings {
		n += int64(len(r)) * r[0].Array().Bytes()
	}
	return n
}

// Add puts one item into g: in, an array as it was described, becomes out, which
// is brought to the host within the run. Items pass each stage in the order of
// Add. The task returned is that of the last stage. Faults are kept in g.
//
// A graph grows with its items; for more than some thousands, or without an end,
// there is Stream.
func (p *Pipeline) Add(g *tandem.Graph, in, out *tandem.Buffer) tandem.Task {
	last := p.thread(g, p.items, in, out)
	p.items++
	return last
}

// thread adds the chain for item number i.
func (p *Pipeline) thread(g *tandem.Graph, i int, in, out *tandem.Buffer) (last tandem.Task) {
	from := in
	for n := range p.chain {
		to := out
		if n < len(p.rings) {
			to = p.rings[n][i%len(p.rings[n])]
		}
		last = p.chain[n].add(g, from, to).On(p.on[n])
		from = to
	}
	g.Return(out)
	return last
}

// Free waits for the tasks that use the pipeline's buffers and gives their
// memory back. Freeing twice is nil.
func (p *Pipeline) Free() error { return p.made.Free() }
