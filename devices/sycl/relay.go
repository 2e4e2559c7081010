package sycl

import (
	"unsafe"

	"github.com/tandemrun/tandem/devices/internal/dl"
)

// relay leads the shim's completions to events. The shim rings a bell, a plain
// function, once for each event that has finished, and is then asked which one
// it was: that way a completion allocates nothing, and one C function serves
// for all events.
type relay struct {
	api  *api
	bell uintptr
}

// startRelay gives the shim its bell. There is one for each load of a shim.
func startRelay(a *api) *relay {
	r := &relay{api: a}
	r.bell = dl.CallbackPlain(r.ring)
	dl.Call(a.start, r.bell)
	return r
}

// ring takes one finished event, which need not be the one that the bell rang
// for. It is called on a thread of the runtime.
func (r *relay) ring() {
	token := dl.CallArgs(r.api.completed, nil)
	if token == 0 {
		return
	}
	// The token is the address of an event, which its pool has pinned; reading
	// it through its own memory keeps the garbage collector out of it.
	e := *(**event)(unsafe.Pointer(&token))
	if done, _ := e.Done(); !done {
		e.settle(0)
	}
	e.deliver()
}
