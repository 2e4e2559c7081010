package devices

import "time"

// As finds an ability of d, looking through wrappers: a wrapper has an
// Unwrap method that returns the device it wraps.
func As[T any](d Device) (T, bool) {
	for {
		if t, ok := d.(T); ok {
			return t, true
		}
		u, ok := d.(interface{ Unwrap() Device })
		if !ok {
			var none T
			return none, false
		}
		d = u.Unwrap()
	}
}

// A HostMapper works on the host's own pages: zero-copy.
type HostMapper interface {
	// ImportHost makes mem a buffer of the device without copying it. mem
	// starts at a page boundary, lies outside the Go heap and stays mapped
	// until the buffer is freed. What the host wrote is visible to a launch
	// after a Copy of kind SyncToDevice, what a launch wrote is visible to the
	// host after SyncToHost. ErrUnsupported: this device cannot, for mem or at
	// all; the caller copies instead.
	ImportHost(mem []byte) (Buffer, error)
}

// A HostPinner gives host memory that its copy engines reach directly: what is
// copied from or to it goes at the link's full speed and beside other work,
// where ordinary pages would be copied inside the driver first, often while
// the caller waits.
type HostPinner interface {
	// AllocPinned makes size bytes of host memory, at least 1, that are aligned
	// to 64 bytes and never move; their contents are undefined. A Copy may
	// name any part of them as its Host. ErrUnsupported: the device has no such
	// memory, or its copies gain nothing from it. ErrOutOfMemory: the system
	// does not let this process have so much of it (a memlock limit, say). Both
	// leave the device usable, and pinned memory is a wish only: the caller goes
	// on without.
	AllocPinned(size int64) (Pinned, error)
}

// Pinned is pinned host memory. Free comes after the last command that names
// it is done, and before the device is closed; freeing twice returns nil. In a
// LeakError it counts as a buffer.
type Pinned interface {
	// Bytes is the memory itself, valid until Free.
	Bytes() []byte
	Free() error
}

// A Gater holds commands back until all of a group are in their queues, so
// that either all of them run or none does. Devices that have kernels run
// together (Info.Concurrent) have it.
type Gater interface {
	// NewGate makes a closed gate.
	NewGate() (Gate, error)
}

// A Gate is something to wait for that the caller ends.
type Gate interface {
	// Event is what wait lists of the gate's device name. It belongs to the
	// gate and is not released by the caller.
	Event() Event
	// Open lets everything go that waits for the gate. With an error the
	// commands that wait for it fail with that error and do not run. A gate
	// stays as it was opened first.
	Open(err error)
	// Release gives the gate back. One that is still closed is opened with
	// ErrClosed.
	Release()
}

// A Divider cuts a device into sub-devices that share nothing of its compute
// units.
type Divider interface {
	// Divide makes one device for each count of compute units. The sum must
	// not exceed what the device has. The parts are closed before the whole.
	Divide(counts []int) ([]Device, error)
}

// A PeerCopier reads another device's memory without the host.
type PeerCopier interface {
	// CanCopyFrom reports whether a Copy of kind DeviceToDevice on a queue of
	// this device may name a Src buffer of the other device.
	CanCopyFrom(other Device) bool
}

// A Replayer records a sequence of launches once and runs it many times at
// the cost of one enqueue.
type Replayer interface {
	Record(launches []Launch) (Replay, error)
}

// A Replay is a recorded sequence of launches.
type Replay interface {
	Enqueue(q Queue, wait []Event) (Event, error)
	Close() error
}

// A Reconfigurable device has to load an image before a kernel runs.
type Reconfigurable interface {
	// Loaded is the image that is loaded now, "" for none.
	Loaded() string
	// Image names the image that the kernels of src are in, as Loaded does, and
	// says what loading it takes where another is loaded.
	Image(src *Source) (name string, load time.Duration)
}

// A Clocked device has a clock of its own that the runtime follows instead of
// the host's (a simulated device). The host takes no time on that clock: it
// goes on only while nobody holds it, and whoever may still enqueue something
// "now" holds it. Devices that share a clock share its holds.
type Clocked interface {
	Now() time.Duration
	// Hold keeps the clock where it is until as many calls of Release have
	// come. Waiting for a command while holding the clock is waiting forever.
	Hold()
	Release()
}
