package fpga

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tandemrun/tandem/devices"
)

// device is an open device: one worker that runs kernels, one that copies, and
// what was made from it. mu guards the order of commands as well; nothing
// slow happens under it.
type device struct {
	driver *Driver
	info   devices.Info
	stalls Stalls
	check  Check

	// What is open now, for the account at Close.
	kernels, programs atomic.Int64

	mu        sync.Mutex
	closed    bool
	used      int64 // bytes of memory
	events    int
	queues    map[*queue]struct{}
	buffers   map[*buffer]struct{}
	instances map[instanceKey]*instance
	loaded    string // image
	spare     *command
	compute   worker
	copies    worker
	ended     sync.WaitGroup
}

var (
	_ devices.Device         = (*device)(nil)
	_ devices.HostMapper     = (*device)(nil)
	_ devices.Reconfigurable = (*device)(nil)
)

func newDevice(driver *Driver, info devices.Info) *device {
	d := &device{driver: driver, info: info, queues: map[*queue]struct{}{}, buffers: map[*buffer]struct{}{}, instances: map[instanceKey]*instance{}}
	d.stalls, d.check, _ = driver.settings()
	d.compute.wake.L, d.copies.wake.L = &d.mu, &d.mu
	d.ended.Add(2)
	go d.runKernels()
	go d.runCopies()
	return d
}

// Info describes the device.
func (d *device) Info() devices.Info {
	info := d.info
	d.mu.Lock()
	info.MemoryFree = max(0, info.MemoryTotal-d.used)
	d.mu.Unlock()
	info.Languages = slices.Clone(info.Languages)
	return info
}

// open is an error that wraps ErrClosed if d is closed.
func (d *device) open(call string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return d.errorf(devices.ErrClosed, "%s", call)
	}
	return nil
}

// wrap puts the device and a call before an error.
func (d *device) wrap(err error, format string, args ...any) error {
	return fmt.Errorf("%s: %s: %w", d.info.ID, fmt.Sprintf(format, args...), err)
}

// NewQueue makes a queue. All kinds are alike.
func (d *device) NewQueue(kind devices.QueueKind) (devices.Queue, error) {
	if kind > devices.Download {
		return nil, d.errorf(devices.ErrInvalid, "NewQueue of unknown kind %d", uint8(kind))
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return nil, d.errorf(devices.ErrClosed, "NewQueue(%v)", kind)
	}
	q := &queue{d: d, kind: kind, drained: make(chan struct{})}
	d.queues[q] = struct{}{}
	return q, nil
}

// Loaded is the name of the image that the last launch has loaded.
func (d *device) Loaded() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.loaded
}

// Image is the image of a source and the modelled time of loading it.
func (d *device) Image(src *devices.Source) (name string, load time.Duration) {
	return imageName(src), d.driver.loadTime()
}

// imageName names the image of a source by its file and contents.
func imageName(src *devices.Source) string {
	h := sha256.New()
	h.Write(src.Text)
	h.Write([]byte(strings.Join(src.Options, "\x00")))
	return src.Name + "@" + hex.EncodeToString(h.Sum(nil)[:6])
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
	var queues []*queue
	for q := range d.queues {
		queues = append(queues, q)
	}
	left := map[string]int{"queue": len(queues), "buffer": len(d.buffers), "event": d.events,
		"kernel": int(d.kernels.Load()), "program": int(d.programs.Load())}
	d.mu.Unlock()

	for _, q := range queues {
		_ = q.Close()
	}
	d.mu.Lock()
	d.compute.end, d.copies.end = true, true
	d.compute.wake.Broadcast()
	d.copies.wake.Broadcast()
	d.mu.Unlock()
	d.ended.Wait()
	d.driver.retire(d)

	d.mu.Lock()
	var buffers []*buffer
	for b := range d.buffers {
		buffers = append(buffers, b)
	}
	d.mu.Unlock()
	for _, b := range buffers {
		_ = b.Free()
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
