package partitioner

import (
	"slices"
	"time"
)

// A reconfigurable device holds one image at a time, and a task runs on it when
// the task's own is loaded. Loading keeps the device busy before the run. So
// that it is known what is loaded, such a device is given its tasks one behind
// the other: none goes into a gap between others.

// loading is what loading the image of t takes on a device behind all that was
// placed there.
func (st *state) loading(t, dev int) time.Duration {
	c := &st.Tasks[t].Cost[dev]
	if !st.reloads[dev] || c.Image == "" || c.Image == st.image[dev] {
		return 0
	}
	return c.Load
}

// loaded notes that t was placed on a device, behind everything else.
func (st *state) loaded(t, dev int) {
	if c := &st.Tasks[t].Cost[dev]; st.reloads[dev] && c.Image != "" {
		st.image[dev] = c.Image
	}
}

// slot is the earliest start on a device, at arrive or later, of something that
// takes dur.
func (st *state) slot(dev int, arrive, dur time.Duration) time.Duration {
	l := &st.lines[st.resource[dev]]
	if st.reloads[dev] {
		return max(l.free, arrive)
	}
	return l.fit(arrive, dur)
}

// images checks that every load is in the plan, and none that is not needed.
func (c *check) images() error {
	type run struct {
		task  int
		share *Share
	}
	runs := make([][]run, c.nd)
	for t := range c.pl.Tasks {
		for i := range c.pl.Tasks[t].Shares {
			sh := &c.pl.Tasks[t].Shares[i]
			if !c.reloads[sh.Device] && sh.Load != 0 {
				return invalid("plan: task %q on %s loads an image for %v; nothing has to be loaded there", c.Tasks[t].Name, c.Devices[sh.Device].ID, sh.Load)
			}
			runs[sh.Device] = append(runs[sh.Device], run{t, sh})
		}
	}
	for d := range runs {
		if !c.reloads[d] {
			continue
		}
		slices.SortStableFunc(runs[d], func(a, b run) int { return int(a.share.Start - b.share.Start) })
		image := c.Devices[d].Image
		for _, r := range runs[d] {
			cost, want := &c.Tasks[r.task].Cost[d], time.Duration(0)
			if cost.Image != "" && cost.Image != image {
				want, image = cost.Load, cost.Image
			}
			if r.share.Load != want {
				return invalid("plan: task %q on %s loads its image for %v, it takes %v", c.Tasks[r.task].Name, c.Devices[d].ID, r.share.Load, want)
			}
		}
	}
	return nil
}
