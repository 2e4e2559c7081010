package cuda

import (
	"testing"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/devices/devicetest"
)

// failOn gives a command that has failed. What a GPU has accepted fails only
// together with everything else, so it is one that never got there.
func failOn(dq devices.Queue) (devices.Event, error) {
	q := dq.(*queue)
	e, _, err := q.begin(nil, command{kernel: "fail"})
	if err != nil {
		return nil, err
	}
	q.d.leave()
	q.mu.Unlock()
	e.submitted, e.seen, e.err = e.queued, e.queued, failedOnPurpose(q)
	e.state.Store(broke)
	q.d.open[kindEvent].Add(1)
	return e, nil
}

func failedOnPurpose(q *queue) error {
	return (&event{d: q.d, cmd: command{kernel: "fail"}}).brokenBy(failed(701, "cuLaunchKernel(fail)"))
}

func TestConformance(t *testing.T) {
	d := needCompiler(t)
	skip := map[string]string{}
	if raceEnabled {
		for _, name := range []string{"no-allocation-launch", "no-allocation-copy"} {
			skip[name] = "the race detector makes pools forget, so allocations mean nothing"
		}
	}
	devicetest.Run(t, devicetest.Options{
		Driver:   d,
		Kernels:  devicetest.OpenCLKernels(),
		Fail:     failOn,
		Skip:     skip,
		MaxAlloc: 256 << 20,
	})
}
