package sycl

import (
	"testing"

	"github.com/tandemrun/tandem/devices/devicetest"
)

// need skips t when there is no SYCL device, or fails it when TANDEM_REQUIRE
// says that there has to be one.
func need(t testing.TB) *Driver {
	t.Helper()
	d := &Driver{}
	devicetest.Require(t, backend, d.Probe(t.Context()).Reason)
	return d
}

func TestConformance(t *testing.T) { conform(t, need(t)) }

// TestConformancePlain is the way of back ends that have no callbacks: a thread
// for each queue waits.
func TestConformancePlain(t *testing.T) {
	d := need(t)
	d.plain = true
	conform(t, d)
}

func conform(t *testing.T, d *Driver) {
	t.Helper()
	skip := map[string]string{}
	if raceEnabled {
		for _, name := range []string{"no-allocation-launch", "no-allocation-copy"} {
			skip[name] = "the race detector makes pools forget, so allocations mean nothing"
		}
	}
	devicetest.Run(t, devicetest.Options{
		Driver:  d,
		Kernels: devicetest.OpenCLKernels(),
		Fail:    failOn,
		Skip:    skip,
	})
}
