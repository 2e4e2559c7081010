package calibrate

import (
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/tandemrun/tandem/devices"
)

//go:embed calibrate.cl
var openclText []byte

// flopsPerRound is what one work-item of the peak kernel does in one round of
// its loop: a multiplication and an addition in each lane of each chain.
const (
	openclFlopsPerRound = 8 * 8 * 2
	goFlopsPerRound     = 8 * 2
)

// source is the measurement's kernels in a language that the device compiles.
func (m *measurement) source() (src *devices.Source, flopsPerRound float64) {
	if slices.Contains(m.info.Languages, devices.LangOpenCL) {
		return &devices.Source{Name: "calibrate.cl", Language: devices.LangOpenCL, Text: openclText}, openclFlopsPerRound
	}
	if slices.Contains(m.info.Languages, devices.LangGo) {
		return &devices.Source{Name: "calibrate", Language: devices.LangGo, Go: map[string]devices.GoFunc{
			"nothing": func(devices.Range, *devices.Args) {}, "peak": peakGo, "triad": triadGo,
		}}, goFlopsPerRound
	}
	return nil, 0
}

func (m *measurement) compile() error {
	src, _ := m.source()
	if src == nil {
		return fmt.Errorf("the device compiles %v, the measurement's kernels are in Go and OpenCL C: %w", m.info.Languages, devices.ErrUnsupported)
	}
	var err error
	if m.program, err = m.device.Compile(m.ctx, src); err != nil {
		return err
	}
	m.entries = map[string]devices.Kernel{}
	for _, name := range []string{"nothing", "peak", "triad"} {
		if m.entries[name], err = m.program.Kernel(name); err != nil {
			delete(m.entries, name)
			return err
		}
	}
	return nil
}

// peakGo is the loop of independent multiply-adds. The factors keep the values
// finite for any number of rounds.
func peakGo(r devices.Range, a *devices.Args) {
	out := devices.Slice[float32](a, 0)
	rounds := devices.Value[int32](a, 1)
	for i := r.Lo[0]; i < r.Hi[0]; i++ {
		x0, x1, x2, x3 := float32(i), float32(i+1), float32(i+2), float32(i+3)
		x4, x5, x6, x7 := float32(i+4), float32(i+5), float32(i+6), float32(i+7)
		const p, q = 0.999, 0.5
		for range rounds {
			x0, x1, x2, x3 = x0*p+q, x1*p+q, x2*p+q, x3*p+q
			x4, x5, x6, x7 = x4*p+q, x5*p+q, x6*p+q, x7*p+q
		}
		out[i] = x0 + x1 + x2 + x3 + x4 + x5 + x6 + x7
	}
}

func triadGo(r devices.Range, a *devices.Args) {
	lo, hi := r.Lo[0], r.Hi[0]
	x := devices.Slice[float32](a, 0)[lo:hi]
	y := devices.Slice[float32](a, 1)[lo:hi][:len(x)]
	z := devices.Slice[float32](a, 2)[lo:hi][:len(x)]
	s := devices.Value[float32](a, 3)
	for i := range x {
		x[i] = y[i] + s*z[i]
	}
}

// launchLatency times a kernel that does nothing.
func (m *measurement) launchLatency(c *devices.Calibration) error {
	l := devices.Launch{Kernel: m.entries["nothing"], Range: devices.NDRange{Dims: 1, Size: [3]int{1}}}
	t, err := m.timed(func() (time.Duration, error) {
		const burst = 16
		start := devices.Now()
		for range burst {
			if _, err := m.wait(m.queue.Launch(&l, nil)); err != nil {
				return 0, err
			}
		}
		return (devices.Now() - start) / burst, nil
	})
	c.LaunchLatency = t.Seconds()
	return err
}

// peak times the arithmetic kernel, with as many rounds as it takes to run for
// PeakTime.
func (m *measurement) peak(c *devices.Calibration) error {
	_, perRound := m.source()
	items := max(m.info.ComputeUnits, 1) * 64
	if m.info.Kind != devices.KindCPU {
		items *= 64
	}
	out, err := m.device.Alloc(int64(items) * 4)
	if err != nil {
		return err
	}
	run := func(rounds int32) (time.Duration, error) {
		l := devices.Launch{Kernel: m.entries["peak"], Range: devices.NDRange{Dims: 1, Size: [3]int{items}, Local: [3]int{64}},
			Args: []devices.Arg{{Buffer: out}, {Value: devices.AsBytes([]int32{rounds})}}}
		t, err := m.wait(m.queue.Launch(&l, nil))
		return t.Run(), err
	}
	rounds := int32(256)
	for {
		var t time.Duration
		if t, err = run(rounds); err != nil || t >= m.o.PeakTime || rounds >= 1<<24 {
			break
		}
		rounds *= 4
	}
	if err == nil {
		var t time.Duration
		t, err = m.timed(func() (time.Duration, error) { return run(rounds) })
		if t > 0 {
			c.PeakFlops = perRound * float64(rounds) * float64(items) / t.Seconds()
		}
	}
	return joinFree(err, out)
}

// stream times the triad.
func (m *measurement) stream(c *devices.Calibration) error {
	n := max(int(m.o.StreamBytes/4)/64*64, 64)
	var bufs []devices.Buffer
	var err error
	for range 3 {
		var b devices.Buffer
		if b, err = m.device.Alloc(int64(n) * 4); err != nil {
			return joinFree(err, bufs...)
		}
		bufs = append(bufs, b)
	}
	l := devices.Launch{Kernel: m.entries["triad"], Range: devices.NDRange{Dims: 1, Size: [3]int{n}, Local: [3]int{64}},
		Args: []devices.Arg{{Buffer: bufs[0]}, {Buffer: bufs[1]}, {Buffer: bufs[2]}, {Value: devices.AsBytes([]float32{3})}}}
	t, err := m.timed(func() (time.Duration, error) {
		t, err := m.wait(m.queue.Launch(&l, nil))
		return t.Run(), err
	})
	if t > 0 {
		c.StreamBytes = 3 * 4 * float64(n) / t.Seconds()
	}
	return joinFree(err, bufs...)
}

// joinFree frees buffers after a measurement that ended with err.
func joinFree(err error, bufs ...devices.Buffer) error {
	for _, b := range bufs {
		err = errors.Join(err, b.Free())
	}
	return err
}
