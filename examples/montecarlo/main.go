// Command montecarlo estimates pi with a kernel of its own in two languages:
// OpenCL C for devices that compile it, Go for the cpu driver. Integer
// arithmetic makes the estimate the same on every device.
package main

import (
	"context"
	_ "embed"
	"fmt"
	"io"
	"log"
	"os"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/devices/all"
	"github.com/tandemrun/tandem/kernels/clc"
	tandem "github.com/tandemrun/tandem/runtime"
)

//go:embed montecarlo.cl
var source []byte

// darts is the kernel of montecarlo.cl in Go.
func darts(r devices.Range, a *devices.Args) {
	hits, throws := devices.Slice[uint32](a, 0), devices.Value[uint32](a, 1)
	for i := r.Lo[0]; i < r.Hi[0]; i++ {
		state := uint32(i)*2654435761 + 1
		next := func() uint32 {
			state ^= state << 13
			state ^= state >> 17
			state ^= state << 5
			return state & 0xffff
		}
		inside := uint32(0)
		for range throws {
			x, y := next(), next()
			if x*x>>1+y*y>>1 < 0x80000000 {
				inside++
			}
		}
		hits[i] = inside
	}
}

func main() {
	if err := run(context.Background(), os.Stdout); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, out io.Writer) error {
	parsed, err := clc.Parse("montecarlo.cl", source, clc.Options{})
	if err != nil {
		return err
	}
	kernel := parsed[0].WithGo(darts)
	s, err := tandem.Open(ctx, tandem.Config{Drivers: all.Drivers()})
	if err != nil {
		return err
	}
	defer s.Close()

	const items, throws = 4096, 1000
	hits := tandem.NewSlice[uint32](s, items)
	g := tandem.NewGraph()
	g.AddRange(kernel, tandem.Range(items), hits, throws)
	if err := s.Run(ctx, g); err != nil {
		return err
	}
	inside := 0
	err = hits.Read(ctx, func(v []uint32) error {
		for _, h := range v {
			inside += int(h)
		}
		return nil
	})
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%d of %d darts hit: pi is about %.4f\n", inside, items*throws, 4*float64(inside)/(items*throws))
	return nil
}
