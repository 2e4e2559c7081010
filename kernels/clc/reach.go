package clc

import (
	"math"

	"github.com/tandemrun/tandem/kernels"
)

// reach makes the answer to which bytes of parameter i every launch is certain
// to touch; nil if that is never known.
func (a *analysis) reach(static *machine, i int) kernels.ReachFunc {
	if len(a.fn.returns) > 0 {
		return nil // a return deep inside of an if is not in the context of what follows
	}
	for _, x := range static.params[i].accesses {
		if x.certain() {
			return func(c *kernels.Call) (kernels.Reach, bool) {
				if c.Range.Items() == 0 {
					return kernels.Reach{}, false
				}
				return a.run(c).reach(i)
			}
		}
	}
	return nil
}

// certain reports whether every work-item of a kernel without a return comes by:
// the access is under no condition and in no loop. What only a called function does is
// left out, it may return early.
func (a *access) certain() bool {
	return a.top && a.where == nil && a.f.is != unknown
}

// reach are the bytes between the lowest and the highest one that is certain
// to be touched. Only offsets count that are a number for each global id;
// what a work-item does with its place in a group is not looked at.
func (m *machine) reach(i int) (r kernels.Reach, ok bool) {
	r = kernels.Reach{Low: math.MaxInt64, High: math.MinInt64}
	for _, x := range m.params[i].accesses {
		f := x.f.f
		if !x.certain() || x.f.is != known || f.lo != f.hi || [6]int64(f.c[termGroup:]) != [6]int64{} {
			continue
		}
		s, good := m.span(f, x.box)
		if !good {
			continue
		}
		end, good := addOK(s.hi, x.bytes)
		if !good {
			continue
		}
		if s.lo < r.Low {
			r.Low, r.LowAt = s.lo, x.at
		}
		if end > r.High {
			r.High, r.HighAt = end, x.at
		}
		ok = true
	}
	return r, ok
}
