package cuda

import (
	"fmt"
	"sync"
	"unsafe"
)

// chunkEvents is how many events are made at once.
const chunkEvents = 32

// pool keeps a device's events that are not in use. Each has its two CUDA
// events for life: making one costs more than the command that it is for.
type pool struct {
	mu   sync.Mutex
	free []*event
	all  []*event
}

// get returns an event with one reference, its owner's. The context is
// current.
func (p *pool) get(d *device) (*event, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.free) == 0 {
		if err := p.grow(d); err != nil {
			return nil, err
		}
	}
	e := p.free[len(p.free)-1]
	p.free = p.free[:len(p.free)-1]
	e.state.Store(pending)
	e.refs.Store(1)
	return e, nil
}

func (p *pool) grow(d *device) error {
	for range chunkEvents {
		e := &event{d: d}
		for _, handle := range []*uintptr{&e.start[0], &e.end[0]} {
			out := new(uintptr)
			if code := d.api.call(d.api.eventCreate, uintptr(unsafe.Pointer(out)), eventBlockingSync); code != success {
				if e.start[0] != 0 {
					d.api.call(d.api.eventDestroy, e.start[0])
				}
				if len(p.free) > 0 {
					return nil // fewer than wanted
				}
				return d.fail(code, "cuEventCreate (%d events are in use)", len(p.all))
			}
			*handle = *out
		}
		p.all = append(p.all, e)
		p.free = append(p.free, e)
	}
	// Room for all of them, so that put never allocates.
	if cap(p.free) < len(p.all) {
		p.free = append(make([]*event, 0, 2*len(p.all)), p.free...)
	}
	return nil
}

func (p *pool) put(e *event) {
	p.mu.Lock()
	p.free = append(p.free, e)
	p.mu.Unlock()
}

// close destroys the events. Those that somebody still holds are a leak that
// has been counted; they must not be asked any more. The context is current.
func (p *pool) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, e := range p.all {
		if e.refs.Load() > 0 {
			e.settle(fmt.Errorf("%s: %s: %w", e.d.info.ID, e.cmd.String(), errClosedDevice))
		}
		e.d.api.call(e.d.api.eventDestroy, e.start[0])
		e.d.api.call(e.d.api.eventDestroy, e.end[0])
	}
	p.free, p.all = nil, nil
}
