package observe

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
)

// readEvent is a trace entry as a reader finds it.
type readEvent struct {
	Name, Cat, Ph, Bp string
	PID, TID, ID      int
	TS, Dur           float64
	Args              map[string]any
}

func readTrace(t *testing.T, rec Recording) []readEvent {
	t.Helper()
	var b bytes.Buffer
	if err := WriteTrace(&b, rec); err != nil {
		t.Fatal(err)
	}
	var doc struct {
		TraceEvents     []readEvent
		DisplayTimeUnit string
	}
	d := json.NewDecoder(&b)
	if err := d.Decode(&doc); err != nil {
		t.Fatal(err)
	}
	if d.More() || doc.DisplayTimeUnit != "ms" {
		t.Fatalf("more than one document, or unit %q", doc.DisplayTimeUnit)
	}
	return doc.TraceEvents
}

// TestTraceStructure checks what the viewers rely on.
func TestTraceStructure(t *testing.T) {
	const seed = 11
	t.Logf("seed %d", seed)
	for name, rec := range map[string]Recording{"edges": edgesRun(), "big": bigRun(3000, seed), "empty": {}} {
		events := readTrace(t, rec)
		type trackID struct{ pid, tid int }
		slicesOf := map[trackID][]readEvent{}
		named, sorted := map[trackID]string{}, map[trackID]bool{}
		starts, ends := map[int]readEvent{}, map[int]readEvent{}
		counts := map[string]int{}
		for _, e := range events {
			id := trackID{e.PID, e.TID}
			counts[e.Cat]++
			if e.TS < 0 || e.Dur < 0 || math.IsInf(e.TS+e.Dur, 0) {
				t.Errorf("%s: %+v: impossible time", name, e)
			}
			switch e.Ph {
			case "M":
				if n, ok := e.Args["name"].(string); ok {
					named[trackID{e.PID, e.TID}] = n
				} else {
					sorted[id] = true
				}
			case "X":
				if e.Dur <= 0 {
					t.Errorf("%s: %+v: no length", name, e)
				}
				slicesOf[id] = append(slicesOf[id], e)
			case "s":
				if _, twice := starts[e.ID]; twice {
					t.Errorf("%s: flow %d starts twice", name, e.ID)
				}
				starts[e.ID] = e
			case "f":
				if e.Bp != "e" {
					t.Errorf("%s: flow %d does not end in its slice", name, e.ID)
				}
				ends[e.ID] = e
			case "i":
			default:
				t.Errorf("%s: unknown phase %q", name, e.Ph)
			}
		}
		for id, list := range slicesOf {
			if named[id] == "" || !sorted[id] || named[trackID{id.pid, 0}] == "" || !sorted[trackID{id.pid, 0}] {
				t.Errorf("%s: track %v has no name or no place", name, id)
			}
			slices.SortFunc(list, func(a, b readEvent) int { return int(math.Round((a.TS - b.TS) * 1000)) })
			for i := 1; i < len(list); i++ {
				if over := list[i-1].TS + list[i-1].Dur - list[i].TS; over > 1e-6 {
					t.Errorf("%s: track %v: %q runs %g µs into %q", name, id, list[i-1].Name, over, list[i].Name)
				}
			}
		}
		inside := func(e readEvent) bool {
			return slices.ContainsFunc(slicesOf[trackID{e.PID, e.TID}], func(s readEvent) bool { return s.TS <= e.TS && e.TS < s.TS+s.Dur })
		}
		for id, s := range starts {
			e, ok := ends[id]
			if !ok || e.Name != s.Name || e.Cat != s.Cat || e.TS < s.TS {
				t.Fatalf("%s: flow %d: %+v ends as %+v", name, id, s, e)
			}
			if !inside(s) || !inside(e) {
				t.Errorf("%s: flow %d is not bound to slices: %+v %+v", name, id, s, e)
			}
		}
		if len(starts) != len(ends) {
			t.Errorf("%s: %d flows start, %d end", name, len(starts), len(ends))
		}
		edges := 0
		for _, e := range rec.Launches {
			edges += len(e.After)
		}
		for _, e := range rec.Copies {
			edges += len(e.After)
		}
		if counts["kernel"] != len(rec.Launches) || counts["copy"]+counts["zero-copy"] != len(rec.Copies) || counts["run"] != len(rec.Runs) {
			t.Errorf("%s: %v, want %d launches, %d copies, %d runs", name, counts, len(rec.Launches), len(rec.Copies), len(rec.Runs))
		}
		if name == "edges" && len(starts) != edges {
			t.Errorf("%d arrows for %d dependencies", len(starts), edges)
		}
	}
}

func TestTraceContent(t *testing.T) {
	events := readTrace(t, edgesRun())
	find := func(name string) readEvent {
		t.Helper()
		for _, e := range events {
			if e.Ph == "X" && e.Name == name {
				return e
			}
		}
		t.Fatalf("no slice %q", name)
		return readEvent{}
	}
	run, blur, photo := find("edges"), find("blur [2/2]"), find("h2d photo")
	if run.PID != runsPID || run.TS != 0 || run.Dur != 4000 {
		t.Errorf("run: %+v", run)
	}
	if blur.TS != 835 || blur.Dur != 1715 || blur.PID == runsPID {
		t.Errorf("blur: %+v", blur)
	}
	for key, want := range map[string]string{"kernel": "image.blur", "task": "blur", "range": "1000 × 582 from 0, 290", "work_items": "582000", "waited_us": "20"} {
		if got := fmt.Sprint(blur.Args[key]); got != want {
			t.Errorf("blur: %s is %s, want %s", key, got, want)
		}
	}
	for key, want := range map[string]string{"buffer": "photo", "bytes": "1.744e+06", "from": "host", "to": "opencl:0"} {
		if got := fmt.Sprint(photo.Args[key]); got != want {
			t.Errorf("photo: %s is %s, want %s", key, got, want)
		}
	}
	if photo.Cat != "copy" || find("zero-copy photo").Cat != "zero-copy" {
		t.Errorf("categories: %q", photo.Cat)
	}
	var names []string
	for _, e := range events {
		if e.Name == "process_name" || e.Name == "thread_name" {
			names = append(names, fmt.Sprint(e.Args["name"]))
		}
	}
	if got, want := strings.Join(names, "; "), "runs; run; cpu:0 · AMD EPYC 7B13, 2 cores; opencl:0 · Intel(R) Arc(TM) A770 Graphics; "+
		"compute#0; upload#0; compute#0; upload#0; download#0"; got != want {
		t.Errorf("tracks: %s, want %s", got, want)
	}
}

func TestCriticalPath(t *testing.T) {
	tl := newTimeline(edgesRun())
	var path []string
	for _, s := range tl.spans {
		if s.critical {
			path = append(path, s.title()+" on "+s.device())
		}
	}
	slices.Sort(path)
	want := []string{"blur [1/2] on cpu:0", "d2h edges on opencl:0", "gray [2/2] on opencl:0", "d2h gray on opencl:0", "h2d blurred on opencl:0",
		"h2d photo on opencl:0", "sobel [2/2] on opencl:0", "threshold [2/2] on opencl:0"}
	slices.Sort(want)
	if !slices.Equal(path, want) {
		t.Errorf("got %q\nwant %q", path, want)
	}
}

// failing is a writer that is full after some bytes.
type failing struct{ left int }

var errFull = errors.New("disk full")

func (f *failing) Write(b []byte) (int, error) {
	if f.left -= len(b); f.left < 0 {
		return 0, errFull
	}
	return len(b), nil
}

func TestWriteErrorsAreReported(t *testing.T) {
	rec := bigRun(2000, 1)
	for _, left := range []int{0, 100000} {
		if err := WriteTrace(&failing{left}, rec); !errors.Is(err, errFull) {
			t.Errorf("trace after %d bytes: %v", left, err)
		}
		if err := WriteReport(&failing{left}, rec, ReportInfo{}); !errors.Is(err, errFull) {
			t.Errorf("report after %d bytes: %v", left, err)
		}
	}
}
