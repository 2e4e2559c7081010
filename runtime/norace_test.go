//go:build !race

package tandem_test

const raceEnabled = false
