//go:build !race

package sycl

const raceEnabled = false
