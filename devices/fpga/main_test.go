package fpga

import (
	"fmt"
	"os"
	"testing"
)

// TestMain keeps what the tests build out of the user's caches; all tests of
// one run share it.
func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "tandem-fpga-test-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	cache := dir
	if kept := os.Getenv("TANDEM_FPGA_TEST_CACHE"); kept != "" {
		cache = kept // builds are kept from run to run
	}
	os.Setenv("TANDEM_CACHE_DIR", cache)
	os.Unsetenv(StallVariable)
	os.Unsetenv(CheckVariable)
	code := m.Run()
	_ = os.RemoveAll(dir)
	os.Exit(code)
}
