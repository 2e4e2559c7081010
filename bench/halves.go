package bench

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/tandemrun/tandem/devices"
)

// halves is a driver of two parts, of one compute unit each, of a device. The
// second is slow: each of its launches runs slowFactor times, one after the
// other, which is right for kernels that only write what they do not read.
type halves struct {
	from found

	mu    sync.Mutex
	whole devices.Device
	parts []devices.Device // not handed out yet; nil: handed out
	open  int
}

// Name is "halves".
func (*halves) Name() string { return "halves" }

// Probe describes the parts as devices of their own silicon, which they are.
func (h *halves) Probe(context.Context) devices.Backend {
	b := devices.Backend{Name: h.Name(), Available: true}
	for i := range 2 {
		b.Devices = append(b.Devices, h.info(h.from.info, i))
	}
	return b
}

func (h *halves) info(of devices.Info, i int) devices.Info {
	of.ID, of.Backend, of.Ordinal = fmt.Sprintf("halves:%d", i), h.Name(), i
	of.Name = fmt.Sprintf("half %d of %s", i, h.from.info.Name)
	of.PhysicalID, of.UUID, of.PCI = of.ID, "", ""
	of.ComputeUnits, of.Queues, of.SubDevices = 1, 1, 0
	return of
}

// Open divides the device with the first part and hands the parts out.
func (h *halves) Open(ctx context.Context, ordinal int) (devices.Device, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.whole == nil {
		whole, err := h.from.driver.Open(ctx, h.from.info.Ordinal)
		if err != nil {
			return nil, err
		}
		div, ok := devices.As[devices.Divider](whole)
		if !ok {
			return nil, errors.Join(fmt.Errorf("%s cannot be divided: %w", h.from.info.ID, devices.ErrUnsupported), whole.Close())
		}
		if h.parts, err = div.Divide([]int{1, 1}); err != nil {
			return nil, errors.Join(err, whole.Close())
		}
		h.whole = whole
	}
	p := h.parts[ordinal]
	if p == nil {
		return nil, fmt.Errorf("halves:%d is open already: %w", ordinal, devices.ErrInvalid)
	}
	h.parts[ordinal] = nil
	h.open++
	half := &half{Device: p, h: h, info: h.info(p.Info(), ordinal), times: 1}
	if ordinal == 1 {
		half.times = slowFactor
	}
	return half, nil
}

// closed closes the rest of the device with its last part.
func (h *halves) closed() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.open--; h.open > 0 {
		return nil
	}
	var errs []error
	for _, p := range h.parts {
		if p != nil {
			errs = append(errs, p.Close())
		}
	}
	errs = append(errs, h.whole.Close())
	h.whole, h.parts = nil, nil
	return errors.Join(errs...)
}

// half is one part.
type half struct {
	devices.Device
	h      *halves
	info   devices.Info
	times  int // that each launch runs
	closed sync.Once
}

func (d *half) Info() devices.Info { return d.info }

// Unwrap finds the part's abilities.
func (d *half) Unwrap() devices.Device { return d.Device }

func (d *half) Close() (err error) {
	d.closed.Do(func() { err = errors.Join(d.Device.Close(), d.h.closed()) })
	return err
}

func (d *half) NewQueue(kind devices.QueueKind) (devices.Queue, error) {
	q, err := d.Device.NewQueue(kind)
	if err != nil || d.times == 1 {
		return q, err
	}
	return &slowQueue{Queue: q, times: d.times}, nil
}

// slowQueue runs every launch several times.
type slowQueue struct {
	devices.Queue
	times int
}

// slowEvent is the last of several launches, and began with the first.
type slowEvent struct {
	devices.Event
	first devices.Event // nil: there is one only
}

func inner(wait []devices.Event) []devices.Event {
	out := make([]devices.Event, len(wait))
	for i, e := range wait {
		out[i] = e
		if s, ok := e.(*slowEvent); ok {
			out[i] = s.Event
		}
	}
	return out
}

func (q *slowQueue) Launch(l *devices.Launch, wait []devices.Event) (devices.Event, error) {
	first, err := q.Queue.Launch(l, inner(wait))
	if err != nil {
		return nil, err
	}
	last := first
	for range q.times - 1 {
		next, err := q.Queue.Launch(l, []devices.Event{last})
		if last != first {
			last.Release()
		}
		if err != nil {
			first.Release()
			return nil, err
		}
		last = next
	}
	return &slowEvent{last, first}, nil
}

func (q *slowQueue) Copy(c *devices.Copy, wait []devices.Event) (devices.Event, error) {
	e, err := q.Queue.Copy(c, inner(wait))
	if err != nil {
		return nil, err
	}
	return &slowEvent{Event: e}, nil
}

func (e *slowEvent) Times() (devices.Times, error) {
	t, err := e.Event.Times()
	if err == nil && e.first != nil {
		var f devices.Times
		if f, err = e.first.Times(); err == nil {
			t.Queued, t.Submitted, t.Start = f.Queued, f.Submitted, f.Start
		}
	}
	return t, err
}

func (e *slowEvent) Release() {
	e.Event.Release()
	if e.first != nil {
		e.first.Release()
	}
}
