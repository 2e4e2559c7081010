// Package wrap puts a hook between a caller and a device. Every call of the
// contract goes through it; the wrappers fault and trace are hooks.
//
// What a wrapped device gives out is wrapped too, and is unwrapped where it
// comes back in. What comes from the device below by way of an ability found
// with devices.As (imported buffers, sub-devices) is not wrapped and passes
// through as it is.
package wrap

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tandemrun/tandem/devices"
)

// Op is a call of the contract.
type Op uint8

// The calls. Done stands for the completion that Notify asked for.
const (
	Alloc Op = iota
	Free
	Compile
	Kernel
	CloseProgram
	CloseKernel
	NewQueue
	Launch
	Copy
	Flush
	CloseQueue
	Notify
	Done
	Release
	CloseDevice
)

var opNames = [...]string{"Alloc", "Free", "Compile", "Kernel", "CloseProgram", "CloseKernel", "NewQueue", "Launch", "Copy",
	"Flush", "CloseQueue", "Notify", "Done", "Release", "CloseDevice"}

func (o Op) String() string { return opNames[o] }

// Call is one call. It is reused: a hook keeps nothing of it.
type Call struct {
	Op     Op
	Device string          // the device's id
	Queue  string          // "compute#1"
	Name   string          // of the kernel, the source, the kind of a copy or queue
	Size   int64           // bytes of a buffer or copy
	Buffer uint64          // number of the buffer, from 1
	Event  uint64          // number of the event, from 1
	Launch *devices.Launch // as the caller gave it
	Copy   *devices.Copy
	Wait   []devices.Event
	Inner  devices.Event // Release: the event below, still valid before the call
	Start  time.Duration // on the clock of devices.Now
	Took   time.Duration
	Err    error

	// Later, set by Before for a Launch or Copy, has the event fail with it
	// instead of the command being run.
	Later error
}

// A Hook sees every call. It is called from any goroutine, and while the lock
// of a queue is held; it must not call into the device.
type Hook interface {
	// Before may return an error, which the caller gets instead of the call.
	// It is not asked about calls that give something back (Free, Close*,
	// Release, Notify).
	Before(c *Call) error
	// After sees the call once it is made or refused.
	After(c *Call)
}

// New wraps d.
func New(d devices.Device, h Hook) *Device {
	return &Device{inner: d, hook: h, id: d.Info().ID}
}

// Device is a wrapped device.
type Device struct {
	inner   devices.Device
	hook    Hook
	id      string
	buffers atomic.Uint64
	events  atomic.Uint64

	mu     sync.Mutex
	queues [3]int
	free   *event
}

// Unwrap is the device below.
func (d *Device) Unwrap() devices.Device { return d.inner }

// Info is the Info of the device below.
func (d *Device) Info() devices.Info { return d.inner.Info() }

// ask begins a call that may be refused.
func (d *Device) ask(c *Call) error {
	c.Device = d.id
	c.Start = devices.Now()
	return d.hook.Before(c)
}

func (d *Device) tell(c *Call, err error) {
	c.Err = err
	c.Took = devices.Now() - c.Start
	d.hook.After(c)
}

// give makes a call that gives something back.
func (d *Device) give(c *Call, f func() error) error {
	c.Device = d.id
	c.Start = devices.Now()
	err := f()
	d.tell(c, err)
	return err
}

// Alloc makes a buffer.
func (d *Device) Alloc(size int64) (devices.Buffer, error) {
	c := &Call{Op: Alloc, Size: size}
	var b devices.Buffer
	err := d.ask(c)
	if err == nil {
		b, err = d.inner.Alloc(size)
	}
	if err != nil {
		d.tell(c, err)
		return nil, err
	}
	w := &buffer{Buffer: b, d: d, number: d.buffers.Add(1)}
	c.Buffer = w.number
	d.tell(c, nil)
	return w, nil
}

// Compile builds a program.
func (d *Device) Compile(ctx context.Context, src *devices.Source) (devices.Program, error) {
	c := &Call{Op: Compile}
	if src != nil {
		c.Name = src.Name
	}
	var p devices.Program
	err := d.ask(c)
	if err == nil {
		p, err = d.inner.Compile(ctx, src)
	}
	d.tell(c, err)
	if err != nil {
		return nil, err
	}
	return &program{Program: p, d: d, name: c.Name}, nil
}

// NewQueue makes a queue.
func (d *Device) NewQueue(kind devices.QueueKind) (devices.Queue, error) {
	if int(kind) >= len(d.queues) {
		return d.inner.NewQueue(kind) // has no name; the device below refuses it
	}
	c := &Call{Op: NewQueue, Name: kind.String()}
	var q devices.Queue
	err := d.ask(c)
	if err == nil {
		q, err = d.inner.NewQueue(kind)
	}
	if err != nil {
		d.tell(c, err)
		return nil, err
	}
	d.mu.Lock()
	d.queues[kind]++
	c.Queue = fmt.Sprintf("%v#%d", kind, d.queues[kind])
	d.mu.Unlock()
	d.tell(c, nil)
	return &queue{inner: q, d: d, name: c.Queue}, nil
}

// Close closes the device below.
func (d *Device) Close() error { return d.give(&Call{Op: CloseDevice}, d.inner.Close) }

// BufferNumber is the number of a buffer that a wrapped device made; 0: it is
// another one.
func BufferNumber(b devices.Buffer) uint64 {
	if b, ok := b.(*buffer); ok && b != nil {
		return b.number
	}
	return 0
}

// EventNumber is the number of an event of a wrapped device; 0: it is another
// one.
func EventNumber(e devices.Event) uint64 {
	if e, ok := e.(*event); ok && e != nil {
		return e.number
	}
	return 0
}

type buffer struct {
	devices.Buffer
	d      *Device
	number uint64
}

func (b *buffer) Free() error {
	return b.d.give(&Call{Op: Free, Size: b.Size(), Buffer: b.number}, b.Buffer.Free)
}

// rawBuffer is the buffer below b; a nil one stays nil.
func rawBuffer(b devices.Buffer) devices.Buffer {
	if b, ok := b.(*buffer); ok && b != nil {
		return b.Buffer
	}
	return b
}

type program struct {
	devices.Program
	d    *Device
	name string
}

func (p *program) Kernel(entry string) (devices.Kernel, error) {
	c := &Call{Op: Kernel, Name: entry}
	var k devices.Kernel
	err := p.d.ask(c)
	if err == nil {
		k, err = p.Program.Kernel(entry)
	}
	p.d.tell(c, err)
	if err != nil {
		return nil, err
	}
	return &kernel{Kernel: k, d: p.d, entry: entry}, nil
}

func (p *program) Close() error {
	return p.d.give(&Call{Op: CloseProgram, Name: p.name}, p.Program.Close)
}

type kernel struct {
	devices.Kernel
	d     *Device
	entry string
}

func (k *kernel) Close() error {
	return k.d.give(&Call{Op: CloseKernel, Name: k.entry}, k.Kernel.Close)
}
