//go:build race

package cuda

// raceEnabled: the race detector makes pools forget, so allocations mean
// nothing.
const raceEnabled = true
