package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// byteText writes a size for people: "24.0 GiB".
func byteText(n int64) string {
	units := []string{"B", "KiB", "MiB", "GiB", "TiB", "PiB"}
	f, u := float64(n), 0
	for f >= 1024 && u < len(units)-1 {
		f /= 1024
		u++
	}
	if u == 0 {
		return fmt.Sprintf("%d B", n)
	}
	return fmt.Sprintf("%.*f %s", decimals(f), f, units[u])
}

// rateText writes a rate in powers of 1000: "16.5 GB/s", "93.1 Gflop/s".
func rateText(perSecond float64, unit string) string {
	prefixes := []string{"", "k", "M", "G", "T", "P"}
	p := 0
	for perSecond >= 1000 && p < len(prefixes)-1 {
		perSecond /= 1000
		p++
	}
	return fmt.Sprintf("%.*f %s%s/s", decimals(perSecond), perSecond, prefixes[p], unit)
}

// timeText writes a time in the unit that suits it: "41.2 µs", as in the tables.
func timeText(d time.Duration) string {
	switch f := d.Seconds(); {
	case d == 0:
		return "0 s"
	case d < time.Microsecond:
		return fmt.Sprintf("%d ns", d.Nanoseconds())
	case d < time.Millisecond:
		return fmt.Sprintf("%.*f µs", decimals(f*1e6), f*1e6)
	case d < time.Second:
		return fmt.Sprintf("%.*f ms", decimals(f*1e3), f*1e3)
	default:
		return fmt.Sprintf("%.*f s", decimals(f), f)
	}
}

// decimals are those that give three digits.
func decimals(f float64) int {
	switch {
	case f < 9.995:
		return 2
	case f < 99.95:
		return 1
	}
	return 0
}

// parseBytes reads a size: 67108864, 64MiB, 64M, 1.5GiB, 200kB.
func parseBytes(s string) (int64, error) {
	at := strings.IndexFunc(s, func(r rune) bool { return (r < '0' || r > '9') && r != '.' })
	number, unit := s, ""
	if at >= 0 {
		number, unit = s[:at], strings.TrimSpace(s[at:])
	}
	scale, ok := map[string]float64{"": 1, "b": 1, "kb": 1e3, "mb": 1e6, "gb": 1e9, "tb": 1e12,
		"k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40,
		"kib": 1 << 10, "mib": 1 << 20, "gib": 1 << 30, "tib": 1 << 40}[strings.ToLower(unit)]
	f, err := strconv.ParseFloat(number, 64)
	if !ok || err != nil || f*scale >= 1<<62 {
		return 0, fmt.Errorf("%q is no size; write 64MiB, 1.5GiB or a number of bytes", s)
	}
	return int64(f * scale), nil
}
