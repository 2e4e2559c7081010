package opencl

import (
	"fmt"
	"unsafe"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/devices/internal/dl"
)

// userEvent makes an event that the test finishes with the function returned.
func (d *device) userEvent() (*event, func(status int32) int32, error) {
	e, err := d.pool.get(d)
	if err != nil {
		return nil, nil, err
	}
	code := new(int32)
	e.mem.handle = dl.Call(d.api.createUserEvent, d.ctx, uintptr(unsafe.Pointer(code)))
	if *code != success {
		return nil, nil, fmt.Errorf("clCreateUserEvent: %s", symbol(*code))
	}
	e.statusArgs[0] = e.mem.handle
	e.cmd = command{kernel: "test"}
	d.open[kindEvent].Add(1)
	handle := e.mem.handle
	return e, func(status int32) int32 { return d.api.call(d.api.setUserEventStatus, handle, uintptr(status)) }, nil
}

// failLater enqueues a marker behind a user event and then sets that to the
// given error.
func (q *queue) failLater(status int32) (devices.Event, error) {
	u, set, err := q.d.userEvent()
	if err != nil {
		return nil, err
	}
	u.q = q
	u.seq = 0
	q.mu.Lock()
	q.deps = append(q.deps[:0], u)
	e, err := q.marker(command{kernel: "test"})
	q.mu.Unlock()
	u.Release()
	if err != nil {
		return nil, err
	}
	if code := set(status); code != success {
		return nil, fmt.Errorf("clSetUserEventStatus: %s", symbol(code))
	}
	return e, nil
}
