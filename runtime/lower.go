package tandem

import (
	"context"
	"slices"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/kernels"
	"github.com/tandemrun/tandem/transfer"
)

// Lowering turns tasks into operations: the copies that are missing and the
// launch, linked to what they have to wait for. It goes through the tasks in a
// topological order and asks each buffer's tracker; nothing here waits for a
// device, except where memory has to be freed (see room.go).

// newOp takes an op from the run's slab. Ops that remember what they read are
// made one by one: an op in use keeps its whole slab, and with lineage the
// others of the slab would keep what they read, and so all that went before.
func (r *Run) newOp() *op {
	if len(r.slab) == 0 {
		n := 64
		if r.session.lineage {
			n = 1
		}
		r.slab = make([]op, n)
	}
	o := &r.slab[0]
	r.slab = r.slab[1:]
	r.session.initOp(o)
	o.run = r
	r.pending.Add(1)
	return o
}

func (s *Session) initOp(o *op) {
	o.id = OpID(s.lastOp.Add(1))
	o.task = -1
	o.pending.Store(1)
}

// lowerTask lowers every part of a task.
func (r *Run) lowerTask(t int) {
	if r.current.placed[t].later {
		r.lowerDivided(t)
		return
	}
	s := r.session
	s.mu.Lock()
	defer s.mu.Unlock()
	for n := range r.current.placed[t].shares {
		o := r.newOp()
		if err := r.lowerShare(o, t, n); err != nil {
			o.fault = err
		}
		o.release()
	}
}

// lowerShare makes o the n-th part of task t, all but for its release. s.mu is
// held.
func (r *Run) lowerShare(o *op, t, n int) error {
	placed := &r.current.placed[t]
	o.parts = int32(len(placed.shares))
	return r.lowerLaunch(o, t, n, &placed.shares[n])
}

// lowerLaunch makes o the n-th part of task t, the given share. s.mu is held.
func (r *Run) lowerLaunch(o *op, t, n int, share *placedShare) error {
	task, placed := r.graph.task(t), &r.current.placed[t]
	o.kind, o.task, o.part = opLaunch, t, int32(n)
	o.agent, o.queue = r.session.agents[share.agent], devices.Compute
	err := r.lowerPart(o, task, placed, share)
	// Data dependencies come from the trackers, these by request.
	for _, before := range task.wish().asked {
		for _, p := range r.last[before] {
			o.waitFor(p, true)
		}
	}
	if task.wish().awaited {
		if n == 0 {
			r.last[t] = nil
		}
		r.last[t] = append(r.last[t], o)
	}
	return err
}

// lowerPart fills in the launch of one part, makes the copies it needs, and
// records what it writes: also where it cannot run, so that nobody takes what
// was there before for its result. s.mu is held, and given up while there is no
// room for a buffer.
func (r *Run) lowerPart(o *op, task task, placed *placement, share *placedShare) error {
	o.variant, o.predicted, o.share = share.variant, share.predicted, share
	o.cut, o.hosted = share.cut, share.cut != nil
	r.drift.lowered(o)
	o.launch = devices.Launch{Kernel: share.kernel, Range: share.nd, Args: make([]devices.Arg, len(task.call.Args))}
	err := r.lowerInputs(o, task, placed)
	r.lowerOutputs(o, task, placed, err == nil)
	return err
}

// lowerInputs finds memory for the arguments and has what is read moved there.
func (r *Run) lowerInputs(o *op, task task, placed *placement) error {
	if cause := r.cancelled(); cause != nil {
		return &skipped{cause} // it will not run: nothing has to be moved for it
	}
	if err := r.settleOn(o, task); err != nil {
		return err
	}
	s, a, call := r.session, o.agent, task.call
	for i := range call.Args {
		switch arg := &call.Args[i]; call.Kernel.Params[i].Kind {
		case kernels.Value:
			o.launch.Args[i].Value = arg.Value
		case kernels.Local:
			o.launch.Args[i].LocalBytes = arg.LocalBytes
		}
	}
	for i, b := range task.buffers() {
		if b.bytes == 0 {
			continue // a null pointer
		}
		from, to := b.region(placed.bands[i], &o.launch.Range)
		node := s.nodeFor(o, i, b)
		if !o.cut.has(i) {
			o.launch.Args[i].Buffer = b.replicas[a.index].Buffer
			if node == transfer.Host {
				o.zero += to - from
			}
		}
		if !call.Args[i].Mode.Reads() {
			continue
		}
		if err := s.lowerRead(b, node, from, to, o); err != nil {
			return err
		}
	}
	return nil
}

// lowerOutputs records what o writes, or would if it did not run.
func (r *Run) lowerOutputs(o *op, task task, placed *placement, runs bool) {
	s, call := r.session, task.call
	for i, b := range task.buffers() {
		if b.bytes == 0 || b.freed || !call.Args[i].Mode.Writes() {
			continue
		}
		from, to := b.region(placed.bands[i], &o.launch.Range)
		node := s.nodeFor(o, i, b)
		b.settle() // also where nobody reads for a long time
		w := b.tracker.Write(node, from, to, o, &lowering{s, b, o})
		switch {
		case w.Version == nil: // no byte
		case s.lineage && runs && o.cohort == nil:
			for _, r := range o.reads {
				w.Version.Lineage(r.part)
			}
			o.writes = append(o.writes, access{b, w, node})
		default:
			w.Version.Cut()
		}
	}
	if s.lineage {
		o.careful = slices.ContainsFunc(o.windows, func(w window) bool { return w.down && (w.up || rooted(w.buf, w.from, w.to, partsOf(o.reads))) })
	}
	o.final = !slices.ContainsFunc(o.writes, func(w access) bool { return w.part.Version.Producer == o })
}

// region is the byte range that the work-items of nd touch; all of b where the
// band is not known.
func (b *Buffer) region(band *kernels.Band, nd *devices.NDRange) (from, to int64) {
	if band == nil {
		return 0, b.bytes
	}
	size := int64(b.array.DType.Size())
	lo := int64(nd.Offset[band.Dim])
	from, to = band.Elements(lo, lo+int64(nd.Size[band.Dim]), b.bytes/size)
	return from * size, to * size
}

// nodeOf is the memory that a replica lies in: the host's own where the device
// works on its pages and needs no hand-over.
func (s *Session) nodeOf(a *agent, r *transfer.Replica) transfer.Node {
	if r.Imported && a.info.HostCoherent {
		return transfer.Host
	}
	return a.node
}

// nodeFor is the memory in which o works on argument i: the host's for windows,
// which are part of the launch, and for a part that does not run.
func (s *Session) nodeFor(o *op, i int, b *Buffer) transfer.Node {
	rep := b.replicas[o.agent.index]
	if rep == nil || o.cut.has(i) {
		return transfer.Host
	}
	return s.nodeOf(o.agent, rep)
}

// lowerRead records that o reads [lo, hi) of b on node and makes the copies
// that are missing. s.mu is held.
func (s *Session) lowerRead(b *Buffer, node transfer.Node, lo, hi int64, o *op) error {
	b.settle()
	if err := b.tracker.Read(node, lo, hi, o, &lowering{s, b, o}); err != nil {
		return &UndefinedError{b.array.Name, rootCause(err)}
	}
	return nil
}

// settle forgets operations on b that are over, when there are many. s.mu is
// held.
func (b *Buffer) settle() {
	if b.tracker.Crowded() {
		b.tracker.Settle((*op).state)
	}
}

// part is a range of a buffer with the version it holds, access one of a
// certain buffer.
type part = transfer.Part[*op]

type access struct {
	buf  *Buffer
	part part
	node transfer.Node // of a write: the memory in which later operations look for it
}

func partsOf(list []access) []part {
	parts := make([]part, len(list))
	for i := range list {
		parts[i] = list[i].part
	}
	return parts
}

// lowering is what the tracker of b asks while o is lowered.
type lowering struct {
	s *Session
	b *Buffer
	o *op
}

// Direct reports whether a device can copy from another's memory.
func (l *lowering) Direct(from, to transfer.Node) bool {
	if from == transfer.Host || to == transfer.Host {
		return true
	}
	p, ok := devices.As[devices.PeerCopier](l.s.agents[to-1].device)
	return ok && p.CanCopyFrom(l.s.agents[from-1].device)
}

func (l *lowering) Move(m transfer.Move, after []*op, src []part) *op {
	return l.s.lowerMove(l.b, m, after, src, l.o)
}

func (l *lowering) Wait(p *op, flow bool) { l.o.waitFor(p, flow) }

func (l *lowering) Reads(p part) {
	if l.s.lineage {
		l.o.reads = append(l.o.reads, access{buf: l.b, part: p})
	}
}

// lowerMove makes the copy of one missing range.
func (s *Session) lowerMove(b *Buffer, m transfer.Move, after []*op, src []part, reader *op) *op {
	var c *op
	if reader.run != nil {
		c = reader.run.newOp()
	} else {
		c = &op{}
		s.initOp(c)
	}
	c.kind, c.task, c.buf, c.offset, c.from, c.to, c.final = opCopy, reader.task, b, m.Lo, m.From, m.To, true
	c.copy.Size = m.Hi - m.Lo
	on := m.To // whose queue does it
	if m.To == transfer.Host {
		on = m.From
	}
	c.agent = s.agents[on-1]
	rep := b.replicas[on-1]
	switch {
	case m.To == transfer.Host && rep.Imported:
		c.queue, c.copy.Kind, c.copy.Dst, c.copy.DstOffset = devices.Download, devices.SyncToHost, rep.Buffer, m.Lo
	case m.To == transfer.Host:
		c.queue, c.copy.Kind, c.copy.Src, c.copy.SrcOffset = devices.Download, devices.DeviceToHost, rep.Buffer, m.Lo
		c.copy.Host = b.host[m.Lo:m.Hi]
	case m.From == transfer.Host && rep.Imported:
		c.queue, c.copy.Kind, c.copy.Dst, c.copy.DstOffset = devices.Upload, devices.SyncToDevice, rep.Buffer, m.Lo
	case m.From == transfer.Host:
		c.queue, c.copy.Kind, c.copy.Dst, c.copy.DstOffset = devices.Upload, devices.HostToDevice, rep.Buffer, m.Lo
		c.copy.Host = b.host[m.Lo:m.Hi]
	default:
		c.queue, c.copy.Kind, c.copy.Dst, c.copy.DstOffset = devices.Upload, devices.DeviceToDevice, rep.Buffer, m.Lo
		c.copy.Src, c.copy.SrcOffset = b.replicas[m.From-1].Buffer, m.Lo
	}
	c.hosted = c.agent.stages(&c.copy)
	c.careful = s.lineage && c.copy.Kind == devices.DeviceToHost && rooted(b, m.Lo, m.Hi, src)
	for _, p := range after {
		c.waitFor(p, true)
	}
	if s.lineage {
		for _, p := range src {
			c.reads = append(c.reads, access{buf: b, part: p})
		}
	}
	c.release()
	return c
}

// lowerReturn makes the copies that bring b to the host, as operations of the
// run.
func (r *Run) lowerReturn(b *Buffer) {
	s := r.session
	s.mu.Lock()
	defer s.mu.Unlock()
	if b.freed || r.cancelled() != nil {
		return // nobody can read it any more, or nobody waits for it
	}
	o := &op{kind: opHost, run: r, home: true}
	s.initOp(o)
	r.pending.Add(1)
	// What a failed task left undefined is not brought home; reading it says so.
	_ = s.lowerRead(b, transfer.Host, 0, b.bytes, o)
	o.release()
}

// toLower is the last run that uses b and is not lowered yet, nil if there is
// none. s.mu is held.
func (s *Session) toLower(b *Buffer) *Run {
	for _, r := range slices.Backward(s.active) {
		if _, uses := r.graph.use[b]; uses {
			return r
		}
	}
	return nil
}

// lowerHostAccess puts an access by the host in order with everything before.
func (s *Session) lowerHostAccess(ctx context.Context, b *Buffer, write bool) (*op, error) {
	// Runs submitted before may not be lowered yet.
	for {
		s.mu.Lock()
		before := s.toLower(b)
		if before == nil {
			break
		}
		s.mu.Unlock()
		select {
		case <-before.lowered:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	defer s.mu.Unlock()
	if b.freed {
		return nil, b.closed()
	}
	if err := s.stuckOn(b); err != nil {
		return nil, err
	}
	o := &op{kind: opHost, ready: make(chan struct{})}
	s.initOp(o)
	size := b.bytes
	if err := s.lowerRead(b, transfer.Host, 0, size, o); err != nil {
		return nil, err
	}
	if write {
		if w := b.tracker.Write(transfer.Host, 0, size, o, &lowering{s, b, o}); w.Version != nil {
			w.Version.Cut()
		}
	}
	o.release()
	return o, nil
}
