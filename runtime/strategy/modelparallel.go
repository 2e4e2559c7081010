package strategy

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/kernels"
	"github.com/tandemrun/tandem/kernels/library"
	"github.com/tandemrun/tandem/partitioner"
	tandem "github.com/tandemrun/tandem/runtime"
)

// Real is the element types of matrix products.
type Real interface{ float32 | float64 }

// Columns is a matrix whose columns are divided over devices, to be multiplied
// from the left: the weights of a model that is too large, or too slow, for one
// device. It is not safe for concurrent use. Its buffers belong to the session
// and are freed with it, or earlier by Free.
type Columns[T Real] struct {
	// Panels are the parts, in the order of the columns.
	Panels []Panel[T]

	session *tandem.Session
	k, n    int
	placeOn string                     // device that gathers; empty: the planner decides
	parts   map[int][]*tandem.Slice[T] // products of the panels, by number of rows
	made    Temporaries
}

// Panel is columns First up to Last on one device.
type Panel[T Real] struct {
	Device      string
	First, Last int
	B           *tandem.Slice[T] // (rows of the matrix, Last − First)
}

// ModelParallel divides the columns of b, a matrix of shape (k, n), over the
// session's devices, and copies them into panels. Multiply then gives products
// a·b bit for bit as library.LinalgGemm computes them on one device: an element
// is a sum over one row and one column, and both stay whole.
//
// Without shares, devices get columns so that they are predicted to finish
// together a product with a of the given number of rows, with a's way to them and
// the result's way back, as far as their memory takes; one that would not help
// gets none, and faces of one processor count as one device. With shares, one for
// each device in probe order, columns go in these proportions. Cuts are at whole
// cache lines.
//
// b is read on the host and may be freed afterwards. Shares that mean nothing and
// matrices that are none are ErrInvalid; columns that fit nowhere ErrOutOfMemory;
// no device that multiplies is a *tandem.PlanError.
func ModelParallel[T Real](ctx context.Context, s *tandem.Session, b *tandem.Slice[T], rows int, shares ...float64) (*Columns[T], error) {
	shape := b.Buffer().Shape()
	if err := b.Buffer().Err(); err != nil {
		return nil, err
	}
	if len(shape) != 2 || rows < 0 || shape[0] > math.MaxInt32 || shape[1] > math.MaxInt32 {
		return nil, fmt.Errorf("a matrix of shape %s times one of %d rows: want shape (k, n) and rows of 0 or more: %w", kernels.ShapeString(shape), rows, devices.ErrInvalid)
	}
	infos := s.Devices()
	if err := checkShares(shares, len(infos)); err != nil {
		return nil, err
	}
	m := &Columns[T]{session: s, k: int(shape[0]), n: int(shape[1]), parts: map[int][]*tandem.Slice[T]{}}
	grain := 64 / devices.DTypeOf[T]().Size()
	widths := partitioner.Fractions(m.n, grain, shares)
	if len(shares) == 0 {
		var err error
		if widths, err = m.balance(ctx, rows, grain); err != nil {
			return nil, err
		}
	}
	first := 0
	for d, w := range widths {
		if w == 0 && (m.n > 0 || d > 0) {
			continue
		}
		panel := tandem.NewSlice[T](s, m.k, w).Named(fmt.Sprintf("%s.panel%d", b.Buffer().Name(), len(m.Panels)))
		m.made = append(m.made, panel.Buffer())
		m.Panels = append(m.Panels, Panel[T]{infos[d].ID, first, first + w, panel})
		first += w
	}
	if err := m.scatter(ctx, b); err != nil {
		return nil, errors.Join(err, m.Free())
	}
	m.placeOn = m.gatherer(infos)
	return m, nil
}

// scatter copies b's columns into the panels.
func (m *Columns[T]) scatter(ctx context.Context, b *tandem.Slice[T]) error {
	return b.Read(ctx, func(all []T) error {
		for _, p := range m.Panels {
			w := p.Last - p.First
			err := p.B.Update(ctx, func(panel []T) error {
				for i := range m.k {
					copy(panel[i*w:(i+1)*w], all[i*m.n+p.First:])
				}
				return nil
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// gatherer is the device that puts panels together: one that works on the host's
// memory, where the parts have to go anyway; else the one with most columns.
func (m *Columns[T]) gatherer(infos []devices.Info) string {
	best, widest := "", -1
	for _, d := range infos {
		if _, err := placeOf[T]().VariantFor(d); err != nil {
			continue
		}
		if d.UnifiedMemory && d.HostCoherent {
			return d.ID
		}
		width := 0
		for _, p := range m.Panels {
			if p.Device == d.ID {
				width = p.Last - p.First
			}
		}
		if width > widest {
			best, widest = d.ID, width
		}
	}
	return best
}

func gemmOf[T Real]() *kernels.Kernel {
	if devices.DTypeOf[T]() == devices.Float64 {
		return library.LinalgGemmF64
	}
	return library.LinalgGemm
}

// multiply adds c = a·b on the given device, or on any one.
func multiply[T Real](g *tandem.Graph, a, b, c *tandem.Slice[T], on string) tandem.Task {
	return g.Add(gemmOf[T](), a, b, c).NoSplit().On(on)
}

// balance finds how many columns each device gets.
func (m *Columns[T]) balance(ctx context.Context, rows, grain int) ([]int, error) {
	infos := m.session.Devices()
	ask := make([]partitioner.ShareDevice, len(infos))
	for d := range ask {
		ask[d].Most = -1
	}
	size := int64(devices.DTypeOf[T]().Size())
	owner := map[string]int{} // device that stands for a piece of silicon
	known := make([]bool, len(infos))
	var refused error
	// A device that refuses a panel as too large may take a smaller one.
	for w := max(m.n/len(infos), min(grain, m.n)); ; w /= 2 {
		f, run, err := m.probe(ctx, rows, w)
		var pe *tandem.PlanError
		if errors.As(err, &pe) {
			refused = err
		} else if err != nil {
			return nil, err
		}
		missing := false
		for d := range run {
			if known[d] || run[d] < 0 {
				missing = missing || !known[d]
				continue
			}
			known[d] = true
			up, down := f.links(d)
			sd := partitioner.ShareDevice{Ready: up.Time(int64(rows) * int64(m.k) * size), Fixed: f.problem.Devices[d].Launch,
				Item: (run[d] - f.problem.Devices[d].Launch).Seconds() / float64(max(w, 1)), Out: down, OutBytes: float64(int64(rows) * size)}
			sd.Most = m.most(&infos[d], rows, size)
			r := f.resource(d)
			if other, taken := owner[r]; taken {
				if ask[other].Item <= sd.Item {
					continue
				}
				ask[other] = partitioner.ShareDevice{Most: -1}
			}
			owner[r], ask[d] = d, sd
		}
		if w <= grain || !missing && err == nil {
			break
		}
	}
	if len(owner) == 0 {
		return nil, refused
	}
	room, limited := 0, true
	for d := range ask {
		limited = limited && ask[d].Most != 0
		room += max(ask[d].Most, 0) / grain * grain
	}
	if limited && room < m.n {
		return nil, fmt.Errorf("%d columns of %d bytes, and of their products %d: the devices have room for %d: %w",
			m.n, int64(m.k)*size, int64(rows)*size, room, devices.ErrOutOfMemory)
	}
	return partitioner.Shares(m.n, grain, ask), nil
}

// probe predicts a product with a panel of w columns on each device; negative: it
// refuses.
func (m *Columns[T]) probe(ctx context.Context, rows, w int) (f *forecast, run []time.Duration, err error) {
	a, b, c := tandem.NewSlice[T](m.session, rows, m.k), tandem.NewSlice[T](m.session, m.k, w), tandem.NewSlice[T](m.session, rows, w)
	defer func() {
		if e := (Temporaries{a.Buffer(), b.Buffer(), c.Buffer()}).Free(); err == nil {
			err = e
		}
	}()
	g := tandem.NewGraph()
	task := multiply(g, a, b, c, "")
	if f, err = newForecast(ctx, m.session, g); err != nil {
		return nil, nil, err
	}
	first, last := task.Span()
	for d := range f.infos {
		t, ok := f.run(d, first, last)
		if !ok {
			t = -1
		}
		run = append(run, t)
	}
	return f, run, nil
}

// most is how many columns fit on a device with a and the product beside them, as
// partitioner.ShareDevice.Most.
func (m *Columns[T]) most(d *devices.Info, rows int, size int64) int {
	if d.UnifiedMemory {
		return 0
	}
	n := int64(math.MaxInt64)
	if d.MaxAlloc > 0 {
		n = d.MaxAlloc / max(int64(max(m.k, rows))*size, 1)
	}
	if d.MemoryTotal > 0 {
		n = min(n, (d.MemoryTotal-int64(rows)*int64(m.k)*size)/max(int64(m.k+rows)*size, 1))
	}
	switch {
	case n >= int64(m.n):
		return 0
	case n <= 0:
		return -1
	}
	return int(n)
}

// Multiply adds c = a·b to g and returns the task after which c is whole. a has
// shape (rows, k), c has (rows, n), for any number of rows. Each device multiplies
// a with its panel, which stays there; the parts are then put together on a device
// that works in the host's memory, if the session has one. Faults are kept in g.
//
// Products of as many rows share the buffers of their parts and so follow each
// other.
func (m *Columns[T]) Multiply(g *tandem.Graph, a, c *tandem.Slice[T]) tandem.Task {
	if len(m.Panels) == 1 {
		p := &m.Panels[0]
		return multiply(g, a, p.B, c, p.Device)
	}
	rows := 0
	if shape := a.Buffer().Shape(); len(shape) > 0 {
		rows = int(shape[0])
	}
	parts := m.parts[rows]
	if parts == nil {
		for i, p := range m.Panels {
			part := tandem.NewSlice[T](m.session, rows, p.Last-p.First).Named(fmt.Sprintf("part%d", i))
			parts = append(parts, part)
			m.made = append(m.made, part.Buffer())
		}
		m.parts[rows] = parts
	}
	for i, p := range m.Panels {
		multiply(g, a, p.B, parts[i], p.Device)
	}
	var last tandem.Task
	for i, p := range m.Panels {
		whole := tandem.InOut(c)
		if i == 0 {
			whole = tandem.Out(c) // the others fill in the rest
		}
		last = g.Add(placeOf[T](), parts[i], whole, p.First).NoSplit().On(m.placeOn)
	}
	return last
}

// Free waits for the tasks that use the panels and gives their memory back.
// Freeing twice is nil.
func (m *Columns[T]) Free() error { return m.made.Free() }
