package devicetest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/devices/hostmem"
)

// env is what a case works with: a device and everything made from it, which
// is closed in the right order when the case ends. Its methods end the case
// on the first thing that is wrong; they belong to the case's goroutine,
// except those that say otherwise.
type env struct {
	ctx context.Context
	o   Options

	mu       sync.Mutex // guards what follows
	dev      devices.Device
	prog     devices.Program
	devs     []devices.Device // further devices
	queues   []devices.Queue
	events   map[devices.Event]bool
	kernels  []devices.Kernel
	programs []devices.Program
	buffers  []devices.Buffer
	memory   [][]byte

	rounds uint32 // of the kernel spin that take a good while
}

// stop ends a case; it travels as a panic.
type stop struct {
	skip string
	err  error
}

func (e *env) fatalf(format string, args ...any) { panic(stop{err: fmt.Errorf(format, args...)}) }

func (e *env) skipf(format string, args ...any) { panic(stop{skip: fmt.Sprintf(format, args...)}) }

// must ends the case if err is one.
func (e *env) must(err error, what string, args ...any) {
	if err != nil {
		e.fatalf("%s: unexpected error: %w", fmt.Sprintf(what, args...), err)
	}
}

// run runs f and cleans up behind it. Errors of the clean-up count only if f
// itself was right.
func (e *env) run(f func(*env)) (skip string, err error) {
	e.events = map[devices.Event]bool{}
	skip, err = guard(func() { f(e) })
	_, late := guard(e.cleanup)
	if err == nil && late != nil {
		err = fmt.Errorf("while cleaning up: %w", late)
	}
	return skip, err
}

func guard(f func()) (skip string, err error) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case stop:
			skip, err = r.skip, r.err
		default:
			err = fmt.Errorf("panic: %v\n%s", r, debug.Stack())
		}
	}()
	f()
	return "", nil
}

// cleanup closes in the order that the contract asks for: queues (they wait
// for their work), events, kernels, programs, buffers, devices.
func (e *env) cleanup() {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, q := range e.queues {
		e.must(q.Close(), "Queue.Close")
	}
	for ev := range e.events {
		ev.Release()
	}
	for _, k := range e.kernels {
		e.must(k.Close(), "Kernel.Close")
	}
	for _, p := range e.programs {
		e.must(p.Close(), "Program.Close")
	}
	for _, b := range e.buffers {
		e.must(b.Free(), "Buffer.Free")
	}
	for _, d := range e.devs {
		e.must(d.Close(), "Device.Close")
	}
	if e.dev != nil {
		e.must(e.dev.Close(), "Device.Close")
	}
	for _, m := range e.memory {
		e.must(hostmem.Free(m), "hostmem.Free")
	}
}

// open opens the device once more. The case closes it.
func (e *env) open() devices.Device {
	d, err := e.o.Driver.Open(e.ctx, e.o.Ordinal)
	e.must(err, "Driver.Open(%d)", e.o.Ordinal)
	return d
}

// device is the case's device, opened on first use.
func (e *env) device() devices.Device {
	if e.dev == nil {
		d := e.open()
		e.dev = d
	}
	return e.dev
}

func (e *env) id() string { return e.device().Info().ID }

func (e *env) another() devices.Device {
	d := e.open()
	e.devs = append(e.devs, d)
	return d
}

func (e *env) alloc(size int64) devices.Buffer { return e.allocOn(e.device(), size) }

func (e *env) allocOn(d devices.Device, size int64) devices.Buffer {
	b, err := d.Alloc(size)
	e.must(err, "Alloc(%d)", size)
	if b.Size() != size {
		e.fatalf("Alloc(%d) made a buffer of Size %d", size, b.Size())
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.buffers = append(e.buffers, b)
	return b
}

func (e *env) queue(kind devices.QueueKind) devices.Queue { return e.queueOn(e.device(), kind) }

func (e *env) queueOn(d devices.Device, kind devices.QueueKind) devices.Queue {
	q, err := d.NewQueue(kind)
	e.must(err, "NewQueue(%v)", kind)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.queues = append(e.queues, q)
	return q
}

// compute is a queue for computing.
func (e *env) compute() devices.Queue { return e.queue(devices.Compute) }

func (e *env) program() devices.Program {
	e.mu.Lock()
	p := e.prog
	e.mu.Unlock()
	if p != nil {
		return p
	}
	p, err := e.device().Compile(e.ctx, e.o.Kernels)
	e.must(err, "Compile(%s)", e.o.Kernels.Name)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.prog = p
	e.programs = append(e.programs, p)
	return p
}

// kernel is the kernel of the kit of that name.
func (e *env) kernel(entry string) devices.Kernel { return e.kernelOf(e.program(), entry) }

func (e *env) kernelOf(p devices.Program, entry string) devices.Kernel {
	k, err := p.Kernel(entry)
	e.must(err, "Kernel(%s)", entry)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.kernels = append(e.kernels, k)
	return k
}

// host is n bytes of zeroed memory outside the Go heap.
func (e *env) host(n int64) []byte {
	m, err := hostmem.Alloc(n)
	e.must(err, "hostmem.Alloc(%d)", n)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.memory = append(e.memory, m)
	return m
}

// keep has ev released at the end of the case.
func (e *env) keep(ev devices.Event, err error) devices.Event {
	e.must(err, "enqueueing")
	if ev == nil {
		e.fatalf("enqueueing gave neither an event nor an error")
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.events[ev] = true
	return ev
}

// release releases an event before the end of the case.
func (e *env) release(ev devices.Event) {
	e.mu.Lock()
	delete(e.events, ev)
	e.mu.Unlock()
	ev.Release()
}

// wait waits for ev, uses its one Notify, and returns its error.
func (e *env) wait(ev devices.Event) error {
	ctx, cancel := context.WithTimeout(e.ctx, e.o.CaseTimeout/2)
	defer cancel()
	err := devices.Wait(ctx, ev)
	if ctx.Err() != nil && errors.Is(err, context.DeadlineExceeded) {
		e.fatalf("an event is not done after %v", e.o.CaseTimeout/2)
	}
	return err
}

// finish waits for ev, which has to succeed.
func (e *env) finish(ev devices.Event) { e.must(e.wait(ev), "a command failed") }

// launch enqueues a launch of a 1-, 2- or 3-dimensional range.
func (e *env) launch(q devices.Queue, k devices.Kernel, r devices.NDRange, wait []devices.Event, args ...devices.Arg) devices.Event {
	return e.keep(q.Launch(&devices.Launch{Kernel: k, Range: r, Args: args}, wait))
}

// write puts data at an offset of b and waits for it.
func (e *env) write(q devices.Queue, b devices.Buffer, offset int64, data []byte) {
	m := e.host(int64(len(data)))
	copy(m, data)
	e.finish(e.keep(q.Copy(&devices.Copy{Kind: devices.HostToDevice, Dst: b, DstOffset: offset, Host: m, Size: int64(len(data))}, nil)))
}

// read gets n bytes of b from an offset on, after everything in q before it.
func (e *env) read(q devices.Queue, b devices.Buffer, offset, n int64) []byte {
	m := e.host(n)
	e.finish(e.keep(q.Copy(&devices.Copy{Kind: devices.DeviceToHost, Src: b, SrcOffset: offset, Host: m, Size: n}, nil)))
	return m
}

// readU32 gets the first n numbers of b.
func (e *env) readU32(q devices.Queue, b devices.Buffer, n int) []uint32 {
	return devices.View[uint32](e.read(q, b, 0, int64(n)*4))
}

// u32 makes a buffer that holds v.
func (e *env) u32(q devices.Queue, v []uint32) devices.Buffer {
	b := e.alloc(int64(len(v)) * 4)
	e.write(q, b, 0, devices.AsBytes(v))
	return b
}

// slow enqueues a kernel that runs for some 30 ms and writes one number to
// out, a buffer of at least 4 bytes.
func (e *env) slow(q devices.Queue, k devices.Kernel, out devices.Buffer, wait ...devices.Event) devices.Event {
	for e.rounds == 0 {
		for n := uint32(1 << 16); ; n *= 2 {
			start := time.Now()
			e.finish(e.launch(q, k, line(1), nil, buf(out), num(n)))
			if took := time.Since(start); took > 30*time.Millisecond || n >= 1<<30 {
				e.rounds = n
				break
			}
		}
	}
	return e.launch(q, k, line(1), wait, buf(out), num(e.rounds))
}

// failed enqueues a command that fails, and returns its event.
func (e *env) failed(q devices.Queue) devices.Event {
	if e.o.Fail != nil {
		return e.keep(e.o.Fail(q))
	}
	if e.o.Kernels.Language != devices.LangGo {
		e.skipf("kernels in %s cannot fail, and Options.Fail is not set", e.o.Kernels.Language)
	}
	return e.launch(q, e.kernel("fail"), line(1), nil)
}

// random is a generator whose seed appears in the message of a failure.
func (e *env) random() (*rand.Rand, uint64) {
	seed := uint64(time.Now().UnixNano())
	return rand.New(rand.NewPCG(seed, 0)), seed
}

var sentinels = []error{
	devices.ErrUnavailable, devices.ErrUnsupported, devices.ErrOutOfMemory, devices.ErrDeviceLost,
	devices.ErrInvalid, devices.ErrClosed, devices.ErrTimeout,
}

// wantErr ends the case unless err wraps sentinel, is not the bare sentinel,
// and says every one of the words.
func (e *env) wantErr(err, sentinel error, what string, words ...string) {
	if err == nil {
		e.fatalf("%s: no error, want %q", what, sentinel)
	}
	for _, s := range sentinels {
		if err == s {
			e.fatalf("%s: the bare sentinel %q: an error says which call failed, with its values", what, s)
		}
	}
	if !errors.Is(err, sentinel) {
		e.fatalf("%s: error %q, want one that wraps %q", what, err, sentinel)
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			e.fatalf("%s: the error %q does not say %q", what, err, w)
		}
	}
}

// The parts of launches, short.

func line(n int) devices.NDRange { return devices.NDRange{Dims: 1, Size: [3]int{n}} }

func buf(b devices.Buffer) devices.Arg { return devices.Arg{Buffer: b} }

func num[T devices.Number](v T) devices.Arg { return devices.Arg{Value: devices.AsBytes([]T{v})} }
