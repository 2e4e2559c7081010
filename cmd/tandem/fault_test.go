package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"reflect"
	"syscall"
	"testing"
	"time"

	"github.com/tandemrun/tandem/devices"
	tandem "github.com/tandemrun/tandem/runtime"
	"github.com/tandemrun/tandem/runtime/pipeline"
)

func TestFaultsTakesJoinedErrorsApart(t *testing.T) {
	late := &pipeline.Fault{File: "job.yaml", Line: 9, Column: 2, Msg: "late"}
	early := &pipeline.Fault{File: "job.yaml", Line: 3, Column: 7, Msg: "early"}
	wrapped := fmt.Errorf("outside: %w", errors.Join(errors.New("a"), errors.New("b")))
	err := errors.Join(late, errors.Join(early, late), wrapped)
	var lines []string
	for _, f := range faults(err) {
		lines = append(lines, f.line())
	}
	want := []string{"job.yaml:3:7: early", "job.yaml:9:2: late", "tandem: outside: a\nb"}
	if !reflect.DeepEqual(lines, want) {
		t.Errorf("lines %q, want %q", lines, want)
	}
}

func TestFaultsReadsCompilerLogs(t *testing.T) {
	tests := []struct {
		name, log string
		want      []fault
	}{
		{"PoCL", "error: k.cl:3:12: no smooth\nerror: my k.cl:4:1: no y\nDevice failed\n", []fault{
			{File: "k.cl", Line: 3, Column: 12, Message: `k.cl:3:12: no smooth (task "t": opencl:0)`},
			{File: "my k.cl", Line: 4, Column: 1, Message: `my k.cl:4:1: no y (task "t": opencl:0)`}}},
		{"clang", "k.cl:2:5: warning: unused\nk.cl:7:9: error: bad\n", []fault{
			{File: "k.cl", Line: 7, Column: 9, Message: `k.cl:7:9: bad (task "t": opencl:0)`}}},
		{"no place", "it went wrong\n", []fault{
			{Message: `task "t": opencl:0: k.cl does not compile: it went wrong`}}},
	}
	for _, tt := range tests {
		ce := &devices.CompileError{Source: "k.cl", Device: "opencl:0", Log: tt.log, Err: devices.ErrInvalid}
		got := faults(&tandem.TaskError{Task: "t", Attempt: 1, Err: ce})
		for i := range got {
			got[i].log, got[i].Log = "", ""
		}
		if !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%s: %+v, want %+v", tt.name, got, tt.want)
		}
	}
}

func TestExitCode(t *testing.T) {
	plain := errors.New("x")
	stopped, stop := context.WithCancelCause(t.Context())
	stop(&interruptError{syscall.SIGTERM})
	for _, tt := range []struct {
		name string
		ctx  context.Context
		err  error
		want int
	}{
		{"done", t.Context(), nil, 0},
		{"input", t.Context(), plain, 2},
		{"work", t.Context(), &workError{plain}, 1},
		{"both", t.Context(), errors.Join(plain, &workError{plain}), 1},
		{"stopped while working", stopped, &workError{plain}, 143},
		{"stopped too late", stopped, nil, 0},
		{"interrupted", t.Context(), &interruptError{os.Interrupt}, 130},
	} {
		if got := exitCode(tt.ctx, tt.err); got != tt.want {
			t.Errorf("%s: exit code %d, want %d", tt.name, got, tt.want)
		}
	}
}

func TestHiddenMeter(t *testing.T) {
	ms := time.Millisecond
	var m hiddenMeter
	o := m.observer()
	times := func(from, to time.Duration) devices.Times { return devices.Times{Start: from, End: to} }
	if got := m.ratio(); got != 1 {
		t.Errorf("nothing copied: %v, want 1", got)
	}
	o.Launched(tandem.LaunchEvent{Times: times(0, 10*ms)})
	o.Launched(tandem.LaunchEvent{Times: times(5*ms, 20*ms)}) // overlaps the first: counted once
	o.Copied(tandem.CopyEvent{Times: times(15*ms, 25*ms)})    // half of it hidden
	o.Copied(tandem.CopyEvent{Times: times(0, 10*ms)})        // all of it
	o.Copied(tandem.CopyEvent{Times: times(30*ms, 90*ms), ZeroCopy: true})
	if got := m.ratio(); math.Abs(got-0.75) > 1e-9 {
		t.Errorf("ratio %v, want 0.75", got)
	}
	// Memory does not depend on the number of events, and the sum goes on.
	for i := range 5 * maxIntervals {
		at := time.Duration(100+i) * ms
		o.Launched(tandem.LaunchEvent{Times: times(at, at+ms/2)})
		o.Copied(tandem.CopyEvent{Times: times(at, at+ms)})
	}
	if len(m.computing) > maxIntervals || len(m.copies) > maxIntervals {
		t.Errorf("%d and %d intervals are kept, want at most %d", len(m.computing), len(m.copies), maxIntervals)
	}
	if got := m.ratio(); math.Abs(got-0.5) > 1e-3 {
		t.Errorf("ratio %v, want 0.5", got)
	}
}

func TestParseBytes(t *testing.T) {
	for text, want := range map[string]int64{"0": 0, "4096": 4096, "64MiB": 64 << 20, "64M": 64 << 20, "1.5GiB": 3 << 29, "200kB": 200_000, "1 KiB": 1024} {
		if got, err := parseBytes(text); err != nil || got != want {
			t.Errorf("%q: %d, %v; want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"", "MiB", "-1", "1XB", "1e30", "99999999TiB"} {
		if n, err := parseBytes(text); err == nil {
			t.Errorf("%q: %d, want an error", text, n)
		}
	}
}

func TestPreferFaces(t *testing.T) {
	list := func(backends ...string) []deviceJSON {
		var l []deviceJSON
		for _, b := range backends {
			l = append(l, deviceJSON{Info: devices.Info{ID: b + ":0", Backend: b, PhysicalID: "p"}})
		}
		return l
	}
	preferred := func(l []deviceJSON) (ids []string) {
		preferFaces(l)
		for _, d := range l {
			if d.Preferred {
				ids = append(ids, d.ID)
			}
		}
		return ids
	}
	if got := preferred(list("cpu", "opencl", "cuda")); !reflect.DeepEqual(got, []string{"cuda:0"}) {
		t.Errorf("by backend: %v, want cuda:0", got)
	}
	l := list("cpu", "opencl")
	l[0].Calibration, l[1].Calibration = &devices.Calibration{PeakFlops: 9e9}, &devices.Calibration{PeakFlops: 5e9}
	if got := preferred(l); !reflect.DeepEqual(got, []string{"cpu:0"}) {
		t.Errorf("by measurement: %v, want cpu:0", got)
	}
	l[0].PhysicalID = "q"
	if got := preferred(l); len(got) != 2 {
		t.Errorf("two processors: %v, want both", got)
	}
}
