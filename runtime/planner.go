package tandem

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/kernels"
	"github.com/tandemrun/tandem/partitioner"
	"github.com/tandemrun/tandem/partitioner/costmodel"
)

// planner turns a graph into a partitioner's problem and its answer into
// placements.
type planner struct {
	*Plan
	placed    []placement          // the Plan's, once they are all made
	variants  [][]*kernels.Variant // by task and agent; nil: it cannot run there
	selectors map[string]*selection
	estimates map[estimateKey]partitioner.Estimate
	images    map[programKey]imageCost
	cuts      map[cutKey]*cutting // launches that do not fit on a device as a whole
	fixed     []bool              // tasks that are placed already, when planning again
}

func newPlanner(p *Plan, placed []placement) *planner {
	return &planner{Plan: p, placed: placed, variants: make([][]*kernels.Variant, len(placed)),
		selectors: map[string]*selection{}, estimates: map[estimateKey]partitioner.Estimate{}, cuts: map[cutKey]*cutting{}}
}

// isFixed reports whether task i is not to be placed again.
func (pl *planner) isFixed(i int) bool { return pl.fixed != nil && pl.fixed[i] }

// fix states task i, which is placed, to the partitioner: it takes no more time,
// and what it writes is where it ran.
func (pl *planner) fix(i int, pt *partitioner.Task) {
	on := pl.placed[i].shares[0].agent
	for j := range pt.Cost {
		pt.Cost[j] = partitioner.Estimate{Source: "done"}
	}
	pt.Devices = []int{on}
}

// build makes the problem. Each version of a buffer is one datum.
func (pl *planner) build() error {
	s, g := pl.session, pl.graph
	prob := &partitioner.Problem{Nodes: []partitioner.Node{{Name: "host"}}, Contention: true}
	up, down := []devices.Link{{}}, []devices.Link{{}}
	faces := map[string]int{}
	for _, a := range s.agents {
		faces[a.info.PhysicalID]++
	}
	for _, a := range s.agents {
		u, d, launch := s.predictor.links(&a.info)
		dev := partitioner.Device{ID: a.info.ID, Resource: a.info.ID, Launch: launch}
		if s.exclusive {
			dev.Resource = a.info.PhysicalID
		}
		if a.images != nil {
			dev.Image = a.images.Loaded()
		}
		if !a.info.UnifiedMemory {
			dev.Node = len(prob.Nodes)
			prob.Nodes = append(prob.Nodes, partitioner.Node{Name: a.info.ID, Memory: a.info.MemoryTotal})
			up, down = append(up, u), append(down, d)
		}
		prob.Devices = append(prob.Devices, dev)
	}
	prob.Links = partitioner.StarLinks(up, down)
	current := map[*Buffer]int{}
	ids := map[*Buffer]int{}
	datum := func(b *Buffer, fresh bool) int {
		d, ok := current[b]
		if ok && !fresh {
			return d
		}
		if ids[b] == 0 {
			ids[b] = len(ids) + 1
		}
		data := partitioner.Datum{Name: b.array.Name, Bytes: b.bytes, Buffer: ids[b]}
		if !fresh {
			data.Nodes = []int{0}
		}
		current[b] = len(prob.Data)
		prob.Data = append(prob.Data, data)
		return current[b]
	}
	var faults []error
	for i := range g.Len() {
		t := g.task(i)
		pt := partitioner.Task{Name: g.nameOf(i), After: t.waitsFor(), Cost: make([]partitioner.Estimate, len(s.agents))}
		if s := t.wish().gang; s != nil {
			pt.Together = s.number
		}
		if pl.isFixed(i) {
			pl.fix(i, &pt)
		} else if err := pl.candidates(i, &pt, faces); err != nil {
			faults = append(faults, err)
			continue
		} else if err := pl.splitRule(i, &pt); err != nil {
			faults = append(faults, err)
			continue
		}
		for j, b := range t.buffers() {
			if !t.call.Args[j].Mode.Reads() || pl.isFixed(i) {
				continue
			}
			read := partitioner.Read{Datum: datum(b, false)}
			if band := pl.placed[i].bands[j]; band != nil && pt.Split != nil {
				read.ByShare = true
				read.Halo = max(-band.Low, band.High-band.Stride, 0) * int64(b.array.DType.Size())
			}
			if !slices.ContainsFunc(pt.Reads, func(r partitioner.Read) bool { return r.Datum == read.Datum }) {
				pt.Reads = append(pt.Reads, read)
			}
		}
		written := map[*Buffer]bool{}
		for j, b := range t.buffers() {
			if !t.call.Args[j].Mode.Writes() || written[b] {
				continue
			}
			written[b] = true
			if _, known := current[b]; !known && t.call.Args[j].Mode == kernels.Write {
				ids[b] = len(ids) + 1
			}
			pt.Writes = append(pt.Writes, datum(b, true))
		}
		prob.Tasks = append(prob.Tasks, pt)
	}
	for _, b := range g.home {
		if d, used := current[b]; used {
			prob.Data[d].Return = true
		}
	}
	for k := range pl.cuts { // what a launch on windows needs does not stay there
		prob.Nodes[prob.Devices[k.agent].Node].Memory = 0
	}
	pl.problem = prob
	return errors.Join(faults...)
}

// candidates fills in the cost of task i on each device, or why it cannot run
// there. None at all is a *PlanError.
func (pl *planner) candidates(i int, pt *partitioner.Task, faces map[string]int) error {
	s, t := pl.session, pl.graph.task(i)
	pl.variants[i] = make([]*kernels.Variant, len(s.agents))
	allowed, err := pl.selected(t.wish().selector)
	if err != nil {
		return &TaskError{Task: pl.graph.nameOf(i), Attempt: 1, Err: err}
	}
	work := size(t.call, t.call.Range.Items())
	pe := &PlanError{Task: pl.graph.nameOf(i)}
	others := pl.others(t, allowed)
	for j, a := range s.agents {
		v, why := pl.runs(i, a, allowed.ids())
		if why == "" && others && a.onCall && !allowed.names(a) {
			why = fmt.Sprintf("%s is an emulation, for tasks that ask for it or run nowhere else", a.info.ID)
		}
		if why == "" {
			why = pl.graph.otherSource(i, a)
		}
		if why != "" {
			pt.Cost[j].Refused = why
			pe.Tried = append(pe.Tried, why)
			continue
		}
		pl.variants[i][j] = v
		pt.Cost[j] = pl.estimate(t.call, v, a, work)
		if a.images != nil {
			pt.Cost[j].Image, pt.Cost[j].Load = pl.image(a, v.Source)
		}
		if n := faces[a.info.PhysicalID]; !s.exclusive && n > 1 {
			// All faces at once: each gets its part of the processor.
			pt.Cost[j].Run *= time.Duration(n)
			pt.Cost[j].Fixed *= time.Duration(n)
		}
		if cut := pl.cuts[cutKey{i, j}]; cut != nil {
			pt.Cost[j].Run += pl.windowTime(t, a, cut)
		}
		pt.Cost[j].Run *= time.Duration(t.times())
	}
	if len(pe.Tried) == len(s.agents) {
		pe.Hint = s.hintFor(t.call.Kernel)
		return pe
	}
	return nil
}

// image is what a has to have loaded for the kernels of a source.
func (pl *planner) image(a *agent, src *devices.Source) (name string, load time.Duration) {
	k := programKey{a.index, src}
	i, known := pl.images[k]
	if !known {
		i.name, i.load = a.images.Image(src)
		if pl.images == nil {
			pl.images = map[programKey]imageCost{}
		}
		pl.images[k] = i
	}
	return i.name, i.load
}

// imageCost is an image of a reconfigurable device and what loading it takes.
type imageCost struct {
	name string
	load time.Duration
}

// others reports whether a device runs t that is not on call only, where some
// are.
func (pl *planner) others(t task, allowed *selection) bool {
	return pl.session.onCall && slices.ContainsFunc(pl.session.agents, func(a *agent) bool {
		if a.onCall {
			return false
		}
		_, why := candidate(t, a, allowed.ids())
		return why == ""
	})
}

// selection is what a task's selector allows; nil: all devices.
type selection struct {
	allowed map[string]bool // by id
	sel     Selector
}

func (s *selection) ids() map[string]bool {
	if s == nil {
		return nil
	}
	return s.allowed
}

// names reports whether the task asks for a, and does not merely allow it.
func (s *selection) names(a *agent) bool { return s != nil && s.sel.Names(&a.info) }

// selected is what a task's selector allows.
func (pl *planner) selected(selector string) (*selection, error) {
	if selector == "" {
		return nil, nil
	}
	if known := pl.selectors[selector]; known != nil {
		return known, nil
	}
	sel, err := ParseSelector(selector)
	if err != nil {
		return nil, err
	}
	infos, err := sel.Select(pl.session.Devices())
	if err != nil {
		return nil, err
	}
	chosen := &selection{map[string]bool{}, sel}
	for _, d := range infos {
		chosen.allowed[d.ID] = true
	}
	pl.selectors[selector] = chosen
	return chosen, nil
}

// estimate asks the cost model, once for calls that are alike.
func (pl *planner) estimate(c *kernels.Call, v *kernels.Variant, a *agent, work costmodel.Size) partitioner.Estimate {
	k := estimateKey{v, a.index, work}
	e, known := pl.estimates[k]
	if !known {
		e = pl.session.predictor.estimate(c.Kernel, v, a, work)
		pl.estimates[k] = e
	}
	return e
}

type estimateKey struct {
	variant *kernels.Variant
	agent   int
	size    costmodel.Size
}

// candidate is the variant that a would run, or why it does not take the task
// as a whole. allowed are the ids it may run on; nil: all.
func candidate(t task, a *agent, allowed map[string]bool) (*kernels.Variant, string) {
	v, why := runnable(t, a, allowed)
	if why == "" {
		why = a.overfull(t)
	}
	if why != "" {
		return nil, why
	}
	return v, ""
}

// runnable is candidate whatever the sizes of the arrays.
func runnable(t task, a *agent, allowed map[string]bool) (*kernels.Variant, string) {
	if allowed != nil && !allowed[a.info.ID] {
		return nil, fmt.Sprintf("%s is not among the devices asked for (%s)", a.info.ID, t.wish().selector)
	}
	if a.lost.Load() {
		return nil, fmt.Sprintf("%s is out of use: the device was lost", a.info.ID)
	}
	if a.hung.Load() {
		return nil, fmt.Sprintf("%s is out of use: a kernel exceeded its time limit and still runs", a.info.ID)
	}
	v, err := t.call.Kernel.VariantFor(a.info)
	if err != nil {
		return nil, err.Error()
	}
	if why := t.notTogether(a); why != "" {
		return nil, why
	}
	if why := groupTooLarge(t.call.Range, &a.info); why != "" {
		return nil, why
	}
	local := v.StaticLocal
	for _, arg := range t.call.Args {
		local += arg.LocalBytes
	}
	if local > a.info.LocalMemory && a.info.LocalMemory > 0 {
		return nil, fmt.Sprintf("%s has %d bytes of local memory, %s needs %d (%d in the kernel, %d as arguments)",
			a.info.ID, a.info.LocalMemory, t.call.Kernel.Name, local, v.StaticLocal, local-v.StaticLocal)
	}
	return v, ""
}

// groupTooLarge says why no group of the range's local size fits on a device;
// "" if one does, or the size is free.
func groupTooLarge(r devices.NDRange, d *devices.Info) string {
	items := 1
	for dim, n := range r.Local {
		if n <= 0 {
			continue
		}
		items *= n
		if most := d.MaxItemSizes[dim]; most > 0 && n > most {
			return fmt.Sprintf("%s takes work-groups of at most %d in dimension %d, local asks for %d", d.ID, most, dim, n)
		}
	}
	if d.MaxWorkGroup > 0 && items > d.MaxWorkGroup {
		return fmt.Sprintf("%s takes work-groups of at most %d work-items, local %v asks for %d", d.ID, d.MaxWorkGroup, r.Local[:max(r.Dims, 1)], items)
	}
	return ""
}

// has reports whether a device was opened.
func (s *Session) has(id string) bool {
	return slices.ContainsFunc(s.agents, func(a *agent) bool { return a.info.ID == id })
}

// hintFor says what would bring a device that runs k.
func (s *Session) hintFor(k *kernels.Kernel) string {
	for _, v := range k.Variants {
		for _, b := range s.backends {
			if b.Name == string(v.Language) && !b.Available && b.Hint != "" {
				return b.Hint
			}
			for i := range b.Devices {
				if d := &b.Devices[i]; d.Emulated && !s.has(d.ID) && slices.Contains(d.Languages, v.Language) {
					return fmt.Sprintf("%s runs it: an emulation, which has to be named in the device selector", d.ID)
				}
			}
		}
	}
	return ""
}

// minGrainItems is the smallest number of work-items by which cuts are rounded
// where the work-group size is free: whole cache lines of any element type.
const minGrainItems = 64

// splitRule decides whether task i may be divided.
func (pl *planner) splitRule(i int, pt *partitioner.Task) error {
	t := pl.graph.task(i)
	place := &pl.placed[i]
	place.dim = -1
	var err error
	if place.bands, err = t.call.Bands(); err != nil {
		place.bands = make([]*kernels.Band, len(t.call.Args))
	}
	capable := 0
	for _, v := range pl.variants[i] {
		if v != nil {
			capable++
		}
	}
	parts := 0
	for _, f := range t.wish().split.Shares {
		if f > 0 {
			parts++
		}
	}
	if t.wish().split.Never || t.wish().gang != nil || t.times() > 1 || t.call.Range.Items() <= 1 {
		return nil
	}
	if parts == 1 { // all of it for one device
		next := 0
		for j, v := range pl.variants[i] {
			if v == nil {
				continue
			}
			if next < len(t.wish().split.Shares) && t.wish().split.Shares[next] > 0 {
				pt.Devices = []int{j}
			}
			next++
		}
		return nil
	}
	dim, bands, err := t.call.Splittable()
	if err == nil {
		err = t.aliased()
	}
	if err != nil {
		// With one device to run it there is nothing to divide.
		if parts > 1 && capable > 1 {
			return &TaskError{Task: pl.graph.nameOf(i), Attempt: 1, Err: fmt.Errorf("%w: %w", err, devices.ErrInvalid)}
		}
		place.reason = err.Error()
		return nil
	}
	items := t.call.Range.Size[dim]
	place.dim, place.bands = dim, bands
	if capable < 2 {
		if parts > 1 {
			place.reason = fmt.Sprintf("%d shares asked for, one device can run it", parts)
		}
		return nil
	}
	pt.Split = &partitioner.Split{Items: items, Grain: max(t.call.Range.Local[dim], 1)}
	if t.call.Range.Local[dim] == 0 && dim == 0 && items >= minGrainItems*4*capable {
		pt.Split.Grain = minGrainItems
	}
	if parts > 0 {
		pt.Split.Shares = make([]float64, len(pl.session.agents))
		next := 0
		var lastOne int
		for j, v := range pl.variants[i] {
			if v != nil && next < len(t.wish().split.Shares) {
				pt.Split.Shares[j] = t.wish().split.Shares[next]
				next, lastOne = next+1, j
			}
		}
		for ; next < len(t.wish().split.Shares); next++ { // fewer devices than shares
			pt.Split.Shares[lastOne] += t.wish().split.Shares[next]
			place.reason = fmt.Sprintf("%d shares asked for, %d devices can run it: the last takes what is left", len(t.wish().split.Shares), capable)
		}
	}
	return nil
}

// aliased refuses a split of a task that takes one buffer as two arguments and
// writes it.
func (t task) aliased() error {
	for i, b := range t.buffers() {
		for j, other := range t.buffers() {
			if j < i && b == other && (t.call.Args[i].Mode.Writes() || t.call.Args[j].Mode.Writes()) {
				return fmt.Errorf("%s cannot be split: buffer %q is two of its arguments and is written", t.call.Kernel.Name, b.array.Name)
			}
		}
	}
	return nil
}

// place turns the schedule into placements.
func (pl *planner) place() {
	for i := range pl.placed {
		if pl.isFixed(i) {
			continue
		}
		place, task := &pl.placed[i], pl.graph.task(i)
		place.shares = nil
		place.later = pl.dividesLater(i)
		scheduled := &pl.schedule.Tasks[i]
		whole := task.call.Range.Norm()
		for j := range pl.session.agents {
			if cut := pl.cuts[cutKey{i, j}]; cut != nil {
				place.dim, place.bands = cut.dim, cut.bands
			}
		}
		if place.reason == "" || pl.fixed != nil {
			place.reason = scheduled.Reason
		}
		for _, share := range scheduled.Shares {
			nd := whole
			if len(scheduled.Shares) > 1 {
				nd.Offset[place.dim] += share.Lo
				nd.Size[place.dim] = share.Hi - share.Lo
			}
			v, a := pl.variants[i][share.Device], pl.session.agents[share.Device]
			run := share.Finish - share.Start - share.Load
			cut := pl.cuts[cutKey{i, share.Device}]
			key := pl.session.predictor.key(task.call.Kernel, v, a)
			if cut != nil {
				v = &cut.win.Variant
				if all := whole.Items(); all > 0 { // what the launches themselves take
					moving := float64(pl.windowTime(task, a, cut)*time.Duration(task.times())) * float64(nd.Items()) / float64(all)
					run = max(run-time.Duration(moving), 0)
				}
				place.reason += fmt.Sprintf("; on %s on windows of the arrays: %s", a.info.ID, a.overfull(task))
			}
			parts := []devices.NDRange{nd}
			if !place.later {
				parts = pl.chunks(i, nd, a, run, len(scheduled.Shares))
			}
			for n, chunk := range parts {
				predicted := run / time.Duration(task.times())
				if all := nd.Items(); all > 0 {
					predicted = time.Duration(float64(predicted) * float64(chunk.Items()) / float64(all))
				}
				spread := time.Duration(0)
				if cost := pl.problem.Tasks[i].Cost[share.Device]; cost.Run > 0 {
					spread = time.Duration(float64(predicted) * float64(cost.Spread) / float64(cost.Run))
				}
				place.shares = append(place.shares, placedShare{agent: share.Device, nd: chunk, head: n == 0, variant: v, cut: cut, predicted: predicted, spread: spread,
					key: key, size: size(task.call, chunk.Items())})
			}
		}
		if place.later {
			place.reason += "; handed out piece by piece"
		}
	}
	if pl.forwardOrder() {
		pl.order = pl.byStart()
	}
}

// byStart is the schedule's order sorted by when the tasks start. What runs
// early is lowered early, also where a run has too many operations to lower
// all of them at once: no queue runs dry meanwhile.
func (pl *planner) byStart() []int {
	order := slices.Clone(pl.schedule.Order)
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Compare(pl.schedule.Tasks[a].Start, pl.schedule.Tasks[b].Start)
	})
	return order
}

// forwardOrder reports whether the schedule's order may be used for lowering:
// it keeps all dependencies of the graph.
func (pl *planner) forwardOrder() bool {
	at := make([]int, pl.graph.Len())
	for n, t := range pl.schedule.Order {
		at[t] = n
	}
	if len(pl.schedule.Order) != len(at) {
		return false
	}
	for i := range pl.graph.Len() {
		for _, a := range pl.graph.task(i).after() {
			if at[a] > at[i] {
				return false
			}
		}
	}
	return true
}
