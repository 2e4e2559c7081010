package fpga

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/devices/fpga/toolchain"
	"github.com/tandemrun/tandem/devices/fpga/verilog"
)

type timingResult struct {
	FmaxMHz float64
	Warning string
}

// timing places and routes the kernel and reads its highest clock. What is
// wanting for that is a warning.
func (a *analysis) timing(ctx context.Context) (fmax float64, warning string, err error) {
	if err := a.o.Tools.Missing(toolchain.Nextpnr); err != nil {
		hint, _ := toolchain.IsMissing(err)
		return 0, fmt.Sprintf("no timing: %v; %s", err, hint), nil
	}
	version, err := a.o.Tools.Version(ctx, toolchain.Nextpnr)
	if err != nil {
		return 0, "", err
	}
	r, err := cached(a, "timing "+version, func() (timingResult, error) { return a.route(ctx) })
	return r.FmaxMHz, r.Warning, err
}

func (a *analysis) route(ctx context.Context) (timingResult, error) {
	set, err := a.parameters()
	if err != nil {
		return timingResult{}, err
	}
	dir, err := a.folder(map[string]string{
		"around.v": around(a.m),
		"s.ys":     "read_verilog -sv kernel.v\n" + set + "read_verilog around.v\nsynth_ice40 -dsp -top tandem_around -json around.json\n",
	})
	if err != nil {
		return timingResult{}, err
	}
	defer os.RemoveAll(dir)
	if _, err := a.o.Tools.Run(ctx, dir, toolchain.Yosys, "-q", "-s", "s.ys"); err != nil {
		return timingResult{}, lastLine(err)
	}
	out, err := a.o.Tools.Run(ctx, dir, toolchain.Nextpnr, "--up5k", "--package", "sg48", "--json", "around.json", "--report", "report.json",
		"--freq", "100", "--pcf-allow-unconstrained", "--timing-allow-fail", "--seed", "1", "-q")
	if err != nil {
		if errors.Is(err, devices.ErrTimeout) || errors.Is(err, context.Canceled) {
			return timingResult{}, err
		}
		return timingResult{Warning: "no timing: it does not fit an iCE40 UP5K: " + firstError(out)}, nil
	}
	b, err := os.ReadFile(filepath.Join(dir, "report.json"))
	if err != nil {
		return timingResult{}, err
	}
	var report struct {
		Fmax map[string]struct {
			Achieved float64 `json:"achieved"`
		} `json:"fmax"`
	}
	if err := json.Unmarshal(b, &report); err != nil {
		return timingResult{}, fmt.Errorf("report of nextpnr: %w", err)
	}
	r := timingResult{}
	for _, f := range report.Fmax {
		if r.FmaxMHz == 0 || f.Achieved < r.FmaxMHz {
			r.FmaxMHz = f.Achieved
		}
	}
	if r.FmaxMHz == 0 {
		r.Warning = "no timing: nextpnr found no path from register to register"
	}
	return r, nil
}

// knownFmax is the highest clock of a kernel in megahertz if Analyze has found
// it before; 0 if not.
func (d *Driver) knownFmax(ctx context.Context, src *devices.Source, m *verilog.Module) float64 {
	if d.Tools.Missing(toolchain.Nextpnr) != nil {
		return 0
	}
	yosys, err := d.version(ctx, toolchain.Yosys)
	if err != nil {
		return 0
	}
	nextpnr, err := d.version(ctx, toolchain.Nextpnr)
	if err != nil {
		return 0
	}
	a := &analysis{src: src, m: m, version: yosys, cache: d.cache()}
	var r timingResult
	if e, ok := a.cache.Get(a.key("timing " + nextpnr)); ok && json.Unmarshal(e.Binary, &r) == nil {
		return r.FmaxMHz
	}
	return 0
}

// firstError is the first error in what nextpnr said.
func firstError(out string) string {
	for line := range strings.Lines(out) {
		if _, said, found := strings.Cut(line, "ERROR: "); found {
			return strings.TrimSpace(said)
		}
	}
	return strings.TrimSpace(out)
}

// around is a module that surrounds a kernel with registers, so that a kernel
// with more ports than the package has pins can be placed, and every path in
// it runs from register to register: inputs come out of a shift register,
// outputs are registered and folded into one.
func around(m *verilog.Module) string {
	var in, out []string // "name width"
	width := map[string]int{}
	add := func(list *[]string, name string, bits int) {
		*list = append(*list, name)
		width[name] = bits
	}
	add(&in, "aresetn", 1)
	for _, s := range m.Inputs {
		add(&in, s.Prefix+"_tdata", 8*s.Bytes)
		add(&in, s.Prefix+"_tvalid", 1)
		if s.Last {
			add(&in, s.Prefix+"_tlast", 1)
		}
		add(&out, s.Prefix+"_tready", 1)
	}
	for _, s := range m.Outputs {
		add(&out, s.Prefix+"_tdata", 8*s.Bytes)
		add(&out, s.Prefix+"_tvalid", 1)
		add(&out, s.Prefix+"_tlast", 1)
		add(&in, s.Prefix+"_tready", 1)
	}
	if m.Config {
		add(&in, "cfg_we", 1)
		add(&in, "cfg_addr", m.AddressBits)
		add(&in, "cfg_data", 32)
	}
	sum := func(names []string) int {
		n := 0
		for _, name := range names {
			n += width[name]
		}
		return n
	}
	var b strings.Builder
	fmt.Fprintf(&b, "module tandem_around(input wire aclk, input wire i, output reg o);\nreg [%d:0] x;\nwire [%d:0] y;\nreg [%d:0] r;\n", sum(in)-1, sum(out)-1, sum(out)-1)
	fmt.Fprintf(&b, "always @(posedge aclk) begin x <= {x, i}; r <= r[0] ? y : {y[0], r[%d:1]}; o <= r[0]; end\n%s kernel(.aclk(aclk)", max(sum(out)-1, 1), m.Entry)
	for _, list := range []struct {
		names []string
		from  string
	}{{in, "x"}, {out, "y"}} {
		at := 0
		for _, name := range list.names {
			fmt.Fprintf(&b, ", .%s(%s[%d:%d])", name, list.from, at+width[name]-1, at)
			at += width[name]
		}
	}
	b.WriteString(");\nendmodule\n")
	return b.String()
}
