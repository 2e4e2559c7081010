// Package calibrate measures what a device can do: copy bandwidth and latency
// each way, launch latency, peak arithmetic and memory bandwidth. It uses
// nothing but the driver contract. A [Store] keeps the results for the user,
// by device and driver version.
//
// The measurements:
//
//   - A copy of n bytes takes α + n/β (Hockney, 1994). Sizes from 4 KiB to
//     16 MiB are copied several times; the medians are fitted by least squares
//     on relative errors.
//   - Launch latency is from the call to the completion of a kernel of one
//     work-item that does nothing.
//   - Peak arithmetic is a loop of independent multiply-adds in registers,
//     float32, multiply and add counted apart.
//   - Memory bandwidth is the triad a = b + s·c over arrays larger than the
//     caches (McCalpin's STREAM), three arrays counted.
//
// Kernels are timed by the device's own clock, copies and launches from the
// host. The first run of each is left out: it may compile or touch new pages.
package calibrate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/devices/hostmem"
)

// Options say how thorough a measurement is. The zero value takes about a
// second per device.
type Options struct {
	// Repeats of each measurement, of which the median counts. Default 7.
	Repeats int
	// MaxCopyBytes is the largest copy. Default 16 MiB, less on a device that
	// does not have as much.
	MaxCopyBytes int64
	// StreamBytes is the size of each of the triad's three arrays. Default
	// 32 MiB, less on a device that does not have as much.
	StreamBytes int64
	// PeakTime is how long the arithmetic kernel has to run to be trusted.
	// Default 20 ms.
	PeakTime time.Duration
}

func (o Options) withDefaults(info *devices.Info) Options {
	if o.Repeats <= 0 {
		o.Repeats = 7
	}
	if o.MaxCopyBytes <= 0 {
		o.MaxCopyBytes = 16 << 20
	}
	if o.StreamBytes <= 0 {
		o.StreamBytes = 32 << 20
	}
	if o.PeakTime <= 0 {
		o.PeakTime = 20 * time.Millisecond
	}
	if m := info.MaxAlloc; m > 0 {
		o.MaxCopyBytes, o.StreamBytes = min(o.MaxCopyBytes, m/2), min(o.StreamBytes, m/2)
	}
	if m := info.MemoryTotal; m > 0 {
		o.MaxCopyBytes, o.StreamBytes = min(o.MaxCopyBytes, m/4), min(o.StreamBytes, m/8)
	}
	return o
}

// Measure measures an open device that nothing else uses meanwhile. It leaves
// nothing on the device. What the device cannot run stays 0 in the result and
// is named in the error; the rest of the result is valid.
func Measure(ctx context.Context, d devices.Device, o Options) (devices.Calibration, error) {
	info := d.Info()
	m := &measurement{ctx: ctx, device: d, info: info, o: o.withDefaults(&info)}
	defer m.release()
	var err error
	if m.queue, err = d.NewQueue(devices.Compute); err != nil {
		return devices.Calibration{}, fmt.Errorf("%s: calibrate: %w", info.ID, err)
	}
	c := devices.Calibration{MeasuredAt: time.Now().UTC().Truncate(time.Second)}
	var errs []error
	step := func(what string, f func() error) {
		if err := f(); err != nil {
			errs = append(errs, fmt.Errorf("%s: calibrate %s: %w", info.ID, what, err))
		}
	}
	step("uploads", func() (err error) { c.Upload, err = m.pageable(devices.HostToDevice); return err })
	step("downloads", func() (err error) { c.Download, err = m.pageable(devices.DeviceToHost); return err })
	if !info.UnifiedMemory {
		step("pinned memory", func() error { return m.pinned(&c) })
	}
	step("zero-copy", func() (err error) { c.ZeroCopy, err = m.importsHost(); return err })
	step("kernels", func() error {
		if err := m.compile(); err != nil {
			return err
		}
		return errors.Join(
			m.launchLatency(&c),
			m.peak(&c),
			m.stream(&c))
	})
	if cause := context.Cause(ctx); cause != nil {
		return devices.Calibration{}, cause
	}
	return c, errors.Join(errs...)
}

// measurement is the state of one Measure.
type measurement struct {
	ctx     context.Context
	device  devices.Device
	info    devices.Info
	o       Options
	queue   devices.Queue
	program devices.Program
	entries map[string]devices.Kernel
}

// release gives back what was made on the device.
func (m *measurement) release() {
	// The measurement is done: an error in taking it down says nothing about
	// its result, and the device's Close counts what is left.
	for _, k := range m.entries {
		_ = k.Close()
	}
	if m.program != nil {
		_ = m.program.Close()
	}
	if m.queue != nil {
		_ = m.queue.Close()
	}
}

// wait takes a command to its end and returns its times.
func (m *measurement) wait(e devices.Event, err error) (devices.Times, error) {
	if err != nil {
		return devices.Times{}, err
	}
	// The context is looked at between commands: an event must not be released
	// while its completion may still call us.
	err = devices.Wait(context.WithoutCancel(m.ctx), e)
	var t devices.Times
	if err == nil {
		t, err = e.Times()
	}
	e.Release()
	return t, errors.Join(err, context.Cause(m.ctx))
}

// timed runs f once to warm up and then Repeats times, and returns the median
// of what it measured.
func (m *measurement) timed(f func() (time.Duration, error)) (time.Duration, error) {
	all := make([]time.Duration, 0, m.o.Repeats)
	for i := range m.o.Repeats + 1 {
		d, err := f()
		if err != nil {
			return 0, err
		}
		if i > 0 {
			all = append(all, d)
		}
	}
	slices.Sort(all)
	return all[len(all)/2], nil
}

// copyBytes is the size of the largest copy to measure.
func (m *measurement) copyBytes() int64 { return max(m.o.MaxCopyBytes, 4<<10) }

// pageable measures copies one way, of ordinary memory.
func (m *measurement) pageable(kind devices.CopyKind) (devices.Link, error) {
	host, err := hostmem.Alloc(m.copyBytes())
	if err != nil {
		return devices.Link{}, err
	}
	l, err := m.link(kind, host)
	return l, errors.Join(err, hostmem.Free(host))
}

// pinned measures copies of pinned memory, where the device gives some.
func (m *measurement) pinned(c *devices.Calibration) error {
	p, ok := devices.As[devices.HostPinner](m.device)
	if !ok {
		return nil
	}
	mem, err := p.AllocPinned(m.copyBytes())
	if err != nil {
		// Refusing is an answer.
		return nil
	}
	up, err := m.link(devices.HostToDevice, mem.Bytes())
	if err == nil {
		c.PinnedDown, err = m.link(devices.DeviceToHost, mem.Bytes())
		c.PinnedUp = up
	}
	return errors.Join(err, mem.Free())
}

// link measures copies one way between the device and host.
func (m *measurement) link(kind devices.CopyKind, host []byte) (devices.Link, error) {
	size := int64(len(host))
	for i := range host { // real pages, not the one page of zeros
		host[i] = byte(i)
	}
	buf, err := m.device.Alloc(size)
	if err != nil {
		return devices.Link{}, err
	}
	var samples []Sample
	for n := int64(4 << 10); n <= size && err == nil; n *= 4 {
		var t time.Duration
		t, err = m.timed(func() (time.Duration, error) {
			c := devices.Copy{Kind: kind, Host: host, Size: n}
			if kind == devices.HostToDevice {
				c.Dst = buf
			} else {
				c.Src = buf
			}
			start := devices.Now()
			_, err := m.wait(m.queue.Copy(&c, nil))
			return devices.Now() - start, err
		})
		samples = append(samples, Sample{n, t})
	}
	if err = errors.Join(err, buf.Free()); err != nil {
		return devices.Link{}, err
	}
	return FitLink(samples), nil
}

// importsHost reports whether the device works on the host's own pages.
func (m *measurement) importsHost() (bool, error) {
	mapper, ok := devices.As[devices.HostMapper](m.device)
	if !ok {
		return false, nil
	}
	host, err := hostmem.Alloc(1 << 16)
	if err != nil {
		return false, err
	}
	buf, err := mapper.ImportHost(host)
	if err != nil {
		// Refusing is an answer.
		return false, hostmem.Free(host)
	}
	return true, errors.Join(buf.Free(), hostmem.Free(host))
}
