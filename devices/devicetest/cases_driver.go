package devicetest

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/tandemrun/tandem/devices"
)

func driverCases() []testCase {
	return []testCase{
		{"probe-twice", "a device id that changes between two looks cannot be typed, stored or measured", probeTwice},
		{"probe-info", "the planner decides by these values; an empty one sends work to the wrong place", probeInfo},
		{"bad-ordinal", "a wrong number is a user's typing error and has to be told as one", badOrdinal},
		{"close-twice", "clean-up code runs on error paths too, where things are closed already", closeTwice},
		{"use-after-close", "a late call must get an error, not a crash in a vendor library", useAfterClose},
		{"close-waits", "closing under running work frees memory that is being written", closeWaits},
		{"leaks-counted", "a leak that nobody counts grows until a long run dies of it", leaksCounted},
	}
}

func probeTwice(e *env) {
	a, b := e.o.Driver.Probe(e.ctx), e.o.Driver.Probe(e.ctx)
	if len(a.Devices) == 0 {
		e.fatalf("Probe found no device: %v (%s)", a.Reason, a.Hint)
	}
	if len(a.Devices) != len(b.Devices) {
		e.fatalf("Probe found %d devices, then %d", len(a.Devices), len(b.Devices))
	}
	for i := range a.Devices {
		x, y := a.Devices[i], b.Devices[i]
		x.MemoryFree, y.MemoryFree = 0, 0
		if !reflect.DeepEqual(x, y) {
			e.fatalf("Probe gave device %d as\n%+v\nand then as\n%+v", i, x, y)
		}
	}
	x, y := e.device().Info(), a.Devices[e.o.Ordinal]
	x.MemoryFree, y.MemoryFree = 0, 0
	if !reflect.DeepEqual(x, y) {
		e.fatalf("the open device says\n%+v\nbut Probe said\n%+v", x, y)
	}
}

func probeInfo(e *env) {
	b := e.o.Driver.Probe(e.ctx)
	name := e.o.Driver.Name()
	if b.Name != name || !b.Available || b.Reason != nil {
		e.fatalf("Backend is %q, available %v, reason %v; want %q, available, no reason", b.Name, b.Available, b.Reason, name)
	}
	seen := map[string]bool{}
	for i, d := range b.Devices {
		want := fmt.Sprintf("%s:%d", name, i)
		if d.ID != want || d.Backend != name || d.Ordinal != i || seen[d.ID] {
			e.fatalf("device %d has ID %q, backend %q, ordinal %d; want %q", i, d.ID, d.Backend, d.Ordinal, want)
		}
		seen[d.ID] = true
		if d.Name == "" || d.PhysicalID == "" {
			e.fatalf("%s: name %q and physical id %q must not be empty", d.ID, d.Name, d.PhysicalID)
		}
		if !slices.Contains([]devices.Kind{devices.KindCPU, devices.KindGPU, devices.KindFPGA, devices.KindAccelerator}, d.Kind) {
			e.fatalf("%s: unknown kind %q", d.ID, d.Kind)
		}
		if d.ComputeUnits < 1 || d.MemoryTotal < 1 || d.MaxAlloc < 1 || d.MaxWorkGroup < 1 || d.Queues < 1 {
			e.fatalf("%s: compute units %d, memory %d, largest buffer %d, largest work-group %d, queues %d: all must be positive",
				d.ID, d.ComputeUnits, d.MemoryTotal, d.MaxAlloc, d.MaxWorkGroup, d.Queues)
		}
		if d.MemoryFree < 0 || d.MemoryFree > d.MemoryTotal {
			e.fatalf("%s: %d bytes free of %d", d.ID, d.MemoryFree, d.MemoryTotal)
		}
		for dim, n := range d.MaxItemSizes {
			if n < 1 {
				e.fatalf("%s: MaxItemSizes[%d] is %d", d.ID, dim, n)
			}
		}
	}
	if l := e.device().Info().Languages; !slices.Contains(l, e.o.Kernels.Language) {
		e.fatalf("%s compiles %v, which does not hold %q", e.id(), l, e.o.Kernels.Language)
	}
}

func badOrdinal(e *env) {
	n := len(e.o.Driver.Probe(e.ctx).Devices)
	for _, bad := range []int{-1, n, 1 << 30} {
		d, err := e.o.Driver.Open(e.ctx, bad)
		if err == nil {
			_ = d.Close()
		}
		e.wantErr(err, devices.ErrInvalid, fmt.Sprintf("Open(%d) of %d devices", bad, n), e.o.Driver.Name(), fmt.Sprint(bad))
		if d != nil {
			e.fatalf("Open(%d) gave a device and an error", bad)
		}
	}
}

func closeTwice(e *env) {
	d := e.open()
	q, err := d.NewQueue(devices.Compute)
	e.must(err, "NewQueue")
	b, err := d.Alloc(64)
	e.must(err, "Alloc")
	for _, time := range []string{"first", "second"} {
		e.must(q.Close(), "%s Queue.Close", time)
		e.must(b.Free(), "%s Buffer.Free", time)
	}
	for _, time := range []string{"first", "second"} {
		e.must(d.Close(), "%s Device.Close", time)
	}
}

func useAfterClose(e *env) {
	q, b := e.compute(), e.alloc(64)
	k := e.kernel("fill")
	e.must(q.Close(), "Queue.Close")
	_, err := q.Launch(&devices.Launch{Kernel: k, Range: line(1), Args: []devices.Arg{buf(b), num(uint8(1))}}, nil)
	e.wantErr(err, devices.ErrClosed, "Launch on a closed queue", e.id(), "fill")
	_, err = q.Copy(&devices.Copy{Kind: devices.HostToDevice, Dst: b, Host: e.host(1), Size: 1}, nil)
	e.wantErr(err, devices.ErrClosed, "Copy on a closed queue", e.id())

	q = e.compute()
	e.must(b.Free(), "Buffer.Free")
	if ev, err := q.Launch(&devices.Launch{Kernel: k, Range: line(1), Args: []devices.Arg{buf(b), num(uint8(1))}}, nil); err == nil {
		e.keep(ev, nil)
		e.fatalf("Launch took a buffer that was freed")
	} else if !errors.Is(err, devices.ErrClosed) {
		e.wantErr(err, devices.ErrInvalid, "Launch with a freed buffer", e.id(), "fill")
	}

	d := e.open()
	e.must(d.Close(), "Device.Close")
	id := d.Info().ID
	_, err = d.Alloc(1)
	e.wantErr(err, devices.ErrClosed, "Alloc on a closed device", id)
	_, err = d.NewQueue(devices.Compute)
	e.wantErr(err, devices.ErrClosed, "NewQueue on a closed device", id)
	_, err = d.Compile(e.ctx, e.o.Kernels)
	e.wantErr(err, devices.ErrClosed, "Compile on a closed device", id)
}

func closeWaits(e *env) {
	q, out, k := e.compute(), e.alloc(4), e.kernel("spin")
	e.finish(e.slow(q, k, out)) // calibrates
	var events []devices.Event
	for range 3 {
		events = append(events, e.slow(q, k, out))
	}
	e.must(q.Close(), "Queue.Close")
	for i, ev := range events {
		if done, err := ev.Done(); !done || err != nil {
			e.fatalf("after Queue.Close command %d of 3 is done: %v, error %v", i, done, err)
		}
	}
}

func leaksCounted(e *env) {
	d := e.open()
	p, err := d.Compile(e.ctx, e.o.Kernels)
	e.must(err, "Compile")
	k, err := p.Kernel("fill")
	e.must(err, "Kernel")
	b, err := d.Alloc(64)
	e.must(err, "Alloc")
	_, err = d.Alloc(0)
	e.must(err, "Alloc")
	q, err := d.NewQueue(devices.Compute)
	e.must(err, "NewQueue")
	ev, err := q.Launch(&devices.Launch{Kernel: k, Range: line(64), Args: []devices.Arg{buf(b), num(uint8(1))}}, nil)
	e.must(err, "Launch")
	e.finish(ev)

	err = d.Close()
	leak, ok := errors.AsType[*devices.LeakError](err)
	if !ok {
		e.fatalf("Device.Close with things open gave %v, want a *LeakError", err)
	}
	got := maps.Clone(leak.Open)
	maps.DeleteFunc(got, func(_ string, n int) bool { return n == 0 })
	want := map[string]int{"buffer": 2, "queue": 1, "event": 1, "kernel": 1, "program": 1}
	if !maps.Equal(got, want) {
		e.fatalf("Device.Close counted %v, want %v", got, want)
	}
	if !strings.Contains(err.Error(), d.Info().ID) {
		e.fatalf("the leak error %q does not name %s", err, d.Info().ID)
	}
	e.must(d.Close(), "second Device.Close")
}
