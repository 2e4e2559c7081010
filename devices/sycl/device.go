package sycl

import (
	"context"
	"fmt"
	"path/filepath"
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
	kinds
)

var kindNames = [kinds]string{"buffer", "queue", "event", "kernel", "program"}

// device is an open device with a context of its own.
type device struct {
	api    *api
	lib    *library
	handle uint64 // of the shim; 0 once closed
	info   devices.Info
	traits traits
	root   string // below which files are kept, "" for nowhere
	cache  *buildcache.Cache

	pool      pool
	clock     clock
	memory    []byte         // the clock's
	callbacks sync.WaitGroup // events whose Notify is outstanding
	builds    sync.WaitGroup // compilations whose caller no longer waits
	open      [kinds]atomic.Int64
	allocated atomic.Int64 // bytes, without imported host memory

	mu     sync.Mutex
	closed bool
	queues []*queue // open ones
}

func openDevice(lib *library, l listed, root string, plain bool) (*device, error) {
	builds := ""
	if root != "" {
		builds = filepath.Join(root, "builds")
	}
	d := &device{api: lib.api, lib: lib, info: l.info, traits: l.traits, root: root, cache: buildcache.Open(builds, 0)}
	memory, err := hostmem.Alloc(int64(unsafe.Sizeof(clockMemory{})))
	if err != nil {
		return nil, fmt.Errorf("%s: open: %w: %w", d.info.ID, err, devices.ErrOutOfMemory)
	}
	d.memory, d.clock.memory = memory, (*clockMemory)(unsafe.Pointer(&memory[0]))
	handle, e := new(uint64), new(errorBlock)
	var events uintptr
	if plain {
		events = 1
	}
	if code := int32(dl.Call(d.api.open, uintptr(l.traits.index), events, uintptr(unsafe.Pointer(handle)), uintptr(unsafe.Pointer(e)))); code != statusOK {
		_ = hostmem.Free(memory)
		return nil, fmt.Errorf("%s: %w", d.info.ID, failed(e, "open %s", d.info.Name))
	}
	d.handle = *handle
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

// calibrateClock measures the offset between the device's clock and the
// host's with a few small copies; the quickest round trip tells most. A device
// that keeps no time is left uncalibrated.
func (d *device) calibrateClock() {
	dq, err := d.NewQueue(devices.Compute)
	if err != nil {
		return
	}
	q := dq.(*queue)
	defer q.Close()
	b, err := d.Alloc(64)
	if err != nil {
		return
	}
	defer b.Free()
	tightest := time.Duration(1 << 62)
	for range 5 {
		lo := devices.Now()
		ev, err := q.Copy(&devices.Copy{Kind: devices.DeviceToDevice, Dst: b, Src: b, SrcOffset: 32, Size: 32}, nil)
		if err != nil {
			return
		}
		e := ev.(*event)
		_ = q.finish()
		hi := devices.Now()
		times, ok := e.profile()
		e.Release()
		if !ok {
			return
		}
		if hi-lo < tightest {
			tightest = hi - lo
			d.clock.Calibrate(times[3], lo, hi)
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
	handle, e := new(uint64), new(errorBlock)
	if code := int32(dl.Call(d.api.queue, uintptr(d.handle), uintptr(unsafe.Pointer(handle)), uintptr(unsafe.Pointer(e)))); code != statusOK {
		_ = hostmem.Free(scratch)
		return nil, fmt.Errorf("%s: %w", d.info.ID, failed(e, "queue(%v)", kind))
	}
	q := &queue{d: d, kind: kind, handle: uintptr(*handle), memory: scratch, scratch: (*scratchpad)(unsafe.Pointer(&scratch[0]))}
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
	d.pool.close()
	d.clock.mu.Lock()
	d.clock.memory = nil
	_ = hostmem.Free(d.memory)
	d.clock.mu.Unlock()
	if leak.Open != nil {
		// What is still open has the device in use: it stays, as a leak.
		return &leak
	}
	e := new(errorBlock)
	dl.Call(d.api.close, uintptr(d.handle), uintptr(unsafe.Pointer(e)))
	d.handle = 0
	return nil
}
