//go:build race

package opencl

// raceEnabled: the race detector makes pools forget, so allocations mean
// nothing.
const raceEnabled = true
