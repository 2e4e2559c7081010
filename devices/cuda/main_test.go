package cuda

import (
	"fmt"
	"os"
	"testing"

	"github.com/tandemrun/tandem/devices/cuda/cudatest"
	"github.com/tandemrun/tandem/devices/devicetest"
)

// TestMain lets the test program be its own probe child, and has the double
// show two GPUs unless the tests run on real ones.
func TestMain(m *testing.M) {
	if os.Getenv(cudatest.Settings) == "" {
		os.Setenv(cudatest.Settings, "devices=2")
	}
	if RunProbeChild() {
		return
	}
	dir, err := os.MkdirTemp("", "tandem-cuda-test-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	cacheDir = dir
	code := m.Run()
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

// cacheDir keeps what the tests compile out of the user's caches.
var cacheDir string

// realVariable makes the tests run on the machine's GPUs in place of the
// double.
const realVariable = "TANDEM_CUDA_TEST_GPU"

// need is a driver for the double, or for the machine's GPUs.
func need(t testing.TB) *Driver {
	t.Helper()
	d, name := &Driver{CacheDir: cacheDir}, backend
	if os.Getenv(realVariable) == "" {
		d.Library, name = cudatest.Build(t), cudatest.Require
	}
	devicetest.Require(t, name, d.Probe(t.Context()).Reason)
	return d
}

// needCompiler is need where NVRTC is there too.
func needCompiler(t testing.TB) *Driver {
	t.Helper()
	return withCompiler(t, need(t))
}
