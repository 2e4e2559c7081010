package sim

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// number is a number and what follows it.
var number = regexp.MustCompile(`^([0-9]*\.?[0-9]+(?:[eE][+-]?[0-9]+)?|[0-9]+\.)\s*(.*)$`)

// prefixes scale units; the longer ones come first.
var prefixes = []struct {
	text  string
	scale float64
}{
	{"Ki", 1 << 10}, {"Mi", 1 << 20}, {"Gi", 1 << 30}, {"Ti", 1 << 40},
	{"k", 1e3}, {"K", 1e3}, {"M", 1e6}, {"G", 1e9}, {"T", 1e12}, {"P", 1e15}, {"", 1},
}

// unit is a kind of quantity.
type unit struct {
	what    string
	names   []string // without prefix; "" allows a bare number
	example string
}

var (
	bytesUnit = unit{"size", []string{"", "B"}, "64MiB"}
	bytesRate = unit{"rate", []string{"", "B/s"}, "12GB/s"}
	flopsRate = unit{"rate", []string{"", "flop/s", "flops"}, "1.5Tflop/s"}
	itemsRate = unit{"rate", []string{"", "items/s", "/s"}, "2e9"}
	plain     = unit{"number", []string{""}, "3"}
)

// parse reads a number with a prefix and a unit. Prefixes without a unit count
// too: 16G.
func (u unit) parse(text string) (float64, error) {
	bad := fmt.Errorf("%q is no %s; write it like %s", text, u.what, u.example)
	m := number.FindStringSubmatch(strings.ReplaceAll(strings.TrimSpace(text), "_", ""))
	if m == nil {
		return 0, bad
	}
	f, err := strconv.ParseFloat(m[1], 64)
	if err != nil {
		return 0, bad
	}
	for _, p := range prefixes {
		name, ok := strings.CutPrefix(m[2], p.text)
		if ok && slices.Contains(u.names, name) && (u.what != "number" || p.text == "") {
			return f * p.scale, nil
		}
	}
	return 0, bad
}

// parseTime reads a duration with its unit; only 0 needs none.
func parseTime(text string) (time.Duration, error) {
	s := strings.ReplaceAll(strings.TrimSpace(text), " ", "")
	d, err := time.ParseDuration(s)
	if err != nil || s == "" {
		return 0, fmt.Errorf("%q is no time; write it with its unit, like 10us, 1.5ms or 2s", text)
	}
	return d, nil
}

// nearest is the name that text was probably meant to be, "" if none is close:
// the fewest letters to insert, delete, replace or swap with a neighbour, at
// most a third of its length.
func nearest(text string, names []string) string {
	best, least := "", len(text)/3+2
	for _, n := range names {
		if d := distance(text, n); d < least {
			best, least = n, d
		}
	}
	return best
}

func distance(a, b string) int {
	before, row, next := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		next[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			next[j+1] = min(row[j]+cost, row[j+1]+1, next[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				next[j+1] = min(next[j+1], before[j-1]+1)
			}
		}
		before, row, next = row, next, before
	}
	return row[len(b)]
}
