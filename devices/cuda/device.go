package cuda

import (
	"context"
	"fmt"
	goruntime "runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/devices/hostmem"
	"github.com/tandemrun/tandem/devices/internal/compilation"
	"github.com/tandemrun/tandem/devices/internal/dl"
)

// What is made from a device, as devices.LeakError names it.
const (
	kindBuffer = iota
	kindQueue
	kindEvent
	kindKernel
	kindProgram
	kinds
)

var kindNames = [kinds]string{"buffer", "queue", "event", "kernel", "program"}

// device is an open device: a GPU's primary context.
type device struct {
	api    *api
	relay  *relay
	handle int32   // CUdevice
	ctx    uintptr // CUcontext
	lent   bool    // ctx is somebody else's
	info   devices.Info
	traits traits

	// The arguments of the calls that make the context current and put the
	// former one back. Nobody writes them after openDevice.
	pushArgs, popArgs [1]uintptr
	popped            []byte // what cuCtxPopCurrent writes to

	aux    auxiliary
	pool   pool
	clock  clock
	pinned pinned

	callbacks sync.WaitGroup // events whose Notify is outstanding
	waiting   atomic.Int64   // how many those are
	builds    sync.WaitGroup // compilations whose caller no longer waits
	open      [kinds]atomic.Int64
	allocated atomic.Int64 // bytes, without imported host memory
	lost      atomic.Pointer[lostError]

	mu     sync.Mutex
	closed bool
	queues []*queue // open ones
	peers  map[*device]bool
	watch  *time.Timer
}

// auxiliary is a stream for the driver's own commands.
type auxiliary struct {
	mu     sync.Mutex
	stream uintptr
}

// lostError says what took the context down.
type lostError struct{ err error }

func openDevice(lib *library, l listed, context uintptr) (*device, error) {
	d := &device{api: lib.api, relay: lib.relay, handle: l.handle, info: l.info, traits: l.traits}
	if context != 0 {
		d.ctx, d.lent = context, true
		if code := d.soundness(); code != success {
			return nil, fmt.Errorf("%s: the context %#x: %w", d.info.ID, context, failed(code, "cuCtxSynchronize"))
		}
	} else if err := d.retain(); err != nil {
		return nil, err
	}
	var err error
	if d.popped, err = hostmem.Alloc(8); err != nil {
		d.release()
		return nil, fmt.Errorf("%s: %w: %w", d.info.ID, err, devices.ErrOutOfMemory)
	}
	d.pushArgs[0], d.popArgs[0] = d.ctx, uintptr(unsafe.Pointer(&d.popped[0]))
	err = d.enter()
	if err == nil {
		err = d.prepare()
		d.leave()
	}
	if err != nil {
		_ = hostmem.Free(d.popped)
		d.release()
		return nil, err
	}
	d.watch = time.AfterFunc(time.Hour, d.look)
	d.watch.Stop()
	return d, nil
}

// retain takes hold of the primary context. One that is lost already is made
// anew.
func (d *device) retain() error {
	// Threads that wait for the GPU are to sleep and not to spin. A context
	// that is in use keeps what it has.
	d.api.call(d.api.primaryFlags, uintptr(d.handle), ctxSchedBlockingSync)
	for attempt := range 2 {
		ctx := new(uintptr)
		code := d.api.call(d.api.primaryRetain, uintptr(unsafe.Pointer(ctx)), uintptr(d.handle))
		if code == success {
			d.ctx = *ctx
			code = d.soundness()
		}
		if code == success {
			return nil
		}
		if d.ctx != 0 {
			d.release()
		}
		if !sticky(code) || attempt == 1 {
			return fmt.Errorf("%s: %w", d.info.ID, failed(code, "cuDevicePrimaryCtxRetain(%s)", d.info.Name))
		}
		d.api.call(d.api.primaryReset, uintptr(d.handle))
	}
	return nil
}

// soundness is what the context answers when it is asked whether it is well.
func (d *device) soundness() int32 {
	goruntime.LockOSThread()
	defer goruntime.UnlockOSThread()
	if code := d.api.call(d.api.ctxPush, d.ctx); code != success {
		return code
	}
	code := d.api.call(d.api.ctxSynchronize)
	old := new(uintptr)
	d.api.call(d.api.ctxPop, uintptr(unsafe.Pointer(old)))
	return code
}

func (d *device) release() {
	if d.lent {
		return
	}
	d.api.call(d.api.primaryRelease, uintptr(d.handle))
	d.ctx = 0
}

// prepare makes what the driver itself needs. The context is current.
func (d *device) prepare() error {
	stream, err := d.createStream()
	if err != nil {
		return err
	}
	d.aux.stream = stream
	if err := d.startClock(); err != nil {
		return err
	}
	d.preparePool()
	return nil
}

// enter makes the context current on this thread, which stays the goroutine's
// until leave.
func (d *device) enter() error {
	goruntime.LockOSThread()
	if code := int32(dl.CallArgs(d.api.ctxPush, d.pushArgs[:])); code != success {
		goruntime.UnlockOSThread()
		return d.fail(code, "cuCtxPushCurrent")
	}
	return nil
}

// leave puts back what was current before enter.
func (d *device) leave() {
	dl.CallArgs(d.api.ctxPop, d.popArgs[:])
	goruntime.UnlockOSThread()
}

// fail is the error of a call that returned code. A sticky one means the end
// of the context: everything that is in flight fails with it.
func (d *device) fail(code int32, call string, args ...any) error {
	err := fmt.Errorf("%s: %w", d.info.ID, failed(code, call, args...))
	if sticky(code) {
		d.lose(err)
	}
	return err
}

// lose marks the device as lost, once, and tells everybody who waits.
func (d *device) lose(err error) {
	if !d.lost.CompareAndSwap(nil, &lostError{err}) {
		return
	}
	// Whoever waits may hold locks of this package now: on a goroutine of its
	// own nobody is in the way. Close tells its queues itself.
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.closed {
		d.builds.Go(d.tellLost)
	}
}

func (d *device) tellLost() {
	d.mu.Lock()
	queues := slices.Clone(d.queues)
	d.mu.Unlock()
	for _, q := range queues {
		q.abandon()
	}
}

// lostErr is the error of what is asked of a lost device, nil for one that is
// well.
func (d *device) lostErr() error {
	if l := d.lost.Load(); l != nil {
		return l.err
	}
	return nil
}

// watchEvery is how long a context may be lost before those who wait for a
// callback learn of it: CUDA calls no callback then.
const watchEvery = 100 * time.Millisecond

// expect counts a callback that is to come; while there are any, the context
// is asked now and then whether it is well.
func (d *device) expect() {
	d.callbacks.Add(1)
	if d.waiting.Add(1) == 1 {
		d.watch.Reset(watchEvery)
	}
}

// came counts a callback that has come.
func (d *device) came() {
	d.waiting.Add(-1)
	d.callbacks.Done()
}

// look asks whether the context is well.
func (d *device) look() {
	d.aux.mu.Lock()
	stream := d.aux.stream
	if stream != 0 && d.waiting.Load() > 0 && d.enter() == nil {
		if code := d.api.call(d.api.streamQuery, stream); sticky(code) {
			_ = d.fail(code, "cuStreamQuery")
		}
		d.leave()
	}
	d.aux.mu.Unlock()
	if stream != 0 && d.waiting.Load() > 0 && d.lostErr() == nil {
		d.watch.Reset(watchEvery)
	}
}

// Info implements devices.Device.
func (d *device) Info() devices.Info {
	info := d.info
	info.MemoryFree = d.freeMemory()
	info.SubGroupSizes = slices.Clone(info.SubGroupSizes)
	info.Languages = slices.Clone(info.Languages)
	info.Extensions = slices.Clone(info.Extensions)
	return info
}

// usable is ErrClosed after Close, and what took the device down if it is
// lost.
func (d *device) usable(what string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return fmt.Errorf("%s: %s: the device is closed: %w", d.info.ID, what, devices.ErrClosed)
	}
	if err := d.lostErr(); err != nil {
		return fmt.Errorf("%s: %s: %w", d.info.ID, what, err)
	}
	return nil
}

// createStream makes a stream that does not wait for the default one. The
// context is current.
func (d *device) createStream() (uintptr, error) {
	s := new(uintptr)
	if code := d.api.call(d.api.streamCreate, uintptr(unsafe.Pointer(s)), streamNonBlocking); code != success {
		return 0, d.fail(code, "cuStreamCreate")
	}
	return *s, nil
}

// Compile implements devices.Device.
func (d *device) Compile(ctx context.Context, src *devices.Source) (devices.Program, error) {
	at := compilation.Device{ID: d.info.ID, Languages: d.info.Languages, Usable: d.usable, Builds: &d.builds, Why: d.traits.compilers.why}
	return compilation.Compile(ctx, at, src, d.build)
}

// Close implements devices.Device.
func (d *device) Close() error {
	d.mu.Lock()
	if d.closed {
		d.mu.Unlock()
		return nil
	}
	d.closed = true
	queues := slices.Clone(d.queues)
	d.mu.Unlock()

	var leak devices.LeakError
	for k := range d.open {
		if n := d.open[k].Load(); n > 0 {
			if leak.Open == nil {
				leak = devices.LeakError{Device: d.info.ID, Open: map[string]int{}}
			}
			leak.Open[kindNames[k]] = int(n)
		}
	}
	for _, q := range queues {
		_ = q.Close()
	}
	d.callbacks.Wait()
	d.builds.Wait()
	d.watch.Stop()
	d.aux.mu.Lock()
	if d.enter() == nil {
		d.pool.close()
		d.stopClock()
		d.pinned.close(d)
		d.api.call(d.api.streamDestroy, d.aux.stream)
		d.leave()
	}
	d.aux.stream = 0
	d.aux.mu.Unlock()
	_ = hostmem.Free(d.popped)
	d.release()
	if leak.Open != nil {
		return &leak
	}
	return nil
}
