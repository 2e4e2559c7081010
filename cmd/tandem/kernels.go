package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/devices/fpga"
	"github.com/tandemrun/tandem/kernels"
	"github.com/tandemrun/tandem/kernels/clc"
	"github.com/tandemrun/tandem/kernels/cudasrc"
	"github.com/tandemrun/tandem/kernels/library"
	"github.com/tandemrun/tandem/kernels/rtl"
)

// sourceFlags say how a source file is to be read.
type sourceFlags struct {
	include []string
	defines []string
	options []string
}

func (f *sourceFlags) register(c *cobra.Command) {
	c.Flags().StringArrayVarP(&f.include, "include", "I", nil, "folder to search for included files")
	c.Flags().StringArrayVarP(&f.defines, "define", "D", nil, "macro: NAME or NAME=VALUE")
	c.Flags().StringArrayVar(&f.options, "option", nil, "option for the device's compiler, passed on unchanged")
	_ = c.MarkFlagDirname("include") // completion only
}

func (f *sourceFlags) clc() clc.Options {
	o := clc.Options{Include: f.include, Options: f.options}
	for _, d := range f.defines {
		name, value, _ := strings.Cut(d, "=")
		o.Defines = append(o.Defines, clc.Define{Name: name, Value: value})
	}
	return o
}

func (a *app) kernelsCommand() *cobra.Command {
	var f sourceFlags
	var onFPGA bool
	var names []string
	c := &cobra.Command{
		Use:   "kernels [FILE.cl | FILE.v | NAME...]",
		Short: "List the built-in kernels, or the entry points of a source file",
		Long: `kernels lists the built-in kernels with their parameters, or those whose names
contain one of the words given, or the entry points of an OpenCL C or Verilog
file with the signatures that were read from it, what they need of a device, and
whether a launch can be divided over several devices.

--fpga synthesises kernels in Verilog and runs them on random words, freely and
with random stalls: area, highest clock, cycles, stalls, words per cycle. That
takes seconds to minutes; results are kept.`,
		Example: "  tandem kernels\n  tandem kernels image\n  tandem kernels saxpy.cl\n  tandem kernels --fpga brighten.v --target ice40,ecp5",
		RunE: func(c *cobra.Command, args []string) error {
			on, err := targets(names)
			if err != nil {
				return err
			}
			if len(names) > 0 && !onFPGA {
				return fmt.Errorf("--target without --fpga")
			}
			return a.kernels(c.Context(), args, &f, onFPGA, on)
		},
	}
	f.register(c)
	c.AddCommand(a.kernelsBuildCommand())
	c.Flags().BoolVar(&onFPGA, "fpga", false, "report area, highest clock and cycles of kernels in Verilog")
	c.Flags().StringSliceVar(&names, "target", nil, "with --fpga: families to synthesise for, of ice40, ecp5, xc7 (default ice40)")
	return c
}

// kernelJSON is one kernel in the document of `tandem kernels --json`.
type kernelJSON struct {
	Name      string             `json:"name"`
	Doc       string             `json:"doc,omitempty"`
	Signature string             `json:"signature"`
	Languages []devices.Language `json:"languages"`
	Params    []paramJSON        `json:"params"`
	Needs     []string           `json:"needs,omitempty"`
	Local     []int              `json:"fixed_local,omitempty"`
	Static    int64              `json:"static_local_bytes,omitempty"`
	Split     bool               `json:"splittable"` // as far as can be told before a call
	NoSplit   string             `json:"no_split,omitempty"`
	Position  string             `json:"position,omitempty"`
	FPGA      *fpgaJSON          `json:"fpga,omitempty"`
}

type paramJSON struct {
	Name    string `json:"name"`
	Kind    string `json:"kind"`
	Type    string `json:"type"`
	Mode    string `json:"mode,omitempty"`
	Doc     string `json:"doc,omitempty"`
	Default any    `json:"default,omitempty"`
	Implied bool   `json:"implied,omitempty"` // computed, not given
	Banded  bool   `json:"banded,omitempty"`  // which elements a work-item touches is known
}

type kernelsJSON struct {
	File    string       `json:"file,omitempty"`
	Kernels []kernelJSON `json:"kernels"`
}

func (a *app) kernels(ctx context.Context, args []string, f *sourceFlags, onFPGA bool, on []fpga.Target) error {
	doc := kernelsJSON{Kernels: []kernelJSON{}}
	var list []*kernels.Kernel
	var err error
	switch {
	case len(args) == 1 && strings.HasSuffix(args[0], ".cl"):
		doc.File = args[0]
		list, err = clc.Entries(args[0], f.clc())
	case len(args) == 1 && isCUDA(args[0]):
		doc.File = args[0]
		list, err = cudasrc.Entries(args[0], f.clc())
	case len(args) == 1 && isVerilog(args[0]):
		doc.File = args[0]
		var o rtl.Options
		if o, err = f.rtl(); err == nil {
			list, err = rtl.Entries(ctx, args[0], o)
			err = withHint(err)
		}
	default:
		list, err = matchingKernels(args)
	}
	if err != nil {
		return err
	}
	var known map[*kernels.Kernel]*fpgaJSON
	if onFPGA {
		list = slices.DeleteFunc(list, func(k *kernels.Kernel) bool { return k.Variant(devices.LangRTL) == nil })
		if len(list) == 0 {
			return fmt.Errorf("--fpga: none of these kernels is in Verilog; see: tandem kernels")
		}
		if known, err = a.analyze(ctx, list, on); err != nil {
			return withHint(err)
		}
	}
	for _, k := range list {
		j := describeKernel(k)
		j.FPGA = known[k]
		doc.Kernels = append(doc.Kernels, j)
	}
	printKernels(a.text(), doc)
	return a.result(doc)
}

// matchingKernels are the built-ins whose names contain one of the words; each
// word has to fit something.
func matchingKernels(words []string) ([]*kernels.Kernel, error) {
	all := library.All()
	if len(words) == 0 {
		return all, nil
	}
	used := make([]bool, len(words))
	var list []*kernels.Kernel
	for _, k := range all {
		hit := false
		for i, w := range words {
			if strings.Contains(k.Name, strings.ToLower(w)) {
				used[i], hit = true, true
			}
		}
		if hit {
			list = append(list, k)
		}
	}
	var errs []error
	for i, w := range words {
		if !used[i] {
			if _, err := library.Lookup(w); err != nil {
				errs = append(errs, err)
			}
		}
	}
	return list, errors.Join(errs...)
}

func describeKernel(k *kernels.Kernel) kernelJSON {
	j := kernelJSON{Name: k.Name, Doc: k.Doc, Signature: k.Signature(), Languages: []devices.Language{}, Params: []paramJSON{}, NoSplit: k.NoSplit}
	for i := range k.Variants {
		v := &k.Variants[i]
		j.Languages = append(j.Languages, v.Language)
		if v.Language != devices.LangOpenCL {
			continue
		}
		j.Needs = v.Needs.Missing(devices.Info{})
		if v.FixedLocal != [3]int{} {
			j.Local = v.FixedLocal[:]
		}
		j.Static = v.StaticLocal
	}
	written, banded := 0, 0
	for _, p := range k.Params {
		q := paramJSON{Name: p.Name, Kind: p.Kind.String(), Type: p.Type.String(), Doc: p.Doc, Default: p.Default, Implied: p.Implied}
		if p.Kind == kernels.Buffer {
			q.Mode, q.Banded = p.Mode.String(), p.Band != nil
			if p.Mode.Writes() {
				written++
				if q.Banded {
					banded++
				}
			}
		}
		j.Params = append(j.Params, q)
		if j.Position == "" && p.Pos.Line > 0 {
			j.Position = p.Pos.String()
		}
	}
	if k.Compose != nil {
		// Its steps have variants of their own, in the same languages.
		j.Languages = []devices.Language{devices.LangGo, devices.LangOpenCL}
		if j.NoSplit == "" {
			j.NoSplit = "it is a sequence of launches; each of them is divided by itself"
		}
		return j
	}
	j.Split = k.NoSplit == "" && written > 0 && banded == written
	if !j.Split && j.NoSplit == "" {
		j.NoSplit = "which elements a work-item writes is not known"
	}
	return j
}

func printKernels(w io.Writer, doc kernelsJSON) {
	for i, k := range doc.Kernels {
		if i > 0 {
			fmt.Fprintln(w)
		}
		langs := make([]string, len(k.Languages))
		for n, l := range k.Languages {
			langs[n] = string(l)
		}
		fmt.Fprintf(w, "%s  [%s]\n", k.Name, strings.Join(langs, ", "))
		if k.Doc != "" {
			fmt.Fprintf(w, "  %s\n", k.Doc)
		}
		width := 0
		for _, p := range k.Params {
			width = max(width, len(p.Name))
		}
		for _, p := range k.Params {
			what := p.Type
			switch p.Kind {
			case "buffer":
				what = fmt.Sprintf("%s[] %s", p.Type, p.Mode)
			case "local":
				what = fmt.Sprintf("local %s[]", p.Type)
			}
			note := p.Doc
			switch {
			case p.Implied:
				note = strings.TrimSpace(note + " (computed)")
			case p.Default != nil:
				note = strings.TrimSpace(fmt.Sprintf("%s (default %v)", note, p.Default))
			}
			fmt.Fprintln(w, strings.TrimRight(fmt.Sprintf("    %-*s  %-14s  %s", width, p.Name, what, note), " "))
		}
		if k.FPGA != nil {
			printFPGA(w, k.FPGA)
		}
		for _, n := range k.Needs {
			fmt.Fprintf(w, "  needs %s\n", n)
		}
		if k.Local != nil {
			fmt.Fprintf(w, "  work-group size fixed at %v\n", k.Local)
		}
		if doc.File != "" {
			if k.Split {
				fmt.Fprintln(w, "  can be divided over devices")
			} else {
				fmt.Fprintf(w, "  runs on one device: %s\n", k.NoSplit)
			}
		}
	}
}
