// Package trace records every call to a device: for tests that assert what was
// asked of it and how often, and for people who want to see
//
//	opencl:0 compute#1 Launch saxpy [1024] (b1, b2, 0x3fc00000) -> e7 12µs
//
// A wrapped device passes the conformance kit like the one below it, costs a
// few hundred nanoseconds per call, and allocates nothing per command unless
// its sink does.
package trace

import (
	"context"
	"time"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/devices/internal/wrap"
)

// Op is the name of a call.
type Op string

// The calls that are recorded. Done is the completion that a Notify asked
// for: it says how the command ended.
const (
	Open         Op = "Open"
	Probe        Op = "Probe"
	Alloc        Op = "Alloc"
	Free         Op = "Free"
	Compile      Op = "Compile"
	Kernel       Op = "Kernel"
	CloseProgram Op = "CloseProgram"
	CloseKernel  Op = "CloseKernel"
	NewQueue     Op = "NewQueue"
	Launch       Op = "Launch"
	Copy         Op = "Copy"
	Flush        Op = "Flush"
	CloseQueue   Op = "CloseQueue"
	Notify       Op = "Notify"
	Done         Op = "Done"
	Release      Op = "Release"
	CloseDevice  Op = "CloseDevice"
)

// Call is one call and what came of it. Buffers and events are numbered per
// device in the order in which they were made, from 1; number 0 is one that
// the wrapper did not see being made, such as imported memory.
type Call struct {
	Op     Op
	Device string // its id; the driver's name for Probe and Open
	Queue  string // "compute#1": the first queue of its kind
	Name   string // the kernel, the source's name, the kind of a queue
	Kind   devices.CopyKind
	Size   int64 // bytes of a buffer or a copy; the ordinal for Open
	Buffer uint64
	Event  uint64
	Range  devices.NDRange
	Args   []Arg    // of a Launch; a sink that keeps the call clones it
	Wait   []uint64 // events; a sink that keeps the call clones it
	Start  time.Duration
	Took   time.Duration // the call itself, not the work that it enqueued
	Run    time.Duration // Release: what the command took on the device, 0 if that is not known
	Err    error
}

// Arg is an argument of a Launch: a buffer's number, a value or local memory.
type Arg struct {
	Buffer     uint64
	Bytes      int64  // size of a buffer
	Value      []byte // a sink that keeps the call clones it
	LocalBytes int64
	Null       bool
}

// A Sink takes calls. It is called from any goroutine, at the same time too,
// must not call into the device, and holds the caller up while it runs.
type Sink func(Call)

// Wrap makes a device whose calls go to sink. Closing it closes d.
func Wrap(d devices.Device, sink Sink) devices.Device {
	return wrap.New(d, &hook{sink: sink})
}

// Driver is a driver whose devices are traced. Its zero value has no driver
// below it and is of no use.
type Driver struct {
	devices.Driver
	Sink Sink
}

// Drivers wraps every driver of a list; with a nil sink it is the list.
func Drivers(list []devices.Driver, sink Sink) []devices.Driver {
	if sink == nil {
		return list
	}
	traced := make([]devices.Driver, len(list))
	for i, d := range list {
		traced[i] = Driver{d, sink}
	}
	return traced
}

// Probe makes the call.
func (d Driver) Probe(ctx context.Context) devices.Backend {
	start := devices.Now()
	b := d.Driver.Probe(ctx)
	d.Sink(Call{Op: Probe, Device: d.Name(), Start: start, Took: devices.Now() - start, Err: b.Reason})
	return b
}

// Open opens a device and wraps it.
func (d Driver) Open(ctx context.Context, ordinal int) (devices.Device, error) {
	start := devices.Now()
	dev, err := d.Driver.Open(ctx, ordinal)
	d.Sink(Call{Op: Open, Device: d.Name(), Size: int64(ordinal), Start: start, Took: devices.Now() - start, Err: err})
	if err != nil {
		return nil, err
	}
	return Wrap(dev, d.Sink), nil
}
