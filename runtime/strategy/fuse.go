package strategy

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/partitioner"
	tandem "github.com/tandemrun/tandem/runtime"
)

// Fuse keeps tasks of g together: all run whole, in the order given, on one
// device, so that nothing moves between them. It is the device on which the last
// of them finishes first, by the planner's prediction for all of g, what it has
// to move and to wait for included; of several the one with the shortest run,
// then the first in probe order. Devices that a task was restricted to with On
// stay the only ones. The device's id is returned.
//
// Tasks that no single device can run are a *tandem.PlanError, no tasks at all
// ErrInvalid; g's own faults and rings are found as by Plan.
func Fuse(ctx context.Context, s *tandem.Session, g *tandem.Graph, tasks ...tandem.Task) (device string, err error) {
	if len(tasks) == 0 {
		return "", fmt.Errorf("no tasks to fuse: %w", devices.ErrInvalid)
	}
	for i, t := range tasks[1:] {
		t.After(tasks[i])
	}
	f, err := newForecast(ctx, s, g)
	if err != nil {
		return "", err
	}
	var all []int
	for _, t := range tasks {
		first, last := t.Span()
		for i := first; i <= last; i++ {
			all = append(all, i)
		}
	}
	best, finish, makespan := -1, time.Duration(0), time.Duration(0)
	var tried []string
	for d := range f.infos {
		if why := f.refuses(d, all); why != "" {
			tried = append(tried, why)
			continue
		}
		plan, err := f.pinned(d, all)
		if err != nil {
			tried = append(tried, fmt.Sprintf("%s: %v", f.infos[d].ID, err))
			continue
		}
		end := plan.Tasks[all[len(all)-1]].Finish
		if best < 0 || end < finish || end == finish && plan.Makespan < makespan {
			best, finish, makespan = d, end, plan.Makespan
		}
	}
	if best < 0 {
		names := make([]string, len(all))
		for i, t := range all {
			names[i] = f.problem.Tasks[t].Name
		}
		return "", &tandem.PlanError{Task: strings.Join(names, "+"), Tried: tried, Hint: "fuse fewer tasks"}
	}
	device = f.infos[best].ID
	for _, t := range tasks {
		t.On(device).NoSplit()
	}
	return device, nil
}

// refuses says why device d cannot run one of the tasks; "": it can run all.
func (f *forecast) refuses(d int, tasks []int) string {
	for _, t := range tasks {
		if why := f.problem.Tasks[t].Cost[d].Refused; why != "" {
			return why
		}
	}
	return ""
}

// pinned plans the graph again with some tasks on device d.
func (f *forecast) pinned(d int, tasks []int) (*partitioner.Plan, error) {
	q := *f.problem
	q.Tasks = slices.Clone(f.problem.Tasks)
	for _, t := range tasks {
		q.Tasks[t].Devices, q.Tasks[t].Split = []int{d}, nil
	}
	return partitioner.HEFT(&q)
}
