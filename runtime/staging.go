package tandem

import (
	"errors"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/transfer"
)

// Staging: copies between ordinary host memory and a device with memory of its
// own go through pinned memory where the device can give some. The host has a
// hand in each chunk, so a staged copy begins when everything that it waits for
// is over, and what waits for it begins when it is over: the device's own wait
// lists have no part in it.

// stageFrom is the size from which an upload is staged. A smaller one the
// driver takes from the caller's memory at once; a download would have it wait
// for all that is before.
const stageFrom = 64 << 10

// openStager makes the device's stager, if it has a use for one.
func (a *agent) openStager() error {
	if a.info.UnifiedMemory {
		return nil
	}
	up, down, _ := a.session.predictor.links(&a.info)
	s, err := transfer.NewStager(a.device, transfer.StagerOptions{Upload: up, Download: down,
		Busy: func(n int) { a.session.clock.change(n, 0, 0) }, Unpinned: a.unpinned})
	if errors.Is(err, devices.ErrUnsupported) {
		return nil
	}
	a.stager = s
	return err
}

func (a *agent) closeStager() error {
	if a.stager == nil {
		return nil
	}
	return a.stager.Close()
}

// unpinned says once that there is no pinned memory for the device.
func (a *agent) unpinned(err error) {
	if f := a.session.observer.Faulted; f != nil && a.told.CompareAndSwap(false, true) {
		f(FaultEvent{Task: -1, Device: a.info.ID, Err: err, Action: "copies go through ordinary memory, which takes longer", At: a.session.clock.now()})
	}
}

// stages reports whether a copy is to be staged.
func (a *agent) stages(c *devices.Copy) bool {
	if a.stager == nil {
		return false
	}
	return c.Kind == devices.DeviceToHost || c.Kind == devices.HostToDevice && c.Size >= stageFrom
}

// stage hands a copy to the stager. Everything that it waits for is over.
func (a *agent) stage(o *op) {
	o.mu.Lock()
	o.begun = true
	o.native = nil
	o.mu.Unlock()
	a.aboard[o] = struct{}{}
	a.stager.Start(&transfer.Job{Copy: o.copy, Done: func(r transfer.Staged) {
		o.let(r.Err == nil)
		o.staged = r
		a.note(&a.moved, o)
	}})
}

// landed ends a staged copy, or a launch on windows. It runs on the agent's
// goroutine.
func (a *agent) landed(o *op) {
	if o.late.CompareAndSwap(true, false) {
		a.overdue(o)
		return // it still runs
	}
	delete(a.aboard, o)
	a.end(o, o.staged.Err, o.staged.Times, o.staged.Queue)
}
