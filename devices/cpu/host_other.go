//go:build !linux && !darwin && !windows

package cpu

func describeHost() host { return host{}.withDefaults() }

func hostMemory() (total, free int64) { return 0, 0 }
