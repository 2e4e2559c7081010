// Command pipelineparallel finds the edges in the frames of a film: each device
// does some of the steps, frame after frame, all at the same time, in memory
// for a few frames however long the film is.
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/devices/all"
	"github.com/tandemrun/tandem/kernels"
	"github.com/tandemrun/tandem/kernels/library"
	tandem "github.com/tandemrun/tandem/runtime"
	"github.com/tandemrun/tandem/runtime/strategy"
)

const (
	frames        = 40
	height, width = 120, 160
	side          = 20 // of a white square that moves over black
)

// corner is where the square of a frame is.
func corner(frame int) (x, y int) { return 10 + 2*frame, 10 + frame }

// draw fills in a frame.
func draw(frame int, pixels []byte) {
	clear(pixels)
	left, top := corner(frame)
	for y := top; y < top+side; y++ {
		for x := left; x < left+side; x++ {
			pixels[y*width+x] = 255
		}
	}
}

// edges are the steps of a frame.
func edges() []strategy.Stage {
	return []strategy.Stage{
		{Kernel: library.ImageBlur},
		{Kernel: library.ImageSobel},
		{Kernel: library.ImageThreshold, Args: func(in, out *tandem.Buffer) []any {
			return []any{in, out, tandem.Named("level", 48)}
		}},
	}
}

func main() {
	if err := run(context.Background(), os.Stdout); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, out io.Writer) error {
	s, err := tandem.Open(ctx, tandem.Config{Drivers: all.Drivers()})
	if err != nil {
		return err
	}
	defer s.Close()

	// A rehearsal with one frame: the layout is only as good as the predictions.
	one, result := tandem.NewSlice[uint8](s, height, width), tandem.NewSlice[uint8](s, height, width)
	rehearsal := tandem.NewGraph()
	between, err := strategy.DataParallel(s, rehearsal, edges(), []*tandem.Buffer{one.Buffer()}, []*tandem.Buffer{result.Buffer()})
	if err != nil {
		return err
	}
	if err := strategy.WarmUp(ctx, s, rehearsal); err != nil {
		return err
	}
	if err := between.Free(); err != nil {
		return err
	}

	frame := kernels.Array{DType: devices.Uint8, Shape: []int64{height, width}}
	p, err := strategy.PipelineParallel(ctx, s, edges(), frame, 0)
	if err != nil {
		return err
	}
	feed := func(i int, pixels []byte) (bool, error) {
		if i == frames {
			return false, nil
		}
		draw(i, pixels)
		return true, nil
	}
	seen, total := 0, 0
	take := func(i int, pixels []byte) error {
		if i != seen {
			return fmt.Errorf("frame %d came after %d others", i, seen)
		}
		seen++
		for _, v := range pixels {
			if v != 0 {
				total++
			}
		}
		return nil
	}
	if err := p.Stream(ctx, feed, take); err != nil {
		return err
	}
	fmt.Fprintf(out, "%d frames of %dx%d, %d pixels are edge\n", seen, width, height, total)
	return p.Free()
}
