package observe

import (
	"cmp"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"slices"
	"time"

	tandem "github.com/tandemrun/tandem/runtime"
)

// ReportInfo is what a report says beside the recording. Everything is
// optional.
type ReportInfo struct {
	Title     string        // by default the name of the first run
	Host      string        // the machine
	Command   string        // what was called
	Version   string        // of tandem
	Created   time.Time     // when; the zero time is not shown
	Predicted time.Duration // the planned makespan
}

//go:embed report.html
var reportHTML string

//go:embed report.css
var reportCSS string

//go:embed report_timeline.js
var timelineJS string

//go:embed report_controls.js
var controlsJS string

// WriteReport writes a recording as a single HTML page that needs nothing else
// and asks for nothing from anywhere: the timeline of all queues, the devices,
// the graph of the first run, the longest launches and the faults. A browser
// without scripts shows all but the timeline. The page follows the reader's
// choice of light or dark; "#light" and "#dark" behind its address override it.
func WriteReport(w io.Writer, rec Recording, info ReportInfo) error {
	// Parsed on each call: a report is written once in the life of a program.
	page, err := template.New("report").Parse(reportHTML)
	if err != nil {
		return fmt.Errorf("report: %w", err)
	}
	if err := page.Execute(w, newReport(rec, info)); err != nil {
		return fmt.Errorf("report: %w", err)
	}
	return nil
}

// report is what the page's template shows.
type report struct {
	ReportInfo
	CSS       template.CSS
	JS        template.JS
	JSHash    string // lets this script run and no other
	Failed    string // the first run's error
	Open      bool   // a run had not finished
	None      bool   // no run at all
	Tiles     []tile
	Devices   []deviceRow
	Across    bool // some bytes went from device to device
	Kernels   []legend
	Longest   []longRow
	Faults    []faultRow
	GraphOf   string
	Graph     taskGraph
	Data      reportData
	Slices    int
	Left      string // what the timeline leaves out
	NumTracks int
	// The size of a box of the graph.
	NodeWidth, NodeHeight, TextWidth int
}

type tile struct{ Label, Value, Note string }

type legend struct {
	Name  string
	Color int
}

type deviceRow struct {
	ID, Name, Kind                    string
	Tasks, Items, Busy                string
	Up, Down, Across, NotMoved, Usage string
	Percent                           float64 // of the time that passed, 0 to 100
}

type longRow struct {
	Task, Kernel, Device, Took, Items, Range string
	Color                                    int
	Critical                                 bool
}

type faultRow struct{ At, Device, Task, Error, Action string }

func newReport(rec Recording, info ReportInfo) report {
	t := newTimeline(rec)
	colors, kernels := kernelColors(rec)
	script := timelineJS + controlsJS
	sum := sha256.Sum256([]byte(script))
	r := report{
		ReportInfo: info,
		CSS:        template.CSS(reportCSS),
		JS:         template.JS(script),
		JSHash:     base64.StdEncoding.EncodeToString(sum[:]),
		Data:       newReportData(rec, t, colors, mostSlices),
		NumTracks:  len(t.tracks),
		None:       len(rec.Runs) == 0,
		NodeWidth:  nodeWidth,
		NodeHeight: nodeHeight,
		TextWidth:  nodeWidth - 20,
	}
	if r.Slices = len(r.Data.Slices); r.Slices < len(t.spans) {
		r.Left = fmt.Sprintf("These are the longest %s of %s launches and copies.", formatCount(int64(r.Slices)), formatCount(int64(len(t.spans))))
	}
	for i, k := range kernels {
		if i == paletteSize {
			r.Kernels = append(r.Kernels, legend{fmt.Sprintf("%d more", len(kernels)-i), paletteSize})
			break
		}
		r.Kernels = append(r.Kernels, legend{k, i})
	}
	for _, run := range rec.Runs {
		r.Open = r.Open || !run.Finished
		if run.Err != nil && r.Failed == "" {
			r.Failed = run.Err.Error()
		}
	}
	if len(rec.Runs) > 0 {
		first := rec.Runs[0]
		if r.Title == "" {
			r.Title = runName(first)
		}
		r.Graph = newTaskGraph(first, t, colors)
		if len(rec.Runs) > 1 {
			r.GraphOf = fmt.Sprintf("the first of %d runs: %s", len(rec.Runs), runName(first))
		}
	}
	if r.Title == "" {
		r.Title = "tandem"
	}
	r.devices(rec, t)
	r.longest(t, colors)
	for _, f := range rec.Faults {
		r.Faults = append(r.Faults, faultRow{formatTime(f.At - t.from), f.Device, taskName(rec, f), errorText(f.Err), f.Action})
	}
	return r
}

// devices fills the table and the tiles above it.
func (r *report) devices(rec Recording, t timeline) {
	var sum tandem.DeviceStats
	for _, s := range Stats(rec) {
		sum.Tasks += s.Tasks
		sum.WorkItems += s.WorkItems
		sum.BytesH2D += s.BytesH2D
		sum.BytesD2H += s.BytesD2H
		sum.BytesD2D += s.BytesD2D
		sum.BytesZeroCopy += s.BytesZeroCopy
		row := deviceRow{ID: s.ID, Tasks: formatCount(s.Tasks), Items: formatCount(s.WorkItems), Busy: formatTime(s.Busy),
			Up: formatBytes(s.BytesH2D), Down: formatBytes(s.BytesD2H), Across: formatBytes(s.BytesD2D), NotMoved: formatBytes(s.BytesZeroCopy)}
		for _, d := range rec.Devices {
			if d.ID == s.ID {
				row.Name, row.Kind = d.Name, string(d.Kind)
			}
		}
		if t.to > t.from {
			row.Percent = 100 * float64(s.Busy) / float64(t.to-t.from)
		}
		row.Usage = fmt.Sprintf("%.0f %%", row.Percent)
		r.Devices = append(r.Devices, row)
	}
	r.Across = sum.BytesD2D > 0
	makespan := tile{"Makespan", formatTime(t.to - t.from), ""}
	if p := r.Predicted; p > 0 {
		makespan.Note = fmt.Sprintf("predicted %s, %+.0f\u00a0%%", formatTime(p), 100*(float64(t.to-t.from)/float64(p)-1))
	}
	tasks := 0
	for _, run := range rec.Runs {
		tasks += len(run.Tasks)
	}
	hidden := tile{"Copying hidden", fmt.Sprintf("%.0f %%", 100*HiddenRatio(rec)), "behind computing"}
	if sum.BytesH2D+sum.BytesD2H+sum.BytesD2D == 0 {
		hidden.Value, hidden.Note = "–", "nothing was copied"
	}
	r.Tiles = []tile{
		makespan,
		{"Tasks", formatCount(int64(tasks)), counted(sum.Tasks, "launch", "launches")},
		{"Work-items", formatCount(sum.WorkItems), "on " + counted(int64(len(r.Devices)), "device", "devices")},
		{"Copied", formatBytes(sum.BytesH2D + sum.BytesD2H + sum.BytesD2D), "↑ " + formatBytes(sum.BytesH2D) + "  ↓ " + formatBytes(sum.BytesD2H)},
		{"Not moved", formatBytes(sum.BytesZeroCopy), "zero-copy"},
		hidden,
	}
}

func counted(n int64, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return formatCount(n) + " " + many
}

// longest lists the launches that took most time.
func (r *report) longest(t timeline, colors map[string]int) {
	var launches []*span
	for i := range t.spans {
		if t.spans[i].launch != nil {
			launches = append(launches, &t.spans[i])
		}
	}
	slices.SortStableFunc(launches, func(a, b *span) int { return cmp.Compare(b.end-b.start, a.end-a.start) })
	for _, s := range launches[:min(len(launches), 10)] {
		e := s.launch
		r.Longest = append(r.Longest, longRow{s.title(), e.Kernel, e.Device, formatTime(s.end - s.start),
			formatCount(e.Range.Items()), rangeText(e), colors[e.Kernel], s.critical})
	}
}

func taskName(rec Recording, f tandem.FaultEvent) string {
	for _, r := range rec.Runs {
		if r.Run == f.Run && f.Task >= 0 && f.Task < len(r.Tasks) {
			return r.Tasks[f.Task].Name
		}
	}
	return ""
}
