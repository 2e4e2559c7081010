package sycl

import (
	"sync"

	"github.com/tandemrun/tandem/devices/internal/hostclock"
)

// clock reads the times of finished commands.
type clock struct {
	hostclock.Clock
	mu     sync.Mutex
	args   [3]uintptr // of the shim's event_times
	memory *clockMemory
}

// clockMemory is what the shim writes to. It lies outside the Go heap.
type clockMemory struct {
	times [4]uint64
	err   errorBlock
}
