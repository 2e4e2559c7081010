// Command modelparallel multiplies with a matrix whose columns are divided over
// the devices: each keeps its part of the weights, the input goes to all, and
// the parts of the result are put together, bit for bit as one device has it.
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"

	"github.com/tandemrun/tandem/devices/all"
	"github.com/tandemrun/tandem/kernels/library"
	tandem "github.com/tandemrun/tandem/runtime"
	"github.com/tandemrun/tandem/runtime/strategy"
)

const (
	rows  = 96  // of the input
	inner = 256 // columns of the input, rows of the weights
	cols  = 512 // of the weights
)

// Numbers that are not exact in float32: a sum in another order would show.
func left(i, k int) float32  { return 1 / float32(1+(i+3*k)%17) }
func right(k, j int) float32 { return 1 / float32(1+(5*k+j)%23) }

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
	matrix := func(rows, cols int, f func(i, j int) float32) *tandem.Slice[float32] {
		m := tandem.NewSlice[float32](s, rows, cols)
		e := m.Update(ctx, func(v []float32) error {
			for i := range v {
				v[i] = f(i/cols, i%cols)
			}
			return nil
		})
		if err == nil {
			err = e
		}
		return m
	}
	x, w := matrix(rows, inner, left), matrix(inner, cols, right)
	if err != nil {
		return err
	}
	y := tandem.NewSlice[float32](s, rows, cols)

	rehearsal := tandem.NewGraph()
	rehearsal.Add(library.LinalgGemm, x, w, y)
	if err := strategy.WarmUp(ctx, s, rehearsal); err != nil {
		return err
	}
	weights, err := strategy.ModelParallel(ctx, s, w, rows)
	if err != nil {
		return err
	}
	g := tandem.NewGraph().Named("modelparallel")
	weights.Multiply(g, x, y)
	if err := s.Run(ctx, g); err != nil {
		return err
	}
	err = y.Read(ctx, func(v []float32) error {
		sum := float32(0)
		for _, e := range v {
			sum += e
		}
		_, err := fmt.Fprintf(out, "%dx%d times %dx%d, corner %x, sum %x\n", rows, inner, inner, cols, v[len(v)-1], sum)
		return err
	})
	if err != nil {
		return err
	}
	return weights.Free()
}
