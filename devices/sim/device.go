package sim

import (
	"math/rand/v2"
	"slices"
	"time"

	"github.com/tandemrun/tandem/devices"
)

// The engines of a device.
const (
	compute = iota
	upload
	download
	engines
)

// device is an open device. The clock's lock guards what changes.
type device struct {
	clock  *clock
	spec   *Spec
	info   devices.Info
	opened int // number of the opening on its clock

	engines [engines]engine
	noise   *rand.Rand // nil: none
	lost    bool
	closed  bool
	used    int64 // bytes allocated
	made    int   // queues made so far
	queues  map[*queue]struct{}
	buffers map[*buffer]struct{}
	pins    map[*pinned]struct{}
	locked  int64 // bytes of pins

	events, kernels, programs int // open now
}

var (
	_ devices.Device     = (*device)(nil)
	_ devices.HostMapper = (*device)(nil)
	_ devices.HostPinner = (*device)(nil)
	_ devices.PeerCopier = (*device)(nil)
	_ devices.Clocked    = (*device)(nil)
)

func newDevice(k *clock, s *Spec, info devices.Info) *device {
	d := &device{clock: k, spec: s, info: info, queues: map[*queue]struct{}{}, buffers: map[*buffer]struct{}{}, pins: map[*pinned]struct{}{}}
	if s.Noise.Spread > 0 {
		d.noise = rand.New(rand.NewPCG(s.Noise.Seed, uint64(info.Ordinal)))
	}
	return d
}

// Info describes the device.
func (d *device) Info() devices.Info {
	d.clock.mu.Lock()
	defer d.clock.mu.Unlock()
	info := d.info
	info.MemoryFree = info.MemoryTotal - d.used
	info.Languages = slices.Clone(info.Languages)
	return info
}

// Now, Hold and Release are those of the clock, which all devices of a driver
// share.

func (d *device) Now() time.Duration { return d.clock.Now() }

func (d *device) Hold() { d.clock.Hold() }

func (d *device) Release() { d.clock.Release() }

// CanCopyFrom reports whether the other device is of the same driver and the
// description has a link.
func (d *device) CanCopyFrom(other devices.Device) bool {
	if d.spec.Peer == nil {
		return false
	}
	o, ok := devices.As[*device](other)
	return ok && o.clock == d.clock && o != d
}

// copyEngine is the engine that a copy takes.
func (d *device) copyEngine(kind devices.CopyKind, peer bool) *engine {
	switch {
	case kind == devices.DeviceToDevice && !peer, d.spec.CopyEngines == 0:
		return &d.engines[compute]
	case kind == devices.DeviceToHost && d.spec.CopyEngines == 2:
		return &d.engines[download]
	}
	return &d.engines[upload]
}

// Close drains the queues and frees the memory also of buffers that are still
// open.
func (d *device) Close() error {
	k := d.clock
	k.mu.Lock()
	if d.closed {
		k.mu.Unlock()
		return nil
	}
	d.closed = true
	queues := make([]*queue, 0, len(d.queues))
	for q := range d.queues {
		queues = append(queues, q)
	}
	left := map[string]int{"queue": len(queues), "buffer": len(d.buffers) + len(d.pins), "event": d.events, "kernel": d.kernels, "program": d.programs}
	k.mu.Unlock()

	for _, q := range queues {
		_ = q.Close()
	}
	k.mu.Lock()
	buffers := make([]*buffer, 0, len(d.buffers))
	for b := range d.buffers {
		buffers = append(buffers, b)
	}
	pins := make([]*pinned, 0, len(d.pins))
	for p := range d.pins {
		pins = append(pins, p)
	}
	k.mu.Unlock()
	for _, b := range buffers {
		_ = b.Free()
	}
	for _, p := range pins {
		_ = p.Free()
	}
	k.remove(d)
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
