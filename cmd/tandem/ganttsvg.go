package main

import (
	"fmt"
	"html/template"
	"io"
)

// svgWidth and the others are lengths in the picture, in pixels.
const (
	svgWidth  = 1000
	svgLabel  = 130
	svgRow    = 34
	svgMargin = 30
)

// ganttColours are told apart on white and on black (Okabe and Ito, 2008).
var ganttColours = []string{"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8c564b", "#7f7f7f"}

type svgSlice struct {
	X, W, Y      float64
	Colour       string
	Label, Title string
}

type svgDevice struct {
	Y    float64
	Name string
}

var ganttTemplate = template.Must(template.New("gantt").Parse(`<svg xmlns="http://www.w3.org/2000/svg" width="{{.Width}}" height="{{.Height}}" viewBox="0 0 {{.Width}} {{.Height}}" font-family="sans-serif" font-size="12" role="img" aria-label="predicted schedule">
<rect width="100%" height="100%" fill="#fff"/>
{{range .Devices}}<text x="8" y="{{.Y}}" fill="#222">{{.Name}}</text>
{{end}}{{range .Slices}}<g><title>{{.Title}}</title><rect x="{{printf "%.2f" .X}}" y="{{.Y}}" width="{{printf "%.2f" .W}}" height="24" rx="3" fill="{{.Colour}}"/>{{if .Label}}<text x="{{printf "%.2f" .TextX}}" y="{{.TextY}}" fill="#fff">{{.Label}}</text>{{end}}</g>
{{end}}<text x="{{.Left}}" y="{{.Axis}}" fill="#555">0</text><text x="{{.Right}}" y="{{.Axis}}" fill="#555" text-anchor="end">{{.End}}</text>
</svg>
`))

func (s svgSlice) TextX() float64 { return s.X + 5 }

func (s svgSlice) TextY() float64 { return s.Y + 16 }

// writeGanttSVG draws a plan: a row for each device, time from left to right,
// one bar for each part of a task with its times as a tooltip.
func writeGanttSVG(w io.Writer, doc *planJSON) error {
	end := doc.PredictedS
	for i := range doc.Tasks {
		end = max(end, doc.Tasks[i].FinishS)
	}
	end = max(end, 1e-9)
	row := map[string]float64{}
	data := struct {
		Width, Height, Left, Right, Axis float64
		Devices                          []svgDevice
		Slices                           []svgSlice
		End                              string
	}{Width: svgWidth, Left: svgLabel, Right: svgWidth - svgMargin, End: secondsText(end)}
	for n, d := range doc.Devices {
		row[d] = float64(svgMargin/2 + n*svgRow)
		data.Devices = append(data.Devices, svgDevice{row[d] + 16, d})
	}
	data.Axis = float64(svgMargin/2+len(doc.Devices)*svgRow) + 14
	data.Height = data.Axis + 12
	scale := (data.Right - data.Left) / end
	for i := range doc.Tasks {
		t := &doc.Tasks[i]
		for _, s := range t.Shares {
			b := svgSlice{X: data.Left + s.StartS*scale, W: max((s.FinishS-s.StartS)*scale, 0.5), Y: row[s.Device],
				Colour: ganttColours[i%len(ganttColours)],
				Title:  fmt.Sprintf("%s (%s) on %s: %s to %s", t.Name, t.Kernel, s.Device, secondsText(s.StartS), secondsText(s.FinishS))}
			if fits := int(b.W/7) - 1; fits >= 3 {
				b.Label = clipName(t.Name, fits)
			}
			data.Slices = append(data.Slices, b)
		}
	}
	return ganttTemplate.Execute(w, data)
}
