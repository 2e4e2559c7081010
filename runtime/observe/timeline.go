package observe

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	tandem "github.com/tandemrun/tandem/runtime"
)

// opKey names an operation across runs.
type opKey struct {
	run int64
	op  tandem.OpID
}

// span is an operation, a launch or a copy, as a bar on a track.
type span struct {
	opKey
	after      []tandem.OpID
	track      int    // index into timeline.tracks
	kind       string // "kernel" or a copy's direction
	name       string // of the task or the buffer
	launch     *tandem.LaunchEvent
	copy       *tandem.CopyEvent
	start, end time.Duration // end is at least 1 ns after start
	err        error
	critical   bool
}

// track is a row of the timeline on which no two spans overlap: a device's
// queue, or a further lane of one that had several operations at a time.
type track struct {
	device, queue string
	lane          int
}

// label is the queue's name, with the lane if it is not the first.
func (t track) label() string {
	if t.lane == 0 {
		return t.queue
	}
	return t.queue + " (" + strconv.Itoa(t.lane+1) + ")"
}

// timeline is a recording laid out for drawing: devices in the recording's
// order, their tracks below each other, the spans by track and time.
type timeline struct {
	from, to time.Duration
	devices  []string
	tracks   []track
	spans    []span
	index    map[opKey]int // of an operation in spans
}

const kernelKind = "kernel"

func newTimeline(rec Recording) timeline {
	var t timeline
	t.from, t.to = rec.Span()
	t.spans = make([]span, 0, len(rec.Launches)+len(rec.Copies))
	for i := range rec.Launches {
		e := &rec.Launches[i]
		t.spans = append(t.spans, span{opKey: opKey{e.Run, e.Op}, after: e.After, kind: kernelKind, name: e.Name, launch: e,
			start: e.Times.Start, end: max(e.Times.End, e.Times.Start+1), err: e.Err})
	}
	for i := range rec.Copies {
		e := &rec.Copies[i]
		t.spans = append(t.spans, span{opKey: opKey{e.Run, e.Op}, after: e.After, kind: direction(*e), name: e.Buffer, copy: e,
			start: e.Times.Start, end: max(e.Times.End, e.Times.Start+1), err: e.Err})
	}
	for _, d := range rec.Devices {
		t.devices = append(t.devices, d.ID)
	}
	for _, s := range t.spans {
		if !slices.Contains(t.devices, s.device()) {
			t.devices = append(t.devices, s.device())
		}
	}
	t.assignTracks()
	t.index = make(map[opKey]int, len(t.spans))
	for i, s := range t.spans {
		t.index[s.opKey] = i
	}
	t.markCritical()
	return t
}

func (s *span) device() string {
	if s.launch != nil {
		return s.launch.Device
	}
	return s.copy.Device
}

func (s *span) queue() string {
	if s.launch != nil {
		return s.launch.Queue
	}
	return s.copy.Queue
}

// assignTracks gives each span the first lane of its queue that is free then,
// and sorts tracks and spans.
func (t *timeline) assignTracks() {
	slices.SortStableFunc(t.spans, func(a, b span) int { return cmp.Compare(a.start, b.start) })
	type queue struct{ device, name string }
	free := map[queue][]time.Duration{} // per lane: from when on
	lane := make([]track, len(t.spans))
	for i := range t.spans {
		s := &t.spans[i]
		q := queue{s.device(), s.queue()}
		lanes := free[q]
		n := slices.IndexFunc(lanes, func(end time.Duration) bool { return end <= s.start })
		if n < 0 {
			n = len(lanes)
			lanes = append(lanes, 0)
		}
		lanes[n] = s.end
		free[q] = lanes
		lane[i] = track{q.device, q.name, n}
	}
	for q, lanes := range free {
		for n := range lanes {
			t.tracks = append(t.tracks, track{q.device, q.name, n})
		}
	}
	slices.SortFunc(t.tracks, func(a, b track) int {
		return cmp.Or(
			cmp.Compare(slices.Index(t.devices, a.device), slices.Index(t.devices, b.device)),
			compareQueues(a.queue, b.queue), cmp.Compare(a.lane, b.lane))
	})
	number := map[track]int{}
	for i, tr := range t.tracks {
		number[tr] = i
	}
	for i := range t.spans {
		t.spans[i].track = number[lane[i]]
	}
	slices.SortStableFunc(t.spans, func(a, b span) int { return cmp.Compare(a.track, b.track) })
}

// compareQueues puts computing above uploads above downloads, and #2 before
// #10.
func compareQueues(a, b string) int {
	rank := func(s string) int {
		if i := slices.Index([]string{"compute", "upload", "download"}, s); i >= 0 {
			return i
		}
		return 3
	}
	kindA, numberA, _ := strings.Cut(a, "#")
	kindB, numberB, _ := strings.Cut(b, "#")
	x, _ := strconv.Atoi(numberA)
	y, _ := strconv.Atoi(numberB)
	return cmp.Or(cmp.Compare(rank(kindA), rank(kindB)), cmp.Compare(kindA, kindB), cmp.Compare(x, y), cmp.Compare(a, b))
}

// markCritical marks, for each run, the chain of operations that its end
// waited for: from the last to end back to whichever ended last of what it
// waited for, by dependency or because its queue was busy.
func (t *timeline) markCritical() {
	last := map[int64]int{}
	for i, s := range t.spans {
		if j, ok := last[s.run]; !ok || s.end > t.spans[j].end {
			last[s.run] = i
		}
	}
	for _, i := range last {
		for i >= 0 {
			s := &t.spans[i]
			s.critical = true
			next := -1
			consider := func(j int) {
				p := &t.spans[j]
				// An earlier start rules out going round in circles,
				// whatever the events claim.
				if p.run == s.run && p.start < s.start && (next < 0 || p.end > t.spans[next].end) {
					next = j
				}
			}
			for _, a := range s.after {
				if j, ok := t.index[opKey{s.run, a}]; ok {
					consider(j)
				}
			}
			if i > 0 && t.spans[i-1].track == s.track {
				consider(i - 1)
			}
			i = next
		}
	}
}
