package opencl

import (
	"crypto/sha256"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/tandemrun/tandem/devices/internal/ragged"
)

// PoCL's drivers for the host's cores build a kernel for a local size anew when
// a launch needs more than the build that is there: an offset other than 0
// where all had none, or a wider range. Up to version 5 a command that has
// ended gives back the newest build, not the one that it ran on, and the process
// is aborted when one was given back too often. That is so when commands run on
// the build before while the new one is made. So on such a device a launch that
// needs a new build waits on the device for everything that was enqueued before
// it on the others' queues, and others of the kernel wait for it until it has
// ended. Nobody waits in the host, and nothing waits for what comes later, so
// there is no circle.

// widener is a device's part of it.
type widener struct {
	// Held by each launch while it is enqueued, alone by one that needs a new
	// build.
	mu      sync.RWMutex
	kernels map[widenKey]*breadth
	forgot  int // how often kernels was emptied
}

// maxBreadths bounds what a device keeps.
const maxBreadths = 4096

// widenKey is what PoCL takes for one build.
type widenKey struct {
	source   [sha256.Size]byte // of text, options and entry
	geometry ragged.Geometry
	local    [3]uint64
}

// breadth is what the newest build for a kernel and a local size is good for.
type breadth struct {
	moved bool // offsets other than 0
	width uint64

	pending atomic.Bool // wide is set
	mu      sync.Mutex
	wide    *event // the launch that needed it, until it is known to have ended; a reference
}

// widens reports whether a platform is a PoCL that is to be kept from it.
func widens(platform, version string) bool {
	if !strings.Contains(platform, "Portable Computing Language") {
		return false
	}
	_, rest, ok := strings.Cut(strings.ToLower(version), "pocl ")
	major := strings.TrimLeft(rest, "0123456789")
	n := rest[:len(rest)-len(major)]
	return !ok || n == "" || len(n) == 1 && n[0] < '6'
}

// sourceKey tells sources and entries apart.
func (k *kernel) sourceKey() [sha256.Size]byte {
	text := append([]byte(k.entry+"\x00"+strings.Join(k.p.src.Options, "\x00")+"\x00"), k.p.src.Text...)
	return sha256.Sum256(text)
}

// width is what PoCL compares of a launch's range.
func width(b *ragged.Box) uint64 { return max(b.Size[0], b.Size[1], b.Local[2]*b.Local[2]) }

// takes reports whether the newest build does for a launch.
func (b *breadth) takes(box *ragged.Box) bool {
	return (b.moved || box.Offset == [3]uint64{}) && width(box) <= b.width
}

// breadths finds what is known of the builds for a layout's boxes; false: one
// of them needs a new one. w.mu is held.
func (w *widener) breadths(key widenKey, plan *ragged.Layout, found []*breadth) ([]*breadth, bool) {
	for i := range plan.Boxes[:plan.N] {
		b := &plan.Boxes[i]
		key.local = b.Local
		known := w.kernels[key]
		if known == nil || !known.takes(b) {
			return nil, false
		}
		if !slices.Contains(found, known) {
			found = append(found, known)
		}
	}
	return found, true
}

// running is the launch that the newest build was made for, with a reference,
// if it may not have ended.
func (b *breadth) running() *event {
	if !b.pending.Load() {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.wide == nil {
		return nil
	}
	if done, _ := b.wide.Done(); done {
		b.wide.unref()
		b.wide = nil
		b.pending.Store(false)
		return nil
	}
	b.wide.refs.Add(1)
	return b.wide
}

// widening is a launch on a device that has to be kept from PoCL's fault.
type widening struct {
	w      *widener
	guards []*event // to be waited for on the device, each with a reference
	wider  []*breadth
}

// widen takes the device's lock for a launch. The queue is not locked.
func (q *queue) widen(v *variant, plan *ragged.Layout) widening {
	w := &q.d.widener
	w.mu.RLock()
	if b := v.breadth; b != nil && plan.N == 1 && v.local == plan.Boxes[0].Local && v.forgot == w.forgot && b.takes(&plan.Boxes[0]) {
		l := widening{w: w}
		if e := b.running(); e != nil {
			l.guards = append(l.guards, e)
		}
		return l
	}
	var room [8]*breadth
	if found, ok := w.breadths(v.widen, plan, room[:0]); ok {
		l := widening{w: w}
		v.breadth, v.local, v.forgot = found[0], plan.Boxes[0].Local, w.forgot
		for _, b := range found {
			if e := b.running(); e != nil {
				l.guards = append(l.guards, e)
			}
		}
		return l
	}
	w.mu.RUnlock()
	w.mu.Lock()
	if len(w.kernels) >= maxBreadths {
		w.drop()
		w.forgot++
	}
	if w.kernels == nil {
		w.kernels = map[widenKey]*breadth{}
	}
	l := widening{w: w}
	key, first := v.widen, w.forgot == 0
	for i := range plan.Boxes[:plan.N] {
		b := &plan.Boxes[i]
		key.local = b.Local
		known := w.kernels[key]
		if known == nil {
			known = &breadth{}
			w.kernels[key] = known
		} else if !known.takes(b) {
			first = false
		}
		known.moved = known.moved || b.Offset != [3]uint64{}
		known.width = max(known.width, width(b))
		if !slices.Contains(l.wider, known) {
			l.wider = append(l.wider, known)
		}
	}
	if first { // nothing of it can be running
		return l
	}
	q.d.mu.Lock()
	others := slices.Clone(q.d.queues)
	q.d.mu.Unlock()
	for _, o := range others {
		if o == q {
			continue
		}
		if e := o.mark(); e != nil {
			l.guards = append(l.guards, e)
		}
	}
	return l
}

// mark is an event for everything that was enqueued so far, with a reference;
// nil if there is nothing, or no event to be had.
func (q *queue) mark() *event {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed || q.seq == 0 {
		return nil
	}
	q.deps = q.deps[:0]
	m, err := q.marker(command{})
	if err != nil {
		return nil
	}
	q.d.open[kindEvent].Add(-1) // it is nobody's
	return m.(*event)
}

// flush sees to it that what the launch waits for begins.
func (l *widening) flush() {
	for _, e := range l.guards {
		e.q.flushTo(e.seq)
	}
}

// done ends it: e is the launch's event, nil if it was not enqueued.
func (l *widening) done(e *event) {
	for _, g := range l.guards {
		g.unref()
	}
	if l.wider == nil {
		l.w.mu.RUnlock()
		return
	}
	for _, b := range l.wider {
		b.mu.Lock()
		if b.wide != nil {
			b.wide.unref()
			b.wide = nil
		}
		if e != nil {
			e.refs.Add(1)
			b.wide = e
		}
		b.pending.Store(b.wide != nil)
		b.mu.Unlock()
	}
	l.w.mu.Unlock()
}

// clear lets the events go that are kept.
func (w *widener) clear() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.drop()
}

func (w *widener) drop() {
	for _, b := range w.kernels {
		b.mu.Lock()
		if b.wide != nil {
			b.wide.unref()
			b.wide = nil
			b.pending.Store(false)
		}
		b.mu.Unlock()
	}
	w.kernels = nil
}
