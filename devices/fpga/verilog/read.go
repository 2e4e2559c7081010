package verilog

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/devices/fpga/toolchain"
)

// A Request is what Read takes.
type Request struct {
	File   string // name for messages
	Text   string
	Set    map[string]string // values of Verilog parameters: numbers, or strings in quotes
	Images []string          // folders that memory images are looked for in
	Tools  toolchain.Tools
}

var (
	simpleName  = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
	simpleValue = regexp.MustCompile(`^(-?[0-9]+|[0-9]*'s?[hdboHDBO][0-9a-fA-F_]+|"[A-Za-z0-9_./ -]*")$`)
	fileName    = regexp.MustCompile(`[^A-Za-z0-9_.-]`)
)

// BaseName is the name under which a source lies in its build folder: the last
// part of its own, with nothing in it that a tool could take for an option.
func BaseName(name string) string {
	base := fileName.ReplaceAllString(filepath.Base(filepath.ToSlash(name)), "_")
	base = strings.TrimLeft(base, "-.")
	if base == "" {
		base = "kernel"
	}
	if ext := filepath.Ext(base); ext != ".v" && ext != ".sv" {
		base += ".v"
	}
	return base
}

// Read reads the kernels of a source: the modules with ports of the convention
// that no other module contains. Memory images are read and checked. All
// faults are joined, each an *Error where it has a place in the source; a
// missing yosys is a *toolchain.MissingError.
func Read(ctx context.Context, r Request) ([]*Module, error) {
	for name, v := range r.Set {
		if !simpleName.MatchString(name) || !simpleValue.MatchString(v) {
			return nil, fmt.Errorf("%s: parameter -G%s=%s: want NAME=NUMBER or NAME=\"text\": %w", r.File, name, v, devices.ErrInvalid)
		}
	}
	s, faults := scanSource(r.File, r.Text)
	if len(faults) > 0 {
		return nil, errors.Join(faults...)
	}
	if len(s.regions) == 0 {
		return nil, &Error{File: r.File, Msg: "the source has no module", Err: devices.ErrInvalid}
	}
	net, err := s.elaborate(ctx, r)
	if err != nil {
		return nil, err
	}
	modules, faults := s.modules(net, r)
	if len(faults) > 0 {
		return nil, errors.Join(faults...)
	}
	return modules, nil
}

// netlist is what yosys says, as far as it is looked at.
type netlist struct {
	Modules map[string]netModule `json:"modules"`
}

type netModule struct {
	Attributes map[string]string `json:"attributes"`
	Parameters map[string]string `json:"parameter_default_values"`
	Ports      map[string]struct {
		Direction string            `json:"direction"`
		Bits      []json.RawMessage `json:"bits"`
	} `json:"ports"`
	Cells map[string]struct {
		Type string `json:"type"`
	} `json:"cells"`
	Memories map[string]struct {
		Width  int `json:"width"`
		Size   int `json:"size"`
		Offset int `json:"start_offset"`
	} `json:"memories"`
}

// elaborate has yosys read the source.
func (s *source) elaborate(ctx context.Context, r Request) (*netlist, error) {
	dir, err := os.MkdirTemp("", "tandem-verilog-")
	if err != nil {
		return nil, fmt.Errorf("%s: %w", r.File, err)
	}
	defer os.RemoveAll(dir)
	base := BaseName(r.File)
	if err := os.WriteFile(filepath.Join(dir, base), []byte(s.forYosys()), 0o600); err != nil {
		return nil, fmt.Errorf("%s: %w", r.File, err)
	}
	script := "read_verilog -sv " + base + "\n"
	for _, reg := range s.regions {
		for name, v := range r.Set {
			// Only to modules that name the parameter: others refuse it.
			if reg.identifiers[name] && simpleName.MatchString(reg.name) {
				script += fmt.Sprintf("chparam -set %s %s %s\n", name, v, reg.name)
			}
		}
	}
	// Without a top module every module stays, each elaborated.
	script += "hierarchy\nproc -noopt\nwrite_json netlist.json\n"
	if err := os.WriteFile(filepath.Join(dir, "read.ys"), []byte(script), 0o600); err != nil {
		return nil, fmt.Errorf("%s: %w", r.File, err)
	}
	if _, err := r.Tools.Run(ctx, dir, toolchain.Yosys, "-q", "-s", "read.ys"); err != nil {
		return nil, yosysError(r.File, base, err)
	}
	data, err := os.ReadFile(filepath.Join(dir, "netlist.json"))
	if err != nil {
		return nil, fmt.Errorf("%s: yosys: %w", r.File, err)
	}
	var net netlist
	if err := json.Unmarshal(data, &net); err != nil {
		return nil, fmt.Errorf("%s: yosys: %w", r.File, err)
	}
	return &net, nil
}

var yosysPlace = regexp.MustCompile(`^(\S+?):(\d+)(?:\.\d+-\d+\.\d+)?: ERROR: (.*)$`)

// yosysError makes an *Error of what yosys said.
func yosysError(file, base string, err error) error {
	var run *toolchain.RunError
	if !errors.As(err, &run) || run.Log == "" {
		return fmt.Errorf("%s: %w", file, err)
	}
	if errors.Is(err, devices.ErrTimeout) || errors.Is(err, context.Canceled) {
		return fmt.Errorf("%s: %w", file, err)
	}
	e := &Error{File: file, Err: devices.ErrInvalid}
	for line := range strings.Lines(run.Log) {
		line = strings.TrimSpace(line)
		if m := yosysPlace.FindStringSubmatch(line); m != nil {
			_, _ = fmt.Sscan(m[2], &e.Line)
			e.Msg = "yosys: " + m[3]
			return e
		}
		if msg, is := strings.CutPrefix(line, "ERROR: "); is {
			e.Msg = "yosys: " + strings.ReplaceAll(msg, base, file)
			return e
		}
	}
	e.Msg = "yosys failed: " + strings.TrimSpace(run.Log)
	return e
}

// plainName takes the name that a module has in the source out of the one that
// yosys gives to its version with other parameters: "$paramod\\name\\W=..." or
// "$paramod$hash\\name".
func plainName(name string) string {
	rest, is := strings.CutPrefix(name, "$paramod")
	if !is {
		return name
	}
	_, rest, _ = strings.Cut(rest, "\\")
	plain, _, _ := strings.Cut(rest, "\\")
	return plain
}

// modules makes kernels of the modules that no other one contains.
func (s *source) modules(net *netlist, r Request) ([]*Module, []error) {
	var faults []error
	inside := map[string][]string{} // by yosys's name: the modules that it contains
	contained := map[string]bool{}  // by the source's name
	known := map[string]bool{}
	for name, m := range net.Modules {
		for p := range m.Parameters {
			known[p] = true
		}
		for _, c := range m.Cells {
			if _, ok := net.Modules[c.Type]; ok {
				inside[name] = append(inside[name], c.Type)
				contained[plainName(c.Type)] = true
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(r.Set)) {
		if !known[name] {
			faults = append(faults, s.errorf(token{}, devices.ErrInvalid, "-G%s: no module has such a parameter; there are %s", name, strings.Join(slices.Sorted(maps.Keys(known)), ", ")))
		}
	}
	var all []*Module
	var helpers []string
	for i := range s.regions {
		reg := &s.regions[i]
		nm, ok := net.Modules[reg.name]
		if contained[reg.name] {
			if len(reg.notes) > 0 {
				n := reg.notes[0]
				faults = append(faults, s.errorf(token{line: n.line, col: n.col}, devices.ErrInvalid, "module %s is a part of another one; only kernels have annotations", reg.name))
			}
			continue
		}
		if !ok {
			continue // elaborated away: never with hierarchy without -top
		}
		if len(reg.notes) == 0 && !axi(nm) {
			helpers = append(helpers, reg.name)
			continue
		}
		m, bad := s.module(reg, nm)
		faults = append(faults, bad...)
		m.Images, bad = s.images(net, reach(reg.name, inside), r)
		faults = append(faults, bad...)
		all = append(all, m)
	}
	if len(all) == 0 && len(faults) == 0 {
		at := s.region(helpers[0])
		faults = append(faults, s.errorf(token{line: at.line, col: at.col}, devices.ErrInvalid,
			"no kernel: module %s has no AXI4-Stream port (s_axis_tdata, m_axis_tdata ...)", helpers[0]))
	}
	return all, faults
}

// reach are a module and all that it contains, each once, sorted.
func reach(name string, inside map[string][]string) []string {
	list := []string{name}
	for i := 0; i < len(list); i++ {
		for _, n := range inside[list[i]] {
			if !slices.Contains(list, n) {
				list = append(list, n)
			}
		}
	}
	slices.Sort(list)
	return list
}

// axi reports whether a module has a port of a stream at all.
func axi(m netModule) bool {
	for name := range m.Ports {
		if strings.Contains(name, "_axis_") {
			return true
		}
	}
	return false
}

// images reads the memory images of modules, by yosys's names.
func (s *source) images(net *netlist, modules []string, r Request) (images []Image, faults []error) {
	for _, key := range modules {
		nm := net.Modules[key]
		reg := s.region(plainName(key))
		if reg == nil {
			continue
		}
		for _, c := range reg.images {
			at := token{line: c.line, col: c.col}
			name := c.file
			if c.param != "" {
				v, ok := nm.Parameters[c.param]
				if !ok {
					faults = append(faults, s.errorf(at, devices.ErrUnsupported, "the name of the image is %s, which is no parameter of module %s", c.param, reg.name))
					continue
				}
				name = strings.TrimRight(v, " ") // yosys marks a string that looks like a number with a blank
			}
			img, err := openImage(name, c.hex, r.Images)
			if err != nil {
				faults = append(faults, s.inImage(at, err))
				continue
			}
			if mem, ok := nm.Memories[c.memory]; ok {
				if err := img.fits(c, mem.Width, mem.Size, mem.Offset); err != nil {
					faults = append(faults, s.errorf(at, devices.ErrInvalid, "%v", err))
					continue
				}
			}
			if !slices.ContainsFunc(images, func(i Image) bool { return i.Name == name && i.Hex == c.hex }) {
				images = append(images, *img)
			}
		}
	}
	return images, faults
}

// inImage places a fault of an image at the call that reads it, unless it has
// a place in the image.
func (s *source) inImage(at token, err error) error {
	var in *Error
	if errors.As(err, &in) {
		return in
	}
	return &Error{File: s.file, Line: at.line, Column: at.col, Msg: strings.TrimSuffix(err.Error(), ": "+devices.ErrInvalid.Error()), Err: devices.ErrInvalid}
}
