package verilog

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/tandemrun/tandem/devices"
)

// port is a port as yosys gives it.
type port struct {
	dir  string
	bits int
}

var streamPort = regexp.MustCompile(`^(([sm])([0-9]?)_axis)_(tdata|tvalid|tready|tlast)$`)

// module checks a module's ports against the convention and makes a kernel of
// it.
func (s *source) module(reg *region, nm netModule) (*Module, []error) {
	m := &Module{Entry: reg.name, Name: reg.name, File: s.file, Line: reg.line, Defaults: map[string]string{}}
	for name, v := range nm.Parameters {
		m.Defaults[name] = parameterValue(v)
	}
	c := &convention{s: s, reg: reg, ports: map[string]port{}, taken: map[string]bool{}}
	for name, p := range nm.Ports {
		c.ports[name] = port{p.Direction, len(p.Bits)}
	}
	if !simpleName.MatchString(reg.name) {
		c.fail("the name %s of a kernel has to be a plain identifier", reg.name)
	}
	c.need("aclk", "input", 1)
	c.need("aresetn", "input", 1)
	m.Inputs, m.Outputs = c.streams()
	if len(m.Outputs) == 0 {
		c.fail("module %s has no output stream (m_axis_tdata, m_axis_tvalid, m_axis_tready, m_axis_tlast)", reg.name)
	}
	if len(m.Inputs) > MaxInputs || len(m.Outputs) > MaxOutputs {
		c.fail("module %s has %d input and %d output streams; at most %d and %d are possible", reg.name, len(m.Inputs), len(m.Outputs), MaxInputs, MaxOutputs)
	}
	addressBits := c.bank()
	m.Config, m.AddressBits = addressBits > 0, addressBits
	for _, name := range slices.Sorted(maps.Keys(c.ports)) {
		if !c.taken[name] {
			c.fail("port %s of module %s is none of the convention: aclk, aresetn, {s,m}[0-9]_axis_t{data,valid,ready,last}, cfg_{we,addr,data}", name, reg.name)
		}
	}
	return m, append(c.faults, s.annotate(m, reg.notes, addressBits)...)
}

// parameterValue turns a parameter's value in yosys's words, binary digits or
// text, into a number where it is one that fits.
func parameterValue(v string) string {
	if len(v) < 8 || strings.Trim(v, "01") != "" {
		return v
	}
	// 32 binary digits are an integer with a sign.
	if len(v) == 32 {
		if n, err := strconv.ParseUint(v, 2, 32); err == nil {
			return fmt.Sprint(int32(n))
		}
	}
	if n, err := strconv.ParseUint(v, 2, 63); err == nil {
		return fmt.Sprint(n)
	}
	return v
}

type convention struct {
	s      *source
	reg    *region
	ports  map[string]port
	taken  map[string]bool
	faults []error
}

func (c *convention) fail(format string, args ...any) {
	c.faults = append(c.faults, c.s.errorf(token{line: c.reg.line, col: c.reg.col}, devices.ErrInvalid, format, args...))
}

// need wants a port with a direction and a width; bits 0: any.
func (c *convention) need(name, dir string, bits int) int {
	p, ok := c.ports[name]
	c.taken[name] = true
	switch {
	case !ok:
		c.fail("module %s lacks the port %s (%s)", c.reg.name, name, dir)
	case p.dir != dir:
		c.fail("port %s of module %s is an %s, it has to be an %s", name, c.reg.name, p.dir, dir)
	case bits > 0 && p.bits != bits:
		c.fail("port %s of module %s has %d bits, it has to have %d", name, c.reg.name, p.bits, bits)
	}
	return p.bits
}

// streams finds the streams of both directions, in order.
func (c *convention) streams() (in, out []Stream) {
	found := map[string][]string{} // prefix: parts
	for name := range c.ports {
		if m := streamPort.FindStringSubmatch(name); m != nil {
			found[m[1]] = append(found[m[1]], m[4])
		}
	}
	// "s_axis" is before "s1_axis".
	prefixes := slices.SortedFunc(maps.Keys(found), func(a, b string) int {
		return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b))
	})
	for _, prefix := range prefixes {
		into, outof := "input", "output"
		if prefix[0] == 'm' {
			into, outof = outof, into
		}
		bits := c.need(prefix+"_tdata", into, 0)
		c.need(prefix+"_tvalid", into, 1)
		c.need(prefix+"_tready", outof, 1)
		s := Stream{Prefix: prefix, Bytes: bits / 8}
		if bits > 0 && (bits%8 != 0 || bits > 512 || bits&(bits-1) != 0) {
			c.fail("port %s_tdata of module %s has %d bits; 8, 16, 32, 64, 128, 256 or 512 are possible", prefix, c.reg.name, bits)
		}
		s.Last = slices.Contains(found[prefix], "tlast")
		if s.Last || prefix[0] == 'm' {
			c.need(prefix+"_tlast", into, 1)
		}
		if prefix[0] == 'm' {
			out = append(out, s)
		} else {
			in = append(in, s)
		}
	}
	return in, out
}

// bank checks the register bank and returns the width of its address; 0: there
// is none.
func (c *convention) bank() int {
	names := []string{"cfg_we", "cfg_addr", "cfg_data"}
	have := 0
	for _, n := range names {
		if _, ok := c.ports[n]; ok {
			have++
		}
	}
	if have == 0 {
		return 0
	}
	c.need("cfg_we", "input", 1)
	bits := c.need("cfg_addr", "input", 0)
	c.need("cfg_data", "input", 32)
	if bits > 32 {
		c.fail("port cfg_addr of module %s has %d bits; at most 32 are possible", c.reg.name, bits)
	}
	return max(bits, 1)
}
