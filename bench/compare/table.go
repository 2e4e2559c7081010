package main

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"

	"github.com/jedib0t/go-pretty/v6/table"
)

// row is a figure of tandem beside one peer's, or alone.
type row struct {
	Figure string  `json:"figure"`
	Unit   string  `json:"unit"`
	Better string  `json:"better"`
	Tandem spread  `json:"tandem"` // no rounds: it was not measured
	Peer   string  `json:"peer,omitempty"`
	Other  *spread `json:"peer_value,omitempty"`
	Ratio  *spread `json:"ratio,omitempty"` // tandem over peer, round by round
	Goal   string  `json:"goal,omitempty"`
	Met    *bool   `json:"met,omitempty"`
}

// rows are all rows, figure by figure.
func rows(f *figures) []row {
	var names []string
	for _, p := range peers() {
		if !slices.Contains(names, p.name) {
			names = append(names, p.name)
		}
	}
	var all []row
	for _, g := range f.list {
		base := row{Figure: g.name, Unit: g.unit, Better: g.better, Tandem: g.of(ours)}
		systems := g.systems(names)
		if goal, ok := goalFor(g.name, ""); ok || len(systems) == 0 {
			r := base
			if ok && r.Tandem.Rounds > 0 {
				r.judge(goal, r.Tandem.Median)
			}
			all = append(all, r)
		}
		for _, s := range systems {
			r := base
			other := g.of(s)
			r.Peer, r.Other = s, &other
			if ratio := g.ratio(s); ratio.Rounds > 0 {
				r.Ratio = &ratio
				if goal, ok := goalFor(g.name, s); ok {
					r.judge(goal, ratio.Median)
				}
			}
			all = append(all, r)
		}
	}
	return all
}

func (r *row) judge(g goal, v float64) {
	met := g.met(v)
	r.Goal, r.Met = g.String(), &met
}

// slow says that a device alone takes more than twice as long as the peer: the
// planner has to know that.
func (r *row) slow() bool {
	return r.Ratio != nil && withoutDevice(r.Figure) != r.Figure &&
		(r.Better == "lower" && r.Ratio.Median > 2 || r.Better == "higher" && r.Ratio.Median < 0.5)
}

// verdict is what the last column says.
func (r *row) verdict() string {
	switch {
	case r.Met != nil && *r.Met:
		return r.Goal + ": met"
	case r.Met != nil:
		return r.Goal + ": not met"
	case r.slow():
		return "slower than half"
	}
	return ""
}

// cells are a row's columns as text.
func (r *row) cells() []string {
	value := func(s *spread) string {
		if s == nil || s.Rounds == 0 {
			return "-"
		}
		return digits(s.Median)
	}
	ratio, reach := "-", percent(r.Tandem)
	if r.Ratio != nil {
		ratio = digits(r.Ratio.Median)
		reach = digits(r.Ratio.Min) + " … " + digits(r.Ratio.Max)
	}
	peer := r.Peer
	if peer == "" {
		peer, ratio = "-", "-"
	}
	return []string{r.Figure, r.Unit, value(&r.Tandem), peer, value(r.Other), ratio, reach, r.verdict()}
}

// digits writes three significant ones.
func digits(v float64) string {
	if v != 0 && (math.Abs(v) < 1e-3 || math.Abs(v) >= 1e6) {
		return strconv.FormatFloat(v, 'e', 2, 64)
	}
	if math.Abs(v) >= 100 {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return strconv.FormatFloat(v, 'g', 3, 64)
}

// percent is how far a figure reached around its middle.
func percent(s spread) string {
	if s.Rounds < 2 || s.Median == 0 {
		return "-"
	}
	return fmt.Sprintf("± %.0f %%", 50*(s.Max-s.Min)/math.Abs(s.Median))
}

// headings are those of the columns.
func headings() []string {
	return []string{"figure", "unit", "tandem", "peer", "its figure", "ratio", "spread", "goal"}
}

// writeTable prints all rows for a terminal.
func writeTable(w io.Writer, all []row) {
	t := table.NewWriter()
	t.SetOutputMirror(w)
	cells := func(list []string) (r table.Row) {
		for _, s := range list {
			r = append(r, s)
		}
		return r
	}
	t.AppendHeader(cells(headings()))
	for i := range all {
		t.AppendRow(cells(all[i].cells()))
	}
	t.Render()
	goals, met := count(all)
	fmt.Fprintf(w, "%d of %d goals met\n", met, goals)
}

// count is how many goals there are, and how many are met.
func count(all []row) (goals, met int) {
	for _, r := range all {
		if r.Met != nil {
			goals++
			if *r.Met {
				met++
			}
		}
	}
	return goals, met
}
