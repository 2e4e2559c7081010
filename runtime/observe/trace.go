package observe

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"strings"
	"time"

	tandem "github.com/tandemrun/tandem/runtime"
)

// traceEvent is an entry of the Trace Event Format, which Perfetto and
// chrome://tracing read:
// https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU
//
// The format is a handful of fields, and no library for it in Go is still
// being looked after; encoding/json does what is needed.
type traceEvent struct {
	Name  string         `json:"name"`
	Cat   string         `json:"cat,omitempty"`
	Phase string         `json:"ph"`
	PID   int            `json:"pid"`
	TID   int            `json:"tid"`
	TS    micros         `json:"ts"`
	Dur   *micros        `json:"dur,omitempty"`
	ID    int            `json:"id,omitempty"`
	Bind  string         `json:"bp,omitempty"`
	Scope string         `json:"s,omitempty"`
	Args  map[string]any `json:"args,omitempty"`
}

// micros is a time in the format's unit, microseconds, exact to the nanosecond.
type micros time.Duration

// MarshalJSON writes a decimal number.
func (m micros) MarshalJSON() ([]byte, error) {
	if m < 0 {
		return fmt.Appendf(nil, "-%d.%03d", -m/1000, -m%1000), nil
	}
	return fmt.Appendf(nil, "%d.%03d", m/1000, m%1000), nil
}

// runsPID is the process that runs are shown under; devices follow it.
const runsPID = 1

// WriteTrace writes a recording as a JSON trace for Perfetto
// (https://ui.perfetto.dev) and chrome://tracing: a process per device with a
// track per queue, kernels and copies as slices, an arrow for each dependency,
// and the runs as a process of their own on top. Times are from the beginning
// of the recording. Operations of one queue that overlap, as some drivers'
// clocks have it, get tracks of their own; so does what the launches of an
// emulated device would take on the hardware, loading of images included.
func WriteTrace(w io.Writer, rec Recording) error {
	t := newTimeline(rec)
	out := traceWriter{w: bufio.NewWriterSize(w, 64<<10)}
	out.raw(`{"displayTimeUnit":"ms","traceEvents":[`)
	out.runs(rec, t)
	device := map[string]int{}
	for i, id := range t.devices {
		device[id] = runsPID + 1 + i
		name := id
		for _, d := range rec.Devices {
			if d.ID == id && d.Name != "" {
				name = id + " · " + d.Name
			}
		}
		out.process(device[id], name)
	}
	for i, tr := range t.tracks {
		out.thread(device[tr.device], i+1, tr.label(), i)
	}
	for i := range t.spans {
		s := &t.spans[i]
		dur := micros(s.end - s.start)
		out.event(traceEvent{Name: s.title(), Cat: s.category(), Phase: "X", PID: device[s.device()], TID: s.track + 1,
			TS: micros(s.start - t.from), Dur: &dur, Args: s.args()})
	}
	out.modelled(&t, device, len(t.tracks)+1)
	flow := 0
	for i := range t.spans {
		to := &t.spans[i]
		for _, a := range to.after {
			j, ok := t.index[opKey{to.run, a}]
			if !ok {
				continue
			}
			// An arrow begins and ends within its slices, and never goes
			// back in time: where clocks disagree it begins earlier.
			from := &t.spans[j]
			leaves := max(min(from.end-1, to.start), from.start)
			arrives := max(to.start, leaves)
			if arrives >= to.end {
				continue
			}
			flow++
			e := traceEvent{Name: "after", Cat: "dependency", Phase: "s", ID: flow,
				PID: device[from.device()], TID: from.track + 1, TS: micros(leaves - t.from)}
			out.event(e)
			e.Phase, e.Bind = "f", "e"
			e.PID, e.TID, e.TS = device[to.device()], to.track+1, micros(arrives-t.from)
			out.event(e)
		}
	}
	for _, f := range rec.Faults {
		out.event(traceEvent{Name: "fault: " + f.Action, Cat: "fault", Phase: "i", Scope: "g", PID: runsPID, TID: 1,
			TS: micros(max(f.At-t.from, 0)), Args: map[string]any{"task": f.Task, "device": f.Device, "error": errorText(f.Err)}})
	}
	out.raw("\n]}\n")
	if out.err != nil {
		return fmt.Errorf("trace: %w", out.err)
	}
	if err := out.w.Flush(); err != nil {
		return fmt.Errorf("trace: %w", err)
	}
	return nil
}

// traceWriter writes entries one at a time, so that a long trace is never in
// memory as a whole. It remembers the first error.
type traceWriter struct {
	w    *bufio.Writer
	some bool
	err  error
}

func (t *traceWriter) raw(s string) {
	if t.err == nil {
		_, t.err = t.w.WriteString(s)
	}
}

func (t *traceWriter) event(e traceEvent) {
	b, err := json.Marshal(e)
	if err != nil && t.err == nil {
		t.err = err
	}
	if t.some {
		t.raw(",")
	}
	t.some = true
	t.raw("\n")
	t.raw(string(b))
}

func (t *traceWriter) process(pid int, name string) {
	t.event(traceEvent{Name: "process_name", Phase: "M", PID: pid, Args: map[string]any{"name": name}})
	t.event(traceEvent{Name: "process_sort_index", Phase: "M", PID: pid, Args: map[string]any{"sort_index": pid}})
}

func (t *traceWriter) thread(pid, tid int, name string, order int) {
	t.event(traceEvent{Name: "thread_name", Phase: "M", PID: pid, TID: tid, Args: map[string]any{"name": name}})
	t.event(traceEvent{Name: "thread_sort_index", Phase: "M", PID: pid, TID: tid, Args: map[string]any{"sort_index": order}})
}

// runs writes each run as a slice; those that overlap go below each other.
func (t *traceWriter) runs(rec Recording, tl timeline) {
	t.process(runsPID, "runs")
	var free []time.Duration
	for _, r := range rec.Runs {
		end := tl.to
		if r.Finished {
			end = r.End
		}
		end = max(end, r.At+1)
		lane := 0
		for lane < len(free) && free[lane] > r.At {
			lane++
		}
		if lane == len(free) {
			free = append(free, 0)
			t.thread(runsPID, lane+1, "run", lane)
		}
		free[lane] = end
		dur := micros(end - r.At)
		args := map[string]any{"run": r.Run, "tasks": len(r.Tasks), "devices": len(r.Devices)}
		if r.Err != nil {
			args["error"] = r.Err.Error()
		}
		if !r.Finished {
			args["unfinished"] = true
		}
		t.event(traceEvent{Name: runName(r), Cat: "run", Phase: "X", PID: runsPID, TID: lane + 1, TS: micros(r.At - tl.from), Dur: &dur, Args: args})
	}
}

func runName(r Run) string {
	if r.Name != "" {
		return r.Name
	}
	return fmt.Sprintf("run %d", r.Run)
}

// title is what is written on the bar.
func (s *span) title() string {
	if s.launch == nil {
		return s.kind + " " + s.name
	}
	if s.launch.Parts > 1 {
		return fmt.Sprintf("%s [%d/%d]", s.name, s.launch.Part+1, s.launch.Parts)
	}
	return s.name
}

func (s *span) category() string {
	switch {
	case s.launch != nil:
		return kernelKind
	case s.copy.ZeroCopy:
		return zeroCopy
	}
	return "copy"
}

func (s *span) args() map[string]any {
	var args map[string]any
	if e := s.launch; e != nil {
		args = map[string]any{"task": e.Name, "kernel": e.Kernel, "work_items": e.Range.Items(), "range": rangeText(e)}
		if e.ZeroCopy > 0 {
			args["bytes_zero_copy"] = e.ZeroCopy
		}
		if m := &e.Times.Model; m.Run > 0 {
			maps.Copy(args, modelArgs(m))
		}
		if e.Times.Queued > 0 && e.Times.Queued < e.Times.Start {
			args["waited_us"] = micros(e.Times.Start - e.Times.Queued)
		}
	} else {
		e := s.copy
		args = map[string]any{"buffer": e.Buffer, "bytes": e.Bytes, "offset": e.Offset, "from": e.From, "to": e.To}
		if e.Task >= 0 {
			args["task"] = e.Task
		}
		if !e.ZeroCopy && s.end-s.start > 1 {
			args["bytes_per_s"] = int64(float64(e.Bytes) / (s.end - s.start).Seconds())
		}
	}
	args["op"] = s.op
	if s.critical {
		args["critical_path"] = true
	}
	if s.err != nil {
		args["error"] = s.err.Error()
	}
	return args
}

// rangeText is the launch's ND-range: "1000 × 872", "+ 0, 436" for an offset.
func rangeText(e *tandem.LaunchEvent) string {
	var sizes, offsets []string
	shifted := false
	for d := range e.Range.Dims {
		sizes = append(sizes, fmt.Sprint(e.Range.Size[d]))
		offsets = append(offsets, fmt.Sprint(e.Range.Offset[d]))
		shifted = shifted || e.Range.Offset[d] != 0
	}
	text := strings.Join(sizes, " × ")
	if shifted {
		text += " from " + strings.Join(offsets, ", ")
	}
	return text
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
