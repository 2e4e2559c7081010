package trace_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/devices/cpu"
	"github.com/tandemrun/tandem/devices/devicetest"
	"github.com/tandemrun/tandem/devices/trace"
)

// session makes some calls of all kinds.
func session(t *testing.T, sink trace.Sink) {
	t.Helper()
	devicetest.CheckGoroutines(t)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	drivers := trace.Drivers([]devices.Driver{cpu.Driver{Workers: 1}}, sink)
	drivers[0].Probe(t.Context())
	_, err := drivers[0].Open(t.Context(), 5)
	if !errors.Is(err, devices.ErrInvalid) {
		t.Fatalf("Open(5) gave %v", err)
	}
	d, err := drivers[0].Open(t.Context(), 0)
	must(err)
	p, err := d.Compile(t.Context(), devicetest.GoKernels())
	must(err)
	k, err := p.Kernel("mad_u32")
	must(err)
	b1, err := d.Alloc(4096)
	must(err)
	b2, err := d.Alloc(16)
	must(err)
	q, err := d.NewQueue(devices.Compute)
	must(err)
	up, err := d.NewQueue(devices.Upload)
	must(err)
	e1, err := up.Copy(&devices.Copy{Kind: devices.HostToDevice, Dst: b1, Host: make([]byte, 4096), Size: 4096}, nil)
	must(err)
	l := &devices.Launch{Kernel: k, Range: devices.NDRange{Dims: 2, Size: [3]int{100, 2}, Offset: [3]int{0, 1}, Local: [3]int{10, 1}, Whole: [3]int{100, 3}},
		Args: []devices.Arg{{Buffer: b1}, {Value: []byte{3, 0, 0, 0}}, {Value: []byte{0x39, 0x30, 0, 0}}, {LocalBytes: 64}, {}, {Value: make([]byte, 48)}}}
	e2, err := q.Launch(l, []devices.Event{e1})
	must(err)
	l.Range = devices.NDRange{Dims: 1, Size: [3]int{-1}}
	if _, err := q.Launch(l, nil); !errors.Is(err, devices.ErrInvalid) {
		t.Fatalf("a launch of -1 work-items gave %v", err)
	}
	e3, err := q.Copy(&devices.Copy{Kind: devices.DeviceToDevice, Dst: b2, Src: b1, Size: 16}, []devices.Event{e1, e2})
	must(err)
	must(q.Flush())
	must(devices.Wait(t.Context(), e3))
	for _, ev := range []devices.Event{e1, e2, e3} {
		ev.Release()
	}
	for _, c := range []interface{ Close() error }{q, up, k, p} {
		must(c.Close())
	}
	must(b1.Free())
	must(b2.Free())
	must(d.Close())
}

var took = regexp.MustCompile(` [0-9.]+(ns|µs|ms|s)\b`)

func TestSequence(t *testing.T) {
	var rec trace.Recorder
	session(t, rec.Sink)
	var got []string
	for _, c := range rec.Calls() {
		if c.Op == trace.Notify || c.Op == trace.Done {
			continue // there is none if the command was done already
		}
		got = append(got, took.ReplaceAllString(c.String(), " T"))
	}
	want := []string{
		"cpu Probe T",
		"cpu Open 5 FAILED: cpu: no device 5: there is only device 0: invalid use T",
		"cpu Open 0 T",
		"cpu:0 Compile devicetest T",
		"cpu:0 Kernel mad_u32 T",
		"cpu:0 Alloc 4096 bytes -> b1 T",
		"cpu:0 Alloc 16 bytes -> b2 T",
		"cpu:0 compute#1 NewQueue compute T",
		"cpu:0 upload#1 NewQueue upload T",
		"cpu:0 upload#1 Copy h2d 4096 bytes b1 -> e1 T",
		"cpu:0 compute#1 Launch mad_u32 [100 2]+[0 1]/[10 1] of [100 3] (b1, 0x00000003, 0x00003039, local 64, null, 48 bytes) after e1 -> e2 T",
		"cpu:0 compute#1 Launch mad_u32 [-1] (b1, 0x00000003, 0x00003039, local 64, null, 48 bytes) FAILED: " +
			"cpu:0: Launch mad_u32: dimension 0 has global size -1, offset 0, local size 0: invalid use T",
		"cpu:0 compute#1 Copy d2d 16 bytes b2 after e1 e2 -> e3 T",
		"cpu:0 compute#1 Flush T",
		"cpu:0 Release e1 ran T", "cpu:0 Release e2 ran T", "cpu:0 Release e3 ran T",
		"cpu:0 compute#1 CloseQueue T", "cpu:0 upload#1 CloseQueue T",
		"cpu:0 CloseKernel mad_u32 T", "cpu:0 CloseProgram devicetest T",
		"cpu:0 Free b1 T", "cpu:0 Free b2 T", "cpu:0 CloseDevice T",
	}
	for i := range max(len(got), len(want)) {
		if i >= len(got) || i >= len(want) || strings.TrimSuffix(got[i], " T") != strings.TrimSuffix(want[i], " T") {
			t.Fatalf("call %d differs; the calls are\n%s\nwant\n%s", i, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
	if n := rec.Count(trace.Launch); n != 2 {
		t.Errorf("%d launches, want 2", n)
	}
	if n := rec.CopiedBytes(devices.HostToDevice); n != 4096 {
		t.Errorf("%d bytes uploaded, want 4096", n)
	}
	if n := rec.CopiedBytes(devices.DeviceToDevice); n != 16 {
		t.Errorf("%d bytes copied on the device, want 16", n)
	}
	if c := rec.Calls(trace.Launch)[0]; !slices.Equal(c.Wait, []uint64{1}) || c.Args[0].Bytes != 4096 || c.Start <= 0 {
		t.Errorf("the launch was recorded as %+v", c)
	}
	rec.Reset()
	if n := len(rec.Calls()); n != 0 {
		t.Errorf("%d calls after Reset", n)
	}
}

// TestDone records how commands ended.
func TestDone(t *testing.T) {
	var rec trace.Recorder
	inner, err := cpu.Driver{Workers: 1}.Open(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	d := trace.Wrap(inner, rec.Sink)
	p, _ := d.Compile(t.Context(), devicetest.GoKernels())
	fail, _ := p.Kernel("fail")
	q, _ := d.NewQueue(devices.Compute)
	ev, err := q.Launch(&devices.Launch{Kernel: fail, Range: devices.NDRange{Dims: 1, Size: [3]int{1}}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	told := make(chan error, 1)
	ev.Notify(complete{told})
	failure := <-told
	ev.Release()
	for _, c := range []interface{ Close() error }{q, fail, p, d} {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
	calls := rec.Calls(trace.Notify, trace.Done, trace.Release)
	if len(calls) != 3 || calls[1].Op != trace.Done || calls[1].Event != 1 || calls[1].Err != failure || failure == nil {
		t.Fatalf("a launch that fails with %v was recorded as %v", failure, calls)
	}
	if s := calls[1].String(); !strings.HasPrefix(s, "cpu:0 Done e1 FAILED: cpu:0: kernel fail") {
		t.Errorf("its end prints as %q", s)
	}
}

type complete struct{ c chan error }

func (n complete) Complete(err error) { n.c <- err }

func TestPrint(t *testing.T) {
	for want, c := range map[string]trace.Call{
		"opencl:0 compute#1 Launch saxpy [1024] (b1, b2, 0x3fc00000) -> e7 12µs": {Op: trace.Launch, Device: "opencl:0", Queue: "compute#1",
			Name: "saxpy", Range: devices.NDRange{Dims: 1, Size: [3]int{1024}}, Event: 7, Took: 12 * time.Microsecond,
			Args: []trace.Arg{{Buffer: 1}, {Buffer: 2}, {Value: []byte{0, 0, 0xc0, 0x3f}}}},
		"cuda:1 download#2 Copy d2h 16 bytes b3 after e1 e2 -> e9 1.23ms": {Op: trace.Copy, Device: "cuda:1", Queue: "download#2",
			Kind: devices.DeviceToHost, Size: 16, Buffer: 3, Event: 9, Wait: []uint64{1, 2}, Took: 1234567},
		"cpu:0 Launch k [] (buffer of 64 bytes)":            {Op: trace.Launch, Device: "cpu:0", Name: "k", Args: []trace.Arg{{Bytes: 64}}},
		"cpu:0 Alloc 10 bytes FAILED: out of device memory": {Op: trace.Alloc, Device: "cpu:0", Size: 10, Err: devices.ErrOutOfMemory},
		"cpu:0 Release e4 ran 35µs 2ns":                     {Op: trace.Release, Device: "cpu:0", Event: 4, Run: 35 * time.Microsecond, Took: 2},
	} {
		if got := c.String(); got != want {
			t.Errorf("printed\n%s\nwant\n%s", got, want)
		}
	}
}

// TestTo writes whole lines from many goroutines.
func TestTo(t *testing.T) {
	var out bytes.Buffer
	sink := trace.To(&out)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 50 {
				sink(trace.Call{Op: trace.Flush, Device: "cpu:0", Queue: "compute#1"})
			}
		})
	}
	all.Wait()
	if want := strings.Repeat("cpu:0 compute#1 Flush\n", 400); out.String() != want {
		t.Errorf("400 calls were written as %d bytes, want %d", out.Len(), len(want))
	}
}

func TestFromEnv(t *testing.T) {
	call := trace.Call{Op: trace.Flush, Device: "d", Queue: "q"}
	var stderr bytes.Buffer
	for _, off := range []string{"", "0"} {
		t.Setenv(trace.EnvCalls, off)
		if sink, done, err := trace.FromEnv(&stderr); sink != nil || err != nil || done() != nil {
			t.Errorf("%s=%q turned tracing on", trace.EnvCalls, off)
		}
	}
	list := []devices.Driver{cpu.Driver{}}
	if got := trace.Drivers(list, nil); &got[0] != &list[0] {
		t.Error("without a sink the drivers should be as they are")
	}
	t.Setenv(trace.EnvCalls, "1")
	sink, _, err := trace.FromEnv(&stderr)
	if err != nil {
		t.Fatal(err)
	}
	sink(call)
	if stderr.String() != "d q Flush\n" {
		t.Errorf("standard error got %q", stderr.String())
	}
	name := filepath.Join(t.TempDir(), "calls")
	t.Setenv(trace.EnvCalls, name)
	for range 2 { // the second one appends
		sink, done, err := trace.FromEnv(&stderr)
		if err != nil {
			t.Fatal(err)
		}
		sink(call)
		if err := done(); err != nil {
			t.Error(err)
		}
	}
	if got, _ := os.ReadFile(name); string(got) != "d q Flush\nd q Flush\n" {
		t.Errorf("the file holds %q", got)
	}
	t.Setenv(trace.EnvCalls, filepath.Join(name, "below a file"))
	if _, _, err := trace.FromEnv(&stderr); err == nil || !strings.Contains(err.Error(), trace.EnvCalls) {
		t.Errorf("a file that cannot be made gave %v", err)
	}
}
