// Package measure takes the figures of a GPU that say whether the driver cuda
// gets out of it what is there: copy rates against the link's, copies hidden
// behind computing, launches against the same calls of the driver API by hand.
package measure

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/devices/cuda"
	"github.com/tandemrun/tandem/devices/cuda/health"
	"github.com/tandemrun/tandem/devices/hostmem"
)

// Figure is one figure.
type Figure struct {
	Name   string  `json:"name"`
	Value  float64 `json:"value"`
	Unit   string  `json:"unit"`
	Better string  `json:"better"` // "higher", "lower"
}

// Options say how to measure.
type Options struct {
	Ordinal int
	Quick   bool // less of everything, for tests: figures are noisier
}

// gpu is the device that is measured.
type gpu struct {
	ctx     context.Context
	o       Options
	library string
	d       devices.Device
	kernels map[string]devices.Kernel
	close   []func() error
}

// source has the kernels: one that does nothing, and one that counts, as its
// compute-bound work.
const source = `.version 7.0
.target sm_52
.address_size 64
.visible .entry nothing()
{
	ret;
}
.visible .entry spin(.param .u64 spin_param_0, .param .u32 spin_param_1)
{
	.reg .b32 %r<6>;
	.reg .b64 %rd<3>;
	.reg .pred %p<2>;
	ld.param.u64 %rd1, [spin_param_0];
	ld.param.u32 %r1, [spin_param_1];
	cvta.to.global.u64 %rd2, %rd1;
	mov.u32 %r2, %tid.x;
	mov.u32 %r3, 0;
again:
	mad.lo.u32 %r2, %r2, 1664525, 1013904223;
	add.u32 %r3, %r3, 1;
	setp.lt.u32 %p1, %r3, %r1;
	@%p1 bra again;
	setp.ne.u32 %p1, %r2, 12345;
	@%p1 bra done;
	st.global.u32 [%rd2], %r2;
done:
	ret;
}
`

// All measures the device of the driver.
func All(ctx context.Context, driver *cuda.Driver, o Options) (all []Figure, err error) {
	g := &gpu{ctx: ctx, o: o, library: driver.Probe(ctx).Library, kernels: map[string]devices.Kernel{}}
	defer func() {
		for i := len(g.close) - 1; i >= 0; i-- {
			err = errors.Join(err, g.close[i]())
		}
	}()
	if g.d, err = driver.Open(ctx, o.Ordinal); err != nil {
		return nil, err
	}
	g.close = append(g.close, g.d.Close)
	p, err := g.d.Compile(ctx, &devices.Source{Name: "measure.ptx", Language: devices.LangPTX, Text: []byte(source)})
	if err != nil {
		return nil, err
	}
	g.close = append(g.close, p.Close)
	for _, name := range []string{"nothing", "spin"} {
		k, err := p.Kernel(name)
		if err != nil {
			return nil, err
		}
		g.kernels[name] = k
		g.close = append(g.close, k.Close)
	}
	for _, measure := range []func() ([]Figure, error){g.copies, g.overlap, g.launches} {
		more, err := measure()
		if err != nil {
			return nil, err
		}
		all = append(all, more...)
	}
	return all, nil
}

func (g *gpu) queue(kind devices.QueueKind) (devices.Queue, error) {
	q, err := g.d.NewQueue(kind)
	if err == nil {
		g.close = append(g.close, q.Close)
	}
	return q, err
}

func (g *gpu) buffer(size int64) (devices.Buffer, error) {
	b, err := g.d.Alloc(size)
	if err == nil {
		g.close = append(g.close, b.Free)
	}
	return b, err
}

func (g *gpu) pageable(size int64) ([]byte, error) {
	m, err := hostmem.Alloc(size)
	if err == nil {
		g.close = append(g.close, func() error { return hostmem.Free(m) })
	}
	return m, err
}

// pinned is pinned memory; nil where the system gives none.
func (g *gpu) pinned(size int64) ([]byte, error) {
	p, ok := devices.As[devices.HostPinner](g.d)
	if !ok {
		return nil, nil
	}
	m, err := p.AllocPinned(size)
	if errors.Is(err, devices.ErrOutOfMemory) || errors.Is(err, devices.ErrUnsupported) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	g.close = append(g.close, m.Free)
	return m.Bytes(), nil
}

// wait waits for an event and releases it.
func (g *gpu) wait(e devices.Event, err error) error {
	if err != nil {
		return err
	}
	defer e.Release()
	return devices.Wait(g.ctx, e)
}

// best is the shortest of several runs of f.
func (g *gpu) best(f func() error) (time.Duration, error) {
	least := time.Duration(1 << 62)
	for range pick(g.o, 7, 2) {
		start := time.Now()
		if err := f(); err != nil {
			return 0, err
		}
		least = min(least, time.Since(start))
	}
	return max(least, 1), nil
}

func pick(o Options, full, quick int) int {
	if o.Quick {
		return quick
	}
	return full
}

// copies measures copy rates, of pinned and of pageable memory, and the share
// of what the PCIe link can carry.
func (g *gpu) copies() (all []Figure, err error) {
	size := int64(pick(g.o, 256<<20, 4<<20))
	b, err := g.buffer(size)
	if err != nil {
		return nil, err
	}
	q, err := g.queue(devices.Upload)
	if err != nil {
		return nil, err
	}
	plain, err := g.pageable(size)
	if err != nil {
		return nil, err
	}
	pinned, err := g.pinned(size)
	if err != nil {
		return nil, err
	}
	link := g.link()
	for _, m := range []struct {
		name string
		host []byte
	}{{"pinned", pinned}, {"pageable", plain}} {
		if m.host == nil {
			continue
		}
		clear(m.host) // so that the pages are there
		for _, c := range []devices.Copy{
			{Kind: devices.HostToDevice, Dst: b, Host: m.host, Size: size},
			{Kind: devices.DeviceToHost, Src: b, Host: m.host, Size: size},
		} {
			took, err := g.best(func() error { return g.wait(q.Copy(&c, nil)) })
			if err != nil {
				return nil, fmt.Errorf("%s %v: %w", m.name, c.Kind, err)
			}
			rate := float64(size) / took.Seconds()
			name := fmt.Sprintf("copy.%s.%v", m.name, c.Kind)
			all = append(all, Figure{name + ".gbps", rate / 1e9, "GB/s", "higher"})
			if link > 0 {
				all = append(all, Figure{name + ".of_link", rate / link, "ratio", "higher"})
			}
		}
	}
	return all, nil
}

// link is what the device's PCIe link carries, in bytes per second; 0 where
// nobody says. While it copies the link runs at its full speed, which an idle
// one need not.
func (g *gpu) link() float64 {
	info := g.d.Info()
	rep := (&health.Reader{}).Read(g.ctx)
	found := rep.ByUUID(info.UUID, info.PCI)
	if found == nil || found.PCIe == nil {
		return 0
	}
	return health.LinkBytes(max(found.PCIe.MaxGeneration, found.PCIe.Generation), found.PCIe.Width)
}

// overlap measures how much of the time of copies hides behind computing: a
// stream of pieces that are uploaded, computed on and downloaded, against the
// same one step after the other.
func (g *gpu) overlap() ([]Figure, error) {
	size, pieces := int64(pick(g.o, 16<<20, 1<<20)), pick(g.o, 16, 4)
	host, err := g.pinned(2 * size)
	if err != nil || host == nil {
		return nil, err
	}
	up, err1 := g.queue(devices.Upload)
	run, err2 := g.queue(devices.Compute)
	down, err3 := g.queue(devices.Download)
	if err := errors.Join(err1, err2, err3); err != nil {
		return nil, err
	}
	var in [2]devices.Buffer
	for i := range in {
		if in[i], err = g.buffer(size); err != nil {
			return nil, err
		}
	}
	upload := func(q devices.Queue, i int, wait ...devices.Event) (devices.Event, error) {
		return q.Copy(&devices.Copy{Kind: devices.HostToDevice, Dst: in[i%2], Host: host[:size], Size: size}, wait)
	}
	download := func(q devices.Queue, i int, wait ...devices.Event) (devices.Event, error) {
		return q.Copy(&devices.Copy{Kind: devices.DeviceToHost, Src: in[i%2], Host: host[size:], Size: size}, wait)
	}
	copying, err := g.best(func() error {
		if err := g.wait(upload(up, 0)); err != nil {
			return err
		}
		return g.wait(download(down, 0))
	})
	if err != nil {
		return nil, err
	}
	// The kernel takes about as long as the two copies.
	rounds := uint32(1 << 10)
	compute := func(q devices.Queue, i int, wait ...devices.Event) (devices.Event, error) {
		n := rounds
		return q.Launch(&devices.Launch{Kernel: g.kernels["spin"], Range: devices.NDRange{Dims: 1, Size: [3]int{256}, Local: [3]int{256}},
			Args: []devices.Arg{{Buffer: in[i%2]}, {Value: devices.AsBytes([]uint32{n})}}}, wait)
	}
	for ; rounds < 1<<28; rounds *= 2 {
		took, err := g.best(func() error { return g.wait(compute(run, 0)) })
		if err != nil {
			return nil, err
		}
		if took > copying {
			break
		}
	}
	serial, err := g.best(func() error {
		for i := range pieces {
			e, err := upload(run, i)
			if err != nil {
				return err
			}
			e.Release()
			if e, err = compute(run, i); err != nil {
				return err
			}
			e.Release()
			if err := g.wait(download(run, i)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	piped, err := g.best(func() error { return pipeline(g, pieces, up, run, down, upload, compute, download) })
	if err != nil {
		return nil, err
	}
	hidden := float64(serial-piped) / float64(time.Duration(pieces)*copying)
	return []Figure{{"overlap.hidden_ratio", max(min(hidden, 1), 0), "ratio", "higher"}, {"overlap.speedup", float64(serial) / float64(piped), "ratio", "higher"}}, nil
}

type step func(q devices.Queue, i int, wait ...devices.Event) (devices.Event, error)

// pipeline runs the pieces on three queues with two buffers in turn.
func pipeline(g *gpu, pieces int, up, run, down devices.Queue, upload, compute, download step) error {
	var events []devices.Event
	defer func() {
		for _, e := range events {
			e.Release()
		}
	}()
	keep := func(e devices.Event, err error) (devices.Event, error) {
		if err == nil {
			events = append(events, e)
		}
		return e, err
	}
	var free [2]devices.Event
	for i := range pieces {
		var wait []devices.Event
		if free[i%2] != nil {
			wait = append(wait, free[i%2])
		}
		a, err := keep(upload(up, i, wait...))
		if err != nil {
			return err
		}
		b, err := keep(compute(run, i, a))
		if err != nil {
			return err
		}
		if free[i%2], err = keep(download(down, i, b)); err != nil {
			return err
		}
	}
	return devices.Wait(g.ctx, free[(pieces-1)%2])
}
