package cpu_test

import (
	"testing"

	"github.com/tandemrun/tandem/devices/cpu"
	"github.com/tandemrun/tandem/devices/devicetest"
)

func TestConformance(t *testing.T) {
	for name, workers := range map[string]int{"workers=1": 1, "workers=2": 2, "workers=7": 7} {
		t.Run(name, func(t *testing.T) {
			devicetest.Run(t, devicetest.Options{Driver: cpu.Driver{Workers: workers}, Kernels: devicetest.GoKernels()})
		})
	}
}
