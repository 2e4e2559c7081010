package pipeline

import (
	"context"
	"fmt"
	"slices"

	tandem "github.com/tandemrun/tandem/runtime"
	"github.com/tandemrun/tandem/runtime/arrayfile"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/kernels"
)

// Built is a pipeline in a session: its buffers, filled, and its graph. It is
// not safe for concurrent use. The session frees its buffers, or Free does.
type Built struct {
	// Graph is to be submitted. Each submission works on what the buffers hold
	// then: after the first that is no longer what the files hold.
	Graph *tandem.Graph

	pipeline *Pipeline
	buffers  []*tandem.Buffer // by position in the pipeline
	temps    []*tandem.Buffer
	byArray  map[*kernels.Array]*tandem.Buffer
	rings    map[*step]*ring
}

// temporaryRing is how many iterations of a composed kernel have temporaries of
// their own; the next one takes the first one's and waits for it. It bounds
// the memory of a loop.
const temporaryRing = 8

// ring are the temporaries of a step.
type ring struct {
	next  int
	slots [temporaryRing][]*tandem.Buffer
}

// Build makes the buffers of the pipeline in s, reads input files into them,
// and builds the graph. An input file that is no longer what it was at Load is
// a fault, and so is a device position that s does not have.
func (p *Pipeline) Build(ctx context.Context, s *tandem.Session) (*Built, error) {
	b := &Built{Graph: tandem.NewGraph().Named(p.Name()), pipeline: p,
		byArray: map[*kernels.Array]*tandem.Buffer{}, rings: map[*step]*ring{}}
	on, err := p.selectors(s)
	if err != nil {
		return nil, err
	}
	if err := b.makeBuffers(ctx, s); err != nil {
		_ = b.Free() // the first error is the one to report
		return nil, err
	}
	first, last := make([]tandem.Task, len(p.tasks)), make([]tandem.Task, len(p.tasks)) // of each task's parts
	for i := range p.tasks {
		t := &p.tasks[i]
		if first[i], last[i], err = b.addTask(s, t, on[t.step]); err != nil {
			_ = b.Free()
			return nil, err
		}
	}
	for i := range p.tasks {
		for _, a := range p.tasks[i].after {
			first[i].After(last[a])
		}
	}
	b.together(first)
	for i, def := range p.buffers {
		if def.out != "" { // the file needs it on the host
			b.Graph.Return(b.buffers[i])
		}
	}
	if err := b.Graph.Err(); err != nil {
		_ = b.Free()
		return nil, err
	}
	return b, nil
}

// selectors turn positions in the device list into device ids.
func (p *Pipeline) selectors(s *tandem.Session) (map[*step]string, error) {
	fs := &faults{file: p.file}
	infos := s.Devices()
	on := map[*step]string{}
	for _, st := range p.steps {
		on[st] = st.on
		if st.device < 0 {
			continue
		}
		if st.device >= len(infos) {
			f := fs.add(st.devAt, st.path+".device", "there is no device %d", st.device)
			if len(infos) == 1 {
				f.Hint = fmt.Sprintf("the run has device 0, %s", infos[0].ID)
			} else {
				f.Hint = fmt.Sprintf("the run has devices 0 to %d", len(infos)-1)
			}
			continue
		}
		on[st] = infos[st.device].ID
	}
	return on, fs.err()
}

func (b *Built) makeBuffers(ctx context.Context, s *tandem.Session) error {
	for _, def := range b.pipeline.buffers {
		buf := s.NewBuffer(def.array)
		if err := buf.Err(); err != nil {
			return &Fault{File: b.pipeline.file, Line: def.key.line, Column: def.key.col, Path: join("buffers", def.array.Name), Msg: err.Error(), Err: err}
		}
		b.buffers = append(b.buffers, buf)
		b.byArray[&def.array] = buf
		if def.in == "" && def.fill == nil {
			continue
		}
		err := buf.Update(ctx, func(mem []byte) error {
			if def.fill != nil {
				return def.fillFault(b.pipeline.file, def.fill.write(ctx, mem, def.array.DType, def.array.Shape))
			}
			return def.load(mem)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// fillFault places the error of a fill.
func (def *buffer) fillFault(file string, err error) error {
	if err == nil {
		return nil
	}
	at := def.fill.at
	return &Fault{File: file, Line: at.line, Column: at.col, Path: def.fill.path, Msg: err.Error(), Err: err}
}

// load reads the buffer's file into its memory.
func (def *buffer) load(mem []byte) error {
	o := def.inOpt
	o.Zeroed = true // the buffer is new
	_, err := arrayfile.Read(def.in, o, func(h arrayfile.Header) ([]byte, error) {
		if h.DType != def.array.DType || !slices.Equal(h.Shape, def.array.Shape) {
			return nil, fmt.Errorf("the file has changed since it was checked: it holds %s, it held %s: %w",
				h, arrayfile.Header{DType: def.array.DType, Shape: def.array.Shape}, devices.ErrInvalid)
		}
		return mem, nil
	})
	return err
}

// addTask adds the parts of a task, repeated. They run one after the other, so
// that the first one waits and the last one is waited for.
func (b *Built) addTask(s *tandem.Session, t *task, on string) (first, last tandem.Task, err error) {
	ps, err := takeApart(t.call)
	if err != nil {
		return first, last, err
	}
	find := b.finder(s, t.step, ps)
	rounds, repeat := 1, t.repeat
	if len(ps.calls) > 1 { // the parts take turns
		rounds, repeat = t.repeat, 1
	}
	for n := range rounds * len(ps.calls) {
		round, part := n/len(ps.calls), n%len(ps.calls)
		task := b.Graph.AddCall(ps.calls[part], find).Named(partName(t.name, round, rounds, part, len(ps.calls)))
		if err := b.Graph.Err(); task.ID() < 0 || err != nil {
			return first, last, err
		}
		if on != "" {
			task.On(on)
		}
		switch {
		case t.step.never:
			task.NoSplit()
		case len(t.step.shares) > 0:
			task.Split(t.step.shares...)
		}
		if repeat > 1 {
			task.Repeat(repeat)
		}
		if d := b.pipeline.timeout; d > 0 {
			task.Timeout(d)
		}
		if n == 0 {
			first = task
		} else {
			task.After(last)
		}
		last = task
	}
	return first, last, nil
}

// partName names one part of a task; a task of one part has its own name. No id
// has brackets, so that no two names are the same.
func partName(name string, round, rounds, part, parts int) string {
	if rounds > 1 {
		name = fmt.Sprintf("%s[round %d]", name, round+1)
	}
	if parts > 1 {
		name = fmt.Sprintf("%s[%d/%d]", name, part+1, parts)
	}
	return name
}

// finder finds the buffers of a task: those of the pipeline, and temporaries.
func (b *Built) finder(s *tandem.Session, st *step, ps *parts) func(*kernels.Array) *tandem.Buffer {
	if len(ps.temps) == 0 {
		return func(a *kernels.Array) *tandem.Buffer { return b.byArray[a] }
	}
	rg := b.rings[st]
	if rg == nil {
		rg = &ring{}
		b.rings[st] = rg
	}
	slot := &rg.slots[rg.next%temporaryRing]
	rg.next++
	if !fits(*slot, ps.temps) {
		*slot = nil
		for _, a := range ps.temps {
			buf := s.NewBuffer(*a)
			*slot = append(*slot, buf)
			b.temps = append(b.temps, buf)
		}
	}
	temps := map[*kernels.Array]*tandem.Buffer{}
	for i, a := range ps.temps {
		temps[a] = (*slot)[i]
	}
	return func(a *kernels.Array) *tandem.Buffer {
		if buf := temps[a]; buf != nil {
			return buf
		}
		return b.byArray[a]
	}
}

// fits reports whether the buffers can stand for the arrays.
func fits(bufs []*tandem.Buffer, arrays []*kernels.Array) bool {
	if len(bufs) != len(arrays) {
		return false
	}
	for i, a := range arrays {
		if bufs[i].DType() != a.DType || !slices.Equal(bufs[i].Shape(), a.Shape) {
			return false
		}
	}
	return true
}

// Buffer is the buffer of that name, nil if the pipeline has none.
func (b *Built) Buffer(name string) *tandem.Buffer {
	for i, def := range b.pipeline.buffers {
		if def.array.Name == name && i < len(b.buffers) {
			return b.buffers[i]
		}
	}
	return nil
}

// Free waits for the tasks that use the buffers and gives their memory back.
// Freeing twice is nil.
func (b *Built) Free() error {
	var first error
	for _, buf := range slices.Concat(b.buffers, b.temps) {
		if err := buf.Free(); err != nil && first == nil {
			first = err
		}
	}
	b.buffers, b.temps = nil, nil
	return first
}
