package observe

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tandemrun/tandem/devices"
	tandem "github.com/tandemrun/tandem/runtime"
)

// guarded is a buffer that the bars' goroutine and the test may share.
type guarded struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (g *guarded) Write(p []byte) (int, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.b.Write(p)
}

// lastLine is what stands on the terminal at the end.
func (g *guarded) lastLine() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	lines := strings.Split(strings.TrimRight(g.b.String(), "\n"), "\n")
	return lines[len(lines)-1]
}

func TestProgress(t *testing.T) {
	tasks := make([]tandem.TaskInfo, 4)
	for _, tt := range []struct {
		name string
		err  error
		want string
	}{{"good", nil, "4 / 4 tasks"}, {"bad", errors.New("no"), "2 / 4 tasks"}} {
		var w guarded
		o, stop := Progress(&w, true)
		o.RunStarted(tandem.RunStarted{Run: 1, Name: tt.name + "\x1b[2J", Tasks: tasks})
		o.Launched(tandem.LaunchEvent{Run: 1, Task: 0, Parts: 1})
		o.Launched(tandem.LaunchEvent{Run: 1, Task: 1, Part: 0, Parts: 2})
		o.Launched(tandem.LaunchEvent{Run: 1, Task: 2, Parts: 1, Err: errors.New("no")})
		o.Launched(tandem.LaunchEvent{Run: 1, Task: 1, Part: 1, Parts: 2})
		o.Launched(tandem.LaunchEvent{Run: 9, Task: 1, Parts: 1}) // of no known run
		o.RunFinished(tandem.RunFinished{Run: 1, Err: tt.err})
		stop()
		stop()
		if line := w.lastLine(); !strings.Contains(line, tt.want) || !strings.Contains(line, tt.name+"?[2J") {
			t.Errorf("%s: the last line is %q, want %q in it", tt.name, line, tt.want)
		}
	}
}

func TestProgressWithoutATerminal(t *testing.T) {
	var w guarded
	o, stop := Progress(&w, false)
	if o.RunStarted != nil || o.Launched != nil || o.RunFinished != nil {
		t.Error("it observes although there is nothing to draw on")
	}
	stop()
	if w.b.Len() != 0 {
		t.Errorf("wrote %q", w.b.String())
	}
}

func TestProgressStopsInTheMiddle(t *testing.T) {
	var w guarded
	o, stop := Progress(&w, true)
	o.RunStarted(tandem.RunStarted{Run: 1, Name: "x", Tasks: make([]tandem.TaskInfo, 2)})
	o.RunStarted(tandem.RunStarted{Run: 2, Name: "y"}) // no task: no bar
	stop()
	n := w.b.Len()
	o.RunStarted(tandem.RunStarted{Run: 3, Name: "z", Tasks: make([]tandem.TaskInfo, 2)})
	o.Launched(tandem.LaunchEvent{Run: 1, Parts: 1})
	o.RunFinished(tandem.RunFinished{Run: 1})
	if w.b.Len() != n {
		t.Errorf("wrote after stop: %q", w.b.String()[n:])
	}
}

func TestSlog(t *testing.T) {
	play := func(level slog.Level) string {
		var b bytes.Buffer
		o := Slog(slog.New(slog.NewTextHandler(&b, &slog.HandlerOptions{Level: level, ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey {
				return slog.Attr{}
			}
			return a
		}})))
		o.RunStarted(tandem.RunStarted{Run: 1, Name: "edges", Tasks: make([]tandem.TaskInfo, 4)})
		o.Decided(tandem.DecisionEvent{Run: 1, Task: 2, Chosen: []tandem.Share{{Device: "cpu:0"}}, Reason: "alone"})
		o.Launched(tandem.LaunchEvent{Run: 1, Name: "blur", Kernel: "image.blur", Part: 1, Parts: 2, Device: "cpu:0", Queue: "compute#0",
			Range: devices.NDRange{Dims: 1, Size: [3]int{8}}, Times: devices.Times{Start: 1, End: 1 + time.Millisecond}})
		o.Copied(tandem.CopyEvent{Run: 1, Buffer: "x", From: "host", To: "cpu:0", Bytes: 32})
		o.Faulted(tandem.FaultEvent{Run: 1, Task: 2, Device: "cpu:0", Err: errors.New("oops"), Action: "retried"})
		o.Copied(tandem.CopyEvent{Run: 1, Buffer: "x", From: "host", To: "cpu:0", Bytes: 32, Err: errors.New("lost")})
		o.RunFinished(tandem.RunFinished{Run: 1, Err: errors.New("failed")})
		return b.String()
	}
	info := `level=INFO msg="run started" run=1 name=edges tasks=4 devices=0
level=WARN msg=fault run=1 task=2 device=cpu:0 error=oops action=retried
level=WARN msg="copy failed" run=1 buffer=x from=host to=cpu:0 bytes=32 zero_copy=false took=0s error=lost
level=ERROR msg="run finished" run=1 error=failed
`
	if got := play(slog.LevelInfo); got != info {
		t.Errorf("got\n%swant\n%s", got, info)
	}
	debug := play(slog.LevelDebug)
	for _, want := range []string{
		"level=DEBUG msg=decision run=1 task=2 devices=[cpu:0] candidates=0 reason=alone\n",
		"level=DEBUG msg=launch run=1 task=blur kernel=image.blur device=cpu:0 queue=compute#0 work_items=8 took=1ms part=1 parts=2\n",
		"level=DEBUG msg=copy run=1 buffer=x from=host to=cpu:0 bytes=32 zero_copy=false took=0s\n",
	} {
		if !strings.Contains(debug, want) {
			t.Errorf("%q is not in\n%s", want, debug)
		}
	}
}
