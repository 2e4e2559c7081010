//go:build !race

package fpga

const raceEnabled = false
