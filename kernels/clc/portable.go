package clc

import (
	"fmt"
	"strings"
)

// deviceName reports whether a name is one that compilers of devices may
// define, each as it likes.
func deviceName(name string) bool {
	switch name {
	case "__OPENCL_C_VERSION__", "__ENDIAN_LITTLE__", "__FAST_RELAXED_MATH__", "__FILE__", "__LINE__", "__OPENCL__",
		"CL_VERSION_1_0", "CL_VERSION_1_1", "CL_VERSION_1_2":
		return false // the same on every device that is supported
	}
	for _, p := range []string{"cl_", "CL_", "__", "FP_FAST_", "POCL", "_CL"} {
		if strings.HasPrefix(name, p) {
			return true
		}
	}
	return len(name) > 1 && name[0] == '_' && name[1] >= 'A' && name[1] <= 'Z'
}

// taint is what hangs on what a device's compiler defines.
type taint struct {
	groups []*group          // conditionals
	why    map[*group]string // the name that each hangs on
	names  map[string]*group // that mean one thing here and another there
}

// hangs finds it. Names that a tainted conditional defines or declares taint
// the conditionals that ask for them.
func (p *prep) hangs() *taint {
	t := &taint{why: map[*group]string{}, names: map[string]*group{}}
	for changed := true; changed; {
		changed = false
		for _, g := range p.groups {
			if t.why[g] != "" {
				continue
			}
			why := t.why[g.up]
			for _, name := range g.deps {
				if why == "" && (t.names[name] != nil || !p.own[name] && deviceName(name) && !g.asksOnly(name)) {
					why = name
				}
			}
			if why == "" {
				continue
			}
			t.why[g], changed = why, true
			t.groups = append(t.groups, g)
			for name := range g.names {
				t.names[name] = g
			}
		}
	}
	return t
}

func (t *taint) because(g *group) string {
	return fmt.Sprintf("it depends on what the device's compiler defines (%s, %s)", t.why[g], g.pos)
}

// hangsOnDevice finds whether a kernel hangs on what a device's compiler
// defines; the reason is empty if it does not.
func (u *unit) hangsOnDevice(list []*decl) string {
	if u.device == nil {
		u.device = u.prep.hangs()
	}
	t := u.device
	for _, g := range t.groups {
		if g.unbalanced {
			return t.because(g)
		}
		for _, d := range list {
			if g.to > d.from && g.from > d.from && g.from < d.to || g.from <= d.from && g.to >= d.to {
				return t.because(g)
			}
		}
	}
	for _, d := range list {
		for _, tok := range u.toks[d.from:d.to] {
			if g := t.names[tok.text]; g != nil && tok.kind == tokIdent {
				return t.because(g)
			}
		}
	}
	for _, use := range u.prep.uses {
		g, own := t.names[use.name], !u.prep.own[use.name] && deviceName(use.name)
		if g == nil && !own {
			continue
		}
		for _, d := range list {
			switch {
			case use.at < d.from || use.at >= d.to:
			case g != nil:
				return t.because(g)
			default:
				return fmt.Sprintf("it depends on what the device's compiler defines (%s)", use.name)
			}
		}
	}
	return ""
}

// asksOnly reports whether the group's condition asks no more than whether
// __OPENCL_VERSION__ is defined.
func (g *group) asksOnly(name string) bool {
	return name == "__OPENCL_VERSION__" && len(g.deps) == 1 && g.plain
}
