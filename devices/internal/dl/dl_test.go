package dl

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
	"unsafe"
)

const stub = `
#include <stdint.h>
#include <string.h>
const char *stub_name(void) { return "stub"; }
int64_t stub_sum(int64_t a, int64_t b, int64_t c, int64_t d, int64_t e, int64_t f, int64_t g, int64_t h, int64_t i)
{ return a + 2*b + 3*c + 4*d + 5*e + 6*f + 7*g + 8*h + 9*i; }
int32_t stub_store(int32_t *p, int32_t v) { *p = v; return -v; }
void stub_call(void (*fn)(void *, int32_t), void *user, int32_t n) { for (int32_t i = 0; i < n; i++) fn(user, i); }
`

// buildStub compiles a library of C functions, so that no vendor library is
// needed to test the loading.
func buildStub(t *testing.T, source string, args ...string) string {
	t.Helper()
	cc, err := exec.LookPath("cc")
	if err != nil || runtime.GOOS == "windows" {
		t.Skip("no C compiler: the stub library cannot be built")
	}
	dir := t.TempDir()
	src, lib := filepath.Join(dir, "stub.c"), filepath.Join(dir, "libstub.so")
	if err := os.WriteFile(src, []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(cc, append([]string{"-shared", "-fPIC", "-o", lib, src}, args...)...).CombinedOutput(); err != nil {
		t.Fatalf("cc: %v\n%s", err, out)
	}
	return lib
}

func TestOpenCall(t *testing.T) {
	path := buildStub(t, stub)
	l, err := Open("libtandem-does-not-exist.so.9", path)
	if err != nil {
		t.Fatal(err)
	}
	if l.Name() != path || l.Path() != path {
		t.Errorf("name %q, path %q, want %q", l.Name(), l.Path(), path)
	}
	fn := func(name string) uintptr {
		p, err := l.Lookup(name)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	if got := Text(Call(fn("stub_name"))); got != "stub" {
		t.Errorf("stub_name() = %q", got)
	}
	if got := Call(fn("stub_sum"), 1, 2, 3, 4, 5, 6, 7, 8, 9); got != 285 {
		t.Errorf("stub_sum = %d, want 285", got)
	}
	var v int32
	if got := int32(Call(fn("stub_store"), uintptr(unsafe.Pointer(&v)), 77)); got != -77 || v != 77 {
		t.Errorf("stub_store returned %d and stored %d, want -77 and 77", got, v)
	}

	sum := new(int64)
	var pin runtime.Pinner
	pin.Pin(sum)
	defer pin.Unpin()
	cb := Callback(func(user *int64, i int32) uintptr { *user += int64(i); return 0 })
	Call(fn("stub_call"), cb, uintptr(unsafe.Pointer(sum)), 1000)
	calls := 0
	plain := CallbackPlain(func() { calls++ })
	args := []uintptr{plain, 0, 3}
	Call(fn("stub_call"), args...)
	if n := testing.AllocsPerRun(100, func() { CallArgs(plain, nil) }); n != 0 && !raceEnabled {
		t.Errorf("%v allocations per plain callback, want 0", n)
	}
	if calls != 104 {
		t.Errorf("%d plain callbacks, want 104", calls)
	}
	if *sum != 499500 {
		t.Errorf("callbacks summed to %d, want 499500", *sum)
	}
}

func TestCallArgsDoesNotAllocate(t *testing.T) {
	l, err := Open(buildStub(t, stub))
	if err != nil {
		t.Fatal(err)
	}
	fn, err := l.Lookup("stub_sum")
	if err != nil {
		t.Fatal(err)
	}
	args := []uintptr{1, 2, 3, 4, 5, 6, 7, 8, 9}
	if n := testing.AllocsPerRun(1000, func() {
		if got := CallArgs(fn, args); got != 285 {
			t.Errorf("stub_sum = %d, want 285", got)
		}
	}); n != 0 && !raceEnabled {
		t.Errorf("%v allocations per call, want 0", n)
	}
}

func TestMissing(t *testing.T) {
	_, err := Open("libtandem-a.so", "", "libtandem-b.so")
	var open *OpenError
	if !errors.As(err, &open) || !errors.Is(err, ErrNoLibrary) {
		t.Fatalf("got %v, want an *OpenError", err)
	}
	if len(open.Attempts) != 3 || open.Attempts[2].Name != "libtandem-b.so" || open.Attempts[2].Err == nil {
		t.Errorf("attempts %+v", open.Attempts)
	}

	l, err := Open(buildStub(t, stub))
	if err != nil {
		t.Fatal(err)
	}
	p, err := l.Lookup("stub_missing")
	var sym *SymbolError
	if p != 0 || !errors.As(err, &sym) || !errors.Is(err, ErrNoSymbol) || sym.Symbol != "stub_missing" || sym.Library != l.Path() {
		t.Errorf("Lookup of a missing symbol: %#x, %v", p, err)
	}
}

func TestUnresolvedFailsAtOpen(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("other linkers refuse to build such a library")
	}
	path := buildStub(t, "int nowhere_defined(void); int f(void) { return nowhere_defined(); }")
	if _, err := Open(path); !errors.Is(err, ErrNoLibrary) {
		t.Errorf("a library with an unresolved function: got %v, want %v", err, ErrNoLibrary)
	}
}

func TestTextNull(t *testing.T) {
	if got := Text(0); got != "" {
		t.Errorf("Text(0) = %q", got)
	}
}
