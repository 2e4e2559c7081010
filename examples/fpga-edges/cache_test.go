package main

import (
	"fmt"
	"os"
	"testing"
)

// TestMain keeps what the tests build out of the user's caches; both share it.
func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "tandem-fpga-edges-")
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
