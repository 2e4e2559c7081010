package main

import (
	"crypto/sha256"
	"encoding/hex"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tandemrun/tandem/devices/devicetest"
	"github.com/tandemrun/tandem/devices/fpga"
	"github.com/tandemrun/tandem/runtime/arrayfile"
)

// TestRun holds the picture's pixels to those that examples/edges-go gives,
// and that both FPGAs had a part in every step.
func TestRun(t *testing.T) {
	devicetest.Require(t, "fpga", (&fpga.Driver{}).Probe(t.Context()).Reason)
	out := filepath.Join(t.TempDir(), "edges.png")
	var said strings.Builder
	if err := run(t.Context(), "../edges/hubble_deep_field.jpg", out, &said); err != nil {
		t.Fatal(err)
	}
	var pixels []byte
	_, err := arrayfile.Read(out, arrayfile.Options{}, func(h arrayfile.Header) ([]byte, error) {
		n, err := h.Bytes()
		pixels = make([]byte, n)
		return pixels, err
	})
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(pixels)
	const want = "dbdd1b7ea2fd04a4"
	if got := hex.EncodeToString(sum[:8]); got != want {
		t.Errorf("pixels hash to %s, want %s", got, want)
	}
	for _, device := range []string{"fpga:0", "fpga:1"} {
		for _, kernel := range []string{"image.gray", "image.blur", "image.sobel", "image.threshold"} {
			found := false
			for line := range strings.Lines(said.String()) {
				f := strings.Fields(line)
				found = found || f[0] == device && f[1] == kernel && f[2] != "0" && strings.Contains(line, "at 100 MHz")
			}
			if !found {
				t.Errorf("%s ran no %s:\n%s", device, kernel, said.String())
			}
		}
	}
}
