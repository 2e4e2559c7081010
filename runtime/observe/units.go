package observe

import (
	"fmt"
	"strconv"
	"time"
)

// formatBytes writes a size with three digits at least: "832 B", "12.5 MiB".
func formatBytes(n int64) string {
	if n < 1024 {
		return fmt.Sprintf("%d B", n)
	}
	f, unit := float64(n), 0
	for f >= 1024 && unit < 5 {
		f /= 1024
		unit++
	}
	return threeDigits(f) + " " + []string{"B", "KiB", "MiB", "GiB", "TiB", "PiB"}[unit]
}

// formatTime writes a time in the unit that suits it: "12.5 ms".
func formatTime(d time.Duration) string {
	switch f := float64(d); {
	case d < 0:
		return "-" + formatTime(-d)
	case d == 0:
		return "0 s"
	case d < time.Microsecond:
		return fmt.Sprintf("%d ns", d)
	case d < time.Millisecond:
		return threeDigits(f/1e3) + " µs"
	case d < time.Second:
		return threeDigits(f/1e6) + " ms"
	default:
		return threeDigits(f/1e9) + " s"
	}
}

// formatCount groups the digits of a number, and shortens one of more than
// nine: "872 000", "1.23 G".
func formatCount(n int64) string {
	if n >= 1e9 {
		f, unit := float64(n)/1e9, 0
		for f >= 1000 && unit < 3 {
			f /= 1000
			unit++
		}
		return threeDigits(f) + " " + string("GTPE"[unit])
	}
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + " " + s[i:]
	}
	return s
}

// threeDigits writes a number from 1 up with three significant digits, or all
// of those before the point.
func threeDigits(f float64) string {
	switch {
	case f < 9.995:
		return strconv.FormatFloat(f, 'f', 2, 64)
	case f < 99.95:
		return strconv.FormatFloat(f, 'f', 1, 64)
	}
	return strconv.FormatFloat(f, 'f', 0, 64)
}
