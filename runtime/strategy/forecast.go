package strategy

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/kernels"
	"github.com/tandemrun/tandem/partitioner"
	tandem "github.com/tandemrun/tandem/runtime"
)

// forecast is what the session's planner thinks of a graph: what each task
// would take on each device, and what moving bytes costs.
type forecast struct {
	infos   []devices.Info
	problem *partitioner.Problem
}

// newForecast plans g; nothing is compiled and nothing runs.
func newForecast(ctx context.Context, s *tandem.Session, g *tandem.Graph) (*forecast, error) {
	p, err := s.Plan(ctx, g)
	if err != nil {
		return nil, err
	}
	if p.Problem() == nil {
		return nil, fmt.Errorf("a graph without tasks: %w", devices.ErrInvalid)
	}
	return &forecast{s.Devices(), p.Problem()}, nil
}

// run is what tasks first to last take on device d one after the other,
// launches included; ok is false if it cannot run one of them.
func (f *forecast) run(d, first, last int) (total time.Duration, ok bool) {
	for t := first; t <= last; t++ {
		e := &f.problem.Tasks[t].Cost[d]
		if e.Refused != "" {
			return 0, false
		}
		total += e.Run + f.problem.Devices[d].Launch
	}
	return total, true
}

// links are the ways to device d's memory and back; free for a device that
// works on the host's.
func (f *forecast) links(d int) (up, down devices.Link) {
	node := f.problem.Devices[d].Node
	if node == 0 {
		return devices.Link{}, devices.Link{}
	}
	return f.problem.Links[0][node], f.problem.Links[node][0]
}

// resource is the silicon of device d: faces of one processor have the same.
func (f *forecast) resource(d int) string {
	if r := f.problem.Devices[d].Resource; r != "" {
		return r
	}
	return f.problem.Devices[d].ID
}

// sameArray reports whether two arrays have one element type and shape.
func sameArray(a, b *kernels.Array) bool {
	return a.DType == b.DType && slices.Equal(a.Shape, b.Shape)
}
