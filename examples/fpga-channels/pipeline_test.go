package main_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/devices/all"
	"github.com/tandemrun/tandem/devices/devicetest"
	"github.com/tandemrun/tandem/devices/fpga"
	tandem "github.com/tandemrun/tandem/runtime"
	"github.com/tandemrun/tandem/runtime/arrayfile"
	"github.com/tandemrun/tandem/runtime/pipeline"
)

// TestPipeline holds the three kernels' results to those of a loop, and that
// they ran on an FPGA that nobody had to name.
func TestPipeline(t *testing.T) {
	if fpga.VendorEmulation() == nil {
		devicetest.Require(t, "fpga-emu", errors.New("Intel's FPGA emulation is not installed"))
	}
	dir := t.TempDir()
	for _, name := range []string{pipeline.FileName, "stages.cl"} {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	const n, level = 3000, 500
	p, err := pipeline.Load(dir, pipeline.Options{Set: []string{"n=3000"}})
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	s, err := tandem.Open(ctx, tandem.Config{Drivers: all.Drivers(), Emulate: p.Asks})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	b, err := p.Build(ctx, s)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Run(ctx, b.Graph); err != nil {
		t.Fatal(err)
	}
	if _, err := b.WriteOutputs(ctx); err != nil {
		t.Fatal(err)
	}
	for _, d := range s.Stats() {
		want := int64(0)
		if strings.HasPrefix(d.ID, "fpga:") {
			want = 3
		}
		if d.Tasks != want {
			t.Errorf("%s ran %d tasks, want %d", d.ID, d.Tasks, want)
		}
	}
	smoothed, above := numbers(t, filepath.Join(dir, "smoothed.npy")), numbers(t, filepath.Join(dir, "above.npy"))
	if len(smoothed) != n || len(above) != 1 {
		t.Fatalf("%d means and %d counts, want %d and 1", len(smoothed), len(above), n)
	}
	count := int32(0)
	for i := range n {
		sum := 0
		for k := max(i-7, 0); k <= i; k++ {
			sum += k * k % 1000
		}
		mean := int32(sum / 8)
		if mean >= level {
			count++
		}
		if smoothed[i] != mean {
			t.Fatalf("mean %d is %d, want %d", i, smoothed[i], mean)
		}
	}
	if above[0] != count || count == 0 {
		t.Errorf("%d means above the level, want %d", above[0], count)
	}
}

func numbers(t *testing.T, file string) []int32 {
	t.Helper()
	var mem []byte
	if _, err := arrayfile.Read(file, arrayfile.Options{}, func(h arrayfile.Header) ([]byte, error) {
		n, err := h.Bytes()
		mem = make([]byte, n)
		return mem, err
	}); err != nil {
		t.Fatal(err)
	}
	return devices.View[int32](mem)
}
