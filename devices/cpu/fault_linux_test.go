package cpu_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/devices/devicetest"
)

func cpuTime(t *testing.T) time.Duration {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// TestIdle measures what workers that have nothing to do cost.
func TestIdle(t *testing.T) {
	devicetest.CheckGoroutines(t)
	_, q, k := opened(t, 16, nothing)
	if _, err := run(t, q, k, 1000); err != nil {
		t.Fatal(err)
	}
	const over = 300 * time.Millisecond
	least := time.Hour
	for range 3 { // the runtime's own housekeeping may fall into one
		before := cpuTime(t)
		<-time.After(over)
		least = min(least, cpuTime(t)-before)
	}
	if least > over/20 {
		t.Errorf("16 idle workers used %v of processor time in %v", least, over)
	}
}

// TestFault takes the pages away from under a kernel and a copy: they fail,
// the process lives.
func TestFault(t *testing.T) {
	devicetest.CheckGoroutines(t)
	name := filepath.Join(t.TempDir(), "data")
	page := os.Getpagesize()
	if err := os.WriteFile(name, make([]byte, page), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	mem, err := syscall.Mmap(int(f.Fd()), 0, page, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
	if err != nil {
		t.Skipf("cannot map a file: %v", err)
	}
	defer func() { _ = syscall.Munmap(mem) }()

	d, q, k := opened(t, 2, func(r devices.Range, a *devices.Args) { a.Bytes(0)[r.Lo[0]]++ })
	m, _ := devices.As[devices.HostMapper](d)
	b, err := m.ImportHost(mem)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = b.Free() }()
	if _, err := run(t, q, k, 1, devices.Arg{Buffer: b}); err != nil || mem[0] != 1 {
		t.Fatalf("the mapped file holds %d, error %v", mem[0], err)
	}
	if err := f.Truncate(0); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		_, err := run(t, q, k, 1, devices.Arg{Buffer: b})
		if err == nil || !strings.Contains(err.Error(), "kernel f") || !strings.Contains(err.Error(), "memory address") {
			t.Fatalf("a kernel on pages that are gone gave %v", err)
		}
		ev, err := q.Copy(&devices.Copy{Kind: devices.DeviceToHost, Src: b, Host: make([]byte, 8), Size: 8}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := devices.Wait(t.Context(), ev); err == nil || !strings.Contains(err.Error(), "Copy of 8 bytes") {
			t.Fatalf("a copy of pages that are gone gave %v", err)
		}
		ev.Release()
	}
}
