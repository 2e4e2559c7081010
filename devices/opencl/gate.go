package opencl

import (
	"fmt"
	"sync/atomic"
	"unsafe"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/devices/internal/dl"
)

// gate is a user event.
type gate struct {
	e      *event
	opened atomic.Bool
}

// NewGate implements devices.Gater on FPGAs. Implementations whose kernels
// are not sure to run together have no use for it, and PoCL 3.1 does not get
// over a user event that fails.
func (d *device) NewGate() (devices.Gate, error) {
	if err := d.usable("new gate"); err != nil {
		return nil, err
	}
	if d.info.Concurrent == 0 {
		return nil, fmt.Errorf("%s: gate: the device does not run kernels together: %w", d.info.ID, devices.ErrUnsupported)
	}
	e, err := d.pool.get(d)
	if err != nil {
		return nil, fmt.Errorf("%s: gate: %w", d.info.ID, err)
	}
	code := new(int32)
	e.mem.handle = dl.Call(d.api.createUserEvent, d.ctx, uintptr(unsafe.Pointer(code)))
	if *code != success || e.mem.handle == 0 {
		e.drop()
		return nil, fmt.Errorf("%s: gate: %w", d.info.ID, failed(*code, "clCreateUserEvent"))
	}
	e.statusArgs[0] = e.mem.handle
	e.cmd, e.queued = command{gate: true}, devices.Now()
	d.open[kindEvent].Add(1)
	return &gate{e: e}, nil
}

// Event implements devices.Gate.
func (g *gate) Event() devices.Event { return g.e }

// Open implements devices.Gate. The error is put where events look for their
// predecessors' before the library is told.
func (g *gate) Open(err error) {
	if !g.opened.CompareAndSwap(false, true) {
		return
	}
	status := int32(statusComplete)
	if err != nil {
		status = codeErrorInWaitList
		if g.e.state.CompareAndSwap(pending, settling) {
			g.e.seen, g.e.err = devices.Now(), err
			g.e.state.Store(broke)
		}
	}
	g.e.d.api.call(g.e.d.api.setUserEventStatus, g.e.mem.handle, uintptr(status))
}

// Release implements devices.Gate.
func (g *gate) Release() {
	g.Open(fmt.Errorf("%s: a gate that was never opened: %w", g.e.d.info.ID, devices.ErrClosed))
	g.e.Release()
}
