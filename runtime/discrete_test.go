package tandem_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/devices/cpu"
	"github.com/tandemrun/tandem/devices/hostmem"
	"github.com/tandemrun/tandem/kernels"
	tandem "github.com/tandemrun/tandem/runtime"
)

// discrete is a test double: n devices that compute like the cpu driver but
// have memory of their own, so that every byte has to be copied.
type discrete struct {
	cpu.Driver
	n      int
	pinned int64 // how much host memory can be pinned for each; 0: none
}

type discreteDevice struct {
	devices.Device // embedded, not unwrapped: the host mapping stays hidden
	info           devices.Info
}

func (d discreteDevice) Info() devices.Info { return d.info }

func (discrete) Name() string { return "discrete" }

func (d discrete) info(in devices.Info, n int) devices.Info {
	in.ID, in.Backend, in.Ordinal = fmt.Sprintf("discrete:%d", n), "discrete", n
	in.PhysicalID = "double:" + in.ID
	in.UnifiedMemory, in.HostCoherent = false, false
	return in
}

func (d discrete) Probe(ctx context.Context) devices.Backend {
	b := d.Driver.Probe(ctx)
	b.Name = d.Name()
	one := b.Devices[0]
	b.Devices = nil
	for n := range d.n {
		b.Devices = append(b.Devices, d.info(one, n))
	}
	return b
}

func (d discrete) Open(ctx context.Context, ordinal int) (devices.Device, error) {
	dev, err := d.Driver.Open(ctx, 0)
	if err != nil {
		return nil, err
	}
	own := discreteDevice{dev, d.info(dev.Info(), ordinal)}
	if d.pinned > 0 {
		return &pinningDevice{discreteDevice: own, left: d.pinned}, nil
	}
	return own, nil
}

// pinningDevice can pin some host memory.
type pinningDevice struct {
	discreteDevice
	mu   sync.Mutex
	left int64
}

func (d *pinningDevice) AllocPinned(size int64) (devices.Pinned, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if size > d.left {
		return nil, fmt.Errorf("%s: AllocPinned(%d bytes): %d are left: %w", d.info.ID, size, d.left, devices.ErrOutOfMemory)
	}
	mem, err := hostmem.Alloc(size)
	if err != nil {
		return nil, err
	}
	d.left -= size
	return &pinnedMemory{d, mem}, nil
}

type pinnedMemory struct {
	d   *pinningDevice
	mem []byte
}

func (p *pinnedMemory) Bytes() []byte { return p.mem }

func (p *pinnedMemory) Free() error {
	p.d.mu.Lock()
	defer p.d.mu.Unlock()
	p.d.left += int64(len(p.mem))
	err := hostmem.Free(p.mem)
	p.mem = nil
	return err
}

func threeDevices(limit int64) tandem.Config {
	c := tandem.Config{Drivers: []devices.Driver{cpu.Driver{Workers: 1}, discrete{Driver: cpu.Driver{Workers: 1}, n: 2}}}
	if limit > 0 {
		c.MemoryLimit = map[string]int64{"discrete:0": limit, "discrete:1": limit}
	}
	return c
}

// randomGraph adds operations over the buffers, each on a random device or
// split over all, and does the same on the model.
func randomGraph(rng *rand.Rand, bufs []*tandem.Slice[int32], model [][]int32, tasks int) *tandem.Graph {
	g := tandem.NewGraph()
	for range tasks {
		a, b := rng.IntN(len(bufs)), rng.IntN(len(bufs))
		var task tandem.Task
		if rng.IntN(4) == 0 || a == b {
			v := int32(rng.IntN(100))
			task = g.Add(set, bufs[a], v)
			for i := range model[a] {
				model[a][i] = v
			}
		} else {
			task = g.Add(add, bufs[a], bufs[b])
			for i := range model[b] {
				model[b][i] += model[a][i]
			}
		}
		switch rng.IntN(5) {
		case 0:
			task.On("cpu")
		case 1:
			task.On("discrete:0")
		case 2:
			task.On("discrete:1")
		case 3:
			task.Split(rng.Float64(), rng.Float64(), rng.Float64())
		}
	}
	return g
}

// TestManyMemories runs random graphs over three devices with three memories,
// with room for everything and with room for three buffers only.
func TestManyMemories(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	for _, limit := range []int64{0, 3 * 4 * 100} {
		t.Run(fmt.Sprintf("limit=%d", limit), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, uint64(limit)))
			s := open(t, threeDevices(limit))
			const n, count = 100, 8
			bufs, model := make([]*tandem.Slice[int32], count), make([][]int32, count)
			for i := range bufs {
				bufs[i], model[i] = tandem.NewSlice[int32](s, n), make([]int32, n)
			}
			for range 40 {
				var runs []*tandem.Run
				for range 3 {
					runs = append(runs, submit(t, s, randomGraph(rng, bufs, model, 30)))
				}
				for _, r := range runs {
					if err := r.Wait(t.Context()); err != nil {
						t.Fatal(err)
					}
				}
				for i := range bufs {
					if got := values(t, bufs[i]); fmt.Sprint(got) != fmt.Sprint(model[i]) {
						t.Fatalf("buffer %d = %v\nwant %v", i, got, model[i])
					}
				}
			}
			stats := s.Stats()
			if stats[0].BytesH2D != 0 || stats[0].BytesZeroCopy == 0 {
				t.Errorf("the cpu works on host pages, but counted %+v", stats[0])
			}
			for _, d := range stats[1:] {
				if d.Tasks == 0 || d.BytesH2D == 0 || d.BytesD2H == 0 || d.BytesZeroCopy != 0 {
					t.Errorf("%s has its own memory, but counted %+v", d.ID, d)
				}
			}
		})
	}
}

// TestOnlyMissingBytesMove counts every byte of a small program.
func TestOnlyMissingBytesMove(t *testing.T) {
	s := open(t, threeDevices(0))
	const bytes = 4 * 1024
	x, y := tandem.NewSlice[int32](s, 1024), tandem.NewSlice[int32](s, 1024)
	run := func(build func(g *tandem.Graph)) {
		t.Helper()
		g := tandem.NewGraph()
		build(g)
		if err := submit(t, s, g).Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	count := func(what string, h2d, d2h int64) {
		t.Helper()
		var up, down int64
		for _, d := range s.Stats() {
			up, down = up+d.BytesH2D, down+d.BytesD2H
		}
		if up != h2d || down != d2h {
			t.Fatalf("%s: %d bytes up and %d down, want %d and %d", what, up, down, h2d, d2h)
		}
	}
	run(func(g *tandem.Graph) { g.Add(set, x, int32(1)).On("discrete:0") })
	count("written without a read", 0, 0)
	run(func(g *tandem.Graph) { g.Add(add, x, y).On("discrete:0"); g.Add(add, x, y).On("discrete:0") })
	count("y is needed on the device once", bytes, 0)
	run(func(g *tandem.Graph) { g.Add(add, x, y).On("cpu") })
	count("both come back for the cpu", bytes, 2*bytes)
	values(t, x)
	values(t, y)
	count("the host has them already", bytes, 2*bytes)
	run(func(g *tandem.Graph) { g.Add(add, x, y).Split(0.5, 0.5) })
	// The cpu has its halves; discrete:0 still has x, but y was written by the cpu.
	count("a split moves only the device's half of y", bytes+bytes/2, 2*bytes)
	values(t, y)
	count("and that half comes back", bytes+bytes/2, 2*bytes+bytes/2)
}

func TestMemoryLimitTooSmall(t *testing.T) {
	s := open(t, threeDevices(4000))
	x, y := tandem.NewSlice[int32](s, 1000), tandem.NewSlice[int32](s, 1000)
	g := tandem.NewGraph()
	g.Add(add, x, y).On("discrete:1")
	_, err := s.Submit(t.Context(), g)
	var pe *tandem.PlanError
	if !errors.As(err, &pe) || !strings.Contains(err.Error(), "discrete:1 has 4000 bytes of memory, the arrays of the task have 8000") {
		t.Fatalf("err = %v, want a PlanError with the numbers", err)
	}
}

// TestTallRows has a kernel over the rows of an array with more rows than
// columns: the band runs along the second dimension of the ND-range.
func TestTallRows(t *testing.T) {
	rows := goKernel("rows", func(r devices.Range, a *devices.Args) {
		x, y := devices.Slice[int32](a, 0), devices.Slice[int32](a, 1)
		for i := r.Lo[1]; i < r.Hi[1]; i++ {
			for j := r.Lo[0]; j < r.Hi[0]; j++ {
				y[i*r.Global[0]+j] = 2 * x[i*r.Global[0]+j]
			}
		}
	}, param("x", kernels.Read), param("y", kernels.Write))
	rows.Params[0].Band, rows.Params[1].Band = kernels.Rows("x", 0), kernels.Rows("y", 0)
	s := open(t, threeDevices(0))
	const w, h = 3, 50
	data := make([]int32, w*h)
	for i := range data {
		data[i] = int32(i)
	}
	for _, where := range []string{"discrete:0", "cpu,discrete:1", ""} {
		x, y := tandem.NewSlice[int32](s, h, w), tandem.NewSlice[int32](s, h, w)
		if err := x.Update(t.Context(), func(v []int32) error { copy(v, data); return nil }); err != nil {
			t.Fatal(err)
		}
		g := tandem.NewGraph()
		g.AddRange(rows, tandem.Range(w, h), x, y).On(where)
		if err := s.Run(t.Context(), g); err != nil {
			t.Fatal(err)
		}
		for i, v := range values(t, y) {
			if v != 2*data[i] {
				t.Fatalf("on %q: y[%d] = %d, want %d", where, i, v, 2*data[i])
			}
		}
	}
}

// TestChunks has one large task on a device with its own memory: it is cut so
// that copying overlaps, every byte moves once, and what was asked for is on
// the host when the run is over.
func TestChunks(t *testing.T) {
	var mu sync.Mutex
	launches, uploads := 0, 0
	c := threeDevices(0)
	c.Observer = tandem.Observer{
		Launched: func(e tandem.LaunchEvent) { mu.Lock(); launches++; mu.Unlock() },
		Copied: func(e tandem.CopyEvent) {
			mu.Lock()
			if e.To != "host" {
				uploads++
			}
			mu.Unlock()
		},
	}
	s := open(t, c)
	const n = 1 << 21
	x, y := tandem.NewSlice[int32](s, n), tandem.NewSlice[int32](s, n)
	fill := func(v []int32) error {
		for i := range v {
			v[i] = int32(i)
		}
		return nil
	}
	if err := errors.Join(x.Update(t.Context(), fill), y.Update(t.Context(), fill)); err != nil {
		t.Fatal(err)
	}
	g := tandem.NewGraph()
	g.Add(add, x, y).On("discrete:0")
	g.Return(y)
	if err := s.Run(t.Context(), g); err != nil {
		t.Fatal(err)
	}
	d := s.Stats()[1]
	if d.BytesH2D != 8*n || d.BytesD2H != 4*n {
		t.Errorf("%d bytes up and %d down, want %d and %d", d.BytesH2D, d.BytesD2H, 8*n, 4*n)
	}
	if launches < 2 || uploads < 2*launches {
		t.Errorf("%d launches and %d uploads, want several, each with its own inputs", launches, uploads)
	}
	for i, v := range values(t, y) {
		if v != int32(2*i) {
			t.Fatalf("y[%d] = %d, want %d", i, v, 2*i)
		}
	}
	if again := s.Stats()[1].BytesD2H; again != d.BytesD2H {
		t.Errorf("reading moved %d more bytes", again-d.BytesD2H)
	}
}
