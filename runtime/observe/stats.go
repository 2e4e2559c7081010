package observe

import (
	"time"

	tandem "github.com/tandemrun/tandem/runtime"
)

// host is the name of the host's memory in events.
const host = "host"

// The ways that bytes go. The names are those of the JSON counters.
const (
	h2d      = "h2d"
	d2h      = "d2h"
	d2d      = "d2d"
	zeroCopy = "zero-copy"
)

func direction(e tandem.CopyEvent) string {
	switch {
	case e.ZeroCopy:
		return zeroCopy
	case e.From == host:
		return h2d
	case e.To == host:
		return d2h
	}
	return d2d
}

// Stats sums a recording up per device, in the order of Recording.Devices,
// devices without any work included. Tasks are launches that went well, each
// part of a split task counted. Busy is the time in which at least one launch
// ran, so that it is never more than the time that has passed. Bytes of copies
// that failed do not count.
func Stats(rec Recording) []tandem.DeviceStats {
	var all []tandem.DeviceStats
	index := map[string]int{}
	at := func(id string) *tandem.DeviceStats {
		i, ok := index[id]
		if !ok {
			i = len(all)
			index[id] = i
			all = append(all, tandem.DeviceStats{ID: id})
		}
		return &all[i]
	}
	for _, d := range rec.Devices {
		at(d.ID).Backend = d.Backend
	}
	busy := map[string][]interval{}
	for _, e := range rec.Launches {
		s := at(e.Device)
		busy[e.Device] = append(busy[e.Device], interval{e.Times.Start, e.Times.End})
		if e.Err == nil {
			s.Tasks++
			s.WorkItems += e.Range.Items()
			s.BytesZeroCopy += e.ZeroCopy
		}
	}
	for _, e := range rec.Copies {
		if s := at(e.Device); e.Err == nil {
			s.BytesStaged += e.Staged
			switch direction(e) {
			case h2d:
				s.BytesH2D += e.Bytes
			case d2h:
				s.BytesD2H += e.Bytes
			case d2d:
				s.BytesD2D += e.Bytes
			default:
				s.BytesZeroCopy += e.Bytes
			}
		}
	}
	for i := range all {
		all[i].Busy = length(union(busy[all[i].ID]))
		all[i].BusyS = all[i].Busy.Seconds()
	}
	return all
}

// HiddenRatio is the part of the time spent in copies during which some device
// computed: 1 if copying cost nothing, 0 if everything waited for it. Without
// any copy that took time it is 1, since nothing was there to hide. Zero-copy
// hand-overs are no copies.
func HiddenRatio(rec Recording) float64 {
	var computing []interval
	for _, e := range rec.Launches {
		computing = append(computing, interval{e.Times.Start, e.Times.End})
	}
	computing = union(computing)
	var total, hidden time.Duration
	for _, e := range rec.Copies {
		if e.ZeroCopy || e.Times.Run() <= 0 {
			continue
		}
		total += e.Times.Run()
		hidden += overlap(interval{e.Times.Start, e.Times.End}, computing)
	}
	if total == 0 {
		return 1
	}
	return float64(hidden) / float64(total)
}
