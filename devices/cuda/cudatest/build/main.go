// Command build compiles the CUDA test double where the cache has none, and
// prints the path of its library: make -s cuda-double.
package main

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/tandemrun/tandem/devices/cuda/cudatest"
)

func main() { os.Exit(run(os.Stdout, os.Stderr)) }

func run(stdout, stderr io.Writer) int {
	path, err := cudatest.Library(context.Background())
	if err != nil {
		fmt.Fprintln(stderr, "build:", err)
		return 1
	}
	fmt.Fprintln(stdout, path)
	return 0
}
