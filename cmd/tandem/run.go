package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tandemrun/tandem/devices/cuda/nvtx"
	tandem "github.com/tandemrun/tandem/runtime"
	"github.com/tandemrun/tandem/runtime/arrayfile"
	"github.com/tandemrun/tandem/runtime/observe"
)

type runFlags struct {
	set      []string
	trace    string
	report   string
	planOnly bool
	verify   bool
	limitMem []string
	isolate  bool
	journal  string // of a child
}

func (a *app) runCommand() *cobra.Command {
	var f runFlags
	c := &cobra.Command{
		Use:   "run FILE | FOLDER",
		Short: "Run a pipeline",
		Long: `run reads a pipeline file (in a folder: pipeline.yaml), checks all of it, runs it
on the selected devices, and writes its outputs when everything has succeeded.
An output that was there before stays as it was until then.`,
		Example: `  tandem run examples/edges
  tandem run job.yaml --devices cpu,opencl --set n=4096 --json
  tandem run job.yaml --trace t.json --report r.html`,
		Args: files(1, 1, "one pipeline file or its folder"),
		RunE: func(c *cobra.Command, args []string) error { return a.run(c.Context(), args[0], &f) },
	}
	fl := c.Flags()
	fl.StringArrayVar(&f.set, "set", nil, "set a variable of the pipeline: NAME=VALUE")
	fl.StringVar(&f.trace, "trace", "", "write a trace for Perfetto (ui.perfetto.dev) or chrome://tracing to this file")
	fl.StringVar(&f.report, "report", "", "write a page with timeline, device table and task graph to this file")
	fl.BoolVar(&f.planOnly, "plan-only", false, "show the predicted schedule and run nothing")
	fl.BoolVar(&f.verify, "verify", false, "run again on one device alone, the cpu if possible, and compare before writing the outputs")
	fl.BoolVar(&f.isolate, "isolate", false, "run in a child process: a kernel that crashes a vendor's library takes down the child only")
	fl.StringVar(&f.journal, journalFlag, "", "")
	_ = fl.MarkHidden(journalFlag) // it is there
	fl.StringArrayVar(&f.limitMem, "limit-mem", nil, "bound the memory used on a device: opencl:0=64MiB")
	return c
}

// runJSON is the document of `tandem run --json`.
type runJSON struct {
	WallS      float64              `json:"wall_s"` // reading the pipeline to writing the outputs
	Tasks      int                  `json:"tasks"`
	Devices    []tandem.DeviceStats `json:"devices"`
	Copies     copiesJSON           `json:"copies"`
	PredictedS float64              `json:"predicted_makespan_s"`
	MakespanS  float64              `json:"makespan_s"`
	TaskTimes  []taskTimeJSON       `json:"task_times"` // predicted against real, by task
	Outputs    []outputJSON         `json:"outputs"`
	FPGA       []fpgaRunJSON        `json:"fpga,omitempty"` // by device and kernel
	Verified   *verifyJSON          `json:"verify,omitempty"`
	Incidents  []incidentJSON       `json:"incidents,omitempty"` // what went wrong and was dealt with
	Faults     []fault              `json:"faults,omitempty"`
}

type copiesJSON struct {
	BytesH2D      int64   `json:"bytes_h2d"`
	BytesD2H      int64   `json:"bytes_d2h"`
	BytesD2D      int64   `json:"bytes_d2d"`
	BytesStaged   int64   `json:"bytes_staged"` // of those h2d and d2h, what passed through pinned memory
	BytesZeroCopy int64   `json:"bytes_zero_copy"`
	HiddenRatio   float64 `json:"hidden_ratio"` // of the time in copies, the part during which a device computed
}

type outputJSON struct {
	Buffer string `json:"buffer"`
	File   string `json:"file"`
	SHA256 string `json:"sha256"`
}

// parseLimits reads --limit-mem.
func parseLimits(list []string) (map[string]int64, error) {
	limits := map[string]int64{}
	var errs []error
	for _, text := range list {
		id, size, ok := strings.Cut(text, "=")
		n, err := parseBytes(size)
		switch {
		case !ok || id == "":
			errs = append(errs, fmt.Errorf("--limit-mem %s: want DEVICE=SIZE, as in opencl:0=64MiB", text))
		case err != nil:
			errs = append(errs, fmt.Errorf("--limit-mem %s: %w", text, err))
		default:
			limits[id] = n
		}
	}
	return limits, errors.Join(errs...)
}

// checkFolder says whether a file can be made at path, without making it.
func checkFolder(flag, path string) error {
	if path == "" {
		return nil
	}
	if st, err := os.Stat(path); err == nil && st.IsDir() {
		return fmt.Errorf("%s %s: is a folder; want a file", flag, path)
	}
	dir := filepath.Dir(path)
	if st, err := os.Stat(dir); err != nil || !st.IsDir() {
		return fmt.Errorf("%s %s: there is no folder %s; make it first", flag, path, dir)
	}
	return nil
}

func (a *app) run(ctx context.Context, file string, f *runFlags) error {
	begun := time.Now()
	limits, err := parseLimits(f.limitMem)
	if err = errors.Join(err, checkFolder("--trace", f.trace), checkFolder("--report", f.report)); err != nil {
		return err
	}
	if f.isolate && f.journal == "" {
		self, err := os.Executable()
		if err != nil {
			return &workError{fmt.Errorf("--isolate: where is this program: %w", err)}
		}
		return a.isolate(ctx, self)
	}
	if f.journal != "" {
		if a.journal, err = openJournal(f.journal); err != nil {
			return err
		}
		ctx = tie(ctx, a.stdin)
	}
	p, err := a.load(file, f.set)
	if err != nil {
		return err
	}
	var meter hiddenMeter
	var clock taskClock
	bar, stopBar := observe.Progress(a.stderr, a.onTerminal() && !a.quiet && !f.planOnly)
	defer stopBar()
	mishaps := incidents{app: a}
	observers := []tandem.Observer{meter.observer(), clock.observer(), mishaps.observer(), bar}
	if a.journal != nil {
		observers = append(observers, a.journal.observer())
	}
	var recorder *observe.Recorder
	if f.trace != "" || f.report != "" {
		recorder = &observe.Recorder{}
		observers = append(observers, recorder.Observer())
	}
	if nvtx.Profiled() {
		if l, err := nvtx.Open(); err == nil {
			observers = append(observers, observe.NVTX(l))
		} else {
			a.warn("no annotations for the profiler: %v", err)
		}
	}
	s, save, err := a.open(ctx, tandem.Config{MemoryLimit: limits, Emulate: p.Asks, Observer: tandem.Tee(observers...)})
	if err != nil {
		return err
	}
	doc := runJSON{Outputs: []outputJSON{}, TaskTimes: []taskTimeJSON{}}
	job, err := a.prepare(ctx, s, p)
	if err == nil && f.planOnly {
		return joinClose(a.showPlan(s, job.plan, false), s)
	}
	if err == nil {
		err = a.start(ctx, s, job, &doc, stopBar)
	}
	started := job != nil && job.started
	if err == nil && f.verify {
		doc.Verified, err = a.verify(ctx, p, s, job)
	}
	if err == nil {
		doc.Outputs, err = a.commit(ctx, job)
	}
	doc.Devices, doc.FPGA, doc.Incidents = s.Stats(), a.fpgaTotals(), mishaps.all()
	if started {
		doc.TaskTimes = clock.list(job.plan)
		save()
	}
	if recorder != nil && started {
		err = errors.Join(err, a.recorded(recorder.Recording(), file, &doc, f))
	}
	if err = joinClose(err, s); !started {
		return err
	}
	for _, d := range doc.Devices {
		doc.Copies.BytesH2D += d.BytesH2D
		doc.Copies.BytesD2H += d.BytesD2H
		doc.Copies.BytesD2D += d.BytesD2D
		doc.Copies.BytesStaged += d.BytesStaged
		doc.Copies.BytesZeroCopy += d.BytesZeroCopy
	}
	doc.Copies.HiddenRatio = meter.ratio()
	doc.WallS = time.Since(begun).Seconds()
	return a.closeRun(ctx, &doc, err)
}

// start runs the job to its end. What compiling refuses is about the input,
// what fails after that about the work.
func (a *app) start(ctx context.Context, s *tandem.Session, job *job, doc *runJSON, stopBar func()) error {
	run, err := s.Start(ctx, job.plan)
	a.buildLogs(s)
	if err != nil {
		return err
	}
	a.rearm()
	job.started = true
	doc.PredictedS = job.plan.Predicted.Seconds()
	// A cancelled run ends when what runs on the devices has ended; only then
	// may its memory go.
	<-run.Done()
	stopBar()
	doc.Tasks, _ = run.Progress()
	doc.MakespanS = run.Makespan().Seconds()
	if err := run.Wait(context.WithoutCancel(ctx)); err != nil {
		if cause := context.Cause(ctx); cause != nil {
			return cause
		}
		return &workError{err}
	}
	return nil
}

// commit writes the outputs; an interrupt that comes before leaves everything
// as it was, one that comes during it waits for the end.
func (a *app) commit(ctx context.Context, job *job) ([]outputJSON, error) {
	a.committing.Lock()
	defer a.committing.Unlock()
	if err := context.Cause(ctx); err != nil {
		return []outputJSON{}, err
	}
	list := []outputJSON{}
	a.committed = true
	written, err := job.built.WriteOutputs(context.WithoutCancel(ctx))
	for _, o := range written {
		list = append(list, outputJSON{o.Buffer, o.File, o.SHA256})
	}
	if err != nil {
		return list, &workError{err}
	}
	return list, nil
}

// recorded writes the files of --trace and --report.
func (a *app) recorded(rec observe.Recording, file string, doc *runJSON, f *runFlags) error {
	a.committing.Lock()
	defer a.committing.Unlock()
	if rec.Dropped > 0 {
		a.warn("the record of the run holds the first %d launches and copies; %d later events are left out", len(rec.Launches)+len(rec.Copies), rec.Dropped)
	}
	var errs []error
	if f.trace != "" {
		errs = append(errs, arrayfile.Replace(f.trace, func(w io.Writer) error { return observe.WriteTrace(w, rec) }))
	}
	if f.report != "" {
		host, _ := os.Hostname() // a page without it is as good
		info := observe.ReportInfo{Title: file, Host: host, Command: "tandem run " + file, Version: version().Version,
			Created: time.Now(), Predicted: time.Duration(doc.PredictedS * 1e9)}
		errs = append(errs, arrayfile.Replace(f.report, func(w io.Writer) error { return observe.WriteReport(w, rec, info) }))
	}
	if err := errors.Join(errs...); err != nil {
		return &workError{err}
	}
	return nil
}

// closeRun writes the table and the document of a run that was started.
func (a *app) closeRun(ctx context.Context, doc *runJSON, err error) error {
	if err != nil {
		doc.Faults = faults(err)
	}
	if context.Cause(ctx) == nil {
		w := a.text()
		if terr := observe.Table(w, doc.Devices); terr != nil {
			err = errors.Join(err, &workError{terr})
		}
		fmt.Fprintf(w, "\n%d task(s) in %s (predicted %s), %s in all\n", doc.Tasks, secondsText(doc.MakespanS), secondsText(doc.PredictedS), secondsText(doc.WallS))
		printTotals(w, doc.FPGA)
		if doc.Verified != nil {
			fmt.Fprintln(w, doc.Verified.text())
		}
		for _, o := range doc.Outputs {
			fmt.Fprintf(w, "%s -> %s\n", o.Buffer, o.File)
		}
	}
	return errors.Join(err, a.result(doc))
}

// joinClose closes the session after err. A failure to close is the work's.
func joinClose(err error, s *tandem.Session) error {
	if cerr := s.Close(); cerr != nil {
		err = errors.Join(err, &workError{cerr})
	}
	return err
}
