package devices

import (
	"context"
	"time"
)

// A Driver is one way to reach hardware: goroutines, OpenCL, CUDA, SYCL, an
// FPGA emulation. Drivers are values in a list; they have no global state.
// All methods may be called from any goroutine.
type Driver interface {
	// Name is the backend's short name: "cpu", "opencl". It is the part of a
	// device id before the colon.
	Name() string

	// Probe looks for devices without keeping any of them open. Absent is
	// normal: a missing library or permission is Backend.Reason, not a panic
	// and not an error. Probing twice gives the same ids in the same order.
	Probe(ctx context.Context) Backend

	// Open opens the device that Probe listed at the given ordinal. A bad
	// ordinal is ErrInvalid and names the range.
	Open(ctx context.Context, ordinal int) (Device, error)
}

// Backend is what Probe learned of one driver.
type Backend struct {
	Name      string   `json:"name"`
	Available bool     `json:"available"`
	Library   string   `json:"library,omitempty"` // path or name of the vendor library that was used
	Version   string   `json:"version,omitempty"` // its version, in the vendor's words
	Tried     []string `json:"tried,omitempty"`   // library names looked for, in order
	Reason    error    `json:"-"`                 // why Available is false, wrapping one of the sentinels; nil otherwise
	Hint      string   `json:"hint,omitempty"`    // the command or step that would mend Reason
	Warnings  []string `json:"warnings,omitempty"`
	Notes     []string `json:"notes,omitempty"` // what is as it should be and worth knowing: a device that cannot be used this way, and why
	Devices   []Info   `json:"-"`
}

// A Device is an open device. It is safe for concurrent use.
type Device interface {
	// Info describes the device. Every value was read from the driver; only
	// MemoryFree changes between calls.
	Info() Info

	// Alloc makes a buffer of size bytes in the device's memory. Its contents
	// are undefined. Size 0 is legal and gives a buffer that may only be
	// passed around. ErrOutOfMemory leaves the device usable.
	Alloc(size int64) (Buffer, error)

	// Compile builds a program. It may take seconds; ctx cancels the wait, not
	// necessarily the compiler. A language that the device does not take is
	// ErrUnsupported; a source that does not build is a *CompileError.
	Compile(ctx context.Context, src *Source) (Program, error)

	// NewQueue makes an in-order queue. The kind is a hint that lets a device
	// with copy engines put uploads and downloads beside its computing; every
	// queue takes every command.
	NewQueue(kind QueueKind) (Queue, error)

	// Close closes the device. Everything made from it has to be closed
	// before: what is still open is a *LeakError (the device is closed all
	// the same). Closing twice returns nil.
	Close() error
}

// QueueKind says what a queue is mostly used for.
type QueueKind uint8

// The kinds of queues.
const (
	Compute QueueKind = iota
	Upload
	Download
)

func (k QueueKind) String() string {
	return [...]string{"compute", "upload", "download"}[k]
}

// A Queue runs commands in the order in which they were enqueued.
//
// Launch and Copy return at once; the returned event belongs to the caller,
// who releases it. The command and what it points to (the Launch or Copy
// itself, its Args, and the wait list) is not kept: the caller may reuse it as
// soon as the call returns. Buffers, kernels and host memory that it names
// have to stay until the event is done.
//
// A wait list may hold events of any queue of the same device; an event of
// another device is ErrInvalid. A command whose predecessor in a wait list
// failed does not run: its event fails with the same error, and so does every
// command that waits for it. Commands behind it on the same queue, which do
// not wait for it, still run.
//
// In steady state neither call allocates. A Queue is safe for concurrent use,
// the order between concurrent calls is the order in which they got in.
type Queue interface {
	Launch(l *Launch, wait []Event) (Event, error)
	Copy(c *Copy, wait []Event) (Event, error)

	// Flush hands everything enqueued so far to the device. Before that, work
	// may sit in the host for as long as nobody calls Flush, Close or a
	// Notify of one of its events. It does not wait for the work.
	Flush() error

	// Close waits for the queue's work and frees it. Closing twice is nil.
	Close() error
}

// A Buffer is memory of one device. Free has to come after the last command
// that uses it is done; freeing twice returns nil.
type Buffer interface {
	Size() int64
	Free() error
}

// A Program is the result of Compile.
type Program interface {
	// Kernel finds an entry point. One that does not exist is ErrInvalid and
	// the message lists those that do. Each call makes a new Kernel; a Kernel
	// is used by one goroutine at a time.
	Kernel(entry string) (Kernel, error)

	// Log is what the compiler said, warnings included, also when the build
	// came from a cache. A log of blanks only is "".
	Log() string

	Close() error
}

// An Exporter is a Program that can be stored and loaded again, as a Source of
// LangBinary, on devices like the one that it was compiled for.
type Exporter interface {
	// Binary is the program in the vendor's own format. The slice is the
	// caller's. A driver that gives none is ErrUnsupported.
	Binary() ([]byte, error)
}

// A Kernel is an entry point of a program, ready to launch.
type Kernel interface {
	Info() KernelInfo
	Close() error
}

// KernelInfo is what the device says of a compiled kernel. Zero: not known.
type KernelInfo struct {
	Entry          string
	Args           int    // number of arguments
	MaxWorkGroup   int    // work-items per group this kernel allows on this device
	FixedWorkGroup [3]int // group size written in the kernel; zero: free
	LocalBytes     int64  // local memory declared inside, without __local arguments
	PrivateBytes   int64
	GroupMultiple  int           // preferred multiple of the group size
	BuildTime      time.Duration // what compiling took; 0 from a cache
	BuildFromCache bool
}
