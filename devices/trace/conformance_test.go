package trace_test

import (
	"testing"

	"github.com/tandemrun/tandem/devices/cpu"
	"github.com/tandemrun/tandem/devices/devicetest"
	"github.com/tandemrun/tandem/devices/fault"
	"github.com/tandemrun/tandem/devices/trace"
)

func TestConformance(t *testing.T) {
	devicetest.Run(t, devicetest.Options{
		Driver:  trace.Driver{Driver: cpu.Driver{Workers: 2}, Sink: func(trace.Call) {}},
		Kernels: devicetest.GoKernels(),
	})
}

// TestStacked holds a wrapper around another wrapper to the kit.
func TestStacked(t *testing.T) {
	devicetest.Run(t, devicetest.Options{
		Driver:  trace.Driver{Driver: fault.Driver{Driver: cpu.Driver{Workers: 2}}, Sink: func(trace.Call) {}},
		Kernels: devicetest.GoKernels(),
	})
}
