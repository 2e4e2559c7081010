package observe

import (
	"cmp"
	"slices"
	"time"
)

// mostSlices is how many slices a page holds at most: each takes some hundred
// bytes and the browser's time.
const mostSlices = 100_000

// reportData is what the page's script draws the timeline from. Times are in
// nanoseconds from the beginning. Texts are numbers into Strings.
type reportData struct {
	Span    int64       `json:"span"`
	Strings []string    `json:"strings"`
	Devices []string    `json:"devices"`
	Tracks  []dataTrack `json:"tracks"`
	Slices  []dataSlice `json:"slices"` // by track and start
	After   [][]int     `json:"after"`  // per slice: the slices it waited for
	Runs    []dataRun   `json:"runs"`
}

type dataTrack struct {
	Device int    `json:"device"`
	Label  string `json:"label"`
	Copies bool   `json:"copies"` // nothing but copies: drawn lower
}

type dataRun struct {
	Name  string `json:"name"`
	Start int64  `json:"start"`
	End   int64  `json:"end"`
}

// dataSlice is a tuple rather than an object: ten thousand objects would be
// mostly names of fields. Its fields are those of the constant SLICE in
// report_timeline.js.
type dataSlice [12]int64

// The kinds of slices, by number in report_timeline.js.
func kindNumber(kind string) int64 {
	switch kind {
	case kernelKind:
		return 0
	case h2d:
		return 1
	case d2h:
		return 2
	case d2d:
		return 3
	}
	return 4
}

// newReportData takes the longest spans, as many as most.
func newReportData(rec Recording, t timeline, colors map[string]int, most int) reportData {
	d := reportData{Span: int64(t.to - t.from), Strings: []string{""}, Devices: t.devices,
		Slices: []dataSlice{}, After: [][]int{}}
	shown, place := longest(t, most)
	known := map[string]int64{"": 0}
	text := func(s string) int64 {
		n, ok := known[s]
		if !ok {
			n = int64(len(d.Strings))
			known[s] = n
			d.Strings = append(d.Strings, s)
		}
		return n
	}
	device := map[string]int{}
	for i, id := range t.devices {
		device[id] = i
	}
	for _, tr := range t.tracks {
		d.Tracks = append(d.Tracks, dataTrack{device[tr.device], tr.label(), true})
	}
	for _, r := range rec.Runs {
		end := t.to
		if r.Finished {
			end = r.End
		}
		d.Runs = append(d.Runs, dataRun{runName(r), int64(r.At - t.from), int64(end - t.from)})
	}
	for _, i := range shown {
		s := t.spans[i]
		flags := int64(0)
		if s.critical {
			flags |= 1
		}
		if s.err != nil {
			flags |= 2
		}
		v := dataSlice{int64(s.track), int64(s.start - t.from), int64(s.end - s.start), kindNumber(s.kind)}
		var queued time.Duration
		if e := s.launch; e != nil {
			d.Tracks[s.track].Copies = false
			v[4], v[5], v[6] = int64(colors[e.Kernel]), text(s.title()), text(e.Kernel)
			v[7], v[8] = e.Range.Items(), text(rangeText(e))
			queued = e.Times.Queued
		} else {
			e := s.copy
			v[5], v[6] = text(e.Buffer), text(e.From+" → "+e.To)
			v[7] = e.Bytes
			queued = e.Times.Queued
		}
		v[9], v[10] = flags, text(errorText(s.err))
		if queued > 0 && queued < s.start {
			v[11] = int64(s.start - queued)
		}
		d.Slices = append(d.Slices, v)
		after := []int{}
		for _, a := range s.after {
			if j, ok := t.index[opKey{s.run, a}]; ok && place[j] >= 0 {
				after = append(after, place[j])
			}
		}
		d.After = append(d.After, after)
	}
	return d
}

// longest chooses spans by their length, in the order of the timeline, and says
// which place each span has among them, -1 for none.
func longest(t timeline, most int) (shown, place []int) {
	for i := range t.spans {
		shown = append(shown, i)
	}
	if len(shown) > most {
		slices.SortStableFunc(shown, func(a, b int) int {
			return cmp.Compare(t.spans[b].end-t.spans[b].start, t.spans[a].end-t.spans[a].start)
		})
		shown = shown[:most]
		slices.Sort(shown)
	}
	place = make([]int, len(t.spans))
	for i := range place {
		place[i] = -1
	}
	for k, i := range shown {
		place[i] = k
	}
	return shown, place
}
