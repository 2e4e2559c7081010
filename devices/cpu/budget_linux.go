package cpu

import (
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

func systemBudget() (n int, warning string) {
	g := &cgroups{fs: os.DirFS("/")}
	n = g.cpus(affinity())
	return n, g.warning()
}

// affinity counts the CPUs that this process may run on now. The mask that
// Go's own count was taken from is the one at the start of the process.
func affinity() int {
	var mask unix.CPUSet
	if err := unix.SchedGetaffinity(0, &mask); err == nil && mask.Count() > 0 {
		return mask.Count()
	}
	return runtime.NumCPU() // more CPUs than a CPUSet holds
}
