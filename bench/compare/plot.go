package main

import (
	"errors"
	"image/color"
	"io"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
)

// bar is a figure with a goal against a peer: how many times better tandem is,
// and how many times the goal wants it to be.
type bar struct {
	label       string
	times, goal float64
}

// bars are those of the rows that have a goal against a peer; of library, which
// has many, none.
func bars(all []row) []bar {
	var list []bar
	for _, r := range all {
		if r.Ratio == nil || r.Ratio.Median <= 0 {
			continue
		}
		g, ok := goalFor(r.Figure, r.Peer)
		if !ok || len(r.Figure) > 8 && r.Figure[:8] == "library." {
			continue
		}
		b := bar{r.Figure + " / " + r.Peer, r.Ratio.Median, g.bound}
		if r.Better == "lower" {
			b.times, b.goal = 1/b.times, 1/b.goal
		}
		list = append(list, b)
	}
	return list
}

// writePlot draws the bars on a logarithmic axis as SVG: to the right of 1
// tandem is better, a mark stands at the goal.
func writePlot(w io.Writer, all []row) error {
	list := bars(all)
	if len(list) == 0 {
		return errors.New("nothing to plot: no figure has a goal against a peer")
	}
	p := plot.New()
	p.Title.Text = "how many times better than the peer (line: the goal)"
	p.X.Tick.Marker = powers{}
	var values plotter.Values
	var labels []string
	least, most := -0.1, 0.1
	for i := range list {
		b := list[len(list)-1-i] // the first on top
		values = append(values, math.Log10(b.times))
		labels = append(labels, b.label)
		least, most = min(least, math.Log10(b.times), math.Log10(b.goal)), max(most, math.Log10(b.times), math.Log10(b.goal))
	}
	chart, err := plotter.NewBarChart(values, vg.Points(9))
	if err != nil {
		return err
	}
	chart.Horizontal = true
	chart.LineStyle.Width = 0
	chart.Color = color.RGBA{R: 0x3b, G: 0x6e, B: 0xa5, A: 0xff}
	p.Add(plotter.NewGrid(), chart)
	for i := range list {
		at := math.Log10(list[len(list)-1-i].goal)
		mark, err := plotter.NewLine(plotter.XYs{{X: at, Y: float64(i) - 0.45}, {X: at, Y: float64(i) + 0.45}})
		if err != nil {
			return err
		}
		mark.Color = color.RGBA{R: 0xc0, G: 0x39, B: 0x2b, A: 0xff}
		mark.Width = vg.Points(2)
		p.Add(mark)
	}
	p.NominalY(labels...)
	p.Y.Tick.Label.Font.Size = vg.Points(8)
	p.X.Min, p.X.Max = least-0.05, most+0.05
	out, err := p.WriterTo(24*vg.Centimeter, vg.Length(2+0.65*float64(len(list)))*vg.Centimeter, "svg")
	if err != nil {
		return err
	}
	_, err = out.WriteTo(w)
	return err
}

// powers marks 1, 2 and 5 times the powers of ten of an axis of logarithms.
type powers struct{}

// Ticks are those between two places on the axis.
func (powers) Ticks(low, high float64) []plot.Tick {
	var all []plot.Tick
	for e := math.Floor(low); e <= high; e++ {
		for _, m := range []float64{1, 2, 5} {
			if at := e + math.Log10(m); at >= low && at <= high {
				all = append(all, plot.Tick{Value: at, Label: digits(m * math.Pow(10, e))})
			}
		}
	}
	return all
}
