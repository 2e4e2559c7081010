package all_test

import (
	"slices"
	"testing"

	"github.com/tandemrun/tandem/devices/all"
	"github.com/tandemrun/tandem/devices/cpu"
	"github.com/tandemrun/tandem/devices/opencl"
)

func TestDrivers(t *testing.T) {
	t.Setenv(cpu.EnvWorkers, "3")
	var names []string
	for _, d := range all.Drivers() {
		names = append(names, d.Name())
		if o, ok := d.(*opencl.Driver); ok && o.MaxHostThreads != 3 {
			t.Errorf("OpenCL may use %d threads of a budget of 3", o.MaxHostThreads)
		}
		if c, ok := d.(cpu.Driver); ok {
			if n := c.Probe(t.Context()).Devices[0].ComputeUnits; n != 3 {
				t.Errorf("the cpu driver has %d workers of a budget of 3", n)
			}
		}
	}
	if want := []string{"cpu", "opencl", "sycl", "fpga", "cuda"}; !slices.Equal(names, want) {
		t.Errorf("drivers %v, want %v", names, want)
	}
	a, b := all.Drivers(), all.Drivers()
	if a[0] = nil; b[0] == nil {
		t.Error("two calls share a slice")
	}
}
