package devicetest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/tandemrun/tandem/devices"
)

// TestKitCatches breaks a device in one way at a time and wants the case that
// is there for it to fail.
func TestKitCatches(t *testing.T) {
	bare := func(d *brokenDevice, size int64) (devices.Buffer, error) {
		b, err := d.Device.Alloc(size)
		if errors.Is(err, devices.ErrOutOfMemory) {
			err = devices.ErrOutOfMemory
		}
		return b, err
	}
	for _, b := range []struct {
		name string
		by   string // the case that catches it
		says string // what its error has to contain
		defects
	}{
		{"another memory size at each probe", "probe-twice", "and then as", defects{probe: func() func(b devices.Backend) devices.Backend {
			n := 0
			return func(b devices.Backend) devices.Backend {
				n++
				b.Devices[0].MemoryTotal += int64(n)
				return b
			}
		}()}},
		{"open device is not the probed one", "probe-twice", "but Probe said", defects{info: func(i devices.Info) devices.Info { i.Name += "?"; return i }}},
		{"no compute units", "probe-info", "must be positive", defects{probe: func(b devices.Backend) devices.Backend { b.Devices[0].ComputeUnits = 0; return b }}},
		{"any ordinal opens", "bad-ordinal", "no error", defects{openAny: true}},
		{"second free is an error", "free-twice", "second Free", defects{free: func() func(b *brokenBuffer) error {
			freed := map[*brokenBuffer]bool{}
			return func(b *brokenBuffer) error {
				if freed[b] {
					return fmt.Errorf("cpu:0: Free: %w", devices.ErrInvalid)
				}
				freed[b] = true
				return b.Buffer.Free()
			}
		}()}},
		{"closing does not wait", "close-waits", "is done: false", defects{closeQ: func(q *brokenQueue) error {
			q.d.queues = append(q.d.queues, q.Queue) // closed with the device
			return nil
		}, closeDev: func(d *brokenDevice) error {
			for _, q := range d.queues {
				_ = q.Close()
			}
			return d.Device.Close()
		}}},
		{"leaks are not counted", "leaks-counted", "want a *LeakError", defects{closeDev: func(d *brokenDevice) error { _ = d.Device.Close(); return nil }}},
		{"the driver keeps an event", "order-in-queue", "1 event(s)", defects{closeDev: func(d *brokenDevice) error {
			b, _ := d.Device.Alloc(0)
			q, _ := d.Device.NewQueue(devices.Compute)
			_, _ = q.Copy(&devices.Copy{Kind: devices.HostToDevice, Dst: b}, nil)
			_ = q.Close()
			_ = b.Free()
			return d.Device.Close()
		}}},
		{"works after it was closed", "use-after-close", "no error", defects{closeQ: func(q *brokenQueue) error {
			q.d.queues = append(q.d.queues, q.Queue)
			return nil
		}, closeDev: func(d *brokenDevice) error {
			for _, q := range d.queues {
				_ = q.Close()
			}
			return d.Device.Close()
		}}},
		{"bare sentinel", "alloc-refused", "bare sentinel", defects{alloc: bare}},
		{"an error without its values", "alloc-refused", "does not say", defects{alloc: func(d *brokenDevice, size int64) (devices.Buffer, error) {
			b, err := d.Device.Alloc(size)
			if errors.Is(err, devices.ErrOutOfMemory) {
				err = fmt.Errorf("something went wrong: %w", devices.ErrOutOfMemory)
			}
			return b, err
		}}},
		{"unusable after out of memory", "alloc-refused", "out of device memory", defects{alloc: func(d *brokenDevice, size int64) (devices.Buffer, error) {
			if d.worn {
				return nil, fmt.Errorf("cpu:0: Alloc(%d bytes): %w", size, devices.ErrOutOfMemory)
			}
			b, err := d.Device.Alloc(size)
			d.worn = errors.Is(err, devices.ErrOutOfMemory)
			return b, err
		}}},
		{"no buffer of 0 bytes", "alloc-zero", "Alloc(0)", defects{alloc: func(d *brokenDevice, size int64) (devices.Buffer, error) {
			if size == 0 {
				return nil, fmt.Errorf("cpu:0: Alloc(0 bytes): %w", devices.ErrInvalid)
			}
			return d.Device.Alloc(size)
		}}},
		{"half of its memory only", "alloc-all", "gave only", defects{alloc: func(d *brokenDevice, size int64) (devices.Buffer, error) {
			if size > 1<<20 {
				return nil, fmt.Errorf("cpu:0: Alloc(%d bytes): %w", size, devices.ErrOutOfMemory)
			}
			return d.Device.Alloc(size)
		}}},
		{"pinned memory of whole pages", "pinned", "gave 303104 bytes", defects{pin: func(d *brokenDevice, size int64) (devices.Pinned, error) {
			m, err := d.rightPinned(size)
			if err == nil && size > 1 {
				p := m.(*brokenPinned)
				p.mem = p.mem[:303104]
			}
			return m, err
		}}},
		{"the same pinned memory twice", "pinned", "came back changed", defects{pin: func() func(d *brokenDevice, size int64) (devices.Pinned, error) {
			var first *brokenPinned
			return func(d *brokenDevice, size int64) (devices.Pinned, error) {
				if first != nil && size == 1 {
					return &brokenPinned{mem: first.mem[960:961], counted: first.counted, freed: true}, nil
				}
				m, err := d.rightPinned(size)
				first, _ = m.(*brokenPinned)
				return m, err
			}
		}()}},
		{"pinned memory is not counted", "pinned-refused", "want a *LeakError", defects{pin: func(d *brokenDevice, size int64) (devices.Pinned, error) {
			m, err := d.rightPinned(size)
			if err == nil {
				_ = m.(*brokenPinned).counted.Free()
			}
			return m, err
		}}},
		{"a bare sentinel for pinned memory", "pinned-refused", "bare sentinel", defects{pin: func(d *brokenDevice, size int64) (devices.Pinned, error) {
			m, err := d.rightPinned(size)
			if errors.Is(err, devices.ErrOutOfMemory) {
				err = devices.ErrOutOfMemory
			}
			return m, err
		}}},
		{"imported memory is a copy", "import-host", "", defects{importer: true, copy: func(q *brokenQueue, c devices.Copy, wait []devices.Event) (devices.Event, error) {
			if c.Kind == devices.SyncToDevice || c.Kind == devices.SyncToHost {
				c = devices.Copy{Kind: devices.HostToDevice, Dst: c.Dst}
			}
			return q.Queue.Copy(&c, wait)
		}}},
		{"overlap is not refused", "copy-overlap", "no error", defects{copy: func(q *brokenQueue, c devices.Copy, wait []devices.Event) (devices.Event, error) {
			if c.Kind == devices.DeviceToDevice && c.Src == c.Dst {
				c.Size = 0
			}
			return q.Queue.Copy(&c, wait)
		}}},
		{"copies are cut to what fits", "copy-out-of-range", "no error", defects{copy: func(q *brokenQueue, c devices.Copy, wait []devices.Event) (devices.Event, error) {
			if c.Kind == devices.HostToDevice && c.Dst != nil && c.DstOffset == 0 {
				c.Size = min(c.Size, c.Dst.Size())
			}
			return q.Queue.Copy(&c, wait)
		}}},
		{"offsets are rounded down", "copy-round-trip", "differs", defects{copy: func(q *brokenQueue, c devices.Copy, wait []devices.Event) (devices.Event, error) {
			if c.Kind == devices.HostToDevice && c.Size > 0 && c.Size < 1<<20 {
				c.DstOffset &^= 3
			}
			return q.Queue.Copy(&c, wait)
		}}},
		{"a compile error without a log", "bad-source", "does not say", defects{compile: func(d *brokenDevice, src *devices.Source) (devices.Program, error) {
			p, err := d.Device.Compile(context.Background(), src)
			if ce, ok := errors.AsType[*devices.CompileError](err); ok {
				ce.Log = ""
			}
			return p, err
		}}},
		{"a missing entry without the list", "missing-entry", "does not say", defects{entry: func(p *brokenProgram, name string) (devices.Kernel, error) {
			k, err := p.Program.Kernel(name)
			if err != nil {
				err = fmt.Errorf("no kernel %s: %w", name, devices.ErrInvalid)
			}
			return k, err
		}}},
		{"twice the items on ragged ranges", "once-1d", "ran 2 times", defects{launch: func(q *brokenQueue, l devices.Launch, wait []devices.Event) (devices.Event, error) {
			if n := l.Range.Local[0]; n > 1 && l.Range.Size[0]%n != 0 {
				ev, err := q.Queue.Launch(&l, wait)
				if err == nil {
					ev.Release()
				}
			}
			return q.Queue.Launch(&l, wait)
		}}},
		{"ragged ranges are rounded up", "once-2d", "", defects{launch: func(q *brokenQueue, l devices.Launch, wait []devices.Event) (devices.Event, error) {
			for d := range l.Range.Dims {
				if n := l.Range.Local[d]; n > 1 {
					l.Range.Size[d] = (l.Range.Size[d] + n - 1) / n * n
				}
			}
			return q.Queue.Launch(&l, wait)
		}}},
		{"the last work-item is left out", "once-3d", "ran 0 times", defects{launch: func(q *brokenQueue, l devices.Launch, wait []devices.Event) (devices.Event, error) {
			if l.Range.Dims == 3 && l.Range.Size[2] > 2 {
				l.Range.Size[2]--
			}
			return q.Queue.Launch(&l, wait)
		}}},
		{"the offset is ignored", "once-offset", "times", defects{launch: func(q *brokenQueue, l devices.Launch, wait []devices.Event) (devices.Event, error) {
			l.Range.Offset = [3]int{}
			return q.Queue.Launch(&l, wait)
		}}},
		{"parts see their own size", "parts", "saw id and global size", defects{launch: func(q *brokenQueue, l devices.Launch, wait []devices.Event) (devices.Event, error) {
			l.Range.Whole = [3]int{}
			return q.Queue.Launch(&l, wait)
		}}},
		{"empty ranges are refused", "range-empty", "unexpected error", defects{launch: func(q *brokenQueue, l devices.Launch, wait []devices.Event) (devices.Event, error) {
			if l.Range.Items() == 0 {
				return nil, fmt.Errorf("cpu:0: Launch: %w", devices.ErrInvalid)
			}
			return q.Queue.Launch(&l, wait)
		}}},
		{"empty ranges do not wait", "range-empty", "before the event", defects{launch: func(q *brokenQueue, l devices.Launch, wait []devices.Event) (devices.Event, error) {
			if l.Range.Items() == 0 {
				wait = nil
			}
			return q.Queue.Launch(&l, wait)
		}}},
		{"values lose their highest byte", "scalars", "arrived as", defects{launch: func(q *brokenQueue, l devices.Launch, wait []devices.Event) (devices.Event, error) {
			for i, a := range l.Args {
				if n := len(a.Value); n > 0 {
					l.Args[i].Value = append(append([]byte(nil), a.Value[:n-1]...), 0)
				}
			}
			return q.Queue.Launch(&l, wait)
		}}},
		{"vectors of three are packed", "vectors", "", defects{launch: func(q *brokenQueue, l devices.Launch, wait []devices.Event) (devices.Event, error) {
			if len(l.Args) == 5 && len(l.Args[4].Value) == 16 {
				l.Args[4].Value = l.Args[4].Value[4:]
			}
			return q.Queue.Launch(&l, wait)
		}}},
		{"null pointers become buffers", "null-pointers", "found null pointers", defects{launch: func(q *brokenQueue, l devices.Launch, wait []devices.Event) (devices.Event, error) {
			for i, a := range l.Args {
				if a.Buffer == nil && a.Value == nil && a.LocalBytes == 0 {
					l.Args[i] = l.Args[len(l.Args)-1]
				}
			}
			return q.Queue.Launch(&l, wait)
		}}},
		{"the wait list is dropped", "wait-across-queues", "", defects{launch: func(q *brokenQueue, l devices.Launch, _ []devices.Event) (devices.Event, error) {
			return q.Queue.Launch(&l, nil)
		}}},
		{"only the first of the wait list counts", "wait-across-queues", "", defects{copy: func(q *brokenQueue, c devices.Copy, wait []devices.Event) (devices.Event, error) {
			return q.Queue.Copy(&c, wait[:min(len(wait), 1)])
		}, launch: func(q *brokenQueue, l devices.Launch, wait []devices.Event) (devices.Event, error) {
			return q.Queue.Launch(&l, wait[:min(len(wait), 1)])
		}}},
		{"commands overtake", "order-in-queue", "did not run in order", defects{launch: func(q *brokenQueue, l devices.Launch, wait []devices.Event) (devices.Event, error) {
			if q.n++; q.n%2 == 0 {
				return q.Queue.Launch(&l, wait)
			}
			if len(q.d.queues) == 0 {
				second, err := q.d.Device.NewQueue(devices.Compute)
				if err != nil {
					return nil, err
				}
				q.d.queues = append(q.d.queues, second)
			}
			return q.d.queues[0].Launch(&l, wait)
		}, closeDev: func(d *brokenDevice) error {
			for _, q := range d.queues {
				_ = q.Close()
			}
			return d.Device.Close()
		}}},
		{"enqueueing waits for the work", "returns-at-once", "came back only when", defects{launch: func(q *brokenQueue, l devices.Launch, wait []devices.Event) (devices.Event, error) {
			ev, err := q.Queue.Launch(&l, wait)
			if err == nil {
				_ = devices.Wait(context.Background(), ev)
			}
			return ev, err
		}}},
		{"all queues are one", "queues-at-once", "never done before", defects{newQueue: func(d *brokenDevice, kind devices.QueueKind) (devices.Queue, error) {
			if len(d.queues) == 0 {
				q, err := d.Device.NewQueue(kind)
				if err != nil {
					return nil, err
				}
				d.queues = append(d.queues, q)
			}
			return d.queues[0], nil
		}}},
		{"failures do not spread", "failed-dependency", "did not", defects{launch: awaiting}},
		{"failures do not spread to late commands", "failed-many", "", defects{launch: func(q *brokenQueue, l devices.Launch, wait []devices.Event) (devices.Event, error) {
			var open []devices.Event
			for _, ev := range wait {
				if done, _ := ev.Done(); !done {
					open = append(open, ev)
				}
			}
			return q.Queue.Launch(&l, open)
		}}},
		{"a failure poisons the queue", "failed-dependency", "", defects{launch: func(q *brokenQueue, l devices.Launch, wait []devices.Event) (devices.Event, error) {
			if n := len(q.d.queues); n > 0 {
				return nil, fmt.Errorf("cpu:0: Launch: an earlier command failed: %w", devices.ErrInvalid)
			}
			if l.Kernel.Info().Entry == "fail" {
				q.d.queues = append(q.d.queues, q.Queue)
			}
			return q.Queue.Launch(&l, wait)
		}}},
		{"foreign events are ignored", "foreign-event", "no error", defects{launch: func(q *brokenQueue, l devices.Launch, wait []devices.Event) (devices.Event, error) {
			ev, err := q.Queue.Launch(&l, wait)
			if errors.Is(err, devices.ErrInvalid) {
				return q.Queue.Launch(&l, nil)
			}
			return ev, err
		}}},
		{"completions come twice", "notify-once", "2 times", defects{event: func(ev devices.Event) devices.Event {
			return &brokenEvent{Event: ev, notify: func(ev devices.Event, c devices.Completion) { ev.Notify(twice{c}) }}
		}}},
		{"completions do not come", "notify-once", "not done after", defects{event: func(ev devices.Event) devices.Event {
			return &brokenEvent{Event: ev, notify: func(devices.Event, devices.Completion) {}, done: func(devices.Event) (bool, error) { return false, nil }}
		}}},
		{"completions tell no error", "notify-error", "no error", defects{event: func(ev devices.Event) devices.Event {
			return &brokenEvent{Event: ev, notify: func(ev devices.Event, c devices.Completion) { ev.Notify(mute{c}) },
				done: func(ev devices.Event) (bool, error) { done, _ := ev.Done(); return done, nil }}
		}}},
		{"done forgets the error", "done-error", "Done of a failed command", defects{event: func(ev devices.Event) devices.Event {
			return &brokenEvent{Event: ev, done: func(ev devices.Event) (bool, error) {
				if done, err := ev.Done(); err == nil {
					return done, nil
				}
				return false, nil
			}}
		}}},
		{"time runs backwards", "times-order", "ran backwards", defects{event: func(ev devices.Event) devices.Event {
			return &brokenEvent{Event: ev, times: func(ev devices.Event) (devices.Times, error) {
				t, err := ev.Times()
				t.Start, t.End = t.End+1, t.Start
				return t, err
			}}
		}}},
		{"time of another clock", "times-order", "but was enqueued after", defects{event: func(ev devices.Event) devices.Event {
			return &brokenEvent{Event: ev, times: func(ev devices.Event) (devices.Times, error) {
				t, err := ev.Times()
				for _, m := range []*time.Duration{&t.Queued, &t.Submitted, &t.Start, &t.End} {
					*m += time.Hour
				}
				return t, err
			}}
		}}},
		{"times before the end are zero", "times-early", "no error", defects{event: func(ev devices.Event) devices.Event {
			return &brokenEvent{Event: ev, times: func(ev devices.Event) (devices.Times, error) { t, _ := ev.Times(); return t, nil }}
		}}},
		{"garbage per launch", "no-allocation-launch", "allocate", defects{launch: func(q *brokenQueue, l devices.Launch, wait []devices.Event) (devices.Event, error) {
			garbage = append([]devices.Event(nil), wait...)
			garbage = append(garbage, nil)
			return q.Queue.Launch(&l, wait)
		}}},
	} {
		t.Run(b.name, func(t *testing.T) {
			limit := 30 * time.Second
			if b.says == "not done after" {
				limit = 4 * time.Second // it is what this case runs into
			}
			// A wrong order does no harm where the commands happen to run in
			// the right one: on a busy machine that can happen once, not often.
			const attempts = 5
			var err error
			for range attempts {
				if err = one(t, brokenDriver{right(), &b.defects}, b.by, limit); err != nil {
					break
				}
			}
			if err == nil {
				t.Fatalf("case %s passed %d times on a device with the defect %q", b.by, attempts, b.name)
			}
			if !strings.Contains(err.Error(), b.says) {
				t.Errorf("case %s failed with %q, which does not say %q", b.by, err, b.says)
			}
		})
	}
}

var garbage []devices.Event

type twice struct{ c devices.Completion }

func (w twice) Complete(err error) {
	w.c.Complete(err)
	w.c.Complete(err)
}

type mute struct{ c devices.Completion }

func (m mute) Complete(error) { m.c.Complete(nil) }

// awaiting waits for the wait list in the calling goroutine, whatever comes
// of it.
func awaiting(q *brokenQueue, l devices.Launch, wait []devices.Event) (devices.Event, error) {
	for _, ev := range wait {
		for done := false; !done; done, _ = ev.Done() {
			_ = q.Flush()
		}
	}
	return q.Queue.Launch(&l, nil)
}

// one runs one case.
func one(t *testing.T, d devices.Driver, name string, limit time.Duration) error {
	t.Helper()
	o := Options{Driver: d, Kernels: GoKernels(), CaseTimeout: limit}.withDefaults()
	for _, c := range cases() {
		if c.name == name {
			skip, err := runCase(t.Context(), o, c)
			if skip != "" {
				t.Fatalf("case %s was skipped: %s", name, skip)
			}
			return err
		}
	}
	t.Fatalf("no case %q", name)
	return nil
}

// TestKitPasses holds the wrapper that the broken devices are made of to the
// kit: what it catches above is the defect.
func TestKitPasses(t *testing.T) {
	Run(t, Options{Driver: brokenDriver{right(), &defects{}}, Kernels: GoKernels(), Skip: map[string]string{
		"no-allocation-launch": "the wrapper copies each launch",
		"no-allocation-copy":   "the wrapper copies each copy",
	}})
}

// record is a testing.TB that notes how a test ended.
type record struct {
	testing.TB
	skipped, failed string
	cleanups        []func()
}

func (r *record) Helper()          {}
func (r *record) Cleanup(f func()) { r.cleanups = append(r.cleanups, f) }
func (r *record) Skipf(format string, args ...any) {
	r.skipped = fmt.Sprintf(format, args...)
}
func (r *record) Fatalf(format string, args ...any) {
	r.failed = fmt.Sprintf(format, args...)
	panic(r)
}
func (r *record) Errorf(format string, args ...any) { r.failed = fmt.Sprintf(format, args...) }

func TestRequire(t *testing.T) {
	reason := errors.New("libOpenCL.so.1 not found")
	for _, c := range []struct {
		env             string
		reason          error
		skipped, failed string
	}{
		{"", nil, "", ""},
		{"opencl", nil, "", ""},
		{"", reason, "no opencl here: libOpenCL.so.1 not found", ""},
		{"cpu,openclx", reason, "no opencl here: libOpenCL.so.1 not found", ""},
		{"cpu, opencl", reason, "", "TANDEM_REQUIRE names opencl, but: libOpenCL.so.1 not found"},
	} {
		t.Setenv("TANDEM_REQUIRE", c.env)
		r := &record{}
		func() {
			defer func() {
				if p := recover(); p != nil && p != any(r) {
					panic(p)
				}
			}()
			Require(r, "opencl", c.reason)
		}()
		if r.skipped != c.skipped || r.failed != c.failed {
			t.Errorf("TANDEM_REQUIRE=%q, reason %v: skipped %q, failed %q; want %q, %q", c.env, c.reason, r.skipped, r.failed, c.skipped, c.failed)
		}
	}
}

func TestCheckGoroutines(t *testing.T) {
	run := func(during func()) string {
		r := &record{}
		CheckGoroutines(r)
		during()
		for _, f := range r.cleanups {
			f()
		}
		return r.failed
	}
	stop := make(chan struct{})
	if got := run(func() { go func() {}() }); got != "" {
		t.Errorf("a goroutine that ends was reported: %s", got)
	}
	if got := run(func() { go func() { <-stop }() }); !strings.Contains(got, "1 goroutine(s) left behind") || !strings.Contains(got, "TestCheckGoroutines") {
		t.Errorf("a goroutine that stays gave %q", got)
	}
	close(stop)
}

// TestCasesExplain holds every case to a name of its own and an explanation.
func TestCasesExplain(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range cases() {
		if seen[c.name] || c.name == "" || len(c.why) < 20 || c.run == nil {
			t.Errorf("case %q: twice, or without explanation (%q)", c.name, c.why)
		}
		seen[c.name] = true
	}
	if names := CaseNames(); len(names) != len(seen) || names[0] != "probe-twice" {
		t.Errorf("CaseNames gave %d names for %d cases", len(names), len(seen))
	}
}
