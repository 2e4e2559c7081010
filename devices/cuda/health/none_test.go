//go:build !nvml || !cgo

package health

import (
	"errors"
	"strings"
	"testing"

	"github.com/tandemrun/tandem/devices"
)

func TestNotBuiltIn(t *testing.T) {
	rep := (&Reader{Root: machine(t)}).Read(t.Context())
	if rep.NVML.Used || rep.NVML.Reason != notBuilt || !strings.Contains(rep.NVML.Hint, "-tags nvml") || len(rep.GPUs) != 3 {
		t.Errorf("read %+v with %d GPUs, want 3 and the way to get NVML", rep.NVML, len(rep.GPUs))
	}
	err := (&Reader{}).Watch(t.Context(), func(Xid) {})
	if !errors.Is(err, devices.ErrUnavailable) || !strings.Contains(err.Error(), "-tags nvml") {
		t.Errorf("Watch: %v", err)
	}
}
