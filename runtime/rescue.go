package tandem

import (
	"context"
	"errors"
	"fmt"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/devices/hostmem"
	"github.com/tandemrun/tandem/kernels"
	"github.com/tandemrun/tandem/transfer"
)

// A rescue redoes one operation of a lost device. s.mu is held throughout.
type rescue struct {
	s    *Session
	memo map[*transfer.Version[*op]]*scratch // recomputed versions
}

// scratch is host memory with bytes [lo, lo+len) of a buffer.
type scratch struct {
	mem []byte
	lo  int64
}

func (j *rescue) free() error {
	var errs []error
	for _, m := range j.memo {
		errs = append(errs, hostmem.Free(m.mem))
	}
	return errors.Join(errs...)
}

// keep remembers bytes of a version until the rescue is over.
func (j *rescue) keep(v *transfer.Version[*op], mem []byte, lo int64) {
	if old := j.memo[v]; old != nil {
		_ = hostmem.Free(old.mem)
	}
	j.memo[v] = &scratch{mem, lo}
}

// progress tells how far o has come, for Version.Holders.
func (o *op) progress() transfer.Progress {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case o.finished && o.err != nil:
		return transfer.Failed
	case o.finished:
		return transfer.Done
	case o.begun && !o.careful:
		return transfer.Running
	}
	return transfer.Waiting
}

// alive is the agent of a device node that is still in use.
func (j *rescue) alive(n transfer.Node) *agent {
	if n == transfer.Host {
		return nil
	}
	if a := j.s.agents[n-1]; a.usable() {
		return a
	}
	return nil
}

// redo does o's work without its device and reports where.
func (j *rescue) redo(o *op) (*agent, devices.Times, error) {
	if o.kind == opCopy {
		return o.agent, devices.Times{}, j.redoCopy(o)
	}
	task := o.run.graph.task(o.task)
	errs := []error{devices.ErrUnavailable}
	for _, a := range j.s.standIns(task) {
		v, why := candidate(task, a, nil)
		if why != "" {
			errs = append(errs, errors.New(why))
			continue
		}
		t, err := j.launchOn(o, task, a, v)
		switch {
		case err == nil:
			return a, t, nil
		case errors.Is(err, devices.ErrDeviceLost):
			j.s.lose(o, a, err)
		case !errors.Is(err, devices.ErrOutOfMemory):
			return a, t, err
		}
		errs = append(errs, err)
	}
	return o.agent, devices.Times{}, fmt.Errorf("no device is left that could do it: %w", errors.Join(errs...))
}

// redoCopy brings the bytes of a copy to its target from elsewhere.
func (j *rescue) redoCopy(o *op) error {
	a := j.alive(o.to)
	if o.to != transfer.Host && a == nil {
		return nil // whoever needed it there is redone elsewhere
	}
	for _, r := range o.reads {
		p := r.part
		src, err := j.fetch(o.buf, p)
		if err != nil {
			return err
		}
		if a == nil {
			o.buf.tracker.Displace(transfer.Host, p.Lo, p.Hi)
			copy(o.buf.host[p.Lo:p.Hi], src)
		} else if err := j.put(a, o.buf.replicas[a.index], o.buf, p, src); err != nil {
			return err
		}
		o.buf.tracker.Restore(p, o.to)
	}
	return nil
}

// launchOn runs o's launch on a, in the buffers' ordinary replicas: nothing
// that waits for o can be using them.
func (j *rescue) launchOn(o *op, task task, a *agent, v *kernels.Variant) (devices.Times, error) {
	l := devices.Launch{Range: o.launch.Range, Args: make([]devices.Arg, len(o.launch.Args))}
	copy(l.Args, o.launch.Args)
	for i, b := range task.buffers() {
		if b.bytes == 0 {
			continue
		}
		for {
			err := j.s.replica(b, a)
			if err == nil {
				break
			}
			if !errors.Is(err, devices.ErrOutOfMemory) {
				return devices.Times{}, err
			}
			if full := j.makeRoom(a, o); full != nil {
				return devices.Times{}, err
			}
		}
		l.Args[i].Buffer = b.replicas[a.index].Buffer
	}
	for _, r := range o.reads {
		b, p := r.buf, r.part
		rep := b.replicas[a.index]
		node := j.s.nodeOf(a, rep)
		if p.Holders((*op).progress).Has(node) {
			continue
		}
		src, err := j.fetch(b, p)
		if err != nil {
			return devices.Times{}, err
		}
		b.tracker.Displace(node, p.Lo, p.Hi)
		if node == transfer.Host {
			copy(b.host[p.Lo:p.Hi], src)
		} else if err := j.put(a, rep, b, p, src); err != nil {
			return devices.Times{}, err
		}
		b.tracker.Restore(p, node)
	}
	t, err := j.launch(a, v, &l)
	if err != nil {
		return t, err
	}
	for _, w := range o.writes {
		node := j.s.nodeOf(a, w.buf.replicas[a.index])
		w.buf.tracker.Displace(node, w.part.Lo, w.part.Hi)
		w.buf.tracker.Restore(w.part, node)
		if w.node != transfer.Host || node == transfer.Host {
			continue
		}
		// Those who wait for it look in the host's memory, without a copy of
		// their own.
		lo, hi := w.part.Lo, w.part.Hi
		w.buf.tracker.Displace(transfer.Host, lo, hi)
		c := devices.Copy{Kind: devices.DeviceToHost, Src: w.buf.replicas[a.index].Buffer, SrcOffset: lo, Host: w.buf.host[lo:hi], Size: hi - lo}
		if err := j.copy(a, &c); err != nil {
			return t, err
		}
		w.buf.tracker.Restore(w.part, transfer.Host)
	}
	// What it only read is still there.
	for _, r := range o.reads {
		if !o.overwrites(r.buf) {
			r.buf.tracker.Restore(r.part, j.s.nodeOf(a, r.buf.replicas[a.index]))
		}
	}
	return t, nil
}

func (o *op) overwrites(b *Buffer) bool {
	for _, w := range o.writes {
		if w.buf == b {
			return true
		}
	}
	return false
}

// fetch finds a version's bytes, in a memory that holds it or by recomputing
// it. The result is valid while s.mu is held.
func (j *rescue) fetch(b *Buffer, p part) ([]byte, error) {
	if m := j.memo[p.Version]; m != nil && m.lo <= p.Lo && p.Hi <= m.lo+int64(len(m.mem)) {
		return m.mem[p.Lo-m.lo : p.Hi-m.lo], nil
	}
	for set := p.Holders((*op).progress); set != 0; set &= set - 1 {
		n := set.First()
		a := j.alive(n)
		if n != transfer.Host && (a == nil || b.replicas[a.index] == nil) {
			continue
		}
		mem, err := hostmem.Alloc(p.Hi - p.Lo)
		if err != nil {
			return nil, err
		}
		if a == nil {
			copy(mem, b.host[p.Lo:p.Hi])
		} else {
			c := devices.Copy{Kind: devices.DeviceToHost, Src: b.replicas[a.index].Buffer, SrcOffset: p.Lo, Host: mem, Size: p.Hi - p.Lo}
			err = j.copy(a, &c)
		}
		// An operation that does not wait for this one may have begun to
		// overwrite it meanwhile.
		if err != nil || !p.Holders((*op).progress).Has(n) {
			_ = hostmem.Free(mem) // try the next one
			continue
		}
		j.keep(p.Version, mem, p.Lo)
		return mem, nil
	}
	if p.Version.Producer == nil || p.Version.Producer.kind != opLaunch {
		return nil, fmt.Errorf("buffer %q, bytes %d to %d: lost with the device, and what they were computed from is gone too", b.array.Name, p.Lo, p.Hi)
	}
	if err := j.recompute(p.Version.Producer); err != nil {
		return nil, err
	}
	m := j.memo[p.Version]
	return m.mem[p.Lo-m.lo : p.Hi-m.lo], nil
}

// recompute runs an operation that is long over once more, in memory of its
// own, and keeps what it writes in the memo.
func (j *rescue) recompute(o *op) error {
	task := o.run.graph.task(o.task)
	a, v, err := j.s.standIn(task)
	if err != nil {
		return fmt.Errorf("task %q has to be computed again: %w", o.run.graph.nameOf(o.task), err)
	}
	l := devices.Launch{Range: o.launch.Range, Args: make([]devices.Arg, len(o.launch.Args))}
	copy(l.Args, o.launch.Args)
	own := map[*Buffer]devices.Buffer{}
	defer func() {
		for _, d := range own {
			_ = d.Free()
		}
	}()
	for i, b := range task.buffers() {
		if b.bytes == 0 {
			continue
		}
		if own[b] == nil {
			d, err := a.device.Alloc(b.bytes)
			if err != nil {
				return err
			}
			own[b] = d
		}
		l.Args[i].Buffer = own[b]
	}
	for _, r := range o.reads {
		p := r.part
		src, err := j.fetch(r.buf, p)
		if err != nil {
			return err
		}
		if err := j.upload(a, own[r.buf], p, src); err != nil {
			return err
		}
	}
	if _, err := j.launch(a, v, &l); err != nil {
		return err
	}
	for _, w := range o.writes {
		p := w.part
		mem, err := hostmem.Alloc(p.Hi - p.Lo)
		if err != nil {
			return err
		}
		c := devices.Copy{Kind: devices.DeviceToHost, Src: own[w.buf], SrcOffset: p.Lo, Host: mem, Size: p.Hi - p.Lo}
		if err := j.copy(a, &c); err != nil {
			return errors.Join(err, hostmem.Free(mem))
		}
		j.keep(p.Version, mem, p.Lo)
		// A chain of updates in place needs one version at a time.
		for _, r := range o.reads {
			if m := j.memo[r.part.Version]; m != nil && r.buf == w.buf && r.part.Version != p.Version {
				delete(j.memo, r.part.Version)
				_ = hostmem.Free(m.mem)
			}
		}
	}
	j.s.faulted(o, a, devices.ErrDeviceLost, fmt.Sprintf("computed task %q again", o.run.graph.nameOf(o.task)))
	return nil
}

// put writes bytes to a replica and leaves the others of the buffer alone.
func (j *rescue) put(a *agent, rep *transfer.Replica, b *Buffer, p part, src []byte) error {
	b.tracker.Displace(a.node, p.Lo, p.Hi)
	return j.upload(a, rep.Buffer, p, src)
}

func (j *rescue) upload(a *agent, d devices.Buffer, p part, src []byte) error {
	return j.copy(a, &devices.Copy{Kind: devices.HostToDevice, Dst: d, DstOffset: p.Lo, Host: src, Size: p.Hi - p.Lo})
}

// copy and launch run one command on a queue of the rescue's own and wait.
func (j *rescue) copy(a *agent, c *devices.Copy) error {
	_, err := j.command(a, func(q devices.Queue) (devices.Event, error) { return q.Copy(c, nil) })
	return err
}

func (j *rescue) launch(a *agent, v *kernels.Variant, l *devices.Launch) (t devices.Times, err error) {
	k, err := j.s.programs.another(a, v)
	if err != nil {
		return t, err
	}
	defer func() { err = errors.Join(err, k.Close()) }()
	l.Kernel = k
	return j.command(a, func(q devices.Queue) (devices.Event, error) { return q.Launch(l, nil) })
}

func (j *rescue) command(a *agent, enqueue func(devices.Queue) (devices.Event, error)) (t devices.Times, err error) {
	q, err := a.device.NewQueue(devices.Compute)
	if err != nil {
		return t, err
	}
	defer func() { err = errors.Join(err, q.Close()) }()
	e, err := enqueue(q)
	if err != nil {
		return t, err
	}
	defer e.Release()
	if err := q.Flush(); err != nil {
		return t, err
	}
	if err := devices.Wait(context.Background(), e); err != nil {
		return t, err
	}
	return e.Times()
}

// another makes a kernel beside the one that the agent's goroutine uses.
func (p *programs) another(a *agent, v *kernels.Variant) (devices.Kernel, error) {
	if _, err := p.kernel(context.Background(), a, v); err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.open[programKey{a.index, v.Source}].program.Kernel(v.Entry)
}
