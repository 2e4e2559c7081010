package bench

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tandemrun/tandem/partitioner"
	"github.com/tandemrun/tandem/partitioner/graphgen"
)

// Schedule plans graphs of ten families and compares with plain HEFT: the
// mean and the largest ratio of makespans over lower bounds. plan_seconds is
// planning 10,000 tasks on 8 devices with HEFT, the median of several times.
func Schedule(ctx context.Context, o Options) ([]Result, error) {
	scores, err := graphgen.Compare(graphgen.Suite(pick(&o, 500, 30), o.seed()), pick(&o, 800, 200))
	if err != nil {
		return nil, err
	}
	var table strings.Builder
	fmt.Fprintf(&table, "schedule: makespan over lower bound\n%-10s %8s %8s %8s %8s %8s", "family", "problems", "HEFT", "improved", "mean", "max")
	for _, s := range scores {
		fmt.Fprintf(&table, "\n%-10s %8d %8.3f %8.3f %8.3f %8.3f", s.Family, s.Problems, s.HEFT, s.Improved, s.MeanRatio, s.MaxRatio)
	}
	o.note("%s", table.String())
	all := scores[len(scores)-1]

	p, err := graphgen.Generate(graphgen.Config{Family: "layered", Tasks: pick(&o, 10000, 1000), Devices: 8, Ratio: 10, CCR: 1, Seed: o.seed()})
	if err != nil {
		return nil, err
	}
	var took []time.Duration
	for range pick(&o, 5, 1) {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		start := time.Now()
		if _, err := partitioner.HEFT(p); err != nil {
			return nil, err
		}
		took = append(took, time.Since(start))
	}
	slices.Sort(took)
	o.note("schedule: %d tasks on 8 devices planned in %v", len(p.Tasks), took[len(took)/2])
	return []Result{
		{"schedule.mean_over_heft", all.MeanRatio, "ratio", "lower"},
		{"schedule.max_over_heft", all.MaxRatio, "ratio", "lower"},
		{"schedule.plan_seconds", took[len(took)/2].Seconds() * 10000 / float64(len(p.Tasks)), "s", "lower"},
	}, nil
}
