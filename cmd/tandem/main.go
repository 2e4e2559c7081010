// Command tandem runs task graphs on every processor in the machine: pipeline
// files, single kernels, and the questions around them.
package main

import (
	"io"
	"os"

	"github.com/tandemrun/tandem/devices/cuda"
	"github.com/tandemrun/tandem/devices/opencl"
	"github.com/tandemrun/tandem/devices/sycl"
)

func main() {
	// A vendor library that breaks does so in a child of this program.
	if opencl.RunProbeChild() || sycl.RunProbeChild() || cuda.RunProbeChild() {
		return
	}
	os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// The exit codes.
const (
	exitDone        = 0
	exitFailed      = 1   // the work failed
	exitInput       = 2   // the input or the usage is wrong
	exitInterrupted = 130 // SIGINT; a SIGTERM is 143
	exitTerminated  = 143
)

// run is the program: arguments without its name in, exit code out. Results go
// to stdout, everything else to stderr.
func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	a := &app{stdin: stdin, stdout: stdout, stderr: stderr}
	ctx, release := a.interruptible()
	defer release()
	root := a.rootCommand()
	root.SetArgs(args)
	a.args = args
	code := a.finish(ctx, root.ExecuteContext(ctx))
	a.journal.end()
	return code
}
