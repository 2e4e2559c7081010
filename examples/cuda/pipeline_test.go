package cuda_test

import (
	"context"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"testing"
	"time"

	tandem "github.com/tandemrun/tandem/runtime"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/devices/cpu"
	"github.com/tandemrun/tandem/devices/cuda"
	"github.com/tandemrun/tandem/devices/cuda/cudatest"
	"github.com/tandemrun/tandem/devices/cuda/nvrtc"
	"github.com/tandemrun/tandem/devices/devicetest"
	"github.com/tandemrun/tandem/runtime/pipeline"
)

const (
	width, height = 320, 240
	limit, level  = 255, 24
)

// reference is the picture as Go computes it.
func reference() [height][width]uint8 {
	var shade, out [height][width]uint8
	for y := range height {
		for x := range width {
			re, im := (float32(x)-width*0.5)*(float32(3)/width), (float32(y)-height*0.5)*(float32(2)/height)
			n := 0
			// The conversions keep Go from fusing a product with a sum.
			for n < limit && float32(re*re)+float32(im*im) < 4 {
				next := float32(float32(re*re)-float32(im*im)) - 0.8
				im = float32(float32(2*re)*im) + 0.156
				re = next
				n++
			}
			shade[y][x] = uint8(min(4*n, 255))
		}
	}
	at := func(y, x int) int { return int(shade[min(max(y, 0), height-1)][min(max(x, 0), width-1)]) }
	for y := range height {
		for x := range width {
			gx := at(y-1, x+1) + 2*at(y, x+1) + at(y+1, x+1) - at(y-1, x-1) - 2*at(y, x-1) - at(y+1, x-1)
			gy := at(y+1, x-1) + 2*at(y+1, x) + at(y+1, x+1) - at(y-1, x-1) - 2*at(y-1, x) - at(y-1, x+1)
			if gx*gx+gy*gy >= level*level {
				out[y][x] = 255
			}
		}
	}
	return out
}

func TestJulia(t *testing.T) {
	driver := &cuda.Driver{Library: cudatest.Build(t)}
	devicetest.Require(t, cudatest.Require, driver.Probe(t.Context()).Reason)
	_, err := nvrtc.Open(nvrtc.Options{})
	devicetest.Require(t, "nvrtc", err)
	dir := t.TempDir()
	for _, name := range []string{pipeline.FileName, "kernels/julia.cu", "kernels/shade.cl"} {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), 4*time.Minute)
	defer cancel()
	s, err := tandem.Open(ctx, tandem.Config{Drivers: []devices.Driver{cpu.Driver{}, driver}, Devices: "cpu,cuda"})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
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
	if _, err := b.WriteOutputs(ctx); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(filepath.Join(dir, "julia.png"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	decoded, err := png.Decode(f)
	if err != nil {
		t.Fatal(err)
	}
	picture, ok := decoded.(*image.Gray)
	if !ok || picture.Bounds() != image.Rect(0, 0, width, height) {
		t.Fatalf("julia.png is a %T of %v", decoded, decoded.Bounds())
	}
	want, wrong, white := reference(), 0, 0
	for y := range height {
		for x := range width {
			if picture.GrayAt(x, y).Y != want[y][x] {
				wrong++
			}
			if want[y][x] == 255 {
				white++
			}
		}
	}
	if wrong > 0 || white < 1000 || white > width*height/2 {
		t.Errorf("%d of %d pixels differ from Go's, of which %d are white", wrong, width*height, white)
	}
}
