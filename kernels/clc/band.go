package clc

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"sync"

	"github.com/tandemrun/tandem/kernels"
)

// analysis answers for the bands of one kernel. It remembers the last call, as
// the runtime asks for one parameter after the other.
type analysis struct {
	u  *unit
	fn *function

	mu     sync.Mutex
	key    []byte
	result *machine
}

// run interprets the kernel for a call.
func (a *analysis) run(c *kernels.Call) *machine {
	var room [256]byte
	key := binary.AppendVarint(room[:0], int64(c.Range.Dims))
	for d := range 3 {
		for _, n := range [3]int{c.Range.Size[d], c.Range.Offset[d], c.Range.Local[d]} {
			key = binary.AppendVarint(key, int64(n))
		}
	}
	for i := range a.fn.params {
		if c.Kernel.Params[i].Kind == kernels.Value {
			key = append(key, c.Args[i].Value...) // as long as its type
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.result != nil && bytes.Equal(a.key, key) {
		return a.result
	}
	m := &machine{u: a.u, dims: int64(c.Range.Dims), size: [3]int64{1, 1, 1}}
	for d := range c.Range.Dims {
		m.size[d], m.offset[d], m.local[d] = int64(c.Range.Size[d]), int64(c.Range.Offset[d]), int64(c.Range.Local[d])
	}
	for d, n := range a.fn.attrs.local {
		if n > 0 {
			m.local[d] = int64(n)
		}
	}
	args := make([]value, len(a.fn.params))
	for i, p := range a.fn.params {
		if n, ok := c.Int(p.name); ok {
			args[i] = constant(n, sizeT)
		}
	}
	m.interpret(a.fn, args)
	a.key, a.result = bytes.Clone(key), m
	return m
}

// still interprets the kernel for no call in particular.
func still(u *unit, fn *function) *machine {
	// The offset is a number that no source has, so that ids counted from it
	// and ids counted from 0 are told apart.
	const offset = 0x3bd1e995
	m := &machine{u: u, static: true, dims: 1, size: [3]int64{2, 2, 2}, offset: [3]int64{offset, offset, offset}}
	args := make([]value, len(fn.params))
	for i := range args {
		args[i].is = later
	}
	m.interpret(fn, args)
	return m
}

// band makes the access mapping of parameter i, nil if it can never be known.
func (a *analysis) band(static *machine, i int, writable bool) kernels.BandFunc {
	u := &static.params[i]
	if u.lost[1] != nil || u.lost[0] != nil {
		return nil
	}
	return func(c *kernels.Call) (kernels.Band, error) {
		m := a.run(c)
		return m.band(c, i, writable)
	}
}

// band is the access mapping of parameter i in the call that m interpreted.
func (m *machine) band(c *kernels.Call, i int, writable bool) (kernels.Band, error) {
	u, arr := &m.params[i], c.Args[i].Array
	if arr == nil {
		return kernels.Band{}, fmt.Errorf("no array is bound")
	}
	everything := kernels.Band{Dim: m.outer(), High: arr.Elements()}
	for k, r := range u.lost {
		if r == nil {
			continue
		}
		if k == 1 || writable && c.Args[i].Mode.Writes() {
			return kernels.Band{}, fmt.Errorf("which elements a work-item touches is not known: %s (%s)", r.Text, r.Pos)
		}
		return everything, nil
	}
	if len(u.accesses) == 0 {
		return kernels.Band{Dim: m.outer()}, nil
	}
	d := m.dimension(u)
	stride, lo, hi, ok := m.cover(u.accesses, d)
	if !ok || stride < 0 {
		return everything, m.unless(writable, c, i, "its elements run against the global ids")
	}
	if rows := m.overlap(u, d); rows != nil {
		return kernels.Band{}, rows
	}
	unit := int64(arr.DType.Size())
	if unit == 0 || stride%unit != 0 {
		return everything, m.unless(writable, c, i, fmt.Sprintf("work-items are %d bytes apart, no multiple of its %d-byte elements", stride, unit))
	}
	return kernels.Band{Dim: d, Stride: stride / unit, Low: floorDiv(lo, unit), High: -floorDiv(-hi, unit)}, nil
}

// unless is an error for an array that the call writes.
func (m *machine) unless(writable bool, c *kernels.Call, i int, text string) error {
	if writable && m.params[i].writes && c.Args[i].Mode.Writes() {
		return fmt.Errorf("which elements a work-item touches is not known: %s", text)
	}
	return nil
}

// settle writes an offset with global ids only; ids that can take one value
// only are folded in.
func (m *machine) settle(f form, b box) (form, bool) {
	for d := range 3 {
		if k := f.c[termGroup+d]; k != 0 { // group base = id − offset − local id
			if m.local[d] == 0 {
				return f, false
			}
			g := form{lo: -m.offset[d], hi: -m.offset[d]}
			g.c[termGlobal+d], g.c[termLocal+d] = 1, -1
			f.c[termGroup+d] = 0
			var ok bool
			if f, ok = f.plus(g, k); !ok {
				return f, false
			}
		}
	}
	var rest form
	for i := range f.c {
		if i >= termLocal || i < termGroup && m.size[i] <= 1 {
			rest.c[i], f.c[i] = f.c[i], 0
		}
	}
	s, ok := m.span(rest, b)
	if !ok {
		return f, false
	}
	return f.plus(form{lo: s.lo, hi: s.hi}, 1)
}

// outer is the dimension along which the kernel's outputs run.
func (m *machine) outer() int {
	for i := range m.params {
		if u := &m.params[i]; u.writes && u.lost[0] == nil && u.lost[1] == nil && len(u.accesses) > 0 {
			if d, k := m.steepest(u.accesses, true); k != 0 {
				return d
			}
		}
	}
	return 0
}

// steepest is the dimension whose step moves farthest, and how far.
func (m *machine) steepest(list []access, writes bool) (dim int, most int64) {
	for _, a := range list {
		if a.write != writes {
			continue
		}
		f, ok := m.settle(a.f.f, a.box)
		if !ok {
			continue
		}
		for d := range 3 {
			if k := abs64(f.c[d]); k > 0 && k >= most {
				dim, most = d, k
			}
		}
	}
	return dim, most
}

// dimension is the one that an array is cut along: its writes decide, else the
// kernel's outputs, else its reads.
func (m *machine) dimension(u *usage) int {
	if d, k := m.steepest(u.accesses, true); k != 0 {
		return d
	}
	outer := m.outer()
	for _, a := range u.accesses {
		if f, ok := m.settle(a.f.f, a.box); ok && f.c[outer] != 0 {
			return outer
		}
	}
	d, k := m.steepest(u.accesses, false)
	if k == 0 {
		return outer
	}
	return d
}

// cover is the band, in bytes, that covers all accesses along dimension d.
func (m *machine) cover(list []access, d int) (stride, lo, hi int64, ok bool) {
	for i, a := range list {
		f, ok := m.settle(a.f.f, a.box)
		if !ok || a.f.is != known {
			return 0, 0, 0, false
		}
		if i == 0 {
			stride = f.c[d]
		}
		var along form
		along.c[d] = stride
		rest, ok := f.plus(along, -1)
		if !ok {
			return 0, 0, 0, false
		}
		s, ok := m.span(rest, a.box)
		if !ok {
			return 0, 0, 0, false
		}
		end, ok := addOK(s.hi, a.bytes)
		if !ok {
			return 0, 0, 0, false
		}
		if i == 0 {
			lo, hi = s.lo, end
		}
		lo, hi = min(lo, s.lo), max(hi, end)
	}
	return stride, lo, hi, true
}

// overlap reports, for an array that is written, that the work-items of one
// row reach into the next.
func (m *machine) overlap(u *usage, d int) error {
	for _, a := range u.accesses {
		if !a.write {
			continue
		}
		f, ok := m.settle(a.f.f, a.box)
		if !ok || f.c[d] == 0 {
			continue
		}
		for o := range 3 {
			k := f.c[o]
			if o == d || k <= 0 || k >= f.c[d] {
				continue
			}
			n := a.box[o].hi - a.box[o].lo + 1
			if n > 0 && (n-1)*k+a.bytes > f.c[d] {
				return fmt.Errorf("rows overlap: a step in dimension %d moves %d bytes, but the %d work-items of dimension %d write %d bytes (%s)",
					d, f.c[d], n, o, (n-1)*k+a.bytes, a.at)
			}
		}
	}
	return nil
}

// overwrites reports whether the kernel only writes parameter i, and all of
// its band in every launch: kernels.Write.
func (m *machine) overwrites(fn *function, i int) bool {
	u := &m.params[i]
	if u.reads || !u.writes || u.lost[0] != nil || u.lost[1] != nil || len(u.accesses) != 1 || len(fn.returns) > 0 {
		return false
	}
	a := u.accesses[0]
	if !a.top || !a.plain || a.where != nil || a.f.is != known || a.f.f.lo != a.f.f.hi {
		return false
	}
	elem := fn.params[i].typ.elem
	if elem.kind != kindNumber && (elem.kind != kindVector || elem.typ.Lanes == 3) {
		return false
	}
	terms := 0
	for k, c := range a.f.f.c {
		if c == 0 {
			continue
		}
		if k >= termGroup || c != a.bytes || c != int64(elem.typ.Size) {
			return false
		}
		terms++
	}
	return terms == 1
}
