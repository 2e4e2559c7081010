package clc

import (
	"bytes"

	"github.com/tandemrun/tandem/kernels"
)

// trim gives a kernel that needs neither double precision nor half arithmetic
// a source without the declarations that do, so that it builds on a device
// that lacks them. What goes is blanked: lines and columns stay. Where a
// declaration cannot be cut out, the source stays whole.
func (u *unit) trim(v *kernels.Variant, own []*decl) {
	keep := map[*decl]bool{}
	for _, d := range own {
		keep[d] = true
	}
	names := map[string]bool{} // declared by what goes
	gone := map[*decl]bool{}
	drop := func(d *decl) {
		gone[d] = true
		for _, name := range d.names {
			names[name] = true
		}
	}
	for _, d := range u.all {
		if keep[d] {
			continue
		}
		if d.needs == nil {
			n := u.needs([]*decl{d})
			d.needs = &n
		}
		if n := d.needs; n.FP64 != nil && v.Needs.FP64 == nil || n.FP16 != nil && v.Needs.FP16 == nil {
			drop(d)
		}
	}
	if len(gone) == 0 {
		return
	}
	for changed := true; changed; { // what uses them goes too
		changed = false
		for _, d := range u.all {
			if keep[d] || gone[d] {
				continue
			}
			for _, t := range u.toks[d.from:d.to] {
				if t.kind == tokIdent && names[t.text] {
					drop(d)
					changed = true
					break
				}
			}
		}
	}
	text := bytes.Clone(v.Source.Text)
	for d := range gone {
		if !u.blank(text, d) {
			return
		}
	}
	src := *v.Source
	src.Text = text
	v.Source = &src
}

// blank overwrites a declaration with blanks; false if it does not stand in
// the text as such.
func (u *unit) blank(text []byte, d *decl) bool {
	if d.to <= d.from {
		return true
	}
	first, last := u.toks[d.from], u.toks[d.to-1]
	from, to := first.at-(first.end-first.off), last.at
	if first.at == 0 || last.at == 0 || from < 0 || to > len(text) || from >= to {
		return false
	}
	for line := range bytes.Lines(text[from:to]) {
		if l := bytes.TrimSpace(line); len(l) > 0 && l[0] == '#' {
			return false // a directive, which may concern more than this
		}
	}
	for i := from; i < to; i++ {
		if text[i] != '\n' && text[i] != '\r' {
			text[i] = ' '
		}
	}
	return true
}
