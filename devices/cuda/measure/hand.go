package measure

import (
	"fmt"
	goruntime "runtime"
	"unsafe"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/devices/cuda"
	"github.com/tandemrun/tandem/devices/internal/dl"
)

// launches measures a chain of launches that do nothing, through the driver and
// by hand: the same calls of the driver API without anything around them, and
// with the two events that make it possible to wait for a launch and to time
// it.
func (g *gpu) launches() ([]Figure, error) {
	n := pick(g.o, 10_000, 200)
	q, err := g.queue(devices.Compute)
	if err != nil {
		return nil, err
	}
	l := &devices.Launch{Kernel: g.kernels["nothing"], Range: devices.NDRange{Dims: 1, Size: [3]int{32}, Local: [3]int{32}}}
	through, err := g.best(func() error {
		for range n - 1 {
			e, err := q.Launch(l, nil)
			if err != nil {
				return err
			}
			e.Release()
		}
		return g.wait(q.Launch(l, nil))
	})
	if err != nil {
		return nil, err
	}
	h, err := newHand(g)
	if err != nil {
		return nil, err
	}
	defer h.close()
	bare, err := g.best(func() error { return h.chain(n, false) })
	if err != nil {
		return nil, err
	}
	timed, err := g.best(func() error { return h.chain(n, true) })
	if err != nil {
		return nil, err
	}
	us := func(d float64) float64 { return d / float64(n) / 1e3 }
	return []Figure{
		{"launch.us", us(float64(through)), "us", "lower"},
		{"launch.by_hand.us", us(float64(bare)), "us", "lower"},
		{"launch.over_hand", float64(through) / float64(bare), "ratio", "lower"},
		{"launch.over_hand_with_events", float64(through) / float64(timed), "ratio", "lower"},
	}, nil
}

// hand is the driver API itself.
type hand struct {
	g                      *gpu
	fn                     map[string]uintptr
	ctx                    uintptr
	module, kernel, stream *uintptr
	events                 [2]*uintptr
	launch                 []uintptr
}

func newHand(g *gpu) (h *hand, err error) {
	lib, err := dl.Open(g.library)
	if err != nil {
		return nil, err
	}
	h = &hand{g: g, fn: map[string]uintptr{}, module: new(uintptr), kernel: new(uintptr), stream: new(uintptr), events: [2]*uintptr{new(uintptr), new(uintptr)}}
	for _, name := range []string{"cuCtxPushCurrent_v2", "cuCtxPopCurrent_v2", "cuModuleLoadData", "cuModuleUnload", "cuModuleGetFunction",
		"cuStreamCreate", "cuStreamDestroy_v2", "cuStreamSynchronize", "cuEventCreate", "cuEventRecord", "cuEventDestroy_v2", "cuLaunchKernel"} {
		if h.fn[name], err = lib.Lookup(name); err != nil {
			return nil, err
		}
	}
	if h.ctx, err = cuda.ContextOf(g.d); err != nil {
		return nil, err
	}
	// Everything stays on one thread, as in a program in C.
	goruntime.LockOSThread()
	text, name := append([]byte(source), 0), append([]byte("nothing"), 0)
	err = h.all(
		h.call("cuCtxPushCurrent_v2", h.ctx),
		h.call("cuModuleLoadData", uintptr(unsafe.Pointer(h.module)), uintptr(unsafe.Pointer(&text[0]))),
		h.call("cuModuleGetFunction", uintptr(unsafe.Pointer(h.kernel)), *h.module, uintptr(unsafe.Pointer(&name[0]))),
		h.call("cuStreamCreate", uintptr(unsafe.Pointer(h.stream)), 1),
		h.call("cuEventCreate", uintptr(unsafe.Pointer(h.events[0])), 0),
		h.call("cuEventCreate", uintptr(unsafe.Pointer(h.events[1])), 0))
	if err != nil {
		h.close()
		return nil, err
	}
	h.launch = []uintptr{*h.kernel, 1, 1, 1, 32, 1, 1, 0, *h.stream, 0, 0}
	return h, nil
}

// all is the first error: Go evaluates the calls in their order.
func (h *hand) all(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

//go:uintptrescapes
func (h *hand) call(name string, args ...uintptr) error {
	if code := int32(dl.Call(h.fn[name], args...)); code != 0 {
		return fmt.Errorf("by hand: %s: status %d: %w", name, code, devices.ErrInvalid)
	}
	return nil
}

// chain launches n times and waits once.
func (h *hand) chain(n int, events bool) error {
	launch, record := h.fn["cuLaunchKernel"], h.fn["cuEventRecord"]
	start, end := []uintptr{*h.events[0], *h.stream}, []uintptr{*h.events[1], *h.stream}
	for range n {
		if events {
			dl.CallArgs(record, start)
		}
		if code := int32(dl.CallArgs(launch, h.launch)); code != 0 {
			return fmt.Errorf("by hand: cuLaunchKernel: status %d: %w", code, devices.ErrInvalid)
		}
		if events {
			dl.CallArgs(record, end)
		}
	}
	return h.call("cuStreamSynchronize", *h.stream)
}

func (h *hand) close() {
	for _, e := range h.events {
		if *e != 0 {
			_ = h.call("cuEventDestroy_v2", *e)
		}
	}
	if *h.stream != 0 {
		_ = h.call("cuStreamDestroy_v2", *h.stream)
	}
	if *h.module != 0 {
		_ = h.call("cuModuleUnload", *h.module)
	}
	old := new(uintptr)
	_ = h.call("cuCtxPopCurrent_v2", uintptr(unsafe.Pointer(old)))
	goruntime.UnlockOSThread()
}
