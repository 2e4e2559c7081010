package cpu

import "golang.org/x/sys/unix"

func describeHost() host {
	var h host
	h.name, _ = unix.Sysctl("machdep.cpu.brand_string")
	h.vendor, _ = unix.Sysctl("machdep.cpu.vendor")
	if hz, err := unix.SysctlUint64("hw.cpufrequency_max"); err == nil {
		h.mhz = int(hz / 1e6)
	}
	return h.withDefaults()
}

// hostMemory is the machine's memory. How much of it is free the system does
// not say in a form worth trusting.
func hostMemory() (total, free int64) {
	n, err := unix.SysctlUint64("hw.memsize")
	if err != nil {
		return 0, 0
	}
	return int64(n), int64(n)
}
