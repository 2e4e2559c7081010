package devicetest

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/devices/cpu"
	"github.com/tandemrun/tandem/devices/hostmem"
)

// defects are what is wrong with a broken device: each function, where it is
// set, takes the place of the call of its name and gets the right one.
type defects struct {
	probe    func(b devices.Backend) devices.Backend
	openAny  bool // Open takes every ordinal
	info     func(i devices.Info) devices.Info
	alloc    func(d *brokenDevice, size int64) (devices.Buffer, error)
	compile  func(d *brokenDevice, src *devices.Source) (devices.Program, error)
	newQueue func(d *brokenDevice, kind devices.QueueKind) (devices.Queue, error)
	closeDev func(d *brokenDevice) error
	importer bool // ImportHost makes a copy
	pin      func(d *brokenDevice, size int64) (devices.Pinned, error)
	free     func(b *brokenBuffer) error
	entry    func(p *brokenProgram, name string) (devices.Kernel, error)
	launch   func(q *brokenQueue, l devices.Launch, wait []devices.Event) (devices.Event, error)
	copy     func(q *brokenQueue, c devices.Copy, wait []devices.Event) (devices.Event, error)
	closeQ   func(q *brokenQueue) error
	event    func(ev devices.Event) devices.Event
}

type brokenDriver struct {
	devices.Driver
	*defects
}

func (d brokenDriver) Probe(ctx context.Context) devices.Backend {
	b := d.Driver.Probe(ctx)
	if d.probe != nil {
		b = d.probe(b)
	}
	return b
}

func (d brokenDriver) Open(ctx context.Context, ordinal int) (devices.Device, error) {
	if d.openAny {
		ordinal = 0
	}
	dev, err := d.Driver.Open(ctx, ordinal)
	if err != nil {
		return nil, err
	}
	return &brokenDevice{Device: dev, defects: d.defects}, nil
}

type brokenDevice struct {
	devices.Device
	*defects
	queues []devices.Queue
	worn   bool
}

func (d *brokenDevice) Info() devices.Info {
	i := d.Device.Info()
	if d.info != nil {
		i = d.info(i)
	}
	return i
}

func (d *brokenDevice) Alloc(size int64) (devices.Buffer, error) {
	make := d.Device.Alloc
	if d.alloc != nil {
		make = func(size int64) (devices.Buffer, error) { return d.alloc(d, size) }
	}
	b, err := make(size)
	if err != nil {
		return nil, err
	}
	return &brokenBuffer{b, d.defects}, nil
}

func (d *brokenDevice) Compile(ctx context.Context, src *devices.Source) (devices.Program, error) {
	make := func() (devices.Program, error) { return d.Device.Compile(ctx, src) }
	if d.compile != nil {
		make = func() (devices.Program, error) { return d.compile(d, src) }
	}
	p, err := make()
	if err != nil {
		return nil, err
	}
	return &brokenProgram{p, d.defects}, nil
}

func (d *brokenDevice) NewQueue(kind devices.QueueKind) (devices.Queue, error) {
	make := d.Device.NewQueue
	if d.newQueue != nil {
		make = func(kind devices.QueueKind) (devices.Queue, error) { return d.newQueue(d, kind) }
	}
	q, err := make(kind)
	if err != nil {
		return nil, err
	}
	return &brokenQueue{Queue: q, d: d}, nil
}

func (d *brokenDevice) Close() error {
	if d.closeDev != nil {
		return d.closeDev(d)
	}
	return d.Device.Close()
}

func (d *brokenDevice) ImportHost(mem []byte) (devices.Buffer, error) {
	m, _ := devices.As[devices.HostMapper](d.Device)
	if !d.importer {
		return m.ImportHost(mem)
	}
	return d.Alloc(int64(len(mem)))
}

// AllocPinned is of the broken device's own: the one that it is made of pins
// nothing.
func (d *brokenDevice) AllocPinned(size int64) (devices.Pinned, error) {
	if d.pin != nil {
		return d.pin(d, size)
	}
	return d.rightPinned(size)
}

func (d *brokenDevice) rightPinned(size int64) (devices.Pinned, error) {
	if size < 1 {
		return nil, fmt.Errorf("%s: AllocPinned(%d bytes): %w", d.Info().ID, size, devices.ErrInvalid)
	}
	mem, err := hostmem.Alloc(size)
	if err != nil {
		return nil, fmt.Errorf("%s: AllocPinned(%d bytes): %w: %w", d.Info().ID, size, err, devices.ErrOutOfMemory)
	}
	counted, err := d.Device.Alloc(0)
	if err != nil {
		return nil, err
	}
	return &brokenPinned{mem: mem, counted: counted}, nil
}

// brokenPinned is pinned memory, which counts as a buffer.
type brokenPinned struct {
	mem     []byte
	counted devices.Buffer
	freed   bool
}

func (p *brokenPinned) Bytes() []byte { return p.mem }

func (p *brokenPinned) Free() error {
	if p.freed {
		return nil
	}
	p.freed = true
	return errors.Join(hostmem.Free(p.mem), p.counted.Free())
}

type brokenBuffer struct {
	devices.Buffer
	*defects
}

func (b *brokenBuffer) Free() error {
	if b.free != nil {
		return b.free(b)
	}
	return b.Buffer.Free()
}

func inner(b devices.Buffer) devices.Buffer {
	if b, ok := b.(*brokenBuffer); ok {
		return b.Buffer
	}
	return b
}

type brokenProgram struct {
	devices.Program
	*defects
}

func (p *brokenProgram) Kernel(name string) (devices.Kernel, error) {
	if p.entry != nil {
		return p.entry(p, name)
	}
	return p.Program.Kernel(name)
}

type brokenQueue struct {
	devices.Queue
	d    *brokenDevice
	mu   sync.Mutex // guards what follows
	n    int
	args []devices.Arg
	wait []devices.Event
}

// brokenEvent shows a defect while Event is the right one.
type brokenEvent struct {
	devices.Event
	notify func(ev devices.Event, c devices.Completion)
	done   func(ev devices.Event) (bool, error)
	times  func(ev devices.Event) (devices.Times, error)
}

func (e *brokenEvent) Notify(c devices.Completion) {
	if e.notify != nil {
		e.notify(e.Event, c)
		return
	}
	e.Event.Notify(c)
}

func (e *brokenEvent) Done() (bool, error) {
	if e.done != nil {
		return e.done(e.Event)
	}
	return e.Event.Done()
}

func (e *brokenEvent) Times() (devices.Times, error) {
	if e.times != nil {
		return e.times(e.Event)
	}
	return e.Event.Times()
}

func (q *brokenQueue) rightWait(wait []devices.Event) []devices.Event {
	q.wait = q.wait[:0]
	for _, ev := range wait {
		if b, ok := ev.(*brokenEvent); ok {
			ev = b.Event
		}
		q.wait = append(q.wait, ev)
	}
	return q.wait
}

func (q *brokenQueue) out(ev devices.Event, err error) (devices.Event, error) {
	if err != nil || q.d.event == nil {
		return ev, err
	}
	return q.d.event(ev), nil
}

func (q *brokenQueue) Launch(l *devices.Launch, wait []devices.Event) (devices.Event, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	right := *l
	q.args = append(q.args[:0], l.Args...)
	for i := range q.args {
		if q.args[i].Buffer != nil {
			q.args[i].Buffer = inner(q.args[i].Buffer)
		}
	}
	right.Args = q.args
	wait = q.rightWait(wait)
	if q.d.launch != nil {
		return q.out(q.d.launch(q, right, wait))
	}
	return q.out(q.Queue.Launch(&right, wait))
}

func (q *brokenQueue) Copy(c *devices.Copy, wait []devices.Event) (devices.Event, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	right := *c
	if c.Dst != nil {
		right.Dst = inner(c.Dst)
	}
	if c.Src != nil {
		right.Src = inner(c.Src)
	}
	wait = q.rightWait(wait)
	if q.d.copy != nil {
		return q.out(q.d.copy(q, right, wait))
	}
	return q.out(q.Queue.Copy(&right, wait))
}

func (q *brokenQueue) Close() error {
	if q.d.closeQ != nil {
		return q.d.closeQ(q)
	}
	return q.Queue.Close()
}

// right is the driver that the broken ones are made of.
func right() devices.Driver { return cpu.Driver{Workers: 2} }
