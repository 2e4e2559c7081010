// Command fpga-edges finds the edges of a photograph with every step split by
// rows over all processors: the host's cores, the OpenCL devices there are, and
// two emulated FPGAs that run the same steps as Verilog kernels. The picture is
// the same bit for bit however the rows are shared out.
//
//	go run ./examples/fpga-edges [PHOTO.jpg [RESULT.png]]
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/devices/all"
	"github.com/tandemrun/tandem/devices/fpga"
	"github.com/tandemrun/tandem/kernels/library"
	"github.com/tandemrun/tandem/kernels/rtl/builtin"
	tandem "github.com/tandemrun/tandem/runtime"
	"github.com/tandemrun/tandem/runtime/arrayfile"
)

func main() {
	in, result := "examples/edges/hubble_deep_field.jpg", "edges.png"
	if len(os.Args) > 1 {
		in = os.Args[1]
	}
	if len(os.Args) > 2 {
		result = os.Args[2]
	}
	if err := run(context.Background(), in, result, os.Stdout); err != nil {
		log.Fatal(err)
	}
}

// drivers are all drivers with f as the one for FPGAs.
func drivers(f *fpga.Driver) []devices.Driver {
	list := []devices.Driver{}
	for _, d := range all.Drivers() {
		if d.Name() != f.Name() {
			list = append(list, d)
		}
	}
	return append(list, f)
}

func run(ctx context.Context, in, result string, out io.Writer) error {
	header, err := arrayfile.Stat(in, arrayfile.Options{})
	if err != nil {
		return err
	}
	if len(header.Shape) != 3 || header.DType != devices.Uint8 {
		return fmt.Errorf("%s: want a colour picture of 8 bits", in)
	}
	h, w, channels := int(header.Shape[0]), int(header.Shape[1]), int(header.Shape[2])

	f := &fpga.Driver{}
	s, err := tandem.Open(ctx, tandem.Config{Drivers: drivers(f), Devices: "cpu,kind=cpu,fpga"})
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

	// An eighth of the rows for each FPGA, the rest in equal parts for others.
	var shares []float64
	for _, d := range s.Devices() {
		share := 0.75 / float64(len(s.Devices())-2)
		if d.Kind == devices.KindFPGA {
			share = 0.125
		}
		shares = append(shares, share)
	}
	g := tandem.NewGraph().Named("fpga-edges")
	g.Add(builtin.Extend(library.ImageGray), photo, gray).Split(shares...)
	g.Add(builtin.Extend(library.ImageBlur), gray, blurred).Split(shares...)
	g.Add(builtin.Extend(library.ImageSobel), blurred, slope).Split(shares...)
	g.Add(builtin.Extend(library.ImageThreshold), slope, edges, tandem.Named("level", 48)).Split(shares...)
	if err := s.Run(ctx, g); err != nil {
		return err
	}
	for _, d := range f.Totals() {
		for _, k := range d.Kernels {
			fmt.Fprintf(out, "%s %-15s %8d words in, %7d out, %8d cycles, %.2f words per cycle, %v at %.0f MHz\n",
				d.Device, k.Kernel, k.WordsIn, k.WordsOut, k.Cycles, k.WordsPerCycle(), k.Modelled, k.ClockMHz)
		}
	}
	return edges.Read(ctx, func(pixels []uint8) error {
		h := arrayfile.Header{DType: devices.Uint8, Shape: []int64{int64(h), int64(w)}}
		return arrayfile.Write(result, h, pixels, arrayfile.Options{})
	})
}
