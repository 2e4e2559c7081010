package opencl

import (
	"math/bits"
	"sync"
	"sync/atomic"

	"github.com/tandemrun/tandem/devices/internal/dl"
)

// relaySlots is how many plain callbacks there are.
const relaySlots = 32

// relay leads the library's callbacks to events. C functions made of Go
// functions are never released and few, so there is one relay in a process.
//
// Calling back with arguments or a result allocates them. So the usual way is a slot: a
// plain function that knows the one event it was given out for.
// When all slots are out, the general function is used, which takes the event
// as its user data.
type relay struct {
	used    atomic.Uint32 // one bit per slot
	slots   [relaySlots]slot
	general uintptr
}

type slot struct {
	event atomic.Pointer[event]
	fn    uintptr
}

// processRelay makes the relay when the first device is opened.
var processRelay = sync.OnceValue(func() *relay {
	r := &relay{general: dl.Callback(completed)}
	for i := range r.slots {
		s := &r.slots[i]
		s.fn = dl.CallbackPlain(func() {
			e := s.event.Swap(nil)
			r.free(i)
			completed(0, statusComplete, e)
		})
	}
	return r
})

// callback is the C function to call for e, and the slot that it takes, -1
// for none.
func (r *relay) callback(e *event) (fn uintptr, slot int) {
	for {
		used := r.used.Load()
		i := bits.TrailingZeros32(^used)
		if i >= relaySlots {
			return r.general, -1
		}
		if r.used.CompareAndSwap(used, used|1<<i) {
			r.slots[i].event.Store(e)
			return r.slots[i].fn, i
		}
	}
}

// free gives a slot back.
func (r *relay) free(slot int) {
	if slot >= 0 {
		r.used.And(^uint32(1 << slot))
	}
}

// completed is called when a command has finished, on a thread of the library
// or inside clSetEventCallback. The result is nothing to C; Windows wants a
// callback to have one.
func completed(_ uintptr, status int32, e *event) uintptr {
	if done, _ := e.Done(); !done {
		e.settle(min(status, statusComplete))
	}
	e.deliver()
	return 0
}
