package fault_test

import (
	"testing"

	"github.com/tandemrun/tandem/devices/cpu"
	"github.com/tandemrun/tandem/devices/devicetest"
	"github.com/tandemrun/tandem/devices/fault"
)

func TestConformance(t *testing.T) {
	devicetest.Run(t, devicetest.Options{
		Driver:  fault.Driver{Driver: cpu.Driver{Workers: 2}},
		Kernels: devicetest.GoKernels(),
	})
}
