package wrap_test

import (
	"errors"
	"sync"
	"testing"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/devices/cpu"
	"github.com/tandemrun/tandem/devices/devicetest"
	"github.com/tandemrun/tandem/devices/internal/wrap"
)

// refuser refuses calls of one kind and counts all.
type refuser struct {
	refuse wrap.Op
	err    error

	mu    sync.Mutex
	calls map[wrap.Op]int
	errs  map[wrap.Op]error
}

func (r *refuser) Before(c *wrap.Call) error {
	if c.Op == r.refuse {
		return r.err
	}
	return nil
}

func (r *refuser) After(c *wrap.Call) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calls[c.Op]++
	r.errs[c.Op] = c.Err
}

// TestRefused has a hook refuse each kind of call in turn: the caller gets the
// hook's error, the hook sees the call end with it, and nothing leaks.
func TestRefused(t *testing.T) {
	devicetest.CheckGoroutines(t)
	for _, op := range []wrap.Op{wrap.Alloc, wrap.Compile, wrap.Kernel, wrap.NewQueue, wrap.Launch, wrap.Copy, wrap.Flush, wrap.CloseDevice} {
		t.Run(op.String(), func(t *testing.T) {
			inner, err := cpu.Driver{Workers: 1}.Open(t.Context(), 0)
			if err != nil {
				t.Fatal(err)
			}
			h := &refuser{refuse: op, err: errors.New("refused"), calls: map[wrap.Op]int{}, errs: map[wrap.Op]error{}}
			d := wrap.New(inner, h)
			got := map[wrap.Op]error{}
			b, err := d.Alloc(8)
			got[wrap.Alloc] = err
			p, err := d.Compile(t.Context(), devicetest.GoKernels())
			got[wrap.Compile] = err
			var k devices.Kernel
			if p != nil {
				k, got[wrap.Kernel] = p.Kernel("fill")
			}
			q, err := d.NewQueue(devices.Compute)
			got[wrap.NewQueue] = err
			if q != nil {
				if k != nil {
					var ev devices.Event
					ev, got[wrap.Launch] = q.Launch(&devices.Launch{Kernel: k, Range: devices.NDRange{Dims: 1},
						Args: []devices.Arg{{Buffer: b}, {Value: []byte{1}}}}, nil)
					if ev != nil {
						ev.Release()
					}
				}
				if b != nil {
					var ev devices.Event
					ev, got[wrap.Copy] = q.Copy(&devices.Copy{Kind: devices.HostToDevice, Dst: b}, nil)
					if ev != nil {
						ev.Release()
					}
				}
				got[wrap.Flush] = q.Flush()
			}
			for made, err := range got {
				want := error(nil)
				if made == op {
					want = h.err
				}
				if err != want || h.errs[made] != want || h.calls[made] != 1 {
					t.Errorf("%v gave %v, and the hook saw %d calls, the last with %v; want %v, one", made, err, h.calls[made], h.errs[made], want)
				}
			}
			if q != nil {
				_ = q.Close()
			}
			if k != nil {
				_ = k.Close()
			}
			if p != nil {
				_ = p.Close()
			}
			if b != nil {
				_ = b.Free()
			}
			if err := d.Close(); err != nil {
				t.Errorf("Close gave %v", err)
			}
		})
	}
}

// TestForeign passes things of another make through to the device below, which
// refuses them.
func TestForeign(t *testing.T) {
	devicetest.CheckGoroutines(t)
	inner, err := cpu.Driver{Workers: 1}.Open(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	d := wrap.New(inner, &refuser{refuse: wrap.CloseDevice, calls: map[wrap.Op]int{}, errs: map[wrap.Op]error{}})
	if d.Unwrap() != inner {
		t.Error("Unwrap is not the device below")
	}
	if _, err := d.NewQueue(9); !errors.Is(err, devices.ErrInvalid) {
		t.Errorf("a queue of an unknown kind gave %v", err)
	}
	q, err := d.NewQueue(devices.Compute)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := q.Copy(&devices.Copy{Kind: 77}, nil); !errors.Is(err, devices.ErrInvalid) {
		t.Errorf("a copy of an unknown kind gave %v", err)
	}
	if _, err := q.Launch(&devices.Launch{}, []devices.Event{nil}); !errors.Is(err, devices.ErrInvalid) {
		t.Errorf("a launch of nothing gave %v", err)
	}
	if wrap.BufferNumber(nil) != 0 || wrap.EventNumber(nil) != 0 {
		t.Error("nothing has a number")
	}
	_ = q.Close()
	if err := d.Close(); err != nil {
		t.Error(err)
	}
}
