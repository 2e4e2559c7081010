package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/devices/cpu"
	"github.com/tandemrun/tandem/kernels/library"
	tandem "github.com/tandemrun/tandem/runtime"
)

// TestRun compares the film with its first frame, by itself on the cpu: the
// square moves, but its edge stays as long as it is.
func TestRun(t *testing.T) {
	if x, y := corner(frames - 1); x+side+10 > width || y+side+10 > height {
		t.Fatalf("the square leaves the picture: its last corner is (%d, %d)", x, y)
	}
	s, err := tandem.Open(t.Context(), tandem.Config{Drivers: []devices.Driver{cpu.Driver{}}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	a, b := tandem.NewSlice[uint8](s, height, width), tandem.NewSlice[uint8](s, height, width)
	if err := a.Update(t.Context(), func(pixels []byte) error { draw(0, pixels); return nil }); err != nil {
		t.Fatal(err)
	}
	g := tandem.NewGraph()
	g.Add(library.ImageBlur, a, b)
	g.Add(library.ImageSobel, b, a)
	g.Add(library.ImageThreshold, a, b, tandem.Named("level", 48))
	if err := s.Run(t.Context(), g); err != nil {
		t.Fatal(err)
	}
	pixels, err := b.Values(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	edge := 0
	for _, v := range pixels {
		if v != 0 {
			edge++
		}
	}
	if edge < 4*(side-2) || edge > 4*8*side {
		t.Fatalf("%d pixels of a frame are edge, for a square of side %d", edge, side)
	}
	var out strings.Builder
	if err := run(t.Context(), &out); err != nil {
		t.Fatal(err)
	}
	if want := fmt.Sprintf("40 frames of 160x120, %d pixels are edge\n", frames*edge); out.String() != want {
		t.Errorf("got %q, want %q", out.String(), want)
	}
}
