package opencl

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// TestMain lets the test program be its own probe child, and keeps what the
// tests compile out of the user's caches. PoCL reads its folder when it is
// loaded, so all tests of one run share it.
func TestMain(m *testing.M) {
	if RunProbeChild() {
		return
	}
	dir, err := os.MkdirTemp("", "tandem-opencl-test-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	for name, value := range map[string]string{
		"TANDEM_CACHE_DIR": filepath.Join(dir, "tandem"),
		"POCL_CACHE_DIR":   filepath.Join(dir, "pocl"),
	} {
		if _, set := os.LookupEnv(name); !set || name == "TANDEM_CACHE_DIR" {
			os.Setenv(name, value)
		}
	}
	_ = os.MkdirAll(os.Getenv("POCL_CACHE_DIR"), 0o700)
	code := m.Run()
	_ = os.RemoveAll(dir)
	os.Exit(code)
}
