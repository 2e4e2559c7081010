package opencl

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/devices/hostmem"
	"github.com/tandemrun/tandem/devices/internal/buildcache"
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
	kindDevice
	kinds
)

var kindNames = [kinds]string{"buffer", "queue", "event", "kernel", "program", "device"}

// device is an open device with a context of its own.
type device struct {
	api      *api
	id       uintptr // cl_device_id
	ctx      uintptr // cl_context
	platform platform
	info     devices.Info
	traits   traits
	cache    *buildcache.Cache
	relay    *relay
	parent   *device // of a sub-device

	pool      pool
	clock     clock
	callbacks sync.WaitGroup // events whose Notify is outstanding
	builds    sync.WaitGroup // compilations whose caller no longer waits
	open      [kinds]atomic.Int64
	allocated atomic.Int64 // bytes, without imported host memory
	lastID    atomic.Uint64

	widener widener
	twin    int       // number among devices that are alike; 0 of the first, and of those that need none
	aux     auxiliary // for mapping and calibration

	mu     sync.Mutex
	closed bool
	queues []*queue // open ones
}

// auxiliary is a queue for the driver's own blocking commands.
type auxiliary struct {
	mu     sync.Mutex
	handle uintptr
}

func openDevice(a *api, l listed, cache *buildcache.Cache) (*device, error) {
	d := &device{api: a, id: l.id, platform: l.platform, info: l.info, traits: l.traits, cache: cache, relay: processRelay()}
	props := []uintptr{contextPlatform, l.platform.id, 0}
	dev, code := []uintptr{l.id}, new(int32)
	d.ctx = dl.Call(a.createContext, uintptr(unsafe.Pointer(&props[0])), 1, uintptr(unsafe.Pointer(&dev[0])), 0, 0, uintptr(unsafe.Pointer(code)))
	if *code != success || d.ctx == 0 {
		return nil, fmt.Errorf("%s: %w", d.info.ID, failed(*code, "clCreateContext(%s)", d.info.Name))
	}
	var err error
	if d.aux.handle, err = d.createQueue(); err != nil {
		a.call(a.releaseContext, d.ctx)
		return nil, err
	}
	if d.traits.widens {
		d.twin = processTwins().take()
	}
	d.calibrateClock()
	return d, nil
}

// Info implements devices.Device.
func (d *device) Info() devices.Info {
	info := d.info
	info.MemoryFree = max(info.MemoryTotal-d.allocated.Load(), 0)
	info.SubGroupSizes = slices.Clone(info.SubGroupSizes)
	info.Languages = slices.Clone(info.Languages)
	info.Extensions = slices.Clone(info.Extensions)
	return info
}

// usable is ErrClosed after Close.
func (d *device) usable(what string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return fmt.Errorf("%s: %s: the device is closed: %w", d.info.ID, what, devices.ErrClosed)
	}
	return nil
}

// createQueue makes an in-order cl_command_queue that keeps times.
func (d *device) createQueue() (uintptr, error) {
	code := new(int32)
	call := "clCreateCommandQueue"
	var q uintptr
	if d.api.createCommandQueueWithProperties != 0 && d.traits.opencl2 {
		call = "clCreateCommandQueueWithProperties"
		props := []uint64{queueProperties, queueProfilingEnable, 0}
		q = dl.Call(d.api.createCommandQueueWithProperties, d.ctx, d.id, uintptr(unsafe.Pointer(&props[0])), uintptr(unsafe.Pointer(code)))
	} else {
		q = dl.Call(d.api.createCommandQueue, d.ctx, d.id, queueProfilingEnable, uintptr(unsafe.Pointer(code)))
	}
	if *code != success || q == 0 {
		return 0, fmt.Errorf("%s: %w", d.info.ID, failed(*code, "%s", call))
	}
	return q, nil
}

// calibrateClock measures the offset between the device's clock and the
// host's with a few markers; the quickest round trip tells most. A device
// that keeps no time is left uncalibrated.
func (d *device) calibrateClock() {
	d.aux.mu.Lock()
	defer d.aux.mu.Unlock()
	event, at := new(uintptr), new(uint64)
	tightest := time.Duration(1 << 62)
	for range 5 {
		lo := devices.Now()
		if d.api.call(d.api.enqueueMarkerWithWaitList, d.aux.handle, 0, 0, uintptr(unsafe.Pointer(event))) != success {
			return
		}
		d.api.call(d.api.finish, d.aux.handle)
		hi := devices.Now()
		code := d.api.call(d.api.getEventProfilingInfo, *event, profilingQueued+3, 8, uintptr(unsafe.Pointer(at)), 0)
		d.api.call(d.api.releaseEvent, *event)
		if code != success {
			return
		}
		if hi-lo < tightest {
			tightest = hi - lo
			d.clock.Calibrate(*at, lo, hi)
		}
	}
}

// Compile implements devices.Device.
func (d *device) Compile(ctx context.Context, src *devices.Source) (devices.Program, error) {
	at := compilation.Device{ID: d.info.ID, Languages: d.info.Languages, Usable: d.usable, Builds: &d.builds}
	return compilation.Compile(ctx, at, src, d.build)
}

// NewQueue implements devices.Device.
func (d *device) NewQueue(kind devices.QueueKind) (devices.Queue, error) {
	if err := d.usable("new queue"); err != nil {
		return nil, err
	}
	scratch, err := hostmem.Alloc(scratchBytes)
	if err != nil {
		return nil, fmt.Errorf("%s: new %v queue: %w: %w", d.info.ID, kind, err, devices.ErrOutOfMemory)
	}
	handle, err := d.createQueue()
	if err != nil {
		_ = hostmem.Free(scratch)
		return nil, err
	}
	q := &queue{d: d, kind: kind, handle: handle, memory: scratch, scratch: (*scratchpad)(unsafe.Pointer(&scratch[0]))}
	d.mu.Lock()
	d.queues = append(d.queues, q)
	d.mu.Unlock()
	d.open[kindQueue].Add(1)
	return q, nil
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

	d.builds.Wait()
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
	d.widener.clear()
	d.pool.close()
	d.api.call(d.api.releaseCommandQueue, d.aux.handle)
	d.api.call(d.api.releaseContext, d.ctx)
	if d.traits.widens {
		processTwins().give(d.twin)
	}
	if d.parent != nil {
		d.api.call(d.api.releaseDevice, d.id)
		d.parent.open[kindDevice].Add(-1)
	}
	if leak.Open != nil {
		return &leak
	}
	return nil
}
