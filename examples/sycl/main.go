// Command sycl runs one graph with kernels in three languages: SYCL C++ that
// is compiled at run time, OpenCL C, and Go. Each goes to a device that takes
// it; where there is no SYCL or OpenCL device, the Go variants run on the CPU.
package main

import (
	"context"
	_ "embed"
	"fmt"
	"io"
	"log"
	"os"
	"slices"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/devices/all"
	"github.com/tandemrun/tandem/devices/sycl"
	"github.com/tandemrun/tandem/kernels"
	"github.com/tandemrun/tandem/kernels/clc"
	"github.com/tandemrun/tandem/kernels/syclsrc"
	tandem "github.com/tandemrun/tandem/runtime"
)

//go:embed kernels/collatz.cpp
var collatzCPP []byte

//go:embed kernels/longest.cl
var longestCL []byte

func main() {
	if sycl.RunProbeChild() {
		return
	}
	if err := run(context.Background(), os.Stdout); err != nil {
		log.Fatal(err)
	}
}

// drivers are all drivers, that for SYCL among them.
func drivers() []devices.Driver {
	list := all.Drivers()
	if !slices.ContainsFunc(list, func(d devices.Driver) bool { return d.Name() == "sycl" }) {
		list = append([]devices.Driver{&sycl.Driver{}}, list...)
	}
	return list
}

// has reports whether the session has a device of a backend.
func has(s *tandem.Session, backend string) bool {
	return slices.ContainsFunc(s.Devices(), func(d devices.Info) bool { return d.Backend == backend })
}

const (
	numbers = 1 << 16
	block   = 256
)

func run(ctx context.Context, out io.Writer) error {
	collatz, err := syclsrc.Parse("collatz.cpp", collatzCPP, clc.Options{})
	if err != nil {
		return err
	}
	longest, err := clc.Parse("longest.cl", longestCL, clc.Options{})
	if err != nil {
		return err
	}
	s, err := tandem.Open(ctx, tandem.Config{Drivers: drivers()})
	if err != nil {
		return err
	}
	defer s.Close()

	steps := tandem.NewSlice[uint32](s, numbers)
	most, where := tandem.NewSlice[uint32](s, numbers/block), tandem.NewSlice[uint32](s, numbers/block)
	winner := tandem.NewSlice[uint32](s, 2)

	g := tandem.NewGraph()
	count := g.AddRange(collatz[0].WithGo(collatzGo), tandem.Range(numbers), steps, uint32(1))
	if has(s, "sycl") {
		count.On("sycl")
	}
	blocks := g.AddRange(longest[0].WithGo(longestGo), tandem.Range(numbers/block), steps, most, where, uint32(block))
	if has(s, "opencl") {
		blocks.On("opencl")
	}
	g.AddRange(pick, tandem.Range(1), most, where, winner).On("cpu")
	if err := s.Run(ctx, g); err != nil {
		return err
	}
	v, err := winner.Values(ctx)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "of the numbers up to %d, %d takes longest: %d steps\n", numbers, v[1]+1, v[0])
	return nil
}

// collatzGo is collatz.cpp in Go.
func collatzGo(r devices.Range, a *devices.Args) {
	steps, first := devices.Slice[uint32](a, 0), devices.Value[uint32](a, 1)
	for i := r.Lo[0]; i < r.Hi[0]; i++ {
		count := uint32(0)
		for n := uint64(first) + uint64(i); n > 1; count++ {
			if n%2 == 0 {
				n /= 2
			} else {
				n = 3*n + 1
			}
		}
		steps[i] = count
	}
}

// longestGo is longest.cl in Go.
func longestGo(r devices.Range, a *devices.Args) {
	steps, most, where := devices.Slice[uint32](a, 0), devices.Slice[uint32](a, 1), devices.Slice[uint32](a, 2)
	size := int(devices.Value[uint32](a, 3))
	for b := r.Lo[0]; b < r.Hi[0]; b++ {
		best := b * size
		for i := best + 1; i < (b+1)*size; i++ {
			if steps[i] > steps[best] {
				best = i
			}
		}
		most[b], where[b] = steps[best], uint32(best)
	}
}

// pick finds the block with the largest number.
var pick = pickKernel()

func pickKernel() *kernels.Kernel {
	number := kernels.Scalar(devices.Uint32)
	k := &kernels.Kernel{
		Name: "pick", Doc: "the largest of all blocks, and where it is",
		Params: []kernels.Param{
			{Name: "most", Kind: kernels.Buffer, Type: number, Mode: kernels.Read},
			{Name: "where", Kind: kernels.Buffer, Type: number, Mode: kernels.Read},
			{Name: "winner", Kind: kernels.Buffer, Type: number, Mode: kernels.Write},
		},
		NoSplit: "it has one work-item",
	}
	return k.WithGo(func(_ devices.Range, a *devices.Args) {
		most, where, winner := devices.Slice[uint32](a, 0), devices.Slice[uint32](a, 1), devices.Slice[uint32](a, 2)
		for i, v := range most {
			if i == 0 || v > winner[0] {
				winner[0], winner[1] = v, where[i]
			}
		}
	})
}
