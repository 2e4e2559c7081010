package sycl

import (
	goruntime "runtime"
	"sync"
)

// chunkEvents is how many events are made at once.
const chunkEvents = 64

// pool keeps a device's events that are not in use. The shim holds pointers to
// events while completions are pending, so events are pinned for as long as
// the device is open.
type pool struct {
	mu   sync.Mutex
	free []*event
	pin  goruntime.Pinner
	made int
}

// get returns an event with one reference, its owner's.
func (p *pool) get(d *device) *event {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.free) == 0 {
		p.grow(d)
	}
	e := p.free[len(p.free)-1]
	p.free = p.free[:len(p.free)-1]
	e.state.Store(pending)
	e.refs.Store(1)
	return e
}

func (p *pool) grow(d *device) {
	events := make([]event, chunkEvents)
	p.pin.Pin(&events[0])
	p.made += chunkEvents
	// Room for all of them, so that put never allocates.
	if cap(p.free) < p.made {
		p.free = make([]*event, 0, 2*p.made)
	}
	for i := range events {
		events[i].d = d
		p.free = append(p.free, &events[i])
	}
}

func (p *pool) put(e *event) {
	p.mu.Lock()
	p.free = append(p.free, e)
	p.mu.Unlock()
}

// close lets the events go. Those that somebody still holds stay what they
// are: the garbage collector takes them later.
func (p *pool) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.pin.Unpin()
	p.free = nil
}
