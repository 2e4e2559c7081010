package main

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"testing"

	"github.com/tandemrun/tandem/runtime/arrayfile"
)

// TestRun holds the picture's pixels, which every device gives, and that nothing
// is written where the input is no picture.
func TestRun(t *testing.T) {
	out := filepath.Join(t.TempDir(), "edges.png")
	if err := run(t.Context(), "../edges/hubble_deep_field.jpg", out); err != nil {
		t.Fatal(err)
	}
	var pixels []byte
	h, err := arrayfile.Read(out, arrayfile.Options{}, func(h arrayfile.Header) ([]byte, error) {
		n, err := h.Bytes()
		pixels = make([]byte, n)
		return pixels, err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(h.Shape) != 2 || h.Shape[0] != 872 || h.Shape[1] != 1000 {
		t.Fatalf("picture is %v", h)
	}
	sum := sha256.Sum256(pixels)
	const want = "dbdd1b7ea2fd04a4"
	if got := hex.EncodeToString(sum[:8]); got != want {
		t.Errorf("pixels hash to %s, want %s", got, want)
	}
	text := filepath.Join(t.TempDir(), "text.jpg")
	if err := os.WriteFile(text, []byte("no picture"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := run(t.Context(), text, filepath.Join(t.TempDir(), "none.png")); err == nil {
		t.Error("a text file was taken for a picture")
	}
}
