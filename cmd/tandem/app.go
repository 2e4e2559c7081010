package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/devices/all"
	"github.com/tandemrun/tandem/devices/cuda"
	"github.com/tandemrun/tandem/devices/fpga"
	"github.com/tandemrun/tandem/devices/opencl"
	"github.com/tandemrun/tandem/devices/sycl"
	tandem "github.com/tandemrun/tandem/runtime"
)

// app is one run of the program.
type app struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	args           []string // without the program's name
	journal        *journal // of a child that runs a pipeline; nil otherwise

	// Flags of every command.
	json    bool
	quiet   bool
	devices string

	// committing is held while files are put in place: an interrupt that ends
	// the program waits for it.
	committing sync.Mutex
	committed  bool // that has begun; guarded by committing
	driverList []devices.Driver
	rearm      func()     // takes the signals back after vendor libraries were loaded
	writing    sync.Mutex // held while the JSON document is written
	wroteJSON  bool       // guarded by writing
}

func (a *app) rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "tandem",
		Short: "Task graphs on every processor in the machine",
		Long: `tandem runs kernels and pipelines of kernels on the CPUs, GPUs and FPGAs of this
machine. It finds them at run time, decides where each task runs, and moves the
data. Exit codes: 0 done, 1 the work failed, 2 the input or usage is wrong,
130 interrupted.`,
		Example: `  tandem run examples/edges
  tandem probe
  tandem exec saxpy.cl --global 1024 --arg a=2 --arg x=x.npy --arg y:rw=y.npy --out y=y2.npy`,
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.SetIn(a.stdin)
	root.SetOut(a.stdout)
	root.SetErr(a.stderr)
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return fmt.Errorf("%w; see: %s --help", err, c.CommandPath())
	})
	f := root.PersistentFlags()
	f.BoolVar(&a.json, "json", false, "write one JSON document to standard output and everything else to standard error")
	f.BoolVarP(&a.quiet, "quiet", "q", false, "no progress, no tables, no warnings")
	f.StringVar(&a.devices, "devices", "", "devices to use: cpu, opencl:0, kind=gpu, name=H200, !fpga, comma separated (default all)")
	// Completion offers the backends' names; ids would take a probe at each tab.
	_ = root.RegisterFlagCompletionFunc("devices", cobra.FixedCompletions([]string{"cpu", "opencl", "cuda", "kind=cpu", "kind=gpu", "kind=fpga", "!cpu"}, cobra.ShellCompDirectiveNoFileComp))
	root.AddCommand(a.runCommand(), a.execCommand(), a.planCommand(), a.probeCommand(), a.checkCommand(),
		a.kernelsCommand(), a.compareCommand(), a.modelCommand(), a.benchCommand(), a.schemaCommand(), a.syclCommand(), a.versionCommand())
	return root
}

// drivers are all drivers, the same ones at each call. OpenCL and CUDA libraries
// are asked in a child of this program first.
func (a *app) drivers() []devices.Driver {
	if a.driverList != nil {
		return a.driverList
	}
	a.driverList = all.Drivers()
	exe, err := os.Executable()
	if err != nil {
		return a.driverList // the libraries are asked in this process
	}
	for _, d := range a.driverList {
		switch d := d.(type) {
		case *opencl.Driver:
			d.Child = exe
		case *sycl.Driver:
			d.Child = exe
		case *cuda.Driver:
			d.Child = exe
		case *fpga.Driver:
			for _, v := range d.Vendors {
				v.Child = exe
			}
		}
	}
	return a.driverList
}

// driversFor are the drivers that a selector can want: asking a vendor's library
// takes longer than much of what is run. Where the selector matches nothing of
// theirs they are all, for an error that lists what there is.
func (a *app) driversFor(ctx context.Context, selector string) []devices.Driver {
	every := a.drivers()
	sel, err := tandem.ParseSelector(selector)
	if err != nil {
		return every
	}
	names := sel.Backends()
	if names == nil {
		return every
	}
	var some []devices.Driver
	var infos []devices.Info
	for _, d := range every {
		if slices.Contains(names, d.Name()) {
			some = append(some, d)
			infos = append(infos, d.Probe(ctx).Devices...)
		}
	}
	if _, err := sel.Select(infos); err != nil || len(infos) == 0 {
		return every
	}
	return some
}

// open opens a session on the selected devices, with what earlier runs learnt,
// and shows the backends' warnings. save keeps what the session adds to that.
// Its errors are about the selection or the machine: exit 2.
func (a *app) open(ctx context.Context, c tandem.Config) (s *tandem.Session, save func(), err error) {
	c.Drivers, c.Devices = a.driversFor(ctx, a.devices), a.devices
	save = a.learn(ctx, &c)
	s, err = tandem.Open(ctx, c)
	a.rearm()
	if err != nil {
		return nil, nil, a.explain(ctx, err)
	}
	for _, b := range s.Backends() {
		for _, w := range b.Warnings {
			a.warn("%s: %s", b.Name, w)
		}
	}
	return s, save, nil
}

// explain adds to an error about devices that are not there why a backend that
// was asked for has none, and what would mend it.
func (a *app) explain(ctx context.Context, err error) error {
	if !errors.Is(err, devices.ErrUnavailable) {
		return err
	}
	asked := err.Error() // holds the term that matches nothing
	for _, d := range a.drivers() {
		b := d.Probe(ctx)
		if b.Available || b.Reason == nil || !strings.Contains(asked, fmt.Sprintf("%q", b.Name)) && !strings.Contains(asked, `"`+b.Name+":") {
			continue
		}
		text := plain(b.Reason)
		if b.Hint != "" {
			text += "; " + b.Hint
		}
		err = &absentError{err: err, why: text}
	}
	return err
}

// absentError is an error about a device with the reason why its backend is
// not available.
type absentError struct {
	err error
	why string
}

func (e *absentError) Error() string { return plain(e.err) + ": " + e.why }
func (e *absentError) Unwrap() error { return e.err }

// files checks how many arguments a command got and says what they are.
func files(least, most int, what string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		switch {
		case len(args) < least:
			return fmt.Errorf("%s wants %s; see: %s --help", c.Name(), what, c.CommandPath())
		case len(args) > most:
			return fmt.Errorf("%s wants %s, %q is one argument too many; see: %s --help", c.Name(), what, args[most], c.CommandPath())
		}
		return nil
	}
}

// buildLogs shows what compilers said of kernels that compiled.
func (a *app) buildLogs(s *tandem.Session) {
	logs := s.BuildLogs()
	for _, name := range sortedKeys(logs) {
		if text := strings.TrimSpace(logs[name]); text != "" {
			a.warn("%s: the compiler says:\n%s", name, indent(text))
		}
	}
}

// note writes a line for people, warn one that matters to them.
func (a *app) note(format string, args ...any) {
	if !a.quiet {
		fmt.Fprintf(a.stderr, format+"\n", args...)
	}
}

func (a *app) warn(format string, args ...any) {
	a.note("warning: "+format, args...)
}

// text is where a command's result for people goes.
func (a *app) text() io.Writer {
	if a.quiet || a.json {
		return io.Discard
	}
	return a.stdout
}

// result writes v as the command's JSON document if that is asked for.
func (a *app) result(v any) error {
	if !a.json {
		return nil
	}
	a.writing.Lock()
	defer a.writing.Unlock()
	return a.write(v)
}

// write is result with writing held.
func (a *app) write(v any) error {
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return fmt.Errorf("write JSON: %w", err)
	}
	a.wroteJSON = true
	if _, err := a.stdout.Write(append(b, '\n')); err != nil {
		return &workError{fmt.Errorf("write JSON: %w", err)}
	}
	return nil
}

// onTerminal reports whether standard error is a terminal, and its width.
func (a *app) onTerminal() bool {
	f, ok := a.stderr.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// width is the number of columns to fill.
func (a *app) width() int {
	if f, ok := a.stdout.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		if w, _, err := term.GetSize(int(f.Fd())); err == nil && w >= 40 {
			return min(w, 160)
		}
	}
	return 100
}

// workError is a failure of the work itself, not of its input: exit 1.
type workError struct{ err error }

func (e *workError) Error() string { return e.err.Error() }
func (e *workError) Unwrap() error { return e.err }

// exitCode is what the program ends with after err.
func exitCode(ctx context.Context, err error) int {
	var stop *interruptError
	var work *workError
	var child *childExit
	switch {
	case err == nil:
		return exitDone
	case errors.As(err, &child):
		return child.code
	case errors.As(err, &stop), errors.As(context.Cause(ctx), &stop):
		return stop.code()
	case errors.As(err, &work):
		return exitFailed
	}
	return exitInput
}

// finish reports err, one line for each fault, and returns the exit code. With
// --json a command that wrote no document of its own gets one with the faults.
func (a *app) finish(ctx context.Context, err error) int {
	code := exitCode(ctx, err)
	var child *childExit
	if err == nil || errors.Is(err, errSilent) || errors.As(err, &child) {
		return code
	}
	var stop *interruptError
	if errors.As(context.Cause(ctx), &stop) && !a.committed {
		err = fmt.Errorf("%w; no output was written", stop)
	}
	list := faults(err)
	for _, f := range list {
		fmt.Fprintln(a.stderr, f.line())
		if f.log != "" {
			fmt.Fprintln(a.stderr, indent(f.log))
		}
	}
	if a.json && !a.wroteJSON {
		// The faults are on standard error already if this fails.
		_ = a.result(failureJSON{Exit: code, Faults: list})
	}
	return code
}

// errSilent ends a command with exit code 1 whose result said why already.
var errSilent = errors.New("see the result")

type failureJSON struct {
	Exit   int     `json:"exit"`
	Faults []fault `json:"faults"`
}
