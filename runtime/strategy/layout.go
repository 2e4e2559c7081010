package strategy

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tandemrun/tandem/devices"
)

// Laying a chain of stages out over devices is the chains-to-chains problem:
// contiguous groups of stages, one for each device, so that the slowest group
// (the bottleneck, which sets the rate of the pipeline) is as fast as possible.
// For processors that are alike it goes back to Bokhari ("Partitioning problems
// in parallel, pipelined, and distributed computing", IEEE Trans. Computers
// 37(1), 1988); Pinar and Aykanat survey exact methods ("Fast optimal load
// balancing algorithms for 1D partitioning", JPDC 64(8), 2004). Where processors
// differ and may come in any order it is NP-hard (Benoit and Robert, "Mapping
// pipeline skeletons onto large-scale platforms", JPDC 68(6), 2008), but exact by
// dynamic programming over which processors are used: with devices that are alike
// counted and not named, machines as they are built have few such states.

// site is one piece of silicon and how its faces run the chain.
type site struct{ faces []face }

// face is a device as the layout sees it.
type face struct {
	device   int
	run      []time.Duration // by stage, launches included; negative: it cannot
	own      bool            // has memory of its own, so that every group's input and output move
	up, down devices.Link
	engines  int // of copies; 0: copies take the compute engine
}

// group is stages first up to last on one device. cycle is how often it can
// take an item.
type group struct {
	first, last int
	device      int
	cycle       time.Duration
}

// cycle is the time between two items of stages i up to j. bytes[n] is what
// comes before stage n.
func (f *face) cycle(i, j int, bytes []int64) (c time.Duration, ok bool) {
	for n := i; n < j; n++ {
		if f.run[n] < 0 {
			return 0, false
		}
		c += f.run[n]
	}
	if !f.own {
		return c, true
	}
	up, down := f.up.Time(bytes[i]), f.down.Time(bytes[j])
	switch {
	case f.engines <= 0:
		return c + up + down, true
	case f.engines == 1:
		return max(c, up+down), true
	}
	return max(c, up, down), true
}

// cycle is that of the site's best face.
func (s *site) cycle(i, j int, bytes []int64) (c time.Duration, device int, ok bool) {
	for n := range s.faces {
		if t, can := s.faces[n].cycle(i, j, bytes); can && (!ok || t < c) {
			c, device, ok = t, s.faces[n].device, true
		}
	}
	return c, device, ok
}

// kind names sites that are alike.
func (s *site) kind() string {
	var faces []string
	for _, f := range s.faces {
		f.device = 0
		faces = append(faces, fmt.Sprintf("%v", f))
	}
	slices.Sort(faces)
	return strings.Join(faces, "\n")
}

// class is sites that are alike, in probe order.
type class []site

// maxStates bounds the search. Beyond it the slowest sites are left out: with
// that many, a chain is at its longest stage long before the last one helps.
const maxStates = 4096

// classes sorts sites into kinds, no more of each than there are stages.
func classes(sites []site, stages int, bytes []int64) (all []class, states int) {
	at := map[string]int{}
	for _, s := range sites {
		k := s.kind()
		n, known := at[k]
		if !known {
			n = len(all)
			at[k] = n
			all = append(all, nil)
		}
		if len(all[n]) < stages {
			all[n] = append(all[n], s)
		}
	}
	count := func() int {
		n := 1
		for _, c := range all {
			if n *= len(c) + 1; n > maxStates {
				break
			}
		}
		return n
	}
	for count() > maxStates {
		slowest, worst := -1, -1.0
		for n, c := range all {
			// One site of each kind stays for as long as there are several of any.
			pace := c[0].pace(stages)
			if len(c) > 1 {
				pace += 1e6
			}
			if pace > worst {
				slowest, worst = n, pace
			}
		}
		if all[slowest] = all[slowest][1:]; len(all[slowest]) == 0 {
			all = slices.Delete(all, slowest, slowest+1)
		}
	}
	return all, count()
}

// pace is the seconds that the whole chain takes on the site, a stage that it
// cannot run counted as an hour.
func (s *site) pace(stages int) float64 {
	best := 0.0
	for n := range stages {
		t := time.Hour
		for _, f := range s.faces {
			if f.run[n] >= 0 {
				t = min(t, f.run[n])
			}
		}
		best += t.Seconds()
	}
	return best
}

// layout is the best contiguous grouping: of those with the least bottleneck
// the one with the least time for a single item, then with the fewest groups.
// nil: no layout can run all stages.
func layout(sites []site, bytes []int64) []group {
	stages := len(bytes) - 1
	l := layouter{stages: stages, bytes: bytes}
	l.classes, l.states = classes(sites, stages, bytes)
	l.tabulate()
	bottleneck := l.search(func(before cost, c time.Duration) (cost, bool) {
		return cost{time: max(before.time, c)}, true
	})
	if bottleneck == nil {
		return nil
	}
	limit := time.Duration(0)
	for _, g := range bottleneck {
		limit = max(limit, g.cycle)
	}
	return l.search(func(before cost, c time.Duration) (cost, bool) {
		return cost{before.time + c, before.groups + 1}, c <= limit
	})
}

// layouter is the dynamic program. A state is how many sites of each class are
// used, as the digits of a number.
type layouter struct {
	stages  int
	bytes   []int64
	classes []class
	states  int
	cycles  [][]time.Duration // by class and i·(stages+1)+j; negative: cannot
}

// cost orders layouts of the same stages and sites.
type cost struct {
	time   time.Duration
	groups int
}

func (a cost) less(b cost) bool { return a.time < b.time || a.time == b.time && a.groups < b.groups }

// tabulate fills in the cycle of every group on every class.
func (l *layouter) tabulate() {
	wide := l.stages + 1
	l.cycles = make([][]time.Duration, len(l.classes))
	for n, c := range l.classes {
		l.cycles[n] = make([]time.Duration, wide*wide)
		for i := range l.stages {
			for j := i + 1; j <= l.stages; j++ {
				t, _, ok := c[0].cycle(i, j, l.bytes)
				if !ok {
					t = -1
				}
				l.cycles[n][i*wide+j] = t
			}
		}
	}
}

// search finds the layout of least cost; join adds a group to a layout, or says
// that it must not.
func (l *layouter) search(join func(before cost, c time.Duration) (cost, bool)) []group {
	type cell struct {
		cost  cost
		known bool
		from  int // stages done before the last group
		class int // of the last group
	}
	wide := l.stages + 1
	table := make([]cell, l.states*wide)
	table[0].known = true
	step := make([]int, len(l.classes))
	for n, size := 0, 1; n < len(l.classes); n++ {
		step[n] = size
		size *= len(l.classes[n]) + 1
	}
	used := func(state, n int) int { return state / step[n] % (len(l.classes[n]) + 1) }
	end := -1 // state of the best complete layout
	for state := range l.states {
		for i := range l.stages {
			from := &table[state*wide+i]
			if !from.known {
				continue
			}
			for n := range l.classes {
				if used(state, n) == len(l.classes[n]) {
					continue
				}
				next := state + step[n]
				for j := i + 1; j <= l.stages; j++ {
					c := l.cycles[n][i*wide+j]
					if c < 0 {
						break // nor with more stages
					}
					sum, may := join(from.cost, c)
					if to := &table[next*wide+j]; may && (!to.known || sum.less(to.cost)) {
						*to = cell{sum, true, i, n}
					}
				}
			}
		}
		if done := &table[state*wide+l.stages]; done.known && (end < 0 || done.cost.less(table[end*wide+l.stages].cost)) {
			end = state
		}
	}
	if end < 0 {
		return nil
	}
	var groups []group
	for state, j := end, l.stages; j > 0; {
		at := table[state*wide+j]
		c, device, _ := l.classes[at.class][used(state, at.class)-1].cycle(at.from, j, l.bytes)
		groups = append(groups, group{at.from, j, device, c})
		state, j = state-step[at.class], at.from
	}
	slices.Reverse(groups)
	return groups
}
