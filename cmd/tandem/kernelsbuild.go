package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/kernels"
	"github.com/tandemrun/tandem/kernels/clc"
	tandem "github.com/tandemrun/tandem/runtime"
)

func (a *app) kernelsBuildCommand() *cobra.Command {
	var f sourceFlags
	var device, out string
	c := &cobra.Command{
		Use:   "build FILE.cl --device SELECTOR -o FILE",
		Short: "Build a program once, for a file that is loaded later",
		Long: `build compiles an OpenCL C file for the first of the selected devices that takes
it, and writes the program in the vendor's own format: for FPGAs an .aocx file,
which pipelines load as kernel: {file: k.aocx, entry: name}. It runs on devices
like the one that it was built for.`,
		Example: "  tandem kernels build stages.cl --device fpga -o stages.aocx",
		Args:    cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return a.kernelsBuild(c.Context(), args[0], device, out, &f)
		},
	}
	f.register(c)
	c.Flags().StringVar(&device, "device", "fpga", "device to build for, a selector")
	c.Flags().StringVarP(&out, "output", "o", "", "file to write")
	_ = c.MarkFlagRequired("output")
	return c
}

// builtJSON is the document of `tandem kernels build --json`.
type builtJSON struct {
	File    string   `json:"file"`
	Device  string   `json:"device"`
	Name    string   `json:"name"` // of the device
	Bytes   int      `json:"bytes"`
	SHA256  string   `json:"sha256"`
	Kernels []string `json:"kernels"` // signatures, to be stated where the file is used
	Log     string   `json:"log,omitempty"`
}

func (a *app) kernelsBuild(ctx context.Context, file, selector, out string, f *sourceFlags) error {
	list, err := clc.Entries(file, f.clc())
	if err != nil {
		return err
	}
	d, err := a.builder(ctx, selector, list[0])
	if err != nil {
		return err
	}
	info := d.Info()
	doc := builtJSON{File: out, Device: info.ID, Name: info.Name}
	text, log, err := buildOn(ctx, d, list[0].Variants[0].Source)
	if cerr := d.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return err
	}
	if err := replaceFile(out, text); err != nil {
		return err
	}
	sum := sha256.Sum256(text)
	doc.Bytes, doc.SHA256, doc.Log = len(text), hex.EncodeToString(sum[:]), log
	w := a.text()
	fmt.Fprintf(w, "%s: %d bytes for %s (%s)\n", out, doc.Bytes, info.ID, info.Name)
	for _, k := range list {
		doc.Kernels = append(doc.Kernels, k.Signature())
		fmt.Fprintf(w, "  %s\n", k.Signature())
	}
	return a.result(doc)
}

// replaceFile writes a file whole or not at all.
func replaceFile(path string, text []byte) error {
	t, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*")
	if err != nil {
		return err
	}
	defer os.Remove(t.Name()) // where it got its place it is gone
	_, err = t.Write(text)
	if err = errors.Join(err, t.Chmod(0o644), t.Close()); err != nil {
		return err
	}
	return os.Rename(t.Name(), path)
}

// buildOn compiles a source and takes the program's binary.
func buildOn(ctx context.Context, d devices.Device, src *devices.Source) (text []byte, log string, err error) {
	p, err := d.Compile(ctx, src)
	if err != nil {
		return nil, "", err
	}
	defer p.Close()
	e, ok := p.(devices.Exporter)
	if !ok {
		return nil, "", fmt.Errorf("%s does not give programs away: %w", d.Info().ID, devices.ErrUnsupported)
	}
	text, err = e.Binary()
	return text, p.Log(), err
}

// builder opens the first selected device that compiles the kernels of a file.
func (a *app) builder(ctx context.Context, selector string, k *kernels.Kernel) (devices.Device, error) {
	var found []devices.Info
	driver := map[string]devices.Driver{}
	for _, d := range a.drivers() {
		b := d.Probe(ctx)
		driver[b.Name] = d
		found = append(found, b.Devices...)
	}
	sel, err := tandem.ParseSelector(selector)
	if err != nil {
		return nil, err
	}
	chosen, err := sel.Select(found)
	if err != nil {
		return nil, a.explain(ctx, err)
	}
	var why []string
	for _, info := range chosen {
		if !slices.Contains(info.Languages, devices.LangBinary) {
			why = append(why, info.ID+" takes no programs that were built before")
			continue
		}
		if _, err := k.VariantFor(info); err != nil {
			why = append(why, err.Error())
			continue
		}
		return driver[info.Backend].Open(ctx, info.Ordinal)
	}
	return nil, fmt.Errorf("no device of %q builds %s: %s: %w", selector, k.Variants[0].Source.Name, strings.Join(why, "; "), devices.ErrUnsupported)
}
