package verilog

import (
	"strconv"
	"strings"

	"github.com/tandemrun/tandem/devices"
)

// annotate applies the annotations of a module, whose ports are known, and
// fills in what they leave out.
func (s *source) annotate(m *Module, notes []note, addressBits int) []error {
	a := &annotator{s: s, m: m, inUse: map[int]string{}, outUse: map[int]string{}, regUse: map[int]string{}, registers: 1 << min(addressBits, 16)}
	// Values first: the items of arrays and the limits refer to them.
	positions := map[int]int{}
	for i, n := range notes {
		if len(n.words) > 1 && (n.words[0] == "array" || n.words[0] == "value") {
			if m.Param(n.words[1]) >= 0 {
				a.fail(n, "parameter %q is there twice", n.words[1])
				continue
			}
			positions[i] = len(m.Params)
			m.Params = append(m.Params, Param{Name: n.words[1], Line: n.line, In: -1, Out: -1, Register: -1})
		}
	}
	for i, n := range notes {
		if len(n.words) == 0 {
			a.fail(n, "an empty annotation")
			continue
		}
		p, is := positions[i]
		switch word := n.words[0]; {
		case word == "array" && is:
			a.array(n, &m.Params[p])
		case word == "value" && is:
			a.value(n, &m.Params[p])
		case word == "array" || word == "value":
			if len(n.words) < 2 {
				a.fail(n, "%s without a name", word)
			}
		case word == "kernel" && len(n.words) == 2:
			m.Name = n.words[1]
		case word == "doc":
			m.Doc = strings.TrimSpace(m.Doc + " " + strings.Join(n.words[1:], " "))
		case word == "split" && len(n.words) == 1:
			m.Split = true
		case word == "clock" && len(n.words) == 2:
			f, err := strconv.ParseFloat(n.words[1], 64)
			if err != nil || f <= 0 || f > 1e5 {
				a.fail(n, "clock %q: want megahertz, above 0", n.words[1])
			}
			m.ClockMHz = f
		case word == "count":
			a.count(n)
		case word == "limit":
			a.limit(n)
		default:
			a.fail(n, "annotation %q: want kernel NAME, doc TEXT, array, value, count, limit, split or clock MHZ", strings.Join(n.words, " "))
		}
	}
	a.complete(len(positions) > 0)
	return a.faults
}

type annotator struct {
	s         *source
	m         *Module
	inUse     map[int]string
	outUse    map[int]string
	regUse    map[int]string
	registers int
	faults    []error
}

func (a *annotator) fail(n note, format string, args ...any) {
	a.faults = append(a.faults, a.s.errorf(token{line: n.line, col: n.col}, devices.ErrInvalid, format, args...))
}

// array reads: array NAME r|w|rw TYPE PORT[,PORT] [whole | item=PRODUCT] [dim=N] [halo=N].
func (a *annotator) array(n note, p *Param) {
	if len(n.words) < 5 {
		a.fail(n, "want array NAME r|w|rw TYPE PORT[,PORT] [whole] [item=PRODUCT] [dim=N] [halo=N]")
		return
	}
	t, ok := devices.ParseDType(n.words[3])
	if !ok {
		a.fail(n, "array %s: there is no type %q; types are %s", p.Name, n.words[3], strings.Join(devices.DTypeNames(), ", "))
		return
	}
	p.Type = t
	for port := range strings.SplitSeq(n.words[4], ",") {
		a.port(n, p, port)
	}
	mode := n.words[2]
	switch {
	case mode != "r" && mode != "w" && mode != "rw":
		a.fail(n, "array %s: mode %q is none of r, w, rw", p.Name, mode)
	case strings.Contains(mode, "r") != (p.In >= 0) || strings.Contains(mode, "w") != (p.Out >= 0):
		a.fail(n, "array %s: mode %s does not fit port %s: r is read through an input (s*_axis), w written through an output (m*_axis)", p.Name, mode, n.words[4])
	}
	p.Item = Product{Factor: 1}
	for _, w := range n.words[5:] {
		key, v, _ := strings.Cut(w, "=")
		switch key {
		case "whole":
			p.Whole = true
		case "item":
			p.Item = a.product(n, v)
		case "dim":
			p.Dim = a.number(n, w, v, 0, 2)
		case "halo":
			p.Halo = a.number(n, w, v, 0, MaxHalo)
		default:
			a.fail(n, "array %s: %q is none of whole, item=, dim=, halo=", p.Name, w)
		}
	}
	if p.Halo > 0 && p.Out >= 0 {
		a.fail(n, "array %s: a halo is for arrays that are only read", p.Name)
	}
	if p.Whole && p.Halo > 0 {
		a.fail(n, "array %s: a whole array has no halo", p.Name)
	}
}

// port joins p with a stream.
func (a *annotator) port(n note, p *Param, prefix string) {
	join := func(streams []Stream, use map[int]string, to *int) bool {
		for i, s := range streams {
			if s.Prefix != prefix {
				continue
			}
			switch {
			case use[i] != "":
				a.fail(n, "array %s: port %s belongs to %s already", p.Name, prefix, use[i])
			case *to >= 0:
				a.fail(n, "array %s: two ports of one direction", p.Name)
			case s.Bytes%p.Type.Size() != 0:
				a.fail(n, "array %s: an element of %s has %d bits, a word of port %s has %d: no multiple of it", p.Name, p.Type, 8*p.Type.Size(), prefix, 8*s.Bytes)
			}
			use[i], *to = p.Name, i
			return true
		}
		return false
	}
	if !join(a.m.Inputs, a.inUse, &p.In) && !join(a.m.Outputs, a.outUse, &p.Out) {
		a.fail(n, "array %s: the module has no stream %q; it has %s", p.Name, prefix, a.m.ports())
	}
}

func (m *Module) ports() string {
	var names []string
	for _, s := range append(append([]Stream{}, m.Inputs...), m.Outputs...) {
		names = append(names, s.Prefix)
	}
	return strings.Join(names, ", ")
}

// value reads: value NAME TYPE [reg=N] [default=V] [implied].
func (a *annotator) value(n note, p *Param) {
	if len(n.words) < 3 {
		a.fail(n, "want value NAME TYPE [reg=N] [default=V] [implied]")
		return
	}
	t, ok := devices.ParseDType(n.words[2])
	if !ok {
		a.fail(n, "value %s: there is no type %q; types are %s", p.Name, n.words[2], strings.Join(devices.DTypeNames(), ", "))
		return
	}
	p.Type = t
	for _, w := range n.words[3:] {
		key, v, _ := strings.Cut(w, "=")
		switch key {
		case "reg":
			p.Register = a.register(n, w, v, p.Name, p.Registers())
		case "default":
			if _, err := strconv.ParseFloat(v, 64); err != nil {
				a.fail(n, "value %s: the default %q is no number", p.Name, v)
			}
			p.Default = v
		case "implied":
			p.Implied = true
		default:
			a.fail(n, "value %s: %q is none of reg=, default=, implied", p.Name, w)
		}
	}
}

func (a *annotator) register(n note, word, v, name string, count int) int {
	if !a.m.Config {
		a.fail(n, "%s: %s, but the module has no register bank (cfg_we, cfg_addr, cfg_data)", name, word)
		return -1
	}
	r := a.number(n, word, v, 0, a.registers-count)
	for i := r; i < r+count; i++ {
		if a.regUse[i] != "" {
			a.fail(n, "%s: register %d belongs to %s already", name, i, a.regUse[i])
		}
		a.regUse[i] = name
	}
	return r
}

// count reads: count ARRAY reg=N [wide].
func (a *annotator) count(n note) {
	if len(n.words) < 3 || !strings.HasPrefix(n.words[2], "reg=") || len(n.words) > 4 || len(n.words) == 4 && n.words[3] != "wide" {
		a.fail(n, "want count ARRAY reg=N [wide]")
		return
	}
	c := Count{Param: a.m.Param(n.words[1]), Wide: len(n.words) == 4}
	if c.Param < 0 || !a.isArray(n.words[1]) {
		a.fail(n, "count: there is no array %q", n.words[1])
		return
	}
	size := 1
	if c.Wide {
		size = 2
	}
	c.Register = a.register(n, n.words[2], n.words[2][len("reg="):], "count "+n.words[1], size)
	a.m.Counts = append(a.m.Counts, c)
}

func (a *annotator) isArray(name string) bool {
	r := a.s.region(a.m.Entry)
	for _, n := range r.notes {
		if len(n.words) > 1 && n.words[0] == "array" && n.words[1] == name {
			return true
		}
	}
	return false
}

// limit reads: limit PRODUCT MOST, where MOST is a number or a Verilog
// parameter.
func (a *annotator) limit(n note) {
	if len(n.words) != 3 {
		a.fail(n, "want limit PRODUCT MOST")
		return
	}
	most, given := n.words[2], n.words[2]
	if v, ok := a.m.Defaults[most]; ok {
		given = v
	}
	v, err := strconv.ParseInt(given, 0, 64)
	if err != nil || v < 0 {
		a.fail(n, "limit: %q is neither a number nor an integer parameter of the module", most)
	}
	a.m.Limits = append(a.m.Limits, Limit{Of: a.product(n, n.words[1]), Words: n.words[1], Most: v, Line: n.line})
}

// product reads factors joined by *: numbers and names of values.
func (a *annotator) product(n note, words string) Product {
	p := Product{Factor: 1}
	for f := range strings.SplitSeq(words, "*") {
		if v, err := strconv.ParseInt(f, 10, 32); err == nil && v > 0 {
			p.Factor *= v
			continue
		}
		i := a.m.Param(f)
		if i < 0 || a.isArray(f) {
			a.fail(n, "%q: %q is neither a number above 0 nor the name of a value", words, f)
			continue
		}
		p.Params = append(p.Params, i)
	}
	if p.Factor > 1<<31 {
		a.fail(n, "%q is too large", words)
	}
	return p
}

func (a *annotator) number(n note, word, v string, least, most int) int {
	i, err := strconv.Atoi(v)
	if err != nil || i < least || i > most {
		a.fail(n, "%q: want a number from %d to %d", word, least, most)
		return least
	}
	return i
}

// complete checks that every stream belongs to an array. Without any
// parameter in annotations each stream makes one, named after its port.
func (a *annotator) complete(annotated bool) {
	m := a.m
	at := note{line: m.Line, col: 1}
	if annotated {
		for i, s := range m.Inputs {
			if a.inUse[i] == "" {
				a.fail(at, "module %s: no array belongs to port %s; add // tandem: array NAME r TYPE %s", m.Entry, s.Prefix, s.Prefix)
			}
		}
		for i, s := range m.Outputs {
			if a.outUse[i] == "" {
				a.fail(at, "module %s: no array belongs to port %s; add // tandem: array NAME w TYPE %s", m.Entry, s.Prefix, s.Prefix)
			}
		}
		return
	}
	add := func(s Stream, in, out int) {
		t := map[int]devices.DType{1: devices.Uint8, 2: devices.Uint16, 4: devices.Uint32, 8: devices.Uint64}[s.Bytes]
		if t == devices.NoType {
			t = devices.Uint64 // several of them in a word
		}
		m.Params = append(m.Params, Param{Name: s.Prefix, Type: t, In: in, Out: out, Register: -1, Item: Product{Factor: 1}, Line: m.Line})
	}
	for i, s := range m.Inputs {
		add(s, i, -1)
	}
	for i, s := range m.Outputs {
		add(s, -1, i)
	}
}
