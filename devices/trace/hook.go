package trace

import (
	"sync"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/devices/internal/wrap"
)

// hook turns calls into what a sink takes. Their slices are reused.
type hook struct {
	sink Sink

	mu   sync.Mutex
	free []*scratch
}

type scratch struct {
	args []Arg
	wait []uint64
}

func (h *hook) Before(*wrap.Call) error { return nil }

// After hands c to the sink.
func (h *hook) After(c *wrap.Call) {
	out := Call{
		Op: ops[c.Op], Device: c.Device, Queue: c.Queue, Name: c.Name, Size: c.Size,
		Buffer: c.Buffer, Event: c.Event, Start: c.Start, Took: c.Took, Err: c.Err,
	}
	switch c.Op {
	case wrap.Launch, wrap.Copy:
		s := h.take()
		h.enqueue(&out, c, s)
		h.sink(out)
		h.give(s)
		return
	case wrap.Release:
		if done, _ := c.Inner.Done(); done {
			if t, err := c.Inner.Times(); err == nil {
				out.Run = t.Run()
			}
		}
	}
	h.sink(out)
}

func (h *hook) enqueue(out *Call, c *wrap.Call, s *scratch) {
	for _, ev := range c.Wait {
		s.wait = append(s.wait, wrap.EventNumber(ev))
	}
	out.Wait = s.wait
	if c.Op == wrap.Copy {
		out.Kind = c.Copy.Kind
		if out.Buffer = wrap.BufferNumber(c.Copy.Dst); c.Copy.Kind == devices.DeviceToHost {
			out.Buffer = wrap.BufferNumber(c.Copy.Src)
		}
		return
	}
	out.Range = c.Launch.Range
	for _, a := range c.Launch.Args {
		arg := Arg{Value: a.Value, LocalBytes: a.LocalBytes, Null: a.Buffer == nil && a.Value == nil && a.LocalBytes == 0}
		if a.Buffer != nil {
			arg.Buffer, arg.Bytes = wrap.BufferNumber(a.Buffer), a.Buffer.Size()
		}
		s.args = append(s.args, arg)
	}
	out.Args = s.args
}

func (h *hook) take() *scratch {
	h.mu.Lock()
	defer h.mu.Unlock()
	n := len(h.free)
	if n == 0 {
		return &scratch{}
	}
	s := h.free[n-1]
	h.free = h.free[:n-1]
	return s
}

func (h *hook) give(s *scratch) {
	clear(s.args)
	s.args, s.wait = s.args[:0], s.wait[:0]
	h.mu.Lock()
	h.free = append(h.free, s)
	h.mu.Unlock()
}

var ops = [...]Op{
	wrap.Alloc: Alloc, wrap.Free: Free, wrap.Compile: Compile, wrap.Kernel: Kernel, wrap.CloseProgram: CloseProgram,
	wrap.CloseKernel: CloseKernel, wrap.NewQueue: NewQueue, wrap.Launch: Launch, wrap.Copy: Copy, wrap.Flush: Flush,
	wrap.CloseQueue: CloseQueue, wrap.Notify: Notify, wrap.Done: Done, wrap.Release: Release, wrap.CloseDevice: CloseDevice,
}
