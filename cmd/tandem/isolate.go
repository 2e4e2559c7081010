package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	tandem "github.com/tandemrun/tandem/runtime"
)

// With --isolate the pipeline runs in a child of this program. A kernel that
// crashes the vendor's library, which lives in the same process as the runtime,
// takes down the child only: this program says which tasks were under way, and
// runs the pipeline again without the device if that is plain and others are
// left. The child's standard input is the line that ties it to its parent: when
// it ends, so does the child.

// journalFlag is the hidden flag that makes a run a child: the file into which it
// writes what has begun and ended.
const journalFlag = "isolated-journal"

// journalEntry is a line of the journal: a task with where it runs, or that one
// is over.
type journalEntry struct {
	Task    int      `json:"task"`
	Name    string   `json:"name,omitempty"`
	After   []int    `json:"after,omitempty"`
	Devices []string `json:"devices,omitempty"`
	Over    bool     `json:"over,omitempty"`
	Ended   bool     `json:"ended,omitempty"` // the process is about to end by itself
}

// journal writes entries. Each is one write, which survives the process.
type journal struct {
	mu    sync.Mutex
	file  *os.File
	tasks []tandem.TaskInfo
}

func openJournal(path string) (*journal, error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return nil, err
	}
	return &journal{file: f}, nil
}

func (j *journal) add(e journalEntry) {
	line, err := json.Marshal(e)
	if err == nil {
		_, _ = j.file.Write(append(line, '\n')) // only what is said after a crash suffers
	}
}

func (j *journal) observer() tandem.Observer {
	return tandem.Observer{
		RunStarted: func(e tandem.RunStarted) {
			j.mu.Lock()
			defer j.mu.Unlock()
			j.tasks = e.Tasks
		},
		Decided: func(e tandem.DecisionEvent) {
			j.mu.Lock()
			defer j.mu.Unlock()
			if e.Task >= len(j.tasks) {
				return
			}
			entry := journalEntry{Task: e.Task, Name: j.tasks[e.Task].Name, After: j.tasks[e.Task].After}
			for _, c := range e.Chosen {
				entry.Devices = append(entry.Devices, c.Device)
			}
			j.add(entry)
		},
		Launched: func(e tandem.LaunchEvent) {
			j.mu.Lock()
			defer j.mu.Unlock()
			if e.Part == e.Parts-1 {
				j.add(journalEntry{Task: e.Task, Over: true})
			}
		},
	}
}

// end notes that the process ends by itself.
func (j *journal) end() {
	if j == nil {
		return
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.add(journalEntry{Task: -1, Ended: true})
	_ = j.file.Close()
}

// underWay reads a journal: the tasks that may have been on a device, and whether
// the process ended by itself. A task may be on its device while others that it
// waits for are there before it.
func underWay(text []byte) (list []journalEntry, ended bool) {
	tasks, over := map[int]journalEntry{}, map[int]bool{}
	for line := range bytes.Lines(text) {
		var e journalEntry
		if json.Unmarshal(line, &e) != nil { // cut short
			continue
		}
		switch {
		case e.Ended:
			ended = true
		case e.Over:
			over[e.Task] = true
		default:
			tasks[e.Task] = e
		}
	}
	for i, t := range tasks {
		waits := slices.ContainsFunc(t.After, func(a int) bool {
			return !over[a] && !(len(t.Devices) == 1 && slices.Equal(tasks[a].Devices, t.Devices))
		})
		if !over[i] && !waits {
			list = append(list, t)
		}
	}
	slices.SortFunc(list, func(a, b journalEntry) int { return a.Task - b.Task })
	return list, ended
}

// culprit is the device on which the process died, as far as that is plain: the
// only one besides the host's own cores that had a task under way.
func culprit(list []journalEntry) string {
	found := ""
	for _, t := range list {
		for _, d := range t.Devices {
			if strings.HasPrefix(d, "cpu:") || d == found {
				continue
			}
			if found != "" {
				return ""
			}
			found = d
		}
	}
	return found
}

// tie ends the context of a child when its parent is gone.
func tie(ctx context.Context, parent io.Reader) context.Context {
	ctx, cancel := context.WithCancelCause(ctx)
	go func() {
		_, _ = io.Copy(io.Discard, parent)
		cancel(errors.New("the program that started this one is gone"))
	}()
	return ctx
}

// died says how a child ended that did not end by itself.
func died(state *os.ProcessState, list []journalEntry) error {
	var names []string
	for _, t := range list[:min(len(list), 5)] {
		names = append(names, fmt.Sprintf("%q on %s", t.Name, strings.Join(t.Devices, ", ")))
	}
	what := "nothing had begun"
	if len(names) > 0 {
		what = "under way: " + strings.Join(names, "; ")
		if len(list) > len(names) {
			what += fmt.Sprintf(" and %d more", len(list)-len(names))
		}
	}
	return fmt.Errorf("the process that ran the pipeline died (%v); %s. No output was written", state, what)
}

// isolate runs the pipeline in a child, the program self with the arguments of
// this one, and again without a device that takes the child down.
func (a *app) isolate(ctx context.Context, self string) error {
	dir, err := os.MkdirTemp("", "tandem-isolate-")
	if err != nil {
		return &workError{fmt.Errorf("--isolate: %w", err)}
	}
	defer func() { _ = os.RemoveAll(dir) }()
	selector := a.devices
	var fatal error // of the attempt before
	for n := 0; ; n++ {
		path := filepath.Join(dir, fmt.Sprintf("journal%d", n))
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			return &workError{fmt.Errorf("--isolate: %w", err)}
		}
		args := append(slices.Clone(a.args), "--"+journalFlag+"="+path)
		if n > 0 {
			args = append(args, "--devices="+selector)
		}
		state, out, err := a.child(ctx, self, args)
		if err != nil {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return &workError{fmt.Errorf("--isolate: %w", err)}
		}
		list, ended := underWay(text)
		switch {
		case !ended && context.Cause(ctx) != nil:
			return context.Cause(ctx)
		case ended && fatal != nil && state.ExitCode() == exitInput: // nothing is left that could run it
			return &workError{fatal}
		case ended:
			a.wroteJSON = a.json && len(out) > 0
			if _, err := a.stdout.Write(out); err != nil {
				return &workError{fmt.Errorf("write the result: %w", err)}
			}
			if code := state.ExitCode(); code != exitDone {
				return &childExit{code}
			}
			return nil
		}
		fatal = died(state, list)
		device := culprit(list)
		if device == "" || n == maxCrashes {
			return &workError{fatal}
		}
		a.warn("%v; running it again without %s", fatal, device)
		selector = strings.TrimPrefix(selector+",!"+device, ",")
	}
}

// maxCrashes bounds the devices that are left out one after the other.
const maxCrashes = 8

// childExit ends this program as its child ended, which has said all there is
// to say.
type childExit struct{ code int }

func (e *childExit) Error() string { return fmt.Sprintf("the child ended with exit code %d", e.code) }

// child runs this program once more, to its end, and returns what it wrote to
// its standard output.
func (a *app) child(ctx context.Context, self string, args []string) (*os.ProcessState, []byte, error) {
	line, hold, err := os.Pipe()
	if err != nil {
		return nil, nil, &workError{fmt.Errorf("--isolate: %w", err)}
	}
	defer func() { _ = hold.Close() }()
	var out bytes.Buffer
	cmd := exec.CommandContext(ctx, self, args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = line, &out, a.stderr
	cmd.Env = append(os.Environ(), "GOTRACEBACK=none") // the stacks of this program tell nothing of a library's crash
	ownGroup(cmd)
	cmd.Cancel = func() error {
		var stop *interruptError
		if errors.As(context.Cause(ctx), &stop) {
			return cmd.Process.Signal(stop.sig)
		}
		return cmd.Process.Kill()
	}
	cmd.WaitDelay = patience + patience/2 // it leaves by itself before
	err = cmd.Start()
	_ = line.Close()
	if err != nil {
		return nil, nil, &workError{fmt.Errorf("--isolate: %w", err)}
	}
	err = cmd.Wait()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) && ctx.Err() == nil {
		return nil, nil, &workError{fmt.Errorf("--isolate: %w", err)}
	}
	return cmd.ProcessState, out.Bytes(), nil
}
