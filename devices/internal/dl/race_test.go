//go:build race

package dl

// raceEnabled: the race detector makes pools forget, so allocations mean
// nothing.
const raceEnabled = true
