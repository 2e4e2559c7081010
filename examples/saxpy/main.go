// Command saxpy is the smallest complete program: open, two buffers, one
// kernel, wait, read.
package main

import (
	"context"
	"fmt"
	"log"

	"github.com/tandemrun/tandem/devices/all"
	"github.com/tandemrun/tandem/kernels/library"
	tandem "github.com/tandemrun/tandem/runtime"
)

func main() {
	ctx := context.Background()
	s, err := tandem.Open(ctx, tandem.Config{Drivers: all.Drivers()})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	x, y := tandem.SliceOf(s, []float32{1, 2, 3}), tandem.SliceOf(s, []float32{10, 20, 30})
	g := tandem.NewGraph()
	g.Add(library.VectorSaxpy, float32(2), x, y) // y = 2x + y
	if err := s.Run(ctx, g); err != nil {
		log.Fatal(err)
	}
	fmt.Println(y.Values(ctx))
}
