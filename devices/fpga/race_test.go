//go:build race

package fpga

// raceEnabled: the race detector is on, under which sync.Pool, which calls of C
// functions go through, drops things at random.
const raceEnabled = true
