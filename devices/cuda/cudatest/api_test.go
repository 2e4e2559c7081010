package cudatest

import (
	"bytes"
	"math/rand/v2"
	"runtime/debug"
	"sync/atomic"
	"testing"
	"unsafe"

	"github.com/tandemrun/tandem/devices/hostmem"
	"github.com/tandemrun/tandem/devices/internal/dl"
)

// The codes that the tests expect.
const (
	invalidValue      = 1
	outOfMemory       = 2
	notInitialized    = 3
	noDevice          = 100
	invalidDevice     = 101
	invalidContext    = 201
	invalidHandle     = 400
	notFound          = 500
	notReady          = 600
	illegalAddress    = 700
	contextDestroyed  = 709
	alreadyRegistered = 712
	notRegistered     = 713
	launchFailed      = 719
	notPermitted      = 800
	captureUnsup      = 900
	captureInvalid    = 901
	captureUnjoined   = 904
	captureImplicit   = 906
)

func TestNeedsInitAndContext(t *testing.T) {
	r := load(t, "")
	n := new(int32)
	r.want(notInitialized, "cuDeviceGetCount", uintptr(unsafe.Pointer(n)))
	r.must("cuInit", 0)
	p := new(uintptr)
	r.want(invalidContext, "cuMemAlloc_v2", uintptr(unsafe.Pointer(p)), 16)
	ctx := r.out("cuDevicePrimaryCtxRetain", 0)
	r.want(invalidContext, "cuMemAlloc_v2", uintptr(unsafe.Pointer(p)), 16) // retained is not current
	r.must("cuCtxPushCurrent_v2", ctx)
	r.must("cuMemAlloc_v2", uintptr(unsafe.Pointer(p)), 16)
	r.must("cuCtxPopCurrent_v2", 0)
	r.want(invalidContext, "cuMemFree_v2", *p)
	r.must("cuCtxSetCurrent", ctx)
	r.must("cuMemFree_v2", *p)
	r.want(invalidValue, "cuMemFree_v2", *p)
	r.must("cuDevicePrimaryCtxRelease_v2", 0)
	r.want(contextDestroyed, "cuMemAlloc_v2", uintptr(unsafe.Pointer(p)), 16)
	r.want(invalidContext, "cuCtxSetCurrent", ctx)
	if n := r.count("live contexts"); n != 0 {
		t.Errorf("%d contexts live, want 0", n)
	}
}

func TestVisibleDevices(t *testing.T) {
	const uuid0, uuid2 = "GPU-74616e64-656d-40d0-8062-6c6500000000", "GPU-74616e64-656d-40d0-8062-6c6500000002"
	for _, c := range []struct {
		env  string
		want []byte // the last bytes of the UUIDs
	}{
		{"1", []byte{1}}, {"2,0", []byte{2, 0}}, {"0,9,1", []byte{0}}, {"", nil}, {"-1", nil}, {"1,-1,0", []byte{1}}, {"0,0", nil},
		{uuid2, []byte{2}}, {uuid2 + "," + uuid0, []byte{2, 0}}, {"GPU-7461", nil}, {"MIG-" + uuid0, nil}, {"x", nil},
	} {
		t.Run(c.env, func(t *testing.T) {
			r := load(t, "devices=3")
			t.Setenv("CUDA_VISIBLE_DEVICES", c.env)
			if len(c.want) == 0 {
				r.want(noDevice, "cuInit", 0)
				return
			}
			r.must("cuInit", 0)
			if n := r.num("cuDeviceGetCount"); int(n) != len(c.want) {
				t.Fatalf("%d devices, want %d", n, len(c.want))
			}
			for i, last := range c.want {
				uuid := make([]byte, 16)
				r.must("cuDeviceGetUuid_v2", uintptr(unsafe.Pointer(&uuid[0])), uintptr(i))
				if uuid[15] != last {
					t.Errorf("device %d has UUID %x, want one that ends with %d", i, uuid, last)
				}
			}
			d := new(int32)
			r.want(invalidDevice, "cuDeviceGet", uintptr(unsafe.Pointer(d)), uintptr(len(c.want)))
		})
	}
}

func TestDeviceMemory(t *testing.T) {
	r := open(t, "memory=4MiB")
	data := make([]byte, 5000)
	for i := range data {
		data[i] = byte(rand.Uint32())
	}
	p := r.alloc(data)
	if got := r.read(p, len(data)); !bytes.Equal(got, data) {
		t.Error("what was copied in did not come out")
	}
	// One byte beyond the allocation, and one before it.
	r.want(invalidValue, "cuMemcpyDtoH_v2", uintptr(unsafe.Pointer(&data[0])), p+1, uintptr(len(data)))
	r.want(invalidValue, "cuMemcpyDtoH_v2", uintptr(unsafe.Pointer(&data[0])), p-1, 2)

	// The host cannot read the address.
	func() {
		defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
		defer func() {
			if recover() == nil {
				t.Error("the host could read device memory")
			}
		}()
		address := p
		_ = **(**byte)(unsafe.Pointer(&address))
	}()

	free, total := new(uintptr), new(uintptr)
	r.must("cuMemGetInfo_v2", uintptr(unsafe.Pointer(free)), uintptr(unsafe.Pointer(total)))
	if *total != 4<<20 || *free != 4<<20-5120 {
		t.Errorf("%d of %d bytes free, want %d of %d", *free, *total, 4<<20-5120, 4<<20)
	}
	q := new(uintptr)
	r.want(outOfMemory, "cuMemAlloc_v2", uintptr(unsafe.Pointer(q)), 4<<20-5119)
	all := r.out("cuMemAlloc_v2", 4<<20-5120)
	r.want(outOfMemory, "cuMemAlloc_v2", uintptr(unsafe.Pointer(q)), 1)
	r.want(invalidValue, "cuMemAlloc_v2", uintptr(unsafe.Pointer(q)), 0)
	r.must("cuMemFree_v2", p)
	r.must("cuMemFree_v2", all)
	if n := r.count("live device memory"); n != 0 {
		t.Errorf("%d bytes live, want 0", n)
	}
}

func TestPinnedMemory(t *testing.T) {
	r := open(t, "memlock=64KiB")
	p := r.out("cuMemHostAlloc", 40<<10, 0)
	q := new(uintptr)
	r.want(outOfMemory, "cuMemHostAlloc", uintptr(unsafe.Pointer(q)), 25<<10, 0)
	m, err := hostmem.Alloc(64 << 10)
	if err != nil {
		t.Fatal(err)
	}
	defer hostmem.Free(m)
	at := uintptr(unsafe.Pointer(&m[0]))
	r.want(outOfMemory, "cuMemHostRegister_v2", at, 25<<10, 0)
	r.must("cuMemHostRegister_v2", at, 24<<10, 0)
	r.want(alreadyRegistered, "cuMemHostRegister_v2", at+4096, 4096, 0)
	if d := r.out("cuMemHostGetDevicePointer_v2", at, 0); d != at {
		t.Errorf("registered memory at %#x has device address %#x", at, d)
	}
	if kind := r.num("cuPointerGetAttribute", 2, at); kind != 1 {
		t.Errorf("registered memory is of type %d, want 1 (host)", kind)
	}
	r.must("cuMemHostUnregister", at)
	r.want(notRegistered, "cuMemHostUnregister", at)
	r.must("cuMemFreeHost", p)
	r.want(invalidValue, "cuMemFreeHost", p)
	if n := r.count("live pinned memory"); n != 0 {
		t.Errorf("%d bytes pinned, want 0", n)
	}
}

// TestOrder lets a chain over three streams that wait for each other write one
// word: whoever ran too early would leave another number.
func TestOrder(t *testing.T) {
	r := open(t, "")
	var streams, events [3]uintptr
	for i := range streams {
		streams[i] = r.out("cuStreamCreate", 1)
		events[i] = r.out("cuEventCreate", 2)
	}
	p := r.alloc(make([]byte, 4))
	q := r.alloc(make([]byte, 4<<20))
	for step := range uintptr(300) {
		i := step % 3
		r.must("cuStreamWaitEvent", streams[i], events[(i+2)%3], 0)
		r.must("cuMemsetD32Async", q, step, 1<<20, streams[i])
		r.must("cuMemcpyDtoDAsync_v2", p, q+4*(1<<20-1), 4, streams[i])
		r.must("cuEventRecord", events[i], streams[i])
	}
	r.must("cuEventSynchronize", events[2])
	if got := *(*uint32)(unsafe.Pointer(&r.read(p, 4)[0])); got != 299 {
		t.Errorf("the last of 300 writes left %d, want 299", got)
	}
	for i := range streams {
		r.must("cuStreamQuery", streams[i])
		r.must("cuEventDestroy_v2", events[i])
		r.want(invalidHandle, "cuEventQuery", events[i])
		r.must("cuStreamDestroy_v2", streams[i])
		r.want(invalidHandle, "cuStreamSynchronize", streams[i])
	}
}

// hostCalls makes a C callback that counts, and calls CUDA from inside.
func (r *rig) hostCalls() (fn uintptr, calls *atomic.Int64, inside *atomic.Int32) {
	calls, inside = new(atomic.Int64), new(atomic.Int32)
	return dl.Callback(func(user uintptr) uintptr {
		calls.Add(int64(user))
		inside.Store(r.call("cuCtxSynchronize"))
		return 0
	}), calls, inside
}

func TestHostFunction(t *testing.T) {
	r := open(t, "")
	s := r.out("cuStreamCreate", 1)
	fn, calls, inside := r.hostCalls()
	for i := range uintptr(1000) {
		r.must("cuLaunchHostFunc", s, fn, i)
	}
	r.must("cuStreamSynchronize", s)
	if calls.Load() != 499500 || inside.Load() != notPermitted {
		t.Errorf("calls sum to %d, and a call inside one gave %d; want 499500 and %d", calls.Load(), inside.Load(), notPermitted)
	}
}

// TestBlockingStreams: the null stream waits for blocking streams, and they
// for it; a non-blocking stream goes on.
func TestBlockingStreams(t *testing.T) {
	r := open(t, "")
	blocking, free := r.out("cuStreamCreate", 0), r.out("cuStreamCreate", 1)
	gate := r.out("cuMemHostAlloc", 4096, 0)
	r.must("cuMemsetD32_v2", gate, 0, 1024)
	r.must("cuStreamWaitValue32_v2", blocking, gate, 1, 1) // holds the stream until the word is 1
	e, f := r.out("cuEventCreate", 2), r.out("cuEventCreate", 2)
	r.must("cuEventRecord", e, 0) // the null stream
	r.must("cuEventRecord", f, free)
	r.must("cuEventSynchronize", f)
	r.want(notReady, "cuEventQuery", e)
	r.want(notReady, "cuStreamQuery", blocking)
	r.must("cuStreamWriteValue32_v2", free, gate, 1, 0)
	r.must("cuEventSynchronize", e)
	r.must("cuStreamSynchronize", blocking)
}

func TestElapsedTime(t *testing.T) {
	r := open(t, "")
	s := r.out("cuStreamCreate", 1)
	a, b, silent := r.out("cuEventCreate", 0), r.out("cuEventCreate", 0), r.out("cuEventCreate", 2)
	ms := new(float32)
	r.want(invalidHandle, "cuEventElapsedTime", uintptr(unsafe.Pointer(ms)), a, b) // never recorded
	p := r.out("cuMemAlloc_v2", 64<<20)
	r.must("cuEventRecord", a, s)
	r.must("cuMemsetD32Async", p, 7, 16<<20, s)
	r.must("cuEventRecord", b, s)
	r.must("cuEventRecord", silent, s)
	r.must("cuStreamSynchronize", s)
	r.must("cuEventElapsedTime", uintptr(unsafe.Pointer(ms)), a, b)
	if *ms < 0.1 || *ms > 60000 {
		t.Errorf("filling 64 MiB took %v ms", *ms)
	}
	r.want(invalidHandle, "cuEventElapsedTime", uintptr(unsafe.Pointer(ms)), a, silent)
}

func TestRules(t *testing.T) {
	r := open(t, "fail=cuMemAlloc:2,fail=cuStreamCreate:1+:719")
	p := new(uintptr)
	r.must("cuMemAlloc_v2", uintptr(unsafe.Pointer(p)), 16)
	r.want(outOfMemory, "cuMemAlloc_v2", uintptr(unsafe.Pointer(p)), 16)
	r.must("cuMemAlloc_v2", uintptr(unsafe.Pointer(p)), 16)
	r.want(launchFailed, "cuStreamCreate", uintptr(unsafe.Pointer(p)), 0)
	r.set("fail=cuStreamCreateWithPriority:1+:719")
	r.want(launchFailed, "cuStreamCreateWithPriority", uintptr(unsafe.Pointer(p)), 0, 0)
	r.want(launchFailed, "cuStreamCreateWithPriority", uintptr(unsafe.Pointer(p)), 0, 0)
	r.set("")
	r.must("cuStreamCreateWithPriority", uintptr(unsafe.Pointer(p)), 0, 0)
	if n := r.count("cuStreamCreateWithPriority"); n != 1 {
		t.Errorf("%d calls counted since the rules changed, want 1", n)
	}
	text := []byte("fail=cuMemAlloc\x00")
	r.want(invalidValue, "tandemDoubleSet", uintptr(unsafe.Pointer(&text[0])))
}

// TestLostDevice: everything queued ends, events are done with the error, host
// functions are not called, and the other device works on.
func TestLostDevice(t *testing.T) {
	r := open(t, "devices=2")
	s := r.out("cuStreamCreate", 1)
	gate := r.out("cuMemHostAlloc", 4096, 0)
	r.must("cuMemsetD32_v2", gate, 0, 1024)
	fn, calls, _ := r.hostCalls()
	e := r.out("cuEventCreate", 2)
	r.must("cuStreamWaitValue32_v2", s, gate, 1, 1)
	r.must("cuLaunchHostFunc", s, fn, 1)
	r.must("cuEventRecord", e, s)
	r.set("lose=0:1")
	r.want(launchFailed, "cuStreamSynchronize", s)
	r.want(launchFailed, "cuEventSynchronize", e)
	other := r.out("cuDevicePrimaryCtxRetain", 1)
	r.must("cuCtxSetCurrent", other)
	r.alloc([]byte{1, 2, 3})
	p := new(uintptr)
	r.want(launchFailed, "cuDevicePrimaryCtxRetain", uintptr(unsafe.Pointer(p)), 0)
	if calls.Load() != 0 {
		t.Error("a host function was called in a context that failed")
	}
}

func TestPools(t *testing.T) {
	r := open(t, "memory=4MiB")
	s := r.out("cuStreamCreate", 1)
	pool := r.out("cuDeviceGetDefaultMemPool", 0)
	p := r.out("cuMemAllocAsync", 3<<20, s)
	if used := r.out2("cuMemPoolGetAttribute", pool, 7); used != 3<<20 {
		t.Errorf("%d bytes used, want %d", used, 3<<20)
	}
	r.must("cuMemsetD8Async", p, 5, 3<<20, s)
	r.must("cuMemFreeAsync", p, s)
	r.want(invalidValue, "cuMemFreeAsync", p, s)
	q := r.out("cuMemAllocAsync", 3<<20, s) // fits only after the first was freed
	r.must("cuStreamSynchronize", s)
	r.must("cuMemFree_v2", q)
	if used := r.out2("cuMemPoolGetAttribute", pool, 7); used != 0 {
		t.Errorf("%d bytes used, want 0", used)
	}
	if high := r.out2("cuMemPoolGetAttribute", pool, 8); high != 3<<20 {
		t.Errorf("at most %d bytes were used, want %d", high, 3<<20)
	}
}

// out2 calls a function whose third argument is where its 64-bit result goes.
func (r *rig) out2(name string, a, b uintptr) uintptr {
	r.t.Helper()
	v := new(uintptr)
	r.must(name, a, b, uintptr(unsafe.Pointer(v)))
	return *v
}

func TestPeerCopy(t *testing.T) {
	r := open(t, "devices=2")
	a := r.alloc([]byte("over the border"))
	other := r.out("cuDevicePrimaryCtxRetain", 1)
	r.must("cuCtxSetCurrent", other)
	b := r.alloc(make([]byte, 15))
	if can := r.num("cuDeviceCanAccessPeer", 1, 0); can != 1 {
		t.Errorf("cuDeviceCanAccessPeer says %d", can)
	}
	s := r.out("cuStreamCreate", 1)
	r.want(invalidValue, "cuMemcpyPeerAsync", b, r.ctx, a, other, 15, s) // contexts the wrong way round
	r.must("cuMemcpyPeerAsync", b, other, a, r.ctx, 15, s)
	r.must("cuStreamSynchronize", s)
	if got := string(r.read(b, 15)); got != "over the border" {
		t.Errorf("the peer got %q", got)
	}
	r.must("cuCtxSetCurrent", r.ctx)
	r.want(invalidContext, "cuMemcpyDtoDAsync_v2", a, b, 15, s) // the stream is the other device's
}

func TestGraphCapture(t *testing.T) {
	r := open(t, "")
	s, side := r.out("cuStreamCreate", 1), r.out("cuStreamCreate", 1)
	p, q := r.alloc(make([]byte, 64)), r.alloc(make([]byte, 64))
	fork, join := r.out("cuEventCreate", 2), r.out("cuEventCreate", 2)
	capture := func(joined bool) (uintptr, int32) {
		r.must("cuStreamBeginCapture_v2", s, 0)
		r.must("cuMemsetD8Async", p, 9, 64, s)
		r.must("cuEventRecord", fork, s)
		r.must("cuStreamWaitEvent", side, fork, 0)
		r.must("cuMemcpyDtoDAsync_v2", q, p, 32, side)
		r.must("cuEventRecord", join, side)
		if joined {
			r.must("cuStreamWaitEvent", s, join, 0)
		}
		g := new(uintptr)
		code := r.call("cuStreamEndCapture", s, uintptr(unsafe.Pointer(g)))
		return *g, code
	}
	if g, code := capture(false); code != captureUnjoined || g != 0 {
		t.Errorf("a capture that leaves a branch behind gave %d and graph %#x, want %d", code, g, captureUnjoined)
	}
	g, code := capture(true)
	if code != 0 {
		t.Fatalf("cuStreamEndCapture = %d", code)
	}
	if got := r.read(q, 1)[0]; got != 0 {
		t.Error("captured work was executed")
	}
	n := new(uintptr)
	r.must("cuGraphGetNodes", g, 0, uintptr(unsafe.Pointer(n)))
	if *n != 2 {
		t.Errorf("%d nodes, want 2", *n)
	}
	x := r.out("cuGraphInstantiateWithFlags", g, 0)
	r.must("cuGraphDestroy", g)
	r.must("cuGraphLaunch", x, s)
	r.must("cuStreamSynchronize", s)
	if got := r.read(q, 64); got[31] != 9 || got[32] != 0 {
		t.Errorf("the graph wrote % x", got)
	}
	r.must("cuGraphExecDestroy", x)

	// What may not happen meanwhile.
	r.must("cuStreamBeginCapture_v2", s, 0)
	r.want(captureUnsup, "cuStreamSynchronize", s)
	r.want(captureInvalid, "cuMemsetD8Async", p, 9, 64, s)
	r.want(captureInvalid, "cuStreamEndCapture", s, uintptr(unsafe.Pointer(n)))
	r.must("cuStreamBeginCapture_v2", s, 0)
	r.want(captureUnsup, "cuMemAlloc_v2", uintptr(unsafe.Pointer(n)), 16)
	r.want(captureInvalid, "cuStreamEndCapture", s, uintptr(unsafe.Pointer(n)))
	blocking := r.out("cuStreamCreate", 0)
	r.must("cuStreamBeginCapture_v2", blocking, 2)
	r.want(captureImplicit, "cuMemsetD8Async", p, 9, 64, 0)
	r.want(captureInvalid, "cuStreamEndCapture", blocking, uintptr(unsafe.Pointer(n)))
	if n := r.count("live graphs"); n != 0 {
		t.Errorf("%d graphs live, want 0", n)
	}
}

func TestProcAddress(t *testing.T) {
	r := load(t, "")
	direct, err := r.lib.Lookup("cuMemAlloc_v2")
	if err != nil {
		t.Fatal(err)
	}
	fn := new(uintptr)
	name, none := []byte("cuMemAlloc\x00"), []byte("cuNoSuchThing\x00")
	r.must("cuGetProcAddress_v2", uintptr(unsafe.Pointer(&name[0])), uintptr(unsafe.Pointer(fn)), 12000, 0, 0)
	if *fn != direct {
		t.Errorf("cuGetProcAddress gave %#x, the symbol is at %#x", *fn, direct)
	}
	r.want(notFound, "cuGetProcAddress_v2", uintptr(unsafe.Pointer(&none[0])), uintptr(unsafe.Pointer(fn)), 12000, 0, 0)
}

func TestErrorNames(t *testing.T) {
	r := load(t, "")
	for code, want := range map[int32]string{0: "CUDA_SUCCESS", 2: "CUDA_ERROR_OUT_OF_MEMORY", 700: "CUDA_ERROR_ILLEGAL_ADDRESS"} {
		p := new(uintptr)
		r.must("cuGetErrorName", uintptr(code), uintptr(unsafe.Pointer(p)))
		if got := dl.Text(*p); got != want {
			t.Errorf("code %d is %q, want %q", code, got, want)
		}
	}
	p := new(uintptr)
	r.want(invalidValue, "cuGetErrorName", 12345, uintptr(unsafe.Pointer(p)))
}
