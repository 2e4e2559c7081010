package main_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	tandem "github.com/tandemrun/tandem/runtime"

	"github.com/tandemrun/tandem/devices/all"
	"github.com/tandemrun/tandem/devices/devicetest"
	"github.com/tandemrun/tandem/devices/opencl"
	"github.com/tandemrun/tandem/devices/sycl"
	"github.com/tandemrun/tandem/runtime/pipeline"
)

func TestMain(m *testing.M) {
	if opencl.RunProbeChild() || sycl.RunProbeChild() {
		return
	}
	os.Exit(m.Run())
}

// want is the SHA-256 of the pixels of edges.png, one byte each. It changes
// when a kernel or the reader of JPEG files changes what it does.
const want = "dbdd1b7ea2fd04a47636e36818a4ee268612db9899203497c4c1e4291a9e17a6"

func TestEdges(t *testing.T) {
	var file string
	for _, selector := range []string{"cpu", "opencl", "cpu,opencl"} {
		t.Run(selector, func(t *testing.T) {
			devicetest.CheckGoroutines(t)
			dir := t.TempDir()
			for _, name := range []string{pipeline.FileName, "hubble_deep_field.jpg"} {
				b, err := os.ReadFile(name)
				if err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(filepath.Join(dir, name), b, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
			defer cancel()
			s, err := tandem.Open(ctx, tandem.Config{Drivers: all.Drivers(), Devices: selector})
			if strings.Contains(selector, "opencl") {
				devicetest.Require(t, "opencl", err)
			}
			if err != nil {
				t.Fatal(err)
			}
			defer func() {
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			}()
			p, err := pipeline.Load(dir, pipeline.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if w := p.Warnings(); len(w) > 0 {
				t.Errorf("warnings: %v", w)
			}
			b, err := p.Build(ctx, s)
			if err != nil {
				t.Fatal(err)
			}
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
			if len(outputs) != 1 || outputs[0].Buffer != "edges" {
				t.Fatalf("outputs %+v, want that of edges", outputs)
			}
			if file == "" {
				file = outputs[0].SHA256
			} else if file != outputs[0].SHA256 {
				t.Errorf("SHA-256 of the file %s, on the cpu %s", outputs[0].SHA256, file)
			}
			check(t, filepath.Join(dir, "edges.png"))
		})
	}
}

// check looks at the picture: its size, that it is black and white, and that
// some of it, not most, is edge.
func check(t *testing.T, path string) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	img, err := png.Decode(f)
	if err != nil {
		t.Fatal(err)
	}
	size := img.Bounds().Size()
	if size.X != 1000 || size.Y != 872 {
		t.Fatalf("the picture has %v pixels, want (1000,872)", size)
	}
	white := 0
	pixels := make([]byte, 0, size.X*size.Y)
	for y := range size.Y {
		for x := range size.X {
			v, _, _, _ := img.At(x, y).RGBA()
			pixels = append(pixels, byte(v>>8))
			switch v {
			case 0:
			case 0xffff:
				white++
			default:
				t.Fatalf("pixel (%d, %d) is neither black nor white", x, y)
			}
		}
	}
	if got := fmt.Sprintf("%x", sha256.Sum256(pixels)); got != want {
		t.Errorf("SHA-256 of the pixels %s, want %s", got, want)
	}
	if share := float64(white) / float64(size.X*size.Y); share < 0.02 || share > 0.3 {
		t.Errorf("%.1f %% of the pixels are edge", 100*share)
	}
}
