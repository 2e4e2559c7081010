package sycl

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/tandemrun/tandem/devices/internal/buildcache"
)

// TestMain lets the test program be its own probe child, and keeps what the
// tests compile out of the user's cache, except the shim itself: building that
// takes a while.
func TestMain(m *testing.M) {
	if RunProbeChild() {
		return
	}
	dir, err := os.MkdirTemp("", "tandem-sycl-test-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if old := buildcache.Dir(); old != "" {
		_ = os.MkdirAll(filepath.Join(old, "sycl"), 0o700)
		_ = os.Symlink(filepath.Join(old, "sycl"), filepath.Join(dir, "sycl"))
	}
	os.Setenv(buildcache.DirVariable, dir)
	code := m.Run()
	_ = os.RemoveAll(dir)
	os.Exit(code)
}
