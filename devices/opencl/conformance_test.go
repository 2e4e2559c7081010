package opencl

import (
	"testing"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/devices/devicetest"
)

// need skips t when there is no OpenCL device, or fails it when
// TANDEM_REQUIRE says that there has to be one.
func need(t testing.TB) *Driver {
	t.Helper()
	d := &Driver{}
	devicetest.Require(t, backend, d.Probe(t.Context()).Reason)
	return d
}

func TestConformance(t *testing.T) {
	devicetest.Run(t, devicetest.Options{
		Driver:  need(t),
		Kernels: devicetest.OpenCLKernels(),
		Fail:    failOn,
	})
}

// failOn enqueues a command that fails after the library has accepted it: it
// waits for a user event that is then set to an error. The event is another
// device's business as far as the driver's callers can see.
func failOn(q devices.Queue) (devices.Event, error) {
	return q.(*queue).failLater(-5)
}
