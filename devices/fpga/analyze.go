package fpga

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/devices/fpga/toolchain"
	"github.com/tandemrun/tandem/devices/fpga/verilog"
	"github.com/tandemrun/tandem/devices/internal/buildcache"
)

// Target is a family of FPGAs that a kernel is synthesised for.
type Target string

// The targets. Timing is analysed for ICE40 alone, which has free tools for
// placing and routing in Debian.
const (
	ICE40  Target = "ice40" // Lattice iCE40; timing on an UP5K
	ECP5   Target = "ecp5"  // Lattice ECP5
	Xilinx Target = "xc7"   // Xilinx 7 series
)

// Area is what a kernel takes of an FPGA.
type Area struct {
	LUT  int `json:"lut"`
	FF   int `json:"ff"`
	DSP  int `json:"dsp"`
	BRAM int `json:"bram"`
	// Cells are the counts by the vendor's names.
	Cells map[string]int `json:"cells"`
}

// Report is what is known of a kernel without running it.
type Report struct {
	Kernel    string          `json:"kernel"`
	Entry     string          `json:"entry"`
	Doc       string          `json:"doc,omitempty"`
	Signature string          `json:"signature"`
	File      string          `json:"file"`
	Line      int             `json:"line"`
	Area      map[Target]Area `json:"area"`
	// FmaxMHz is the highest clock after placing and routing on an iCE40 UP5K;
	// 0: not analysed, or it does not fit (see Warnings).
	FmaxMHz float64 `json:"fmax_mhz,omitempty"`
	// ClockMHz is the clock that the source declares; 0: none.
	ClockMHz float64  `json:"clock_mhz,omitempty"`
	Warnings []string `json:"warnings,omitempty"`
}

// AnalyzeOptions say what Analyze does.
type AnalyzeOptions struct {
	Targets  []Target // default: ICE40
	Entry    string   // one kernel; default: all of the source
	NoTiming bool     // area only: timing takes seconds to minutes
	Tools    toolchain.Tools
	CacheDir string // default: buildcache.Dir
}

// Analyze synthesises the kernels of a source and reports their area and, with
// nextpnr-ice40 installed, their highest clock. Results are cached. It may
// take minutes; ctx stops it. Errors are those of verilog.Read, or a
// *toolchain.MissingError without yosys.
func Analyze(ctx context.Context, src *devices.Source, o AnalyzeOptions) ([]Report, error) {
	if len(o.Targets) == 0 {
		o.Targets = []Target{ICE40}
	}
	modules, err := ReadSource(ctx, o.Tools, src)
	if err != nil {
		return nil, err
	}
	version, err := o.Tools.Version(ctx, toolchain.Yosys)
	if err != nil {
		return nil, err
	}
	cache := (&Driver{CacheDir: o.CacheDir}).cache()
	var all []Report
	for _, m := range modules {
		if o.Entry != "" && m.Entry != o.Entry && m.Name != o.Entry {
			continue
		}
		r := Report{Kernel: m.Name, Entry: m.Entry, Doc: m.Doc, Signature: m.Signature(), File: m.File, Line: m.Line,
			Area: map[Target]Area{}, ClockMHz: m.ClockMHz}
		a := &analysis{o: o, src: src, m: m, version: version, cache: cache}
		for _, target := range o.Targets {
			area, err := a.area(ctx, target)
			if err != nil {
				return nil, fmt.Errorf("%s: kernel %s: %s: %w", src.Name, m.Entry, target, err)
			}
			r.Area[target] = area
		}
		if !o.NoTiming {
			fmax, warning, err := a.timing(ctx)
			if err != nil {
				return nil, fmt.Errorf("%s: kernel %s: timing: %w", src.Name, m.Entry, err)
			}
			r.FmaxMHz = fmax
			if warning != "" {
				r.Warnings = append(r.Warnings, warning)
			}
		}
		all = append(all, r)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%s has no kernel %q: %w", src.Name, o.Entry, devices.ErrInvalid)
	}
	return all, nil
}

type analysis struct {
	o       AnalyzeOptions
	src     *devices.Source
	m       *verilog.Module
	version string
	cache   *buildcache.Cache
}

// synthesis are yosys's commands by target.
var synthesis = map[Target]string{
	ICE40:  "synth_ice40 -dsp",
	ECP5:   "synth_ecp5",
	Xilinx: "synth_xilinx -family xc7",
}

// key identifies a result.
func (a *analysis) key(what string) buildcache.Key {
	parts := []string{"fpga analysis 1", what, string(a.src.Text), a.m.Entry, fmt.Sprint(a.src.Options), a.version}
	for _, img := range a.m.Images {
		parts = append(parts, img.Name, img.Text())
	}
	return buildcache.MakeKey(parts...)
}

// cached returns a result from the cache, or has it made and kept.
func cached[T any](a *analysis, what string, build func() (T, error)) (T, error) {
	var v T
	key := a.key(what)
	if e, ok := a.cache.Get(key); ok && json.Unmarshal(e.Binary, &v) == nil {
		return v, nil
	}
	v, err := build()
	if err != nil {
		return v, err
	}
	if b, err := json.Marshal(v); err == nil {
		a.cache.Put(key, buildcache.Entry{Binary: b})
	}
	return v, nil
}

// folder makes a folder with the source, its images and a script.
func (a *analysis) folder(files map[string]string) (string, error) {
	dir, err := os.MkdirTemp("", "tandem-fpga-")
	if err != nil {
		return "", err
	}
	text, err := verilog.ForSynthesis(a.src.Name, string(a.src.Text))
	if err == nil {
		files["kernel.v"] = text
		for _, img := range a.m.Images {
			files[filepath.FromSlash(img.Name)] = img.Text()
		}
		for name, text := range files {
			full := filepath.Join(dir, name)
			if err = os.MkdirAll(filepath.Dir(full), 0o700); err != nil {
				break
			}
			if err = os.WriteFile(full, []byte(text), 0o600); err != nil {
				break
			}
		}
	}
	if err != nil {
		_ = os.RemoveAll(dir)
		return "", err
	}
	return dir, nil
}

// parameters is the script that sets the source's parameters.
func (a *analysis) parameters() (string, error) {
	set, _, err := options(a.src)
	if err != nil {
		return "", err
	}
	script := ""
	for name, v := range set {
		if _, has := a.m.Defaults[name]; has {
			script += fmt.Sprintf("chparam -set %s %s %s\n", name, v, a.m.Entry)
		}
	}
	return script, nil
}

// area synthesises the kernel for a target and counts cells.
func (a *analysis) area(ctx context.Context, target Target) (Area, error) {
	command, ok := synthesis[target]
	if !ok {
		return Area{}, fmt.Errorf("there is no target %q; there are %s, %s, %s: %w", target, ICE40, ECP5, Xilinx, devices.ErrInvalid)
	}
	return cached(a, "area "+string(target), func() (Area, error) {
		set, err := a.parameters()
		if err != nil {
			return Area{}, err
		}
		dir, err := a.folder(map[string]string{"s.ys": "read_verilog -sv kernel.v\n" + set + command + " -top " + a.m.Entry + "\ntee -o stat.json stat -json\n"})
		if err != nil {
			return Area{}, err
		}
		defer os.RemoveAll(dir)
		if _, err := a.o.Tools.Run(ctx, dir, toolchain.Yosys, "-q", "-s", "s.ys"); err != nil {
			return Area{}, lastLine(err)
		}
		b, err := os.ReadFile(filepath.Join(dir, "stat.json"))
		if err != nil {
			return Area{}, err
		}
		return countCells(b)
	})
}

// lastLine puts what a tool said last into its error.
func lastLine(err error) error {
	var run *toolchain.RunError
	if !errors.As(err, &run) {
		return err
	}
	lines := strings.Split(strings.TrimSpace(run.Log), "\n")
	if said := lines[len(lines)-1]; said != "" {
		return fmt.Errorf("%w: %s", err, said)
	}
	return err
}

var (
	lutCell  = regexp.MustCompile(`^(SB_LUT4|LUT[1-6])$`)
	ffCell   = regexp.MustCompile(`^(SB_DFF\w*|TRELLIS_FF|FD[RSCP]E(_1)?)$`)
	dspCell  = regexp.MustCompile(`^(SB_MAC16|MULT18X18D|DSP48E1)$`)
	bramCell = regexp.MustCompile(`^(SB_RAM40_4K\w*|DP16KD|RAMB(18|36)E1)$`)
)

// countCells reads yosys's statistics.
func countCells(stat []byte) (Area, error) {
	// Some commands say something in front of the document.
	if i := strings.IndexByte(string(stat), '{'); i > 0 {
		stat = stat[i:]
	}
	var s struct {
		Design struct {
			Cells map[string]int `json:"num_cells_by_type"`
		} `json:"design"`
	}
	if err := json.Unmarshal(stat, &s); err != nil {
		return Area{}, fmt.Errorf("statistics of yosys: %w", err)
	}
	a := Area{Cells: s.Design.Cells}
	for name, n := range a.Cells {
		switch {
		case lutCell.MatchString(name):
			a.LUT += n
		case name == "CCU2C": // two tables and a carry
			a.LUT += 2 * n
		case ffCell.MatchString(name):
			a.FF += n
		case dspCell.MatchString(name):
			a.DSP += n
		case bramCell.MatchString(name):
			a.BRAM += n
		}
	}
	return a, nil
}
