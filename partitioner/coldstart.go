package partitioner

import (
	"math"
	"strings"
)

// firstPart is the part of a task that a device gets whose speed was only
// guessed: enough to measure it, little enough to bear if the guess is wrong.
const firstPart = 64

// unsure reports whether an estimate is no more than a guess. One that follows
// from runs of other sizes is more than that, however far it may be off: a
// kernel whose work-items differ would never be known.
func (e *Estimate) unsure() bool {
	return e.Run > 0 && float64(e.Spread) >= 0.9*float64(e.Run) && !e.Measured()
}

// hold keeps what devices of guessed speed get small. One device is taken at
// its word: the fastest that was measured, else the fastest; so are its twins,
// for which the same guess was made: if it is wrong, it is wrong for all.
func (st *state) hold(t int, faces []int, ask []ShareDevice) (held bool) {
	task := &st.Tasks[t]
	lead := -1
	for _, d := range faces {
		if lead < 0 {
			lead = d
			continue
		}
		a, b := &task.Cost[d], &task.Cost[lead]
		if a.unsure() != b.unsure() && b.unsure() || a.unsure() == b.unsure() && a.Run < b.Run {
			lead = d
		}
	}
	for i, d := range faces {
		e := &task.Cost[d]
		twin := task.Cost[lead].unsure() && math.Abs(float64(e.Run-task.Cost[lead].Run)) <= 0.01*float64(e.Run)
		if d == lead || !e.unsure() || twin {
			continue
		}
		most := max(task.Split.Items/firstPart, task.Split.Grain, 1)
		if ask[i].Most == 0 || ask[i].Most > most {
			ask[i].Most = most
		}
		held = true
	}
	return held
}

// doubt marks the devices whose speed with a divisible task was only guessed
// where that of another one was measured.
func (s *setup) doubt(i int) {
	t := &s.Tasks[i]
	sure := false
	for d := range t.Cost {
		sure = sure || s.run[i*s.nd+d] >= 0 && !t.Cost[d].unsure()
	}
	for d := range t.Cost {
		s.shy[i*s.nd+d] = sure && s.divisible(i) && t.Split.Shares == nil && t.Cost[d].unsure()
	}
}

// doubted says which devices were left out by doubt, for a reason.
func (s *setup) doubted(t int) string {
	var ids []string
	for d := range s.Devices {
		if s.shy[t*s.nd+d] && s.run[t*s.nd+d] >= 0 {
			ids = append(ids, s.Devices[d].ID)
		}
	}
	if ids == nil {
		return ""
	}
	return "; nothing measured of " + strings.Join(ids, ", ")
}
