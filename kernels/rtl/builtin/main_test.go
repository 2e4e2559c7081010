package builtin_test

import (
	"fmt"
	"os"
	"testing"
)

// TestMain keeps what the tests build out of the user's caches.
func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "tandem-rtl-test-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	cache := dir
	if kept := os.Getenv("TANDEM_FPGA_TEST_CACHE"); kept != "" {
		cache = kept
	}
	os.Setenv("TANDEM_CACHE_DIR", cache)
	code := m.Run()
	_ = os.RemoveAll(dir)
	os.Exit(code)
}
