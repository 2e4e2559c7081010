// Command edges-go is the pipeline of examples/edges as a Go program: the edges
// of a photograph, in integer arithmetic, so that every device gives the same
// picture.
//
//	go run ./examples/edges-go [PHOTO.jpg [RESULT.png]]
package main

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/devices/all"
	"github.com/tandemrun/tandem/kernels/library"
	tandem "github.com/tandemrun/tandem/runtime"
	"github.com/tandemrun/tandem/runtime/arrayfile"
)

func main() {
	in, out := "examples/edges/hubble_deep_field.jpg", "edges.png"
	if len(os.Args) > 1 {
		in = os.Args[1]
	}
	if len(os.Args) > 2 {
		out = os.Args[2]
	}
	if err := run(context.Background(), in, out); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, in, out string) error {
	header, err := arrayfile.Stat(in, arrayfile.Options{})
	if err != nil {
		return err
	}
	if len(header.Shape) != 3 || header.DType != devices.Uint8 {
		return fmt.Errorf("%s: want a colour picture of 8 bits", in)
	}
	h, w, channels := int(header.Shape[0]), int(header.Shape[1]), int(header.Shape[2])

	s, err := tandem.Open(ctx, tandem.Config{Drivers: all.Drivers()})
	if err != nil {
		return err
	}
	defer s.Close()
	photo := tandem.NewSlice[uint8](s, h, w, channels)
	err = photo.Update(ctx, func(pixels []uint8) error {
		_, err := arrayfile.Read(in, arrayfile.Options{}, func(arrayfile.Header) ([]byte, error) { return pixels, nil })
		return err
	})
	if err != nil {
		return err
	}
	gray, blurred := tandem.NewSlice[uint8](s, h, w), tandem.NewSlice[uint8](s, h, w)
	slope, edges := tandem.NewSlice[uint8](s, h, w), tandem.NewSlice[uint8](s, h, w)

	g := tandem.NewGraph().Named("edges")
	g.Add(library.ImageGray, photo, gray)
	g.Add(library.ImageBlur, gray, blurred)
	g.Add(library.ImageSobel, blurred, slope)
	g.Add(library.ImageThreshold, slope, edges, tandem.Named("level", 48))
	if err := s.Run(ctx, g); err != nil {
		return err
	}
	return edges.Read(ctx, func(pixels []uint8) error {
		h := arrayfile.Header{DType: devices.Uint8, Shape: []int64{int64(h), int64(w)}}
		return arrayfile.Write(out, h, pixels, arrayfile.Options{})
	})
}
