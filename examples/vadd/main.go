// Command vadd adds two vectors on every device of the machine, one after the
// other, and checks that all of them agree: the textbook case.
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"
	"slices"

	"github.com/tandemrun/tandem/devices/all"
	"github.com/tandemrun/tandem/kernels/library"
	tandem "github.com/tandemrun/tandem/runtime"
)

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

	const n = 1 << 20
	a, b, want := make([]float32, n), make([]float32, n), make([]float32, n)
	for i := range n {
		a[i], b[i], want[i] = float32(i), 0.5, float32(i)+0.5
	}
	x, y := tandem.SliceOf(s, a), tandem.SliceOf(s, b)

	for _, d := range s.Devices() {
		z := tandem.NewSlice[float32](s, n)
		g := tandem.NewGraph()
		g.Add(library.VectorAdd, x, y, z).On(d.ID)
		r, err := s.Submit(ctx, g)
		if err != nil {
			return err
		}
		if err := r.Wait(ctx); err != nil {
			return err
		}
		got, err := z.Values(ctx)
		if err != nil {
			return err
		}
		if !slices.Equal(got, want) {
			return fmt.Errorf("%s: wrong sum", d.ID)
		}
		fmt.Fprintf(out, "%s: %d sums, the last one %g\n", d.ID, n, got[n-1])
	}
	return nil
}
