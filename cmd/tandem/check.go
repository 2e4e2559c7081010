package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/kernels"
	tandem "github.com/tandemrun/tandem/runtime"
	"github.com/tandemrun/tandem/runtime/pipeline"
)

func (a *app) checkCommand() *cobra.Command {
	var set, cuda []string
	c := &cobra.Command{
		Use:   "check FILE | FOLDER",
		Short: "Check a pipeline without running it",
		Long: `check reads a pipeline, checks its keys, types, names, signatures, access modes,
bounds, order and files, and compiles every kernel for every selected device. It
works without devices too. All faults are reported; exit code 2 if there are any.

With --cuda every kernel in OpenCL C or CUDA C is also compiled by NVRTC for GPUs of
a compute capability, for which no GPU is needed. Kernels in CUDA C are compiled
for 7.5 where no selected device takes them and there is an NVRTC.`,
		Example: "  tandem check examples/edges\n  tandem check job.yaml --devices opencl --json\n  tandem check job.yaml --cuda 8.0,9.0",
		Args:    files(1, 1, "one pipeline file or its folder"),
		RunE:    func(c *cobra.Command, args []string) error { return a.check(c.Context(), args[0], set, cuda) },
	}
	c.Flags().StringArrayVar(&set, "set", nil, "set a variable of the pipeline: NAME=VALUE")
	c.Flags().StringSliceVar(&cuda, "cuda", nil, "compile for NVIDIA GPUs of these compute capabilities, as in 8.0,9.0")
	return c
}

// checkJSON is the document of `tandem check --json`.
type checkJSON struct {
	File     string            `json:"file"`
	OK       bool              `json:"ok"`
	Tasks    int               `json:"tasks"`
	Steps    []checkStepJSON   `json:"steps"`
	Kernels  []checkKernelJSON `json:"kernels"`
	Devices  []checkDeviceJSON `json:"devices"`
	Faults   []fault           `json:"faults"`
	Warnings []string          `json:"warnings"`
}

type checkStepJSON struct {
	ID       string `json:"id"`
	Line     int    `json:"line"`
	Path     string `json:"path"`
	Kernel   string `json:"kernel"`
	Tasks    int    `json:"tasks"` // how many the loops make of it
	NotSplit string `json:"not_split,omitempty"`
}

type checkKernelJSON struct {
	Name      string `json:"name"`
	Signature string `json:"signature"`
	Position  string `json:"position,omitempty"`
}

type checkDeviceJSON struct {
	ID      string           `json:"id"`
	Kernels []checkBuildJSON `json:"kernels"`
}

// checkBuildJSON is one kernel on one device: built, refused (it is not for
// this device) or faulty.
type checkBuildJSON struct {
	Kernel  string `json:"kernel"`
	Built   bool   `json:"built"`
	Refused string `json:"refused,omitempty"`
	Error   string `json:"error,omitempty"`
	Log     string `json:"log,omitempty"` // the compiler's warnings
}

func (a *app) check(ctx context.Context, file string, set, cuda []string) error {
	doc := checkJSON{File: file, Steps: []checkStepJSON{}, Kernels: []checkKernelJSON{}, Devices: []checkDeviceJSON{}, Faults: []fault{}, Warnings: []string{}}
	p, err := pipeline.Load(file, pipeline.Options{Set: set})
	archs, usage := capabilities(cuda)
	if usage != nil {
		return usage
	}
	if err == nil {
		err = errors.Join(a.checkDevices(ctx, p, &doc), a.checkCUDA(p.Kernels(), archs, &doc))
	}
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	doc.OK = err == nil
	if err != nil {
		doc.Faults = faults(err)
	} else {
		printCheck(a.text(), &doc)
	}
	return errors.Join(err, a.result(doc))
}

// checkDevices compiles every kernel of the pipeline for every device.
func (a *app) checkDevices(ctx context.Context, p *pipeline.Pipeline, doc *checkJSON) error {
	for _, w := range p.Warnings() {
		doc.Warnings = append(doc.Warnings, w.Error())
		a.warn("%v", w)
	}
	doc.File, doc.Tasks = p.File(), p.Tasks()
	for _, s := range p.Steps() {
		doc.Steps = append(doc.Steps, checkStepJSON{s.ID, s.Line, s.Path, s.Kernel.Name, s.Tasks, s.NotSplit})
	}
	list := p.Kernels()
	for _, k := range list {
		doc.Kernels = append(doc.Kernels, checkKernelJSON{Name: k.Name, Signature: k.Signature(), Position: describeKernel(k).Position})
	}
	sel, err := tandem.ParseSelector(a.devices)
	if err != nil {
		return err
	}
	driver := map[string]devices.Driver{}
	var all []devices.Info
	for _, d := range a.drivers() {
		b := d.Probe(ctx)
		driver[b.Name] = d
		all = append(all, b.Devices...)
	}
	chosen, err := sel.Choose(all, p.Asks)
	if err != nil {
		return a.explain(ctx, err)
	}
	var errs []error
	for i := range chosen {
		dev, err := driver[chosen[i].Backend].Open(ctx, chosen[i].Ordinal)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", chosen[i].ID, err))
			continue
		}
		a.rearm()
		d, err := a.checkDevice(ctx, dev, list)
		errs = append(errs, err, dev.Close())
		doc.Devices = append(doc.Devices, d)
	}
	return errors.Join(errs...)
}

// checkDevice compiles every kernel for one device, each source once.
func (a *app) checkDevice(ctx context.Context, dev devices.Device, list []*kernels.Kernel) (checkDeviceJSON, error) {
	info := dev.Info()
	d := checkDeviceJSON{ID: info.ID, Kernels: []checkBuildJSON{}}
	programs := map[*devices.Source]devices.Program{}
	failed := map[*devices.Source]error{}
	var errs []error
	for _, k := range list {
		j := checkBuildJSON{Kernel: k.Name}
		v, err := k.VariantFor(info)
		if err != nil {
			j.Refused = plain(err)
			d.Kernels = append(d.Kernels, j)
			continue
		}
		prog, err := programs[v.Source], failed[v.Source]
		if prog == nil && err == nil {
			if prog, err = dev.Compile(ctx, v.Source); err != nil {
				failed[v.Source] = err
			} else {
				programs[v.Source] = prog
				if j.Log = strings.TrimSpace(prog.Log()); j.Log != "" {
					a.warn("%s: %s: the compiler says:\n%s", info.ID, v.Source.Name, indent(j.Log))
				}
			}
		}
		if err == nil {
			var built devices.Kernel
			if built, err = prog.Kernel(v.Entry); err == nil {
				err = built.Close()
			}
		}
		if j.Built = err == nil; err != nil {
			j.Error = err.Error()
			errs = append(errs, err)
		}
		d.Kernels = append(d.Kernels, j)
	}
	for _, prog := range programs {
		errs = append(errs, prog.Close())
	}
	return d, errors.Join(errs...)
}

func printCheck(w io.Writer, doc *checkJSON) {
	fmt.Fprintf(w, "%s: all right: %d step(s), %d task(s)\n", doc.File, len(doc.Steps), doc.Tasks)
	for _, k := range doc.Kernels {
		fmt.Fprintf(w, "  %s\n", k.Signature)
		built := 0
		for _, d := range doc.Devices {
			for _, b := range d.Kernels {
				switch {
				case b.Kernel != k.Name:
				case b.Built:
					built++
					fmt.Fprintf(w, "    %-10s compiles\n", d.ID)
				default:
					fmt.Fprintf(w, "    %-10s not for this device: %s\n", d.ID, b.Refused)
				}
			}
		}
		if built == 0 && len(doc.Devices) > 0 {
			fmt.Fprintln(w, "    no device here can run it (tandem probe says what is missing)")
		}
	}
	if len(doc.Devices) == 0 {
		fmt.Fprintln(w, "  0 devices: nothing was compiled")
	}
}
