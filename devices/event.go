package devices

import (
	"context"
	"time"
)

// An Event is the completion of one command. It belongs to whoever enqueued
// the command and has to be released exactly once, done or not; after that it
// must not be touched, the driver reuses it. An event that a wait list names
// may be released as soon as the enqueueing call has returned.
type Event interface {
	// Done reports whether the command has finished and, if it has, its
	// error. It never blocks.
	Done() (bool, error)

	// Notify has c.Complete called once when the command has finished: in the
	// calling goroutine if it has finished already, otherwise on a thread of
	// the driver. It flushes the queue as far as this event. At most one
	// Notify per event.
	Notify(c Completion)

	// Times says when the command ran, on the device's clock mapped to the
	// host's (see Times). Before the command has finished it is ErrInvalid.
	Times() (Times, error)

	Release()
}

// A Completion learns that a command has finished. Complete is called on a
// thread of the driver: it must return quickly, must not block, and must not
// call into the driver (Release included).
type Completion interface {
	Complete(err error)
}

// Times are the moments of one command. They never run backwards:
// Queued ≤ Submitted ≤ Start ≤ End. They are offsets on the host's monotonic
// clock as [Now] reads it; a driver maps its device clock to it.
type Times struct {
	Queued, Submitted, Start, End time.Duration
	// Model is what a launch of an emulated device is modelled to take; zero on
	// devices that are there.
	Model Modelled
}

// Run is how long the command itself ran.
func (t Times) Run() time.Duration { return t.End - t.Start }

// Cost is what plans reckon with: Run, or of an emulated device what the
// hardware would take.
func (t Times) Cost() time.Duration {
	if t.Model.Run > 0 {
		return t.Model.Run
	}
	return t.Run()
}

// Modelled is what a launch would be like on the hardware that a device
// emulates.
type Modelled struct {
	Run  time.Duration // cycles by the clock; 0: not known
	Load time.Duration // of the image that had to be loaded before, not in Run

	Cycles            uint64
	WordsIn, WordsOut uint64 // over all streams
	// Cycles in which a word was offered and not taken, summed over the inputs
	// and over the outputs.
	StallsIn, StallsOut uint64
}

var epoch = time.Now()

// Now reads the monotonic clock that Times are given in.
func Now() time.Duration { return time.Since(epoch) }

// Wait blocks until e is done and returns its error, or the cause of ctx. It
// uses the event's one Notify.
func Wait(ctx context.Context, e Event) error {
	if done, err := e.Done(); done {
		return err
	}
	w := make(waiter, 1)
	e.Notify(w)
	select {
	case err := <-w:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

type waiter chan error

func (w waiter) Complete(err error) { w <- err }
