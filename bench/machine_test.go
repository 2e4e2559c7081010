package bench_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/devices/sim"
	"github.com/tandemrun/tandem/kernels"
	tandem "github.com/tandemrun/tandem/runtime"
	"github.com/tandemrun/tandem/runtime/observe"
)

const ms = time.Millisecond

// items is the number of int32 in the tests' buffers, size their bytes.
const (
	items = 1024
	size  = 4 * items
)

func kernel(name string, f devices.GoFunc, params ...kernels.Param) *kernels.Kernel {
	return &kernels.Kernel{Name: name, Params: params,
		Variants: []kernels.Variant{{Language: devices.LangGo, Entry: name,
			Source: &devices.Source{Name: name, Language: devices.LangGo, Go: map[string]devices.GoFunc{name: f}}}},
		Infer: func(c *kernels.Call) error {
			c.SetRange(c.Args[0].Array.Elements())
			return nil
		}}
}

func param(name string, mode kernels.Access) kernels.Param {
	return kernels.Param{Name: name, Kind: kernels.Buffer, Type: kernels.Scalar(devices.Int32), Mode: mode, Band: kernels.PerItem(1)}
}

// add computes y += x + 1.
var add = kernel("add", func(r devices.Range, a *devices.Args) {
	x, y := devices.Slice[int32](a, 0), devices.Slice[int32](a, 1)
	for i := r.Lo[0]; i < r.Hi[0]; i++ {
		y[i] += x[i] + 1
	}
}, param("x", kernels.Read), param("y", kernels.ReadWrite))

// sum computes z = x + y + 1.
var sum = kernel("sum", func(r devices.Range, a *devices.Args) {
	x, y, z := devices.Slice[int32](a, 0), devices.Slice[int32](a, 1), devices.Slice[int32](a, 2)
	for i := r.Lo[0]; i < r.Hi[0]; i++ {
		z[i] = x[i] + y[i] + 1
	}
}, param("x", kernels.Read), param("y", kernels.Read), param("z", kernels.Write))

// device takes 1 ms to upload, compute and download a buffer of the tests.
func device() sim.Spec {
	link := devices.Link{Bandwidth: size * 1e3}
	return sim.Spec{CopyEngines: 2, Upload: link, Download: link, Flops: items * 1e3}
}

func session(t *testing.T, ob tandem.Observer, specs ...sim.Spec) (*tandem.Session, *sim.Driver) {
	t.Helper()
	d, err := sim.New(sim.Description{Devices: specs})
	if err != nil {
		t.Fatal(err)
	}
	s, err := tandem.Open(t.Context(), tandem.Config{Drivers: []devices.Driver{d}, Observer: ob, Calibrations: d.Calibrations()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s, d
}

// buffers are n arrays, the i-th full of i.
func buffers(t *testing.T, s *tandem.Session, n int) []*tandem.Slice[int32] {
	t.Helper()
	all := make([]*tandem.Slice[int32], n)
	for i := range all {
		all[i] = tandem.NewSlice[int32](s, items)
		if err := all[i].Update(t.Context(), func(v []int32) error {
			for j := range v {
				v[j] = int32(i)
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// program is a list of add operations, as pairs of buffers, and what they make
// of the numbers in them.
type program struct {
	ops   [][2]int
	want  []int32
	where []string // selector of each
}

func random(seed uint64, n, ops int, where ...string) program {
	rng := rand.New(rand.NewPCG(seed, 0))
	p := program{want: make([]int32, n)}
	for i := range p.want {
		p.want[i] = int32(i)
	}
	for range ops {
		a := rng.IntN(n)
		b := (a + 1 + rng.IntN(n-1)) % n
		p.ops = append(p.ops, [2]int{a, b})
		p.where = append(p.where, where[rng.IntN(len(where))])
		p.want[b] += p.want[a] + 1
	}
	return p
}

func (p program) graph(x []*tandem.Slice[int32]) *tandem.Graph {
	g := tandem.NewGraph()
	for i, op := range p.ops {
		g.Add(add, x[op[0]], x[op[1]]).On(p.where[i])
	}
	return g
}

// once is the program with a new buffer for each result, and the buffers that
// hold the last ones.
func (p program) once(s *tandem.Session, x []*tandem.Slice[int32]) (*tandem.Graph, []*tandem.Slice[int32]) {
	g, x := tandem.NewGraph(), slices.Clone(x)
	for i, op := range p.ops {
		z := tandem.NewSlice[int32](s, items)
		g.Add(sum, x[op[0]], x[op[1]], z).On(p.where[i])
		x[op[1]] = z
	}
	return g, x
}

func (p program) check(t *testing.T, x []*tandem.Slice[int32]) {
	t.Helper()
	if err := p.compare(x); err != nil {
		t.Fatal(err)
	}
}

// compare reads the results.
func (p program) compare(x []*tandem.Slice[int32]) error {
	for i := range x {
		v, err := x[i].Values(context.Background())
		if err != nil {
			return err
		}
		for j := range v {
			if v[j] != p.want[i] {
				return fmt.Errorf("buffer %d holds %d at %d, want %d", i, v[j], j, p.want[i])
			}
		}
	}
	return nil
}

// TestSameTimes: one graph has the same times in every run, however the host's
// goroutines are scheduled.
func TestSameTimes(t *testing.T) {
	slow := device()
	slow.Slowdown = 1.7
	slow.Upload.Latency = 130 * time.Microsecond
	p := random(7, 12, 60, "sim:0", "sim:1", "sim:2")
	var first []string
	for n := range 10 {
		var rec observe.Recorder
		s, _ := session(t, rec.Observer(), device(), slow, sim.Spec{Kind: devices.KindCPU, Unified: true, Flops: items * 1.31e3})
		x := buffers(t, s, 12)
		if err := s.Run(t.Context(), p.graph(x)); err != nil {
			t.Fatal(err)
		}
		p.check(t, x)
		r := rec.Recording()
		var lines []string
		for _, e := range r.Launches {
			lines = append(lines, fmt.Sprintf("%v %v task %d on %s, items %d", e.Times.Start, e.Times.End, e.Task, e.Device, e.Range.Items()))
		}
		for _, e := range r.Copies {
			if e.Run > 0 && !e.ZeroCopy {
				lines = append(lines, fmt.Sprintf("%v %v %s %d bytes from %s to %s", e.Times.Start, e.Times.End, e.Buffer, e.Bytes, e.From, e.To))
			}
		}
		slices.Sort(lines)
		if n == 0 {
			first = lines
		}
		if !slices.Equal(lines, first) {
			for i := range min(len(lines), len(first)) {
				if lines[i] != first[i] {
					t.Logf("first difference:\n%s\nand before\n%s", lines[i], first[i])
					break
				}
			}
			t.Fatalf("run %d differs from the first in %d of %d events", n, differences(lines, first), len(first))
		}
	}
}

func differences(a, b []string) int {
	in := map[string]bool{}
	for _, l := range a {
		in[l] = true
	}
	n := 0
	for _, l := range b {
		if !in[l] {
			n++
		}
	}
	return n
}

// TestMemoryPressure works on sixteen times what the device's memory holds.
func TestMemoryPressure(t *testing.T) {
	const n = 64
	small := device()
	small.Memory = n / 16 * size
	for seed := range uint64(5) {
		s, _ := session(t, tandem.Observer{}, small)
		x := buffers(t, s, n)
		p := random(seed, n, 300, "sim:0")
		r, err := s.Submit(t.Context(), p.graph(x))
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Wait(t.Context()); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		p.check(t, x)
		st := s.Stats()[0]
		if st.BytesH2D < 300*size || st.BytesH2D > 2*300*size || st.BytesD2H > 300*size+n*size {
			t.Errorf("seed %d: %d bytes up and %d down for 300 tasks on buffers of %d bytes", seed, st.BytesH2D, st.BytesD2H, size)
		}
		// Two uploads and one download for each task at worst, one after the
		// other; at best the launches without a gap.
		if m := r.Makespan(); m < 300*ms || m > 1200*ms {
			t.Errorf("seed %d: makespan %v", seed, m)
		}
	}
}

// TestTooSmall: a task that needs more than there is says so, with both
// numbers, before anything runs.
func TestTooSmall(t *testing.T) {
	small := device()
	small.Memory = size + size/2
	s, _ := session(t, tandem.Observer{}, small)
	x := buffers(t, s, 2)
	g := tandem.NewGraph()
	g.Add(add, x[0], x[1])
	_, err := s.Plan(t.Context(), g)
	if err == nil || !strings.Contains(err.Error(), "8192") || !strings.Contains(err.Error(), "6144") {
		t.Errorf("err = %v, want one with 8192 and 6144 bytes", err)
	}
}

// TestOutOfMemoryForAWhile: no Alloc succeeds from 3 to 6 ms.
func TestOutOfMemoryForAWhile(t *testing.T) {
	spec := device()
	spec.OutOfMemory = []sim.Window{{From: 3 * ms, To: 6 * ms}}
	s, _ := session(t, tandem.Observer{}, spec, device())
	x := buffers(t, s, 8)
	p := random(3, 8, 40, "sim:0", "sim:1")
	if err := s.Run(t.Context(), p.graph(x)); err != nil {
		t.Fatal(err)
	}
	p.check(t, x)
}

// TestLostAtATime loses a device at many times of a run. Where nothing is
// overwritten everything can be computed again from the inputs, and the
// results are right. Updates in place may lose what they were computed from,
// and so may a loss behind the run: right results or an error that says so.
func TestLostAtATime(t *testing.T) {
	const inputs, ops = 6, 30
	for _, inPlace := range []bool{false, true} {
		t.Run(fmt.Sprintf("inplace=%v", inPlace), func(t *testing.T) {
			right, failed := 0, 0
			for at := 500 * time.Microsecond; at < 40*ms; at += 1500 * time.Microsecond {
				switch behind, err := loseAt(t, at, inputs, ops, inPlace); {
				case err == nil:
					right++
				case !inPlace && !behind || !errors.Is(err, devices.ErrDeviceLost):
					t.Errorf("lost at %v: %v", at, err)
				default:
					failed++
				}
			}
			t.Logf("%d right, %d failed", right, failed)
		})
	}
}

// loseAt runs a random program and checks its results, unless it fails.
// behind: the loss came behind the run.
func loseAt(t *testing.T, at time.Duration, inputs, ops int, inPlace bool) (behind bool, err error) {
	doomed := device()
	doomed.LostAt = at
	var mu sync.Mutex
	var told []tandem.FaultEvent
	s, d := session(t, tandem.Observer{Faulted: func(e tandem.FaultEvent) {
		mu.Lock()
		told = append(told, e)
		mu.Unlock()
	}}, doomed, device())
	where := []string{"sim:0", "sim:0", "sim:1"}
	p, x := random(uint64(at), inputs, ops, where...), buffers(t, s, inputs)
	g := p.graph(x)
	if !inPlace {
		g, x = p.once(s, x)
	}
	for _, b := range x {
		g.Return(b)
	}
	if err := s.Run(t.Context(), g); err != nil {
		return false, err
	}
	behind = d.Now() < at
	if err := p.compare(x); err != nil {
		return behind, err
	}
	mu.Lock()
	defer mu.Unlock()
	if len(told) > 0 && (told[0].Device != "sim:0" || !errors.Is(told[0].Err, devices.ErrDeviceLost) || told[0].At < at) {
		t.Errorf("lost at %v, over at %v: told of %v", at, d.Now(), told)
	}
	if len(told) == 0 && at < 10*ms {
		t.Errorf("lost at %v and nobody was told", at)
	}
	return behind, nil
}

// TestAllLost: with no device left the run fails with the reason.
func TestAllLost(t *testing.T) {
	doomed := device()
	doomed.LostAt = 5 * ms
	s, d := session(t, tandem.Observer{}, doomed)
	x := buffers(t, s, 6)
	err := s.Run(t.Context(), random(1, 6, 30, "sim:0").graph(x))
	var te *tandem.TaskError
	if !errors.As(err, &te) || !errors.Is(err, devices.ErrDeviceLost) || te.Device != "sim:0" {
		t.Errorf("err = %v, want a TaskError with ErrDeviceLost", err)
	}
	if d.Now() != 5*ms {
		t.Errorf("it is %v, want 5ms", d.Now())
	}
}
