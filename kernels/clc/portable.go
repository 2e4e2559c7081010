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

// hangsOnDevice finds whether a kernel hangs on what a device's compiler defines;
// the reason is empty if it does not.
func (u *unit) hangsOnDevice(list []*decl, names map[string]bool) string {
	p := u.prep
	tainted := map[string]*group{} // names that mean one thing here and another there
	bad := map[*group]string{}
	for changed := true; changed; {
		changed = false
		for _, g := range p.groups {
			if bad[g] != "" {
				continue
			}
			why := ""
			if g.up != nil && bad[g.up] != "" {
				why = bad[g.up]
			}
			for _, name := range g.deps {
				// defined, __OPENCL_VERSION__ says only that this is OpenCL C.
				if why == "" && (tainted[name] != nil || !p.own[name] && deviceName(name) && !g.asksOnly(name)) {
					why = name
				}
			}
			if why == "" {
				continue
			}
			bad[g], changed = why, true
			for name := range g.names {
				tainted[name] = g
			}
		}
	}
	because := func(g *group) string {
		return fmt.Sprintf("it depends on what the device's compiler defines (%s, %s)", bad[g], g.pos)
	}
	for _, g := range p.groups {
		if bad[g] == "" {
			continue
		}
		if g.unbalanced {
			return because(g)
		}
		for _, d := range list {
			if g.to > d.from && g.from > d.from && g.from < d.to || g.from <= d.from && g.to >= d.to {
				return because(g)
			}
		}
	}
	for name := range names {
		if g := tainted[name]; g != nil {
			return because(g)
		}
	}
	for _, use := range p.uses {
		for _, d := range list {
			if use.at < d.from || use.at >= d.to {
				continue
			}
			if g := tainted[use.name]; g != nil {
				return because(g)
			}
			if !p.own[use.name] && deviceName(use.name) {
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
