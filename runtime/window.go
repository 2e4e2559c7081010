package tandem

import (
	"errors"
	"fmt"
	"time"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/devices/hostmem"
	"github.com/tandemrun/tandem/kernels"
	"github.com/tandemrun/tandem/transfer"
)

// Launches on windows. An array that is larger than the largest buffer of a
// device, or does not fit there beside the task's other arrays, has no replica
// there. Where it is known which elements a work-item touches, the launch is
// cut into parts, and each part gets windows: memory for what it touches, filled
// before and emptied after it. For everything else such a part works in the
// host's memory: that is where it reads and writes.

// windowTotal bounds the windows of one part: large enough for any link to reach
// its speed, small enough that the first part begins soon.
const windowTotal = 256 << 20

// windowSets is how many parts have to fit on a device at once: one is filled
// while one is worked on and one is emptied, and one begins as soon as another
// ends.
const windowSets = 4

// A cutting is how a task runs on windows of its arrays on one device.
type cutting struct {
	win   *kernels.Windowed
	args  []bool // by argument: it gets windows
	dim   int
	bands []*kernels.Band
	most  int64 // bytes of one window
	total int64 // bytes of all windows of a part
}

type cutKey struct{ task, agent int }

// has reports whether argument i gets windows.
func (c *cutting) has(i int) bool { return c != nil && c.args[i] }

// window is the memory of a part for one of its arrays.
type window struct {
	arg      int
	buf      *Buffer
	lo, hi   int64 // bytes of the array that it holds
	from, to int64 // of those, the ones that the part touches
	rep      *transfer.Replica
	up, down bool   // the part reads them, writes them
	held     []byte // where results arrive that must not overwrite their inputs yet
}

// room is the largest buffer and all that may be allocated on the device; 0:
// not known.
func (a *agent) room() (single, all int64) {
	all = a.info.MemoryTotal
	if l := a.memory.Limit(); l > 0 && (all == 0 || l < all) {
		all = l
	}
	single = a.info.MaxAlloc
	if all > 0 && (single == 0 || single > all) {
		single = all
	}
	return single, all
}

// overfull says why the arrays of t as they are do not fit on the device; ""
// if they do.
func (a *agent) overfull(t task) string {
	single, all := a.room()
	if a.info.UnifiedMemory { // imported pages take none of its memory
		single, all = a.info.MaxAlloc, 0
	}
	var sum int64
	for i, b := range t.buffers() {
		if t.named(b, i) {
			continue
		}
		if single > 0 && b.bytes > single {
			return fmt.Sprintf("%s takes buffers of at most %d bytes, %q has %d", a.info.ID, single, b.array.Name, b.bytes)
		}
		sum += b.bytes
	}
	if all > 0 && sum > all {
		return fmt.Sprintf("%s has %d bytes of memory, the arrays of the task have %d", a.info.ID, all, sum)
	}
	return ""
}

// named reports whether b is one of the first n arguments.
func (t task) named(b *Buffer, n int) bool {
	for i, other := range t.buffers() {
		if i < n && other == b {
			return true
		}
	}
	return false
}

// runs is the variant of task i that a would run, on whole arrays or windows of
// them, or why it runs none.
func (pl *planner) runs(i int, a *agent, allowed map[string]bool) (*kernels.Variant, string) {
	t := pl.graph.task(i)
	v, why := runnable(t, a, allowed)
	if why != "" {
		return nil, why
	}
	if why = a.overfull(t); why == "" {
		return v, ""
	}
	cut, err := pl.cutting(t, a, v)
	if err != nil {
		return nil, fmt.Sprintf("%s; %v", why, err)
	}
	pl.cuts[cutKey{i, a.index}] = cut
	return v, ""
}

// cutting finds out how t runs on windows on a, or why it cannot.
func (pl *planner) cutting(t task, a *agent, v *kernels.Variant) (*cutting, error) {
	if t.wish().gang != nil {
		return nil, errors.New("it cannot be cut: it is to run together with others")
	}
	if err := t.aliased(); err != nil {
		return nil, fmt.Errorf("it cannot be cut: %w", err)
	}
	dim, bands, err := t.call.CanWindow(nil)
	if err != nil {
		return nil, err
	}
	single, all := a.room()
	c := &cutting{args: make([]bool, len(t.call.Args)), dim: dim, bands: bands, most: single, total: windowTotal}
	var params []int
	var rest int64 // of arrays that are needed whole
	for i, b := range t.buffers() {
		switch {
		case b.bytes == 0:
		case bands[i] != nil:
			c.args[i] = true
			params = append(params, i)
		case single > 0 && b.bytes > single:
			_, _, err := t.call.CanWindow([]int{i})
			return nil, err
		default:
			rest += b.bytes
		}
	}
	if !a.info.UnifiedMemory && all > 0 {
		if rest >= all {
			return nil, fmt.Errorf("the arrays that every part needs whole have %d bytes", rest)
		}
		c.total = min(c.total, (all-rest)/windowSets)
	}
	if single > 0 {
		c.total = min(c.total, single)
	}
	// The smallest part: twice what parts are rounded to.
	least := t.call.Range.Norm()
	least.Size[dim] = min(least.Size[dim], 2*max(t.call.Range.Local[dim], 1))
	if sum, _ := c.bytes(t, &least); sum > c.total {
		return nil, fmt.Errorf("it cannot be cut finely enough: %d work-items touch %d bytes, there is room for %d", least.Size[dim], sum, c.total)
	}
	c.win, err = pl.session.windows.variant(t.call.Kernel, v, params)
	if err != nil {
		return nil, fmt.Errorf("it cannot be cut: %w", err)
	}
	return c, nil
}

// bytes are the bytes of the windows of a part, and of the largest of them.
func (c *cutting) bytes(t task, nd *devices.NDRange) (sum, largest int64) {
	for i, b := range t.buffers() {
		if !c.has(i) {
			continue
		}
		lo, hi := c.window(i, b, nd)
		sum += hi - lo
		largest = max(largest, hi-lo)
	}
	return sum, largest
}

// window is the range of b that the window of a part for argument i holds.
func (c *cutting) window(i int, b *Buffer, nd *devices.NDRange) (lo, hi int64) {
	align := int64(max(kernels.WindowAlign, hostmem.PageSize()))
	from, to := b.region(c.bands[i], nd)
	lo, hi = from/align*align, min((to+align-1)/align*align, b.bytes)
	return lo, max(lo, hi)
}

// cutWindows cuts a share of task i into parts whose windows fit on a.
func (pl *planner) cutWindows(i int, nd devices.NDRange, a *agent, c *cutting) []devices.NDRange {
	task := pl.graph.task(i)
	sum, _ := c.bytes(task, &nd)
	for n := int(max((sum+c.total-1)/c.total, 1)); ; n *= 2 {
		parts := pl.cut(i, nd, n)
		fits := true
		for p := range parts {
			s, largest := c.bytes(task, &parts[p])
			fits = fits && s <= c.total && (c.most == 0 || largest <= c.most)
		}
		if fits || n > nd.Size[c.dim] {
			return parts
		}
	}
}

// windowTime is what filling and emptying all windows of a task takes.
func (pl *planner) windowTime(t task, a *agent, c *cutting) time.Duration {
	if a.info.UnifiedMemory {
		return 0
	}
	up, down, _ := pl.session.predictor.links(&a.info)
	var in, out int64
	for i, b := range t.buffers() {
		if !c.has(i) {
			continue
		}
		if t.call.Args[i].Mode.Reads() {
			in += b.bytes
		}
		if t.call.Args[i].Mode.Writes() {
			out += b.bytes
		}
	}
	return max(up.Time(in), down.Time(out))
}

// makeWindows makes the windows of o on its device: all, or none and wait, after
// whose end there may be room. s.mu is held.
func (s *Session) makeWindows(o *op, task task) (wait *op, err error) {
	a := o.agent
	for i, b := range task.buffers() {
		if b.bytes == 0 || !o.cut.has(i) {
			continue
		}
		mode := task.call.Args[i].Mode
		w := window{arg: i, buf: b, up: mode.Reads(), down: mode.Writes()}
		w.from, w.to = b.region(o.cut.bands[i], &o.launch.Range)
		w.lo, w.hi = o.cut.window(i, b, &o.launch.Range)
		if w.lo == w.hi {
			continue // it touches none of them
		}
		for {
			if b.freed {
				err = b.closed()
			} else {
				w.rep, err = a.memory.Make(b.host[w.lo:w.hi], w.hi-w.lo, nil)
			}
			if !errors.Is(err, devices.ErrOutOfMemory) {
				break
			}
			if wait, err = s.evict(task, a, o.cut, err); wait != nil || err != nil {
				break
			}
		}
		if wait != nil || err != nil {
			s.freeWindows(o)
			o.zero = 0
			if err != nil {
				err = fmt.Errorf("a window of buffer %q: %w", b.array.Name, err)
			}
			return wait, err
		}
		o.windows = append(o.windows, w)
		o.launch.Args[i].Buffer = w.rep.Buffer
		if w.rep.Imported {
			o.zero += w.to - w.from
		}
	}
	a.courier.expect(o)
	return nil, nil
}

// freeWindows gives back what makeWindows made. s.mu is held.
func (s *Session) freeWindows(o *op) {
	for i := range o.windows {
		_ = o.agent.memory.Free(o.windows[i].rep) // a device that is lost has nothing to give back
	}
	o.windows = nil
}
