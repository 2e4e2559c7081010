package tandem

import (
	"slices"
	"time"

	"github.com/tandemrun/tandem/devices"
)

// A launch on a device with memory of its own is cut into chunks, so that the
// copies of one hide behind the computing of another. A chunk takes at least
// chunkOverhead times what starting one costs, and copying has to be worth
// hiding: at least one part in hideFrom of the run.
const (
	maxChunks     = 32
	chunkOverhead = 20
	hideFrom      = 10
)

// The share of a device that others could relieve is cut into up to maxStolen
// parts of at least minStolen.
const (
	maxStolen = 8
	minStolen = 500 * time.Microsecond
)

// chunks cuts a share of task i, one of shares, that runs for run on a.
func (pl *planner) chunks(i int, nd devices.NDRange, a *agent, run time.Duration, shares int) []devices.NDRange {
	task, place := pl.graph.task(i), &pl.placed[i]
	if cut := pl.cuts[cutKey{i, a.index}]; cut != nil {
		return pl.cutWindows(i, nd, a, cut)
	}
	if place.dim < 0 || task.wish().split.Never || task.times() > 1 {
		return []devices.NDRange{nd}
	}
	up, down, launch := pl.session.predictor.links(&a.info)
	if a.info.UnifiedMemory {
		if shares < 2 || !pl.session.stealing || a.info.Emulated {
			return []devices.NDRange{nd}
		}
		n := min(int(run/max(chunkOverhead*launch, minStolen)), maxStolen)
		if pl.problem.Tasks[i].Cost[a.index].Source == "guess" {
			n = maxStolen // run says nothing yet, and the shares are likely to be wrong
		}
		return pl.cut(i, nd, n)
	}
	var in, out int64
	for j, b := range task.buffers() {
		if place.bands[j] == nil {
			continue
		}
		from, to := b.region(place.bands[j], &nd)
		if task.call.Args[j].Mode.Reads() && !pl.resident(i, b) {
			in += to - from
		}
		if task.call.Args[j].Mode.Writes() && slices.Contains(pl.graph.home, b) {
			out += to - from
		}
	}
	copying := max(up.Time(in), down.Time(out))
	if copying < run/hideFrom || copying == 0 {
		return []devices.NDRange{nd}
	}
	each := chunkOverhead * (launch + up.Latency + down.Latency)
	n := min(int(max(copying, run)/max(each, 1)), maxChunks)
	return pl.cut(i, nd, n)
}

// cut makes up to n parts of a share, of about the same size.
func (pl *planner) cut(i int, nd devices.NDRange, n int) []devices.NDRange {
	task, place, split := pl.graph.task(i), &pl.placed[i], pl.problem.Tasks[i].Split
	grain := max(task.call.Range.Local[place.dim], 1)
	if split != nil {
		grain = max(grain, split.Grain)
	}
	size := nd.Size[place.dim]
	n = min(n, size/grain)
	if n < 2 {
		return []devices.NDRange{nd}
	}
	var parts []devices.NDRange
	for c, at := 0, 0; c < n && at < size; c++ {
		end := (size*(c+1)/n + grain - 1) / grain * grain
		if c == n-1 || end > size {
			end = size
		}
		if end == at {
			continue
		}
		part := nd
		part.Offset[place.dim] += at
		part.Size[place.dim] = end - at
		parts = append(parts, part)
		at = end
	}
	return parts
}

// resident reports whether an earlier task of the graph wrote b, which then is
// where that one ran, likely here.
func (pl *planner) resident(i int, b *Buffer) bool {
	for _, a := range pl.graph.task(i).after() {
		if pl.graph.task(int(a)).writes(b) {
			return true
		}
	}
	return false
}
