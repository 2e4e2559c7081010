package strategy

import (
	"context"
	"errors"
	"fmt"

	"github.com/tandemrun/tandem/kernels"
	tandem "github.com/tandemrun/tandem/runtime"
)

// rehearsals is how often WarmUp runs a call: the first run may include what a
// driver puts off until then, and on the first device the first touch of fresh
// memory. Of two runs that differ by as much as that the cost model would say
// that it knows nothing; of three it takes the middle one.
const rehearsals = 3

// WarmUp runs every call of g on every device that can run it, so that all is
// compiled and the cost model knows how long each takes there. Calls that the
// model cannot tell apart (one kernel, ND-range and amount of work) count once.
// It works on arrays of its own, which hold zeros and are freed: nothing of g's
// buffers is read or changed, and g itself does not run. Devices are taken one at
// a time, since faces of one processor would disturb each other.
//
// It costs three runs of each call on the slowest device, and memory for one call's
// arrays; where that is too much, warm up with a graph over smaller arrays, from
// which the model extrapolates. A kernel that decides by its data how much there
// is to do is measured with zeros.
//
// A call that no device can run is a *tandem.PlanError before anything has run.
// A device on which a call fails is named in the error; the others are warmed up
// all the same.
func WarmUp(ctx context.Context, s *tandem.Session, g *tandem.Graph) error {
	if g.Len() == 0 {
		return g.Err()
	}
	f, err := newForecast(ctx, s, g)
	if err != nil {
		return err
	}
	seen := map[string]bool{}
	var errs []error
	for t, c := range g.Calls() {
		if k := likeness(c); seen[k] {
			continue
		} else {
			seen[k] = true
		}
		errs = append(errs, rehearse(ctx, s, f, t, c))
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
	return errors.Join(errs...)
}

// likeness names what the cost model sees of a call.
func likeness(c *kernels.Call) string {
	w := c.Work()
	key := fmt.Sprintf("%p %v %g %g", c.Kernel, c.Range, w.Flops, w.Bytes)
	for _, a := range c.Args {
		key += fmt.Sprintf(" %d", a.LocalBytes)
		if a.Array != nil {
			key += fmt.Sprintf(" %v%v%v", a.Mode, a.Array.DType, a.Array.Shape)
		}
	}
	return key
}

// rehearse runs c, the call of task t, on each device that takes it.
func rehearse(ctx context.Context, s *tandem.Session, f *forecast, t int, c *kernels.Call) error {
	private := map[*kernels.Array]*tandem.Buffer{}
	var made Temporaries
	for _, a := range c.Args {
		if a.Array == nil || private[a.Array] != nil {
			continue
		}
		b := s.NewBuffer(kernels.Array{Name: "warm-up." + a.Array.Name, DType: a.Array.DType, Shape: a.Array.Shape})
		private[a.Array] = b
		made = append(made, b)
	}
	var errs []error
	for d, e := range f.problem.Tasks[t].Cost {
		if e.Refused != "" {
			continue
		}
		id := f.infos[d].ID
		g := tandem.NewGraph().Named("warm-up")
		g.AddCall(c, func(a *kernels.Array) *tandem.Buffer { return private[a] }).On(id).NoSplit().Repeat(rehearsals)
		if err := s.Run(ctx, g); err != nil {
			if ctx.Err() != nil {
				errs = []error{err}
				break
			}
			errs = append(errs, fmt.Errorf("warm-up on %s: %w", id, err))
		}
	}
	return errors.Join(errors.Join(errs...), made.Free())
}
