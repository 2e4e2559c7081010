package cpu

import "testing"

// FuzzMeminfo: whatever /proc/meminfo says, the free memory is a part of the
// whole.
func FuzzMeminfo(f *testing.F) {
	for _, seed := range []string{
		"MemTotal:       24684048 kB\nMemFree: 1 kB\nMemAvailable:   23856340 kB\n",
		"MemAvailable: 5 kB\n", "MemTotal: 1 kB\nMemAvailable: 2 kB", "MemTotal: -1 kB", "MemTotal: 9223372036854775807 kB\nMemAvailable: 9007199254740993 kB", "",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if total, free := parseMeminfo(text); total < 0 || free < 0 || free > total {
			t.Errorf("%d bytes free of %d", free, total)
		}
	})
}
