package bench

import (
	"context"
	"errors"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/kernels"
)

// hand launches one kernel over one buffer by hand, with nothing between it
// and the driver.
type hand struct {
	device  devices.Device
	program devices.Program
	queue   devices.Queue
	buffer  devices.Buffer
	launch  devices.Launch
	last    devices.Event
}

// newHand opens the driver's first device for a kernel that takes an array of
// int32 and perhaps numbers.
func newHand(ctx context.Context, d devices.Driver, k *kernels.Kernel, items int) (h *hand, err error) {
	h = &hand{}
	defer func() {
		if err != nil {
			err = errors.Join(err, h.close())
			h = nil
		}
	}()
	if h.device, err = d.Open(ctx, 0); err != nil {
		return h, err
	}
	v, err := k.VariantFor(h.device.Info())
	if err != nil {
		return h, err
	}
	if h.program, err = h.device.Compile(ctx, v.Source); err != nil {
		return h, err
	}
	if h.launch.Kernel, err = h.program.Kernel(v.Entry); err != nil {
		return h, err
	}
	if h.buffer, err = h.device.Alloc(4 * int64(items)); err != nil {
		return h, err
	}
	if h.queue, err = h.device.NewQueue(devices.Compute); err != nil {
		return h, err
	}
	h.launch.Range = devices.NDRange{Dims: 1, Size: [3]int{items}}
	h.launch.Args = make([]devices.Arg, len(k.Params))
	h.launch.Args[0].Buffer = h.buffer
	return h, nil
}

// run enqueues n launches, one behind the other, and waits for the last.
func (h *hand) run(ctx context.Context, n int, rounds int32) error {
	for i := range h.launch.Args[1:] {
		h.launch.Args[1+i].Value = devices.AsBytes([]int32{rounds})
	}
	for range n {
		e, err := h.queue.Launch(&h.launch, nil)
		if err != nil {
			return err
		}
		if h.last != nil {
			h.last.Release()
		}
		h.last = e
	}
	if err := h.queue.Flush(); err != nil {
		return err
	}
	err := devices.Wait(ctx, h.last)
	h.last.Release()
	h.last = nil
	return err
}

func (h *hand) close() error {
	var errs []error
	if h.queue != nil {
		errs = append(errs, h.queue.Close())
	}
	if h.last != nil {
		h.last.Release()
	}
	if h.buffer != nil {
		errs = append(errs, h.buffer.Free())
	}
	if h.launch.Kernel != nil {
		errs = append(errs, h.launch.Kernel.Close())
	}
	if h.program != nil {
		errs = append(errs, h.program.Close())
	}
	if h.device != nil {
		errs = append(errs, h.device.Close())
	}
	return errors.Join(errs...)
}
