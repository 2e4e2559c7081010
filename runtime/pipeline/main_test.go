package pipeline

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	tandem "github.com/tandemrun/tandem/runtime"

	"github.com/tandemrun/tandem/devices/all"
	"github.com/tandemrun/tandem/devices/cuda"
	"github.com/tandemrun/tandem/devices/devicetest"
	"github.com/tandemrun/tandem/devices/opencl"
	"github.com/tandemrun/tandem/devices/sycl"
	"github.com/tandemrun/tandem/runtime/arrayfile"
)

func TestMain(m *testing.M) {
	if opencl.RunProbeChild() || sycl.RunProbeChild() || cuda.RunProbeChild() {
		return
	}
	// Three devices, where PoCL is the runtime, for what is split. PoCL reads
	// it when it is loaded.
	if os.Getenv("POCL_DEVICES") == "" {
		_ = os.Setenv("POCL_DEVICES", "pthread pthread basic")
	}
	os.Exit(m.Run())
}

// testContext ends before the test binary's own time limit would hide which
// wait hung.
func testContext(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// openSession opens the selected devices; a test that wants OpenCL is skipped
// where there is none.
func openSession(t *testing.T, selector string) *tandem.Session {
	t.Helper()
	s, err := tandem.Open(testContext(t), tandem.Config{Drivers: all.Drivers(), Devices: selector})
	if strings.Contains(selector, "opencl") {
		devicetest.Require(t, "opencl", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// caseCopy copies the files of a case to a folder that the test may write to.
func caseCopy(t *testing.T, name string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(filepath.Join("testdata", "cases", name))); err != nil {
		t.Fatal(err)
	}
	return dir
}

// write puts a file into a folder and returns its path.
func write(t *testing.T, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// run runs a pipeline in a session and returns its outputs.
func run(t *testing.T, s *tandem.Session, p *Pipeline) []Output {
	t.Helper()
	ctx := testContext(t)
	b, err := p.Build(ctx, s)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := b.Free(); err != nil {
			t.Error(err)
		}
	}()
	r, err := s.Submit(ctx, b.Graph)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Wait(ctx); err != nil {
		t.Fatal(err)
	}
	outputs, err := b.WriteOutputs(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return outputs
}

// numbers reads an array file as float64 values.
func numbers(t *testing.T, path string) ([]float64, []int64) {
	t.Helper()
	var mem []byte
	h, err := arrayfile.Read(path, arrayfile.Options{}, func(h arrayfile.Header) ([]byte, error) {
		n, err := h.Bytes()
		mem = make([]byte, n)
		return mem, err
	})
	if err != nil {
		t.Fatal(err)
	}
	return decode(t, h.DType, mem), h.Shape
}
