package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/tandemrun/tandem/bench"
)

// parsePeer reads what a peer prints: name, value, unit and direction, one
// figure a line.
func parsePeer(out []byte) ([]bench.Result, error) {
	var all []bench.Result
	lines := bufio.NewScanner(bytes.NewReader(out))
	for n := 1; lines.Scan(); n++ {
		f := strings.Fields(lines.Text())
		if len(f) != 4 || f[3] != "lower" && f[3] != "higher" {
			return nil, fmt.Errorf("line %d is %q, want a name, a value, a unit and lower or higher", n, lines.Text())
		}
		v, err := strconv.ParseFloat(f[1], 64)
		if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
			return nil, fmt.Errorf("line %d: the value of %s is %q, want a number", n, f[0], f[1])
		}
		all = append(all, bench.Result{Name: f[0], Value: v, Unit: f[2], Better: f[3]})
	}
	return all, lines.Err()
}

// parseTandem reads what `tandem bench --json` prints.
func parseTandem(out []byte) ([]bench.Result, error) {
	var doc struct {
		Results []bench.Result `json:"results"`
	}
	if err := json.Unmarshal(out, &doc); err != nil {
		return nil, fmt.Errorf("the answer is no JSON: %w", err)
	}
	return doc.Results, nil
}

// figure is one number of the table, with every sample of it: one for each
// round, in which tandem and its peers ran one after the other.
type figure struct {
	name, unit, better string
	samples            map[string]map[int]float64 // by system, by round
}

// figures are kept in the order in which they were first seen.
type figures struct {
	list   []*figure
	byName map[string]*figure
}

// ours is the name of tandem among the systems.
const ours = "tandem"

// add takes in a system's results of a round. What a peer measures and tandem
// does not has nothing to be compared with.
func (f *figures) add(system string, round int, results []bench.Result) {
	if f.byName == nil {
		f.byName = map[string]*figure{}
	}
	for _, r := range results {
		g := f.byName[r.Name]
		if g == nil {
			g = &figure{r.Name, r.Unit, r.Better, map[string]map[int]float64{}}
			f.byName[r.Name] = g
			f.list = append(f.list, g)
		}
		if g.samples[system] == nil {
			g.samples[system] = map[int]float64{}
		}
		g.samples[system][round] = r.Value
	}
}

// oneDevice is the name of a figure of one device: "stream.triad.cpu.gbps".
var oneDevice = regexp.MustCompile(`^((?:library|stream|launch)\..+)\.(?:cpu|opencl|sycl|cuda|fpga)\.(us|gbps)$`)

// withoutDevice is the name without the device: "stream.triad.gbps".
func withoutDevice(name string) string { return oneDevice.ReplaceAllString(name, "$1.$2") }

// borrow compares what tandem does on one device with what a peer does: it has
// no such figure of its own.
func (f *figures) borrow() {
	for _, g := range f.list {
		base := f.byName[withoutDevice(g.name)]
		if base == nil || base == g {
			continue
		}
		for system, samples := range base.samples {
			if system != ours {
				g.samples[system] = samples
			}
		}
	}
}

// spread is the middle of some numbers and how far they reach.
type spread struct {
	Median float64 `json:"median"`
	Min    float64 `json:"min"`
	Max    float64 `json:"max"`
	Rounds int     `json:"rounds"`
}

func spreadOf(v []float64) spread {
	if len(v) == 0 {
		return spread{}
	}
	v = slices.Sorted(slices.Values(v))
	s := spread{Min: v[0], Max: v[len(v)-1], Rounds: len(v)}
	if m := len(v) / 2; len(v)%2 == 1 {
		s.Median = v[m]
	} else {
		s.Median = (v[m-1] + v[m]) / 2
	}
	return s
}

// of is the spread of a system's samples.
func (f *figure) of(system string) spread {
	var v []float64
	for _, x := range f.samples[system] {
		v = append(v, x)
	}
	return spreadOf(v)
}

// ratio is tandem's figure over the peer's, of the rounds that both have: what
// disturbs the machine for a while disturbs both.
func (f *figure) ratio(system string) spread {
	var v []float64
	for round, x := range f.samples[ours] {
		if y, ok := f.samples[system][round]; ok && y != 0 {
			v = append(v, x/y)
		}
	}
	return spreadOf(v)
}

// systems are the peers that have samples, in the order of names.
func (f *figure) systems(names []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(n string) bool { return len(f.samples[n]) == 0 })
}
