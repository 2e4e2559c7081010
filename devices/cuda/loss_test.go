package cuda

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/tandemrun/tandem/devices"
)

// TestLost: a kernel that goes wrong takes the context with it, everybody who
// waits learns of it, nothing hangs, and the device can be opened again.
func TestLost(t *testing.T) {
	driver := separate(t, "devices=2")
	r := newRig(t, driver)
	k := r.kernel(r.program(devices.LangPTX, tinyPTX), "tiny")
	out := r.buffer(blank(64))
	nd := devices.NDRange{Dims: 1, Size: [3]int{64}}
	other := r.queue(r.d)

	rules(t, driver, "fail=kernel:1:700")
	told := make(chan error, 2)
	// Whoever is told by a callback is told of the loss, though CUDA makes no
	// callback then. The loss may be so quick that the call itself learns of it.
	var wait []devices.Event
	bad, err := r.launch(k, nd, buf(out), num(int32(1)))
	if err != nil {
		told <- err
	} else {
		bad.Notify(waiter(told))
		wait = []devices.Event{bad}
	}
	later, err := other.Launch(&devices.Launch{Kernel: k, Range: nd, Args: []devices.Arg{buf(out), num(int32(2))}}, wait)
	if err == nil {
		later.Notify(waiter(told))
	} else {
		told <- err
	}
	for range 2 {
		if err := <-told; !errors.Is(err, devices.ErrDeviceLost) || !strings.Contains(err.Error(), "cuda:0") || !strings.Contains(err.Error(), "CUDA_ERROR_ILLEGAL_ADDRESS") {
			t.Errorf("a command on a lost device ended with %v", err)
		}
	}
	rules(t, driver, "")
	for _, e := range []devices.Event{bad, later} {
		if e == nil {
			continue
		}
		if done, err := e.Done(); !done || !errors.Is(err, devices.ErrDeviceLost) {
			t.Errorf("the command that failed is done %v with %v", done, err)
		}
		e.Release()
	}
	if _, err := r.d.Alloc(64); !errors.Is(err, devices.ErrDeviceLost) {
		t.Errorf("Alloc on a lost device: %v", err)
	}
	if _, err := r.launch(k, nd, buf(out), num(int32(1))); !errors.Is(err, devices.ErrDeviceLost) {
		t.Errorf("Launch on a lost device: %v", err)
	}
	// The other GPU does not mind.
	second := &rig{t: t, driver: driver, d: r.open(1)}
	second.q = second.queue(second.d)
	if got := second.read(second.buffer([]int32{1, 2, 3})); !slices.Equal(got, []int32{1, 2, 3}) {
		t.Errorf("the second GPU gave %v", got)
	}
	// Closing everything and opening again gives a new context.
	for _, close := range []func() error{out.Free, k.Close, r.q.Close, other.Close} {
		if err := close(); err != nil {
			t.Errorf("closing what a lost device had: %v", err)
		}
	}
	_ = r.d.Close()
	again := newRig(t, driver)
	if got := again.read(again.buffer([]int32{4, 5})); !slices.Equal(got, []int32{4, 5}) {
		t.Errorf("the device opened again gave %v", got)
	}
}

type waiter chan error

func (w waiter) Complete(err error) { w <- err }

// TestLostWhilePending: the device is lost by a call of somebody else's while
// nobody asks.
func TestLostWhilePending(t *testing.T) {
	driver := separate(t, "devices=1")
	r := newRig(t, driver)
	k := r.kernel(r.program(devices.LangPTX, tinyPTX), "tiny")
	out := r.buffer(blank(64))
	rules(t, driver, "fail=kernel:2:719")
	nd := devices.NDRange{Dims: 1, Size: [3]int{64}}
	told := make(chan error, 20)
	for i := range 20 {
		e, err := r.launch(k, nd, buf(out), num(int32(i)))
		if err != nil {
			told <- err
			continue
		}
		e.Notify(waiter(told))
		e.Release()
	}
	lost := 0
	for range 20 {
		if err := <-told; errors.Is(err, devices.ErrDeviceLost) {
			lost++
		} else if err != nil {
			t.Errorf("a command ended with %v", err)
		}
	}
	if lost < 19 {
		t.Errorf("%d of 20 commands were told of the loss, want all from the second on", lost)
	}
	rules(t, driver, "")
}

// TestFailingCalls: every call that the driver makes may fail once; there is an
// error that names it, nothing hangs, and afterwards everything works.
func TestFailingCalls(t *testing.T) {
	driver := separate(t, "devices=1")
	for _, name := range []string{
		"cuDevicePrimaryCtxRetain", "cuCtxPushCurrent", "cuStreamCreate", "cuEventCreate", "cuEventRecord", "cuMemAllocAsync", "cuMemHostAlloc",
		"cuMemcpyHtoDAsync", "cuMemcpyDtoHAsync", "cuLaunchHostFunc", "cuModuleLoadDataEx", "cuModuleGetFunction", "cuLaunchKernel",
		"cuStreamWaitEvent", "cuMemFreeAsync", "cuEventElapsedTime", "cuEventQuery",
	} {
		for _, nth := range []string{"1", "2", "5"} {
			rules(t, driver, "fail="+name+":"+nth)
			err := workload(t, driver)
			rules(t, driver, "")
			if err != nil && !strings.Contains(err.Error(), name) && !strings.Contains(err.Error(), "cu") {
				t.Errorf("call %s of %s failed, and the error is %v", nth, name, err)
			}
			if err != nil && !errors.Is(err, devices.ErrOutOfMemory) && !errors.Is(err, devices.ErrInvalid) {
				t.Errorf("call %s of %s ran out of memory, and the error is %v", nth, name, err)
			}
			if err := workload(t, driver); err != nil {
				t.Fatalf("after call %s of %s failed, nothing works any more: %v", nth, name, err)
			}
		}
	}
}

// workload opens a device, computes, checks and closes. It returns the first
// error; wrong results fail the test.
func workload(t *testing.T, driver *Driver) (failed error) {
	t.Helper()
	dd, err := driver.Open(t.Context(), 0)
	if err != nil {
		return err
	}
	keep := func(err error) {
		if failed == nil && err != nil {
			failed = err
		}
	}
	defer func() { keep(dd.Close()) }()
	p, err := dd.Compile(t.Context(), &devices.Source{Name: "tiny.ptx", Language: devices.LangPTX, Text: []byte(tinyPTX)})
	if err != nil {
		return err
	}
	defer func() { keep(p.Close()) }()
	k, err := p.Kernel("tiny")
	if err != nil {
		return err
	}
	defer func() { keep(k.Close()) }()
	b, err := dd.Alloc(400)
	if err != nil {
		return err
	}
	defer func() { keep(b.Free()) }()
	q, err := dd.NewQueue(devices.Compute)
	if err != nil {
		return err
	}
	defer func() { keep(q.Close()) }()
	q2, err := dd.NewQueue(devices.Download)
	if err != nil {
		return err
	}
	defer func() { keep(q2.Close()) }()
	r := &rig{t: t}
	m := r.memory(400)
	e, err := q.Launch(&devices.Launch{Kernel: k, Range: devices.NDRange{Dims: 1, Size: [3]int{100}, Local: [3]int{64}}, Args: []devices.Arg{buf(b), num(int32(3))}}, nil)
	if err != nil {
		return err
	}
	defer e.Release()
	e2, err := q2.Copy(&devices.Copy{Kind: devices.DeviceToHost, Src: b, Host: m, Size: 400}, []devices.Event{e})
	if err != nil {
		return err
	}
	defer e2.Release()
	if err := devices.Wait(t.Context(), e2); err != nil {
		return err
	}
	for i, v := range devices.View[int32](m) {
		if v != 3 {
			t.Errorf("element %d is %d, want 3", i, v)
			break
		}
	}
	if _, err := e.Times(); err != nil {
		return err
	}
	return nil
}

// TestMemlock: where the system pins nothing, pinned memory is refused and
// copies go the driver's own way.
func TestMemlock(t *testing.T) {
	driver := separate(t, "devices=1,memlock=4KiB")
	r := newRig(t, driver)
	if _, err := r.d.AllocPinned(1 << 20); !errors.Is(err, devices.ErrOutOfMemory) || !strings.Contains(err.Error(), "1048576") {
		t.Errorf("pinned memory beyond the limit: %v", err)
	}
	v := make([]int32, 1<<20)
	for i := range v {
		v[i] = int32(i * 7)
	}
	if got := r.read(r.buffer(v)); !slices.Equal(got, v) {
		t.Error("copies without pinned memory changed bytes")
	}
}

// TestIntegrated: a GPU that shares the host's memory works on its pages.
func TestIntegrated(t *testing.T) {
	driver := separate(t, "devices=1,integrated=on")
	r := newRig(t, driver)
	if !r.d.Info().UnifiedMemory {
		t.Fatal("an integrated GPU does not say that it shares the host's memory")
	}
	m := r.memory(1 << 16)
	b, err := r.d.ImportHost(m)
	if err != nil {
		t.Fatal(err)
	}
	k := r.kernel(r.program(devices.LangPTX, tinyPTX), "tiny")
	r.must(r.launch(k, devices.NDRange{Dims: 1, Size: [3]int{1 << 14}, Local: [3]int{256}}, buf(b), num(int32(11))))
	for i, v := range devices.View[int32](m) {
		if v != 11 {
			t.Fatalf("host memory holds %d at %d after the launch, want 11", v, i)
		}
	}
	if err := b.Free(); err != nil {
		t.Fatal(err)
	}
	// Under a limit on pinned pages the caller is told to copy.
	r2 := newRig(t, separate(t, "devices=1,integrated=on,memlock=4KiB"))
	if _, err := r2.d.ImportHost(r2.memory(1 << 16)); !errors.Is(err, devices.ErrUnsupported) {
		t.Errorf("imported beyond the limit: %v", err)
	}
}

// TestPeers: two GPUs copy from each other; without peer access the runtime is
// told to go through the host.
func TestPeers(t *testing.T) {
	for settings, can := range map[string]bool{"devices=2": true, "devices=2,pools=off": true, "devices=2,peer=off": false} {
		r := newRig(t, separate(t, settings))
		far := &rig{t: t, driver: r.driver, d: r.open(1)}
		far.q = far.queue(far.d)
		src := far.buffer([]int32{1, 2, 3, 4})
		dst := r.buffer(blank(4))
		if got := r.d.CanCopyFrom(far.d); got != can {
			t.Errorf("%s: can copy from the other: %v, want %v", settings, got, can)
		}
		err := r.wait(r.q.Copy(&devices.Copy{Kind: devices.DeviceToDevice, Src: src, SrcOffset: 4, Dst: dst, DstOffset: 8, Size: 8}, nil))
		if !can {
			if !errors.Is(err, devices.ErrInvalid) {
				t.Errorf("%s: copied: %v", settings, err)
			}
			continue
		}
		if err != nil {
			t.Fatalf("%s: %v", settings, err)
		}
		if got := r.read(dst); !slices.Equal(got, []int32{-1, -1, 2, 3}) {
			t.Errorf("%s: copied %v", settings, got)
		}
	}
}

// TestFewResources: a small GPU refuses what it cannot do and stays usable.
func TestFewResources(t *testing.T) {
	r := newRig(t, separate(t, "devices=1,memory=16MiB,max_alloc=4MiB,pools=off,threads=128,shared=4KiB,shared_optin=4KiB"))
	var taken []devices.Buffer
	for {
		b, err := r.d.Alloc(1 << 20)
		if err != nil {
			if !errors.Is(err, devices.ErrOutOfMemory) || !strings.Contains(err.Error(), "cuMemAlloc(1048576 bytes)") {
				t.Errorf("a full device: %v", err)
			}
			break
		}
		taken = append(taken, b)
	}
	if n := len(taken); n < 8 || n > 16 {
		t.Errorf("%d buffers of 1 MiB in 16 MiB", n)
	}
	for _, b := range taken {
		if err := b.Free(); err != nil {
			t.Fatal(err)
		}
	}
	if got := r.read(r.buffer([]int32{5})); got[0] != 5 {
		t.Errorf("after running full: %v", got)
	}
	k := r.kernel(r.program(devices.LangPTX, tinyPTX), "tiny")
	out := r.buffer(blank(256))
	if _, err := r.launch(k, devices.NDRange{Dims: 1, Size: [3]int{256}, Local: [3]int{256}}, buf(out), num(int32(1))); !errors.Is(err, devices.ErrInvalid) || !strings.Contains(err.Error(), "at most 128") {
		t.Errorf("a group of 256 on a GPU with 128: %v", err)
	}
	r.must(r.launch(k, devices.NDRange{Dims: 1, Size: [3]int{256}}, buf(out), num(int32(1))))
}

// TestTimes: what the clock tells keeps to what the host knows, also when its
// base moves.
func TestTimes(t *testing.T) {
	r := newRig(t, need(t))
	k := r.kernel(r.program(devices.LangPTX, tinyPTX), "tiny")
	out := r.buffer(blank(64))
	var last devices.Times
	for i := range 30 {
		if i == 10 || i == 20 { // as if the base were old
			r.d.clock.mu.Lock()
			r.d.clock.since -= 2 * rebaseAfter
			r.d.clock.mu.Unlock()
		}
		before := devices.Now()
		e, err := r.launch(k, devices.NDRange{Dims: 1, Size: [3]int{64}}, buf(out), num(int32(i)))
		if err != nil {
			t.Fatal(err)
		}
		if err := devices.Wait(t.Context(), e); err != nil {
			t.Fatal(err)
		}
		got, err := e.Times()
		if err != nil {
			t.Fatal(err)
		}
		after := devices.Now()
		if got.Queued < before || got.Queued > got.Submitted || got.Submitted > got.Start || got.Start > got.End || got.End > after || got.Start < last.End {
			t.Errorf("launch %d between %v and %v has times %+v after %+v", i, before, after, got, last)
		}
		last = got
		e.Release()
	}
	if math.Abs((r.d.clock.at - devices.Now()).Seconds()) > 60 {
		t.Errorf("the base lies at %v, now it is %v", r.d.clock.at, devices.Now())
	}
}
