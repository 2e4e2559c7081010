package opencl

import (
	"sync"

	"github.com/tandemrun/tandem/devices/internal/hostclock"
)

// clock reads the times of finished commands.
type clock struct {
	hostclock.Clock
	mu   sync.Mutex
	args [5]uintptr // of clGetEventProfilingInfo
}
