package cuda

import (
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/tandemrun/tandem/devices/internal/dl"
)

// maxBells is how many plain callbacks there are in a process.
const maxBells = 256

// relay gives out the C functions that the driver calls back. C functions made
// of Go functions are never released and few, so there is one relay in a
// process, and it makes them as they are needed.
type relay struct {
	mu      sync.Mutex
	free    []*bell
	made    int
	general uintptr           // takes the key of a ring
	rings   map[uintptr]*ring // of those that have no bell
	lastKey uintptr
}

// A bell is a plain C function that rings for one ring at a time. Plain
// functions are called without allocating, unlike those with arguments.
type bell struct {
	fn   uintptr
	ring atomic.Pointer[ring]
}

// processRelay makes the relay when the first library is loaded.
var processRelay = sync.OnceValue(func() *relay {
	r := &relay{rings: map[uintptr]*ring{}}
	r.general = dl.Callback(func(key uintptr) uintptr {
		r.mu.Lock()
		to := r.rings[key]
		r.mu.Unlock()
		if to != nil {
			to.next()
		}
		return 0
	})
	return r
})

// attach gives a ring its function and user data.
func (r *relay) attach(to *ring) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.free) == 0 && r.made < maxBells {
		r.made++
		b := &bell{}
		b.fn = dl.CallbackPlain(func() {
			if to := b.ring.Load(); to != nil {
				to.next()
			}
		})
		r.free = append(r.free, b)
	}
	if n := len(r.free); n > 0 {
		to.bell, r.free = r.free[n-1], r.free[:n-1]
		to.bell.ring.Store(to)
		to.fn = to.bell.fn
		return
	}
	r.lastKey++
	to.fn, to.key = r.general, r.lastKey
	r.rings[to.key] = to
}

// detach takes the function back. One that the driver may still call, since
// its device was lost with callbacks pending, is given to nobody else.
func (r *relay) detach(to *ring, lost bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if to.bell == nil {
		delete(r.rings, to.key)
		return
	}
	to.bell.ring.Store(nil)
	if !lost {
		r.free = append(r.free, to.bell)
	}
}

// A ring is what is to happen on the host when a stream has come so far. The
// driver calls a stream's functions in the order in which they were enqueued,
// so each call takes the oldest job.
type ring struct {
	fn, key uintptr // C function and user data
	bell    *bell   // nil: the general function

	mu         sync.Mutex
	jobs       []job // a circle
	head, size int
}

// job is either a completion or a move of bytes between the host's own places.
type job struct {
	event    *event
	dst, src unsafe.Pointer // outside the Go heap, or pinned by the caller until the copy's event is done
	bytes    int
}

// push adds a job; the function has to be enqueued after it.
func (r *ring) push(j job) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.size == len(r.jobs) {
		grown := make([]job, max(2*len(r.jobs), 64))
		for i := range r.size {
			grown[i] = r.jobs[(r.head+i)%len(r.jobs)]
		}
		r.jobs, r.head = grown, 0
	}
	r.jobs[(r.head+r.size)%len(r.jobs)] = j
	r.size++
}

// unpush takes the youngest job back, whose function was not enqueued. It
// reports false when the job is gone already: the device was lost meanwhile.
func (r *ring) unpush() (job, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.size == 0 {
		return job{}, false
	}
	r.size--
	at := (r.head + r.size) % len(r.jobs)
	j := r.jobs[at]
	r.jobs[at] = job{}
	return j, true
}

// shift takes the oldest job.
func (r *ring) shift() (job, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.size == 0 {
		return job{}, false
	}
	j := r.jobs[r.head]
	r.jobs[r.head] = job{}
	r.head = (r.head + 1) % len(r.jobs)
	r.size--
	return j, true
}

// next does the oldest job. It runs on a thread of the driver, which must not
// call it from there.
func (r *ring) next() {
	j, ok := r.shift()
	switch {
	case !ok: // the device was lost, and this came all the same
	case j.event != nil:
		j.event.settle(nil)
		j.event.deliver()
	default:
		copy(unsafe.Slice((*byte)(j.dst), j.bytes), unsafe.Slice((*byte)(j.src), j.bytes))
	}
}

// drop takes everybody out who waits for a call that will not come.
func (r *ring) drop(err error) {
	for {
		j, ok := r.shift()
		if !ok {
			return
		}
		if j.event != nil {
			j.event.settle(j.event.brokenBy(err))
			j.event.deliver()
		}
	}
}
