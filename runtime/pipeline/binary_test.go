package pipeline

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	tandem "github.com/tandemrun/tandem/runtime"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/devices/cpu"
	"github.com/tandemrun/tandem/devices/devicetest"
	"github.com/tandemrun/tandem/devices/fpga"
	"github.com/tandemrun/tandem/devices/opencl"
	"github.com/tandemrun/tandem/kernels/clc"
)

const pairText = `#pragma OPENCL EXTENSION cl_intel_channels : enable
channel int numbers __attribute__((depth(64)));
__attribute__((max_global_work_dim(0)))
__kernel void put(__global const int *x, int n) { for (int i = 0; i < n; i++) write_channel_intel(numbers, x[i]); }
__attribute__((max_global_work_dim(0)))
__kernel void get(__global int *y, int by, int n) { for (int i = 0; i < n; i++) y[i] = by * read_channel_intel(numbers); }
`

const pairPipeline = `buffers:
  x: {dtype: int32, shape: [100], fill: i}
  y: {dtype: int32, shape: [100]}
steps:
  - {id: put, kernel: {file: pair.aocx, entry: put}, global: 1, args: [{buf: x, mode: r}, {val: 100, type: int}]}
  - {id: get, kernel: {file: pair.aocx, entry: get}, global: 1, args: [{buf: y, mode: w}, {val: 3, type: int}, {val: 100, type: int}], together: [put]}
`

// TestBinaryKernels builds a program, and runs its kernels from the file alone.
func TestBinaryKernels(t *testing.T) {
	v := fpga.VendorEmulation()
	if v == nil {
		devicetest.Require(t, "fpga-emu", errors.New("Intel's FPGA emulation is not installed"))
	}
	ctx := testContext(t)
	dev, err := v.FPGAs(0).Open(ctx, 0)
	if err != nil {
		t.Fatal(err)
	}
	list, err := clc.Parse("pair.cl", []byte(pairText), clc.Options{})
	if err != nil {
		t.Fatal(err)
	}
	prog, err := dev.Compile(ctx, list[0].Variants[0].Source)
	if err != nil {
		t.Fatal(err)
	}
	text, err := prog.(devices.Exporter).Binary()
	if err = errors.Join(err, prog.Close(), dev.Close()); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "pair.aocx"), text, 0o600); err != nil {
		t.Fatal(err)
	}
	p, err := Load(write(t, dir, FileName, pairPipeline), Options{})
	if err != nil {
		t.Fatal(err)
	}
	s, err := tandem.Open(ctx, tandem.Config{Drivers: []devices.Driver{cpu.Driver{}, &fpga.Driver{Vendors: []*opencl.Driver{v}}}, Emulate: p.Asks})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	b, err := p.Build(ctx, s)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Run(ctx, b.Graph); err != nil {
		t.Fatal(err)
	}
	if err := b.Buffer("y").Read(ctx, func(mem []byte) error {
		for i, v := range devices.View[int32](mem) {
			if v != int32(3*i) {
				t.Fatalf("number %d is %d, want %d", i, v, 3*i)
			}
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
}

// TestBinaryFaults has what a binary does not tell left out.
func TestBinaryFaults(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "pair.aocx", "\x7fELF")
	write(t, dir, "text.aocx", "__kernel void put() {}")
	for name, c := range map[string]struct{ old, new, want string }{
		"mode":    {"{buf: x, mode: r}", "{buf: x}", "a binary does not tell what its kernel does with \"x\"; write {buf: x, mode: r}, w or rw"},
		"type":    {"{val: 3, type: int}", "3", "a binary does not tell the types of its kernel's values; write {val: 3, type: int}"},
		"no type": {"{val: 3, type: int}", "{val: 3, type: imt}", `"imt" is no type of a number or vector`},
		"entry":   {"pair.aocx, entry: put", "pair.aocx", "pair.aocx does not tell which kernels it has; add entry: NAME"},
		"options": {"entry: put", "entry: put, options: [-O]", "there is nothing left to say with options"},
		"missing": {"pair.aocx, entry: put", "pear.aocx, entry: put", "there is no file"},
		"format":  {"pair.aocx, entry: put", "text.aocx, entry: put", "is no program for FPGAs"},
	} {
		if got := strings.Join(faultsOf(t, dir, strings.Replace(pairPipeline, c.old, c.new, 1), Options{}), "\n"); !strings.Contains(got, c.want) {
			t.Errorf("%s: got %s, want %q", name, got, c.want)
		}
	}
}
