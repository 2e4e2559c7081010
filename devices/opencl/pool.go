package opencl

import (
	"errors"
	goruntime "runtime"
	"sync"
	"unsafe"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/devices/hostmem"
)

// chunkEvents is how many events are made at once.
const chunkEvents = 64

// pool keeps a device's events that are not in use. The library holds
// pointers to events while callbacks are pending, so events are pinned for as
// long as the device is open.
type pool struct {
	mu     sync.Mutex
	free   []*event
	chunks [][]byte // what the library writes to
	pin    goruntime.Pinner
	made   int
}

// get returns an event with one reference, its owner's.
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
	const size = unsafe.Sizeof(eventMemory{})
	mem, err := hostmem.Alloc(int64(chunkEvents * size))
	if err != nil {
		return errors.Join(err, devices.ErrOutOfMemory)
	}
	p.chunks = append(p.chunks, mem)
	events := make([]event, chunkEvents)
	p.pin.Pin(&events[0])
	for i := range events {
		e := &events[i]
		e.d = d
		e.mem = (*eventMemory)(unsafe.Pointer(&mem[uintptr(i)*size]))
		e.statusArgs = [5]uintptr{0, eventExecutionStatus, 4, uintptr(unsafe.Pointer(&e.mem.status)), 0}
		p.free = append(p.free, e)
	}
	p.made += chunkEvents
	// Room for all of them, so that put never allocates.
	if cap(p.free) < p.made {
		p.free = append(make([]*event, 0, 2*p.made), p.free...)
	}
	return nil
}

func (p *pool) put(e *event) {
	p.mu.Lock()
	p.free = append(p.free, e)
	p.mu.Unlock()
}

// close gives the pool's memory back. Events that somebody still holds keep
// theirs: that is a leak, and better than a crash.
func (p *pool) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.pin.Unpin()
	if len(p.free) < p.made {
		return
	}
	for _, mem := range p.chunks {
		_ = hostmem.Free(mem)
	}
	p.free, p.chunks, p.made = nil, nil, 0
}
