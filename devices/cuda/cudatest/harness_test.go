package cudatest

import (
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"unsafe"

	"github.com/tandemrun/tandem/devices/internal/dl"
)

// A rig is one loaded copy of the double and a locked OS thread that calls it.
type rig struct {
	t   *testing.T
	lib *dl.Library
	ctx uintptr // the first device's primary context, current on the thread
}

// load loads a copy of the double of its own with the settings. The test's
// goroutine stays locked to its thread.
func load(t *testing.T, settings string) *rig {
	t.Helper()
	path := filepath.Join(t.TempDir(), "libcuda.so.1")
	text, err := os.ReadFile(Build(t))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, text, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv(Settings, settings)
	lib, err := dl.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	runtime.LockOSThread()
	t.Cleanup(runtime.UnlockOSThread)
	return &rig{t: t, lib: lib}
}

// open is load, cuInit and the primary context of device 0.
func open(t *testing.T, settings string) *rig {
	t.Helper()
	r := load(t, settings)
	r.must("cuInit", 0)
	r.ctx = r.out("cuDevicePrimaryCtxRetain", 0)
	r.must("cuCtxSetCurrent", r.ctx)
	return r
}

//go:uintptrescapes
func (r *rig) call(name string, args ...uintptr) int32 {
	fn, err := r.lib.Lookup(name)
	if err != nil {
		r.t.Helper()
		r.t.Fatal(err)
	}
	return int32(dl.Call(fn, args...))
}

// must calls a function that has to succeed.
//
//go:uintptrescapes
func (r *rig) must(name string, args ...uintptr) { r.want(0, name, args...) }

// want calls a function that has to return a code.
//
//go:uintptrescapes
func (r *rig) want(code int32, name string, args ...uintptr) {
	r.t.Helper()
	if got := r.call(name, args...); got != code {
		r.t.Fatalf("%s = %d, want %d", name, got, code)
	}
}

// out calls a function whose first argument is where its 64-bit result goes.
//
//go:uintptrescapes
func (r *rig) out(name string, args ...uintptr) uintptr {
	r.t.Helper()
	v := new(uintptr)
	var pin runtime.Pinner
	pin.Pin(v)
	defer pin.Unpin()
	r.must(name, append([]uintptr{uintptr(unsafe.Pointer(v))}, args...)...)
	return *v
}

// num is out for a 32-bit result.
//
//go:uintptrescapes
func (r *rig) num(name string, args ...uintptr) int32 {
	r.t.Helper()
	v := new(int32)
	var pin runtime.Pinner
	pin.Pin(v)
	defer pin.Unpin()
	r.must(name, append([]uintptr{uintptr(unsafe.Pointer(v))}, args...)...)
	return *v
}

// alloc is device memory that holds the bytes.
func (r *rig) alloc(data []byte) uintptr {
	r.t.Helper()
	p := r.out("cuMemAlloc_v2", uintptr(len(data)))
	r.must("cuMemcpyHtoD_v2", p, uintptr(unsafe.Pointer(&data[0])), uintptr(len(data)))
	return p
}

// read gets n bytes of device memory.
func (r *rig) read(p uintptr, n int) []byte {
	r.t.Helper()
	data := make([]byte, n)
	r.must("cuMemcpyDtoH_v2", uintptr(unsafe.Pointer(&data[0])), p, uintptr(n))
	return data
}

// count is a counter of the double.
func (r *rig) count(what string) int {
	text := append([]byte(what), 0)
	return int(r.call("tandemDoubleCount", uintptr(unsafe.Pointer(&text[0]))))
}

func (r *rig) set(rules string) {
	r.t.Helper()
	text := append([]byte(rules), 0)
	r.must("tandemDoubleSet", uintptr(unsafe.Pointer(&text[0])))
}

// ptr is the address of what lives on the heap for the whole test.
func ptr[T any](p *T) uintptr {
	kept.Store(p, true)
	return uintptr(unsafe.Pointer(p))
}

// kept holds what C was given the address of.
var kept sync.Map
