package cpu

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tandemrun/tandem/devices"
)

// device is an open device or a part of one: workers, and what was made from
// it.
type device struct {
	info   devices.Info
	memory *account // shared with the parts
	whole  *device  // of which this is a part; nil: none
	pool   *pool

	// What is open now, for the account at Close.
	events, kernels, programs atomic.Int64

	mu      sync.Mutex
	closed  bool
	queues  map[*queue]struct{}
	made    [3]int // queues made so far, by kind
	buffers map[*buffer]struct{}
	parts   int // open parts
	divided int // compute units of the open parts
	named   int // parts named so far

	freeMu sync.Mutex
	freeAt time.Duration // when info.MemoryFree was read
}

var (
	_ devices.Device     = (*device)(nil)
	_ devices.HostMapper = (*device)(nil)
	_ devices.Divider    = (*device)(nil)
	_ devices.Batcher    = (*device)(nil)
)

func newDevice(info devices.Info, memory *account, whole *device) *device {
	return &device{
		info: info, memory: memory, whole: whole, pool: newPool(info.ComputeUnits), freeAt: devices.Now(),
		queues: map[*queue]struct{}{}, buffers: map[*buffer]struct{}{},
	}
}

// freeFor is how long a reading of the free memory is good for: reading it
// takes longer than a launch.
const freeFor = 100 * time.Millisecond

// Info describes the device.
func (d *device) Info() devices.Info {
	d.freeMu.Lock()
	if now := devices.Now(); now-d.freeAt > freeFor {
		_, d.info.MemoryFree = hostMemory()
		d.freeAt = now
	}
	info := d.info
	d.freeMu.Unlock()
	info.MemoryFree = max(0, min(info.MemoryFree, d.memory.left()))
	info.Languages = slices.Clone(info.Languages)
	return info
}

// open is an error that wraps ErrClosed if d is closed.
func (d *device) open(format string, args ...any) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return d.errorf(devices.ErrClosed, format, args...)
	}
	return nil
}

func (d *device) adopt(b *buffer) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return d.errorf(devices.ErrClosed, "buffer of %d bytes", len(b.mem))
	}
	d.buffers[b] = struct{}{}
	return nil
}

func (d *device) forget(b *buffer) {
	d.mu.Lock()
	delete(d.buffers, b)
	d.mu.Unlock()
}

// NewQueue makes a queue. All kinds are alike: there are no copy engines.
func (d *device) NewQueue(kind devices.QueueKind) (devices.Queue, error) {
	if int(kind) >= len(d.made) {
		return nil, d.errorf(devices.ErrInvalid, "NewQueue of unknown kind %d", uint8(kind))
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return nil, d.errorf(devices.ErrClosed, "NewQueue(%v)", kind)
	}
	d.made[kind]++
	q := &queue{d: d, name: fmt.Sprintf("%v#%d", kind, d.made[kind]), drained: make(chan struct{})}
	d.queues[q] = struct{}{}
	return q, nil
}

// Divide makes parts with workers of their own. The workers of all parts that
// are open at once never outnumber those of the whole; which core a worker
// runs on is left to the system.
func (d *device) Divide(counts []int) ([]devices.Device, error) {
	sum := 0
	for _, n := range counts {
		if n < 1 || n > d.info.ComputeUnits {
			return nil, d.errorf(devices.ErrInvalid, "Divide(%v): a part of %d compute units out of %d", counts, n, d.info.ComputeUnits)
		}
		sum += n
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case d.closed:
		return nil, d.errorf(devices.ErrClosed, "Divide(%v)", counts)
	case len(counts) == 0:
		return nil, d.errorf(devices.ErrInvalid, "Divide into no parts")
	case sum > d.info.ComputeUnits-d.divided:
		return nil, d.errorf(devices.ErrInvalid, "Divide(%v): %d compute units asked for, %d of %d are not in open parts",
			counts, sum, d.info.ComputeUnits-d.divided, d.info.ComputeUnits)
	}
	if d.parts == 0 {
		d.named = 0
	}
	parts := make([]devices.Device, len(counts))
	for i, n := range counts {
		info := d.info
		info.ID = fmt.Sprintf("%s.%d", d.info.ID, d.named+i)
		info.ComputeUnits, info.Queues, info.SubDevices = n, n, 0
		if n > 1 {
			info.SubDevices = n
		}
		parts[i] = newDevice(info, d.memory, d)
	}
	d.parts += len(parts)
	d.divided += sum
	d.named += len(parts)
	return parts, nil
}

// Close drains the queues, ends the workers, and frees the memory also of
// buffers that are still open.
func (d *device) Close() error {
	d.mu.Lock()
	if d.closed {
		d.mu.Unlock()
		return nil
	}
	d.closed = true
	queues := make([]*queue, 0, len(d.queues))
	for q := range d.queues {
		queues = append(queues, q)
	}
	left := map[string]int{
		"queue": len(queues), "buffer": len(d.buffers), "device": d.parts,
		"event": int(d.events.Load()), "kernel": int(d.kernels.Load()), "program": int(d.programs.Load()),
	}
	d.mu.Unlock()

	for _, q := range queues {
		_ = q.Close()
	}
	d.pool.stop()
	d.mu.Lock()
	buffers := make([]*buffer, 0, len(d.buffers))
	for b := range d.buffers {
		buffers = append(buffers, b)
	}
	d.mu.Unlock()
	for _, b := range buffers {
		_ = b.Free()
	}
	if w := d.whole; w != nil {
		w.mu.Lock()
		w.parts--
		w.divided -= d.info.ComputeUnits
		w.mu.Unlock()
	}
	for kind, n := range left {
		if n == 0 {
			delete(left, kind)
		}
	}
	if len(left) > 0 {
		return &devices.LeakError{Device: d.info.ID, Open: left}
	}
	return nil
}
