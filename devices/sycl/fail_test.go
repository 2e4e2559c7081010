package sycl

import (
	"context"
	"fmt"

	"github.com/tandemrun/tandem/devices"
)

// failOn gives the conformance kit a command that the runtime accepted and
// that failed: a marker with a predecessor that breaks afterwards, of which
// the runtime knows nothing.
func failOn(dq devices.Queue) (devices.Event, error) {
	q := dq.(*queue)
	bad := q.d.pool.get(q.d)
	bad.err = fmt.Errorf("%s: a command that fails on purpose: %w", q.d.info.ID, devices.ErrInvalid)
	bad.state.Store(broke)
	q.mu.Lock()
	q.deps = q.deps[:0]
	e := q.event(command{kernel: "test"})
	if err := q.enqueueMarker(0); err != nil {
		q.mu.Unlock()
		return nil, err
	}
	e.deps = append(e.deps, bad) // takes the reference
	q.enqueued(e)
	ev := q.hand(e)
	q.mu.Unlock()
	_ = devices.Wait(context.Background(), ev)
	return ev, nil
}
