// Command dataparallel passes batches of rows through two layers, on whatever
// devices there are: the same weights everywhere, each batch on one device, the
// results in the order of the batches.
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
	batches = 12
	rows    = 64 // of a batch
	width   = 96 // of a row
)

// Small whole numbers in float32: sums are exact, whatever the device.
func input(i int) float32     { return float32(i % 7) }
func first(i, j int) float32  { return float32((i + 2*j) % 3) }
func second(i, j int) float32 { return float32((2*i + j) % 5) }
func weights(f func(i, j int) float32) []float32 {
	w := make([]float32, width*width)
	for i := range w {
		w[i] = f(i/width, i%width)
	}
	return w
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

	matrix := func(rows int, v []float32) *tandem.Slice[float32] {
		m := tandem.NewSlice[float32](s, rows, width)
		if v != nil {
			err = m.Update(ctx, func(mem []float32) error { copy(mem, v); return nil })
		}
		return m
	}
	layer := func(w *tandem.Slice[float32]) strategy.Stage {
		return strategy.Stage{Kernel: library.LinalgGemm,
			Args: func(in, out *tandem.Buffer) []any { return []any{in, w, out} },
			Out: func(in *kernels.Array) kernels.Array {
				return kernels.Array{DType: devices.Float32, Shape: []int64{in.Shape[0], width}}
			}}
	}
	chain := []strategy.Stage{layer(matrix(width, weights(first))), layer(matrix(width, weights(second)))}

	var from, to []*tandem.Buffer
	for b := range batches {
		v := make([]float32, rows*width)
		for i := range v {
			v[i] = input(b*rows*width + i)
		}
		from, to = append(from, matrix(rows, v).Buffer()), append(to, matrix(rows, nil).Buffer())
	}
	if err != nil {
		return err
	}

	g := tandem.NewGraph().Named("dataparallel")
	if _, err := strategy.DataParallel(s, g, chain, from, to); err != nil {
		return err
	}
	if err := strategy.WarmUp(ctx, s, g); err != nil {
		return err
	}
	if err := s.Run(ctx, g); err != nil {
		return err
	}
	result, err := strategy.Gather[float32](ctx, to)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%d batches of %dx%d, the last value %.0f\n", batches, rows, width, result[len(result)-1])
	sum := 0.0
	for i, v := range result {
		sum += float64(i%11) * float64(v) // an order that changes changes the sum
	}
	fmt.Fprintf(out, "weighted sum %.0f\n", sum)
	return nil
}
