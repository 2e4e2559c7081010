package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/kernels"
	"github.com/tandemrun/tandem/kernels/clc"
	"github.com/tandemrun/tandem/kernels/cudasrc"
	"github.com/tandemrun/tandem/kernels/library"
	"github.com/tandemrun/tandem/kernels/rtl"
	tandem "github.com/tandemrun/tandem/runtime"
	"github.com/tandemrun/tandem/runtime/arrayfile"
)

type execFlags struct {
	source sourceFlags
	global string
	local  string
	args   []string
	outs   []string
	repeat int
	first  int
}

func (a *app) execCommand() *cobra.Command {
	var f execFlags
	c := &cobra.Command{
		Use:   "exec FILE.cl [ENTRY] | NAME",
		Short: "Run one kernel and time it, without a pipeline file",
		Long: `exec runs one kernel of an OpenCL C file, or a built-in by its name, on each of
the selected devices in turn, and shows the time of the kernel itself.

Arguments are --arg NAME=VALUE, --arg N=VALUE by position from 0, or --arg VALUE
for the next position. VALUE is
  x.npy             an array from a file (.npy .npz .png .jpg .pgm .ppm .csv)
  float32[1024]     a new array of zeros; float32[480,640] has two dimensions
  1.5               a number, for a parameter that is a value
  1,2,3,4           a vector
  @bytes.bin        a value (a struct) as it lies in memory
  local:256         bytes of local memory, for a __local pointer
A mode may follow the name: y:w, y:rw; the default is what the source says.

The first launch gives the outputs and is not timed: it may compile. The timed
launches that follow find the arrays as the launch before left them.`,
		Example: `  tandem exec saxpy.cl --global 1024 --arg a=1.5 --arg x=x.npy --arg y:rw=y.npy --out y=y2.npy
  tandem exec saxpy.cl saxpy --global 1024 --local 64 --arg 1.5 --arg x.npy --arg float32[1024] --repeat 100
  tandem exec vector.add --arg x=x.npy --arg y=y.npy --arg z=float32[1024] --devices cpu --json`,
		Args: files(1, 2, "a source file and perhaps an entry point, or the name of a built-in kernel"),
		RunE: func(c *cobra.Command, args []string) error { return a.exec(c.Context(), args, &f) },
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			var names []string
			for _, k := range library.All() {
				names = append(names, k.Name)
			}
			return names, cobra.ShellCompDirectiveDefault
		},
	}
	f.source.register(c)
	fl := c.Flags()
	fl.StringVar(&f.global, "global", "", "global size: 1024 or 640,480 (x first); a built-in knows it from its arguments")
	fl.StringVar(&f.local, "local", "", "work-group size: 64 or 16,16 (default: the driver chooses)")
	fl.StringArrayVar(&f.args, "arg", nil, "argument: NAME[:MODE]=VALUE (repeat for each)")
	fl.StringArrayVar(&f.outs, "out", nil, "write an array after the first launch: NAME=FILE (repeat for each)")
	fl.IntVar(&f.repeat, "repeat", 10, "timed launches on each device")
	fl.IntVar(&f.first, "first", 8, "values of each output to show")
	return c
}

// execJSON is the document of `tandem exec --json`.
type execJSON struct {
	Kernel  string           `json:"kernel"`
	Global  []int            `json:"global"`
	Local   []int            `json:"local,omitempty"`
	Devices []execDeviceJSON `json:"devices"`
	Outputs []execOutputJSON `json:"outputs"`
}

type execDeviceJSON struct {
	ID          string  `json:"id"`
	Launches    int     `json:"launches"` // timed
	MinS        float64 `json:"min_s"`
	MedianS     float64 `json:"median_s"`
	MaxS        float64 `json:"max_s"`
	Bytes       int64   `json:"bytes,omitempty"`       // that a launch has to move between memory and the cores
	BytesPerS   float64 `json:"bytes_per_s,omitempty"` // Bytes over the median
	FlopsPerS   float64 `json:"flops_per_s,omitempty"`
	SameOutputs *bool   `json:"same_outputs,omitempty"` // bit for bit those of the first device
	Refused     string  `json:"refused,omitempty"`      // why it did not run here
}

type execOutputJSON struct {
	Name   string   `json:"name"`
	DType  string   `json:"dtype"`
	Shape  []int64  `json:"shape"`
	First  []string `json:"first"` // text, so that nan and 64-bit integers survive
	File   string   `json:"file,omitempty"`
	SHA256 string   `json:"sha256,omitempty"`
}

// findKernel is the kernel that the command line names.
func findKernel(ctx context.Context, args []string, f *sourceFlags) (*kernels.Kernel, error) {
	name, entry := args[0], ""
	if len(args) > 1 {
		entry = args[1]
	}
	isFile := strings.HasSuffix(name, ".cl") || isCUDA(name) || isVerilog(name) || strings.ContainsAny(name, `/\`)
	if !isFile {
		k, err := library.Lookup(name)
		if err == nil {
			if entry != "" {
				return nil, fmt.Errorf("%s is a built-in kernel and has no entry point %q", name, entry)
			}
			return k, nil
		}
		if _, statErr := os.Stat(name); statErr != nil {
			return nil, fmt.Errorf("%s; a source file ends in .cl, .cu or .v", plain(err))
		}
	}
	if _, err := os.Stat(name); err != nil {
		return nil, fmt.Errorf("%s: no such kernel file", name)
	}
	if isVerilog(name) {
		o, err := f.rtl()
		if err != nil {
			return nil, err
		}
		k, err := rtl.Load(ctx, name, entry, o)
		return k, withHint(err)
	}
	if isCUDA(name) {
		return cudasrc.Load(name, entry, f.clc())
	}
	return clc.Load(name, entry, f.clc())
}

func (a *app) exec(ctx context.Context, args []string, f *execFlags) error {
	if f.repeat < 1 {
		return fmt.Errorf("--repeat %d: want at least 1", f.repeat)
	}
	k, err := findKernel(ctx, args, &f.source)
	if err != nil {
		return err
	}
	e, err := newExecution(k, f)
	if err != nil {
		return err
	}
	chosen, err := a.execDevices(ctx, isVerilog(args[0]))
	if err != nil {
		return err
	}
	doc := execJSON{Kernel: k.Name, Global: e.call.Range.Size[:e.call.Range.Dims], Devices: []execDeviceJSON{}, Outputs: []execOutputJSON{}}
	if e.call.Range.Local[0] > 0 {
		doc.Local = e.call.Range.Local[:e.call.Range.Dims]
	}
	var refused []error
	ran := 0
	for i := range chosen {
		id := chosen[i].ID
		d, err := execDeviceJSON{}, e.runsOn(&chosen[i])
		if err == nil {
			d, err = a.execOn(ctx, e, id, f.repeat)
		}
		if err != nil {
			var work *workError
			if cause := context.Cause(ctx); cause != nil {
				return cause
			}
			switch {
			case errors.As(err, &work):
				return fmt.Errorf("%s: %w", id, err)
			case !errors.Is(err, devices.ErrUnsupported):
				return err // it should run here: a source that does not compile
			}
			refused = append(refused, err)
			d = execDeviceJSON{ID: id, Refused: plain(err)}
		} else {
			ran++
		}
		doc.Devices = append(doc.Devices, d)
	}
	if ran == 0 {
		return errors.Join(refused...)
	}
	if a.devices != "" && len(refused) > 0 {
		// A device that was asked for and cannot is an error; one that merely is
		// there is only named in the table.
		for _, err := range refused {
			a.warn("%v", err)
		}
	}
	if doc.Outputs, err = e.writeOutputs(a, f.first); err != nil {
		return &workError{err}
	}
	e.print(a.text(), &doc)
	return a.result(doc)
}

// runsOn says why a device cannot run the kernel, nil if nothing speaks
// against it. The steps of a composed kernel are left to the session.
func (e *execution) runsOn(d *devices.Info) error {
	if e.call.Kernel.Compose != nil {
		return nil
	}
	_, err := e.call.Kernel.VariantFor(*d)
	return err
}

// execDevices are the selected devices, emulated ones too if nothing else would
// run the kernel.
func (a *app) execDevices(ctx context.Context, emulated bool) ([]devices.Info, error) {
	var all []devices.Info
	for _, d := range a.driversFor(ctx, a.devices) {
		b := d.Probe(ctx)
		all = append(all, b.Devices...)
		for _, w := range b.Warnings {
			a.warn("%s: %s", b.Name, w)
		}
	}
	sel, err := tandem.ParseSelector(a.devices)
	if err != nil {
		return nil, err
	}
	chosen, err := sel.Choose(all, func(*devices.Info) bool { return emulated })
	if err != nil {
		return nil, a.explain(ctx, err)
	}
	if len(chosen) == 0 {
		return nil, fmt.Errorf("no device found: %w", devices.ErrUnavailable)
	}
	return chosen, nil
}

// launchTimes collects the kernel's own times, by run.
type launchTimes struct {
	mu    sync.Mutex
	byRun map[int64]time.Duration
}

func (l *launchTimes) launched(e tandem.LaunchEvent) {
	if e.Err == nil {
		l.mu.Lock()
		l.byRun[e.Run] += e.Times.Run() // a composed kernel is several launches
		l.mu.Unlock()
	}
}

// timed are the times of the runs after the first, ascending.
func (l *launchTimes) timed() []time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	var all []time.Duration
	for run, d := range l.byRun {
		if run > 1 {
			all = append(all, d)
		}
	}
	slices.Sort(all)
	return all
}

// execOn runs the kernel on one device. An error before anything has run is
// about the input; one after that is a *workError.
func (a *app) execOn(ctx context.Context, e *execution, id string, repeat int) (d execDeviceJSON, err error) {
	times := &launchTimes{byRun: map[int64]time.Duration{}}
	s, err := tandem.Open(ctx, tandem.Config{Drivers: a.driversFor(ctx, id), Devices: id, Observer: tandem.Observer{Launched: times.launched}})
	if err != nil {
		return d, err
	}
	a.rearm()
	defer func() {
		if cerr := s.Close(); err == nil && cerr != nil {
			err = &workError{cerr}
		}
	}()
	buffers, err := e.buffers(ctx, s)
	if err != nil {
		return d, err
	}
	g := tandem.NewGraph().Named(e.call.Kernel.Name)
	g.AddCall(e.call, func(arr *kernels.Array) *tandem.Buffer { return buffers[arr] })
	outputs := make([][]byte, len(e.given))
	for i := range repeat + 1 {
		run, err := s.Submit(ctx, g)
		if err != nil {
			return d, err
		}
		if err := run.Wait(ctx); err != nil {
			return d, &workError{err}
		}
		if i > 0 {
			continue
		}
		a.buildLogs(s)
		for n := range e.given {
			if !e.given[n].written {
				continue
			}
			if err := buffers[e.given[n].array].Read(ctx, func(b []byte) error {
				outputs[n] = bytes.Clone(b)
				return nil
			}); err != nil {
				return d, &workError{err}
			}
		}
	}
	d = e.summary(id, times.timed())
	if e.outputs == nil {
		e.outputs = outputs
	} else {
		same := slices.EqualFunc(e.outputs, outputs, bytes.Equal)
		d.SameOutputs = &same
	}
	return d, nil
}

// summary turns the times of one device into its line.
func (e *execution) summary(id string, times []time.Duration) execDeviceJSON {
	d := execDeviceJSON{ID: id, Launches: len(times)}
	if len(times) == 0 {
		return d // an empty range: nothing was launched
	}
	median := times[len(times)/2]
	d.MinS, d.MedianS, d.MaxS = times[0].Seconds(), median.Seconds(), times[len(times)-1].Seconds()
	if median <= 0 {
		return d
	}
	w := e.call.Work()
	d.Bytes, d.BytesPerS = int64(w.Bytes), w.Bytes/median.Seconds()
	if e.call.Kernel.Work != nil {
		d.FlopsPerS = w.Flops / median.Seconds()
	}
	return d
}

// writeOutputs writes the files of --out and describes every array that the
// kernel wrote. Each file is the old one or the whole new one.
func (e *execution) writeOutputs(a *app, first int) ([]execOutputJSON, error) {
	list := []execOutputJSON{}
	a.committing.Lock()
	defer a.committing.Unlock()
	a.committed = true
	for n := range e.given {
		g := &e.given[n]
		if !g.written {
			continue
		}
		h := arrayfile.Header{DType: g.array.DType, Shape: g.array.Shape}
		o := execOutputJSON{Name: g.param, DType: h.DType.String(), Shape: slices.Clone(h.Shape), First: firstValues(h.DType, e.outputs[n], first)}
		if g.out != "" {
			if err := arrayfile.Write(g.out, h, e.outputs[n], arrayfile.Options{}); err != nil {
				return nil, err
			}
			b, err := fileSum(g.out)
			if err != nil {
				return nil, err
			}
			o.File, o.SHA256 = g.out, b
		}
		list = append(list, o)
	}
	return list, nil
}

// fileSum is the SHA-256 of a file's bytes.
func fileSum(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	h := sha256.New()
	_, err = io.Copy(h, f)
	return hex.EncodeToString(h.Sum(nil)), errors.Join(err, f.Close())
}
