package cuda

import (
	"errors"
	goruntime "runtime"
	"slices"
	"testing"
	"unsafe"

	"github.com/tandemrun/tandem/devices"
)

// TestForeign: a context that somebody else made and made current keeps its
// place, and memory goes both ways.
func TestForeign(t *testing.T) {
	base := newRig(t, need(t))
	a := base.d.api
	goruntime.LockOSThread()
	defer goruntime.UnlockOSThread()
	lookup := func(name string) uintptr {
		fn, err := a.lib.Lookup(name)
		if err != nil {
			t.Fatal(err)
		}
		return fn
	}
	create, current, destroy := lookup("cuCtxCreate_v2"), lookup("cuCtxGetCurrent"), lookup("cuCtxDestroy_v2")
	ctx := new(uintptr)
	if code := a.call(create, uintptr(unsafe.Pointer(ctx)), 0, uintptr(base.d.handle)); code != success {
		t.Fatalf("cuCtxCreate: %s", symbol(code))
	}
	defer a.call(destroy, *ctx)

	driver := &Driver{Library: base.driver.Library, CacheDir: cacheDir, Context: *ctx}
	if b := driver.Probe(t.Context()); len(b.Devices) != 1 || b.Devices[0].ID != "cuda:0" || b.Devices[0].UUID != base.d.info.UUID {
		t.Fatalf("a driver for a context shows %+v (%v)", b.Devices, b.Reason)
	}
	r := newRig(t, driver)
	if got, err := ContextOf(r.d); err != nil || got != *ctx {
		t.Errorf("the device works in %#x (%v), want %#x", got, err, *ctx)
	}
	out := r.buffer([]int32{1, 2, 3, 4})
	address, err := AddressOf(out)
	if err != nil || address == 0 {
		t.Fatalf("address %#x, %v", address, err)
	}
	view, err := MemoryOf(r.d, address+4, 8)
	if err != nil {
		t.Fatal(err)
	}
	if got := r.read(view); !slices.Equal(got, []int32{2, 3}) {
		t.Errorf("8 bytes of somebody's memory hold %v, want 2 and 3", got)
	}
	if err := view.Free(); err != nil {
		t.Fatal(err)
	}
	if got := r.read(out); !slices.Equal(got, []int32{1, 2, 3, 4}) {
		t.Errorf("forgetting a view changed the memory to %v", got)
	}
	now := new(uintptr)
	if code := a.call(current, uintptr(unsafe.Pointer(now))); code != success || *now != *ctx {
		t.Errorf("after all that %#x is current, want %#x (%s)", *now, *ctx, symbol(code))
	}
	for what, err := range map[string]error{
		"a negative size":   errOf(MemoryOf(r.d, address, -1)),
		"no address":        errOf(MemoryOf(r.d, 0, 8)),
		"the whole machine": errOf(MemoryOf(r.d, address, 1<<60)),
		"no buffer":         errOf(AddressOf(nil)),
	} {
		if !errors.Is(err, devices.ErrInvalid) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if _, err := AddressOf(view); !errors.Is(err, devices.ErrClosed) {
		t.Errorf("the address of a freed buffer: %v", err)
	}
	if b := (&Driver{Library: driver.Library, Context: 0xdead0}).Probe(t.Context()); b.Available {
		t.Error("a context that is none shows a device")
	}
}

func errOf[T any](_ T, err error) error { return err }
