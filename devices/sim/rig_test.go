package sim_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/devices/hostmem"
	"github.com/tandemrun/tandem/devices/sim"
)

const ms = time.Millisecond

// rig is an open device with a queue of each kind and a kernel that takes a
// buffer of any size and adds 1 to each byte.
type rig struct {
	t      *testing.T
	driver *sim.Driver
	dev    devices.Device
	q      [3]devices.Queue // by kind
	kernel devices.Kernel
	events []devices.Event
}

func driver(t *testing.T, specs ...sim.Spec) *sim.Driver {
	t.Helper()
	d, err := sim.New(sim.Description{Devices: specs})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func increment(r devices.Range, a *devices.Args) {
	for i := r.Lo[0]; i < r.Hi[0]; i++ {
		a.Bytes(0)[i]++
	}
}

func newRig(t *testing.T, d *sim.Driver, ordinal int) *rig {
	t.Helper()
	dev, err := d.Open(t.Context(), ordinal)
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{t: t, driver: d, dev: dev}
	for kind := range r.q {
		if r.q[kind], err = dev.NewQueue(devices.QueueKind(kind)); err != nil {
			t.Fatal(err)
		}
	}
	p, err := dev.Compile(t.Context(), &devices.Source{Name: "k", Language: devices.LangGo, Go: map[string]devices.GoFunc{"increment": increment}})
	if err != nil {
		t.Fatal(err)
	}
	if r.kernel, err = p.Kernel("increment"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, q := range r.q {
			_ = q.Close()
		}
		for _, e := range r.events {
			e.Release()
		}
		_, _ = r.kernel.Close(), p.Close()
		if err := dev.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

func (r *rig) alloc(n int64) devices.Buffer {
	r.t.Helper()
	b, err := r.dev.Alloc(n)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { _ = b.Free() })
	return b
}

func (r *rig) host(n int64) []byte {
	r.t.Helper()
	m, err := hostmem.Alloc(n)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { _ = hostmem.Free(m) })
	return m
}

func (r *rig) keep(e devices.Event, err error) devices.Event {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
	r.events = append(r.events, e)
	return e
}

func (r *rig) launch(b devices.Buffer, wait ...devices.Event) devices.Event {
	r.t.Helper()
	nd := devices.NDRange{Dims: 1, Size: [3]int{int(b.Size())}}
	return r.keep(r.q[devices.Compute].Launch(&devices.Launch{Kernel: r.kernel, Range: nd, Args: []devices.Arg{{Buffer: b}}}, wait))
}

func (r *rig) up(b devices.Buffer, m []byte, wait ...devices.Event) devices.Event {
	r.t.Helper()
	return r.keep(r.q[devices.Upload].Copy(&devices.Copy{Kind: devices.HostToDevice, Dst: b, Host: m, Size: int64(len(m))}, wait))
}

func (r *rig) down(b devices.Buffer, m []byte, wait ...devices.Event) devices.Event {
	r.t.Helper()
	return r.keep(r.q[devices.Download].Copy(&devices.Copy{Kind: devices.DeviceToHost, Src: b, Host: m, Size: int64(len(m))}, wait))
}

// span is when a command ran, after waiting for it: "1ms-2ms".
func (r *rig) span(e devices.Event) string {
	r.t.Helper()
	if err := devices.Wait(context.Background(), e); err != nil {
		r.t.Fatal(err)
	}
	at, err := e.Times()
	if err != nil {
		r.t.Fatal(err)
	}
	if at.Queued > at.Submitted || at.Submitted > at.Start {
		r.t.Fatalf("times run backwards: %+v", at)
	}
	return fmt.Sprintf("%v-%v", at.Start, at.End)
}

// wantSpan checks when a command ran.
func (r *rig) wantSpan(what string, e devices.Event, want string) {
	r.t.Helper()
	if got := r.span(e); got != want {
		r.t.Errorf("%s ran %s, want %s", what, got, want)
	}
}
