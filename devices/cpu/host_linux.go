package cpu

import (
	"os"
	"strconv"
	"strings"
)

func describeHost() host {
	var h host
	text, _ := os.ReadFile("/proc/cpuinfo")
	for line := range strings.Lines(string(text)) {
		key, value, _ := strings.Cut(line, ":")
		value = strings.TrimSpace(value)
		switch strings.TrimSpace(key) {
		case "model name", "Model", "cpu model", "uarch":
			if h.name == "" {
				h.name = value
			}
		case "vendor_id", "CPU implementer":
			if h.vendor == "" {
				h.vendor = value
			}
		}
	}
	// The clock in cpuinfo changes from one moment to the next; this does not.
	khz, _ := os.ReadFile("/sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq")
	if n, err := strconv.Atoi(strings.TrimSpace(string(khz))); err == nil {
		h.mhz = n / 1000
	}
	return h.withDefaults()
}

// hostMemory is what this process may use of the machine's memory, and what
// of it is free; 0 if that cannot be read.
func hostMemory() (total, free int64) {
	text, _ := os.ReadFile("/proc/meminfo")
	total, free = parseMeminfo(string(text))
	if total == 0 {
		return 0, 0
	}
	limit, used := (&cgroups{fs: os.DirFS("/")}).memory(total)
	if limit < total {
		total, free = limit, min(free, max(limit-used, 0))
	}
	return total, free
}

func parseMeminfo(text string) (total, free int64) {
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) != 3 || f[2] != "kB" {
			continue
		}
		n, err := strconv.ParseInt(f[1], 10, 64)
		if err != nil || n < 0 || n > 1<<52 {
			continue
		}
		switch f[0] {
		case "MemTotal:":
			total = n << 10
		case "MemAvailable:":
			free = n << 10
		}
	}
	return total, min(free, total)
}
