package sim_test

import (
	"testing"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/devices/devicetest"
	"github.com/tandemrun/tandem/devices/sim"
)

func TestConformance(t *testing.T) {
	for name, spec := range map[string]sim.Spec{
		"engines=0": {Memory: 64 << 20, Flops: 1e9, Bandwidth: 1e9},
		"engines=2": {Memory: 64 << 20, MaxAlloc: 16 << 20, CopyEngines: 2, Flops: 1e9,
			Upload: devices.Link{Latency: 1000, Bandwidth: 1e9}, Download: devices.Link{Latency: 1000, Bandwidth: 1e9}},
		"unified": {Memory: 64 << 20, Unified: true},
		"pinned":  {Memory: 64 << 20, Pinned: 1 << 20, Pageable: 3, CopyEngines: 2, Upload: devices.Link{Bandwidth: 1e9}},
	} {
		t.Run(name, func(t *testing.T) {
			d, err := sim.New(sim.Description{Devices: []sim.Spec{spec}})
			if err != nil {
				t.Fatal(err)
			}
			devicetest.Run(t, devicetest.Options{Driver: d, Kernels: devicetest.GoKernels(), Skip: map[string]string{
				"times-order": "times are virtual, not the host's; TestClock holds them to the contract",
			}})
		})
	}
}
