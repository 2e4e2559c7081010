package tandem_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/devices/cpu"
	"github.com/tandemrun/tandem/devices/devicetest"
	"github.com/tandemrun/tandem/devices/trace"
	"github.com/tandemrun/tandem/kernels"
	tandem "github.com/tandemrun/tandem/runtime"
)

// program is random graphs over a few buffers, some of whose tasks fail, with
// updates by the host between them. What has to come out is computed beside it,
// one task after the other.
type program struct {
	t      *testing.T
	seed   uint64
	rng    *rand.Rand
	s      *tandem.Session
	x      []*tandem.Slice[int32]
	want   [][]int32 // nil: undefined
	runs   []expected
	limits bool // every task has a time limit: the graphs run task by task
}

// expected is what has to become of a run.
type expected struct {
	run     *tandem.Run
	done    int
	failed  map[string]bool // by themselves
	skipped map[string]bool
}

func newProgram(t *testing.T, s *tandem.Session, seed uint64, limits bool) *program {
	p := &program{t: t, seed: seed, rng: rand.New(rand.NewPCG(seed, 0)), s: s, limits: limits}
	for i := range 2 + p.rng.IntN(8) {
		v := []int32{int32(i), int32(i * i), 3}
		p.x, p.want = append(p.x, tandem.SliceOf(s, v)), append(p.want, v)
	}
	return p
}

// graph builds and submits a graph, once or twice.
func (p *program) graph() {
	type step struct {
		task  tandem.Task
		kind  int // 0: boom, 1: set, 2: add
		a, b  int
		value int32
		after int // step that it was asked to come after; -1: none
	}
	rng, g, n := p.rng, tandem.NewGraph(), len(p.x)
	var steps []step
	count := [3]int{}
	for i := range 1 + rng.IntN(60) {
		st := step{kind: 2, a: rng.IntN(n), b: rng.IntN(n), value: int32(rng.IntN(100)), after: -1}
		switch k := rng.IntN(20); {
		case k == 0:
			st.kind, st.task = 0, g.Add(boom, p.x[st.a], int32(1))
		case k < 4:
			st.kind, st.task = 1, g.Add(set, p.x[st.a], st.value)
		default:
			if st.a == st.b {
				st.b = (st.a + 1) % n
			}
			st.task = g.Add(add, p.x[st.a], p.x[st.b])
		}
		if i > 0 && rng.IntN(10) == 0 {
			st.after = rng.IntN(i)
			st.task.After(steps[st.after].task)
		}
		if p.limits {
			st.task.Timeout(time.Hour)
		}
		steps = append(steps, st)
	}
	for range 1 + rng.IntN(2) {
		e := expected{run: submit(p.t, p.s, g), failed: map[string]bool{}, skipped: map[string]bool{}}
		count = [3]int{}
		good := make([]bool, len(steps))
		for i, st := range steps {
			name := []string{"boom", "set", "add"}[st.kind]
			if count[st.kind]++; count[st.kind] > 1 {
				name = fmt.Sprintf("%s#%d", name, count[st.kind])
			}
			target, runs := st.a, st.after < 0 || good[st.after]
			switch st.kind {
			case 0:
				runs = runs && p.want[st.a] != nil
			case 2:
				runs = runs && p.want[st.a] != nil && p.want[st.b] != nil
				target = st.b
			}
			switch {
			case !runs:
				e.skipped[name] = true
				p.want[target] = nil
			case st.kind == 0:
				e.failed[name] = true
				p.want[target] = nil
			case st.kind == 1:
				p.want[target] = []int32{st.value, st.value, st.value}
			default:
				sum := slices.Clone(p.want[target])
				for k, v := range p.want[st.a] {
					sum[k] += v
				}
				p.want[target] = sum
			}
			if good[i] = runs && st.kind != 0; good[i] {
				e.done++
			}
		}
		p.runs = append(p.runs, e)
	}
}

// update has the host change a buffer.
func (p *program) update() {
	i := p.rng.IntN(len(p.x))
	err := p.x[i].Update(p.t.Context(), func(v []int32) error {
		v[0]++
		return nil
	})
	if undefined(err) != (p.want[i] == nil) {
		p.t.Fatalf("seed %d: update of buffer %d: %v, want %v", p.seed, i, err, p.want[i])
	}
	if err == nil {
		p.want[i] = slices.Clone(p.want[i])
		p.want[i][0]++
	}
}

// check waits for all runs and compares what came out.
func (p *program) check() {
	for i, e := range p.runs {
		err := e.run.Wait(p.t.Context())
		list := []error{err}
		if j, ok := err.(interface{ Unwrap() []error }); ok {
			list = j.Unwrap()
		}
		named := map[string]bool{}
		for _, err := range list {
			if te := (*tandem.TaskError)(nil); errors.As(err, &te) {
				named[te.Task] = true
			}
		}
		for name := range e.failed {
			if !named[name] {
				p.t.Fatalf("seed %d: run %d does not name %s, which failed: %v", p.seed, i, name, err)
			}
		}
		for name := range named {
			if !e.failed[name] && !e.skipped[name] {
				p.t.Fatalf("seed %d: run %d names %s, which ran well: %v", p.seed, i, name, err)
			}
		}
		if done, total := e.run.Progress(); done != e.done || (err == nil) != (done == total) {
			p.t.Fatalf("seed %d: run %d: %d of %d tasks ran, want %d: %v", p.seed, i, done, total, e.done, err)
		}
	}
	for i, b := range p.x {
		v, err := b.Values(p.t.Context())
		if !slices.Equal(v, p.want[i]) || undefined(err) != (p.want[i] == nil) {
			p.t.Fatalf("seed %d: buffer %d is %v, %v, want %v", p.seed, i, v, err, p.want[i])
		}
		if err := b.Buffer().Free(); err != nil {
			p.t.Fatal(err)
		}
	}
}

// undefined reports whether err is one of undefined contents.
func undefined(err error) bool {
	var u *tandem.UndefinedError
	return errors.As(err, &u)
}

// TestThreeWays runs random programs as batches that the device takes itself, as
// batches that are fed to it, and task by task.
func TestThreeWays(t *testing.T) {
	devicetest.CheckGoroutines(t)
	for _, way := range []struct {
		name   string
		driver devices.Driver
		limits bool
	}{
		{"whole", cpu.Driver{Workers: 2}, false},
		{"fed", trace.Driver{Driver: cpu.Driver{Workers: 3}, Sink: func(trace.Call) {}}, false},
		{"task by task", cpu.Driver{Workers: 2}, true},
	} {
		t.Run(way.name, func(t *testing.T) {
			s := open(t, tandem.Config{Drivers: []devices.Driver{way.driver}})
			seed, programs := uint64(time.Now().UnixNano()), 300
			if testing.Short() {
				programs = 60
			}
			for i := range programs {
				p := newProgram(t, s, seed+uint64(i), way.limits)
				for range 1 + p.rng.IntN(4) {
					p.graph()
					if p.rng.IntN(3) == 0 {
						p.update()
					}
				}
				p.check()
			}
		})
	}
}

// TestBatchCancelled: what has not begun does not run, and says why.
func TestBatchCancelled(t *testing.T) {
	for name, d := range map[string]devices.Driver{"whole": cpu.Driver{Workers: 1}, "fed": trace.Driver{Driver: cpu.Driver{Workers: 1}, Sink: func(trace.Call) {}}} {
		t.Run(name, func(t *testing.T) {
			s := open(t, tandem.Config{Drivers: []devices.Driver{d}})
			begun, release := make(chan struct{}), make(chan struct{})
			var ran atomic.Int32
			gate := goKernel("gate", func(devices.Range, *devices.Args) {
				close(begun)
				<-release
			}, param("x", kernels.ReadWrite))
			count := goKernel("count", func(devices.Range, *devices.Args) { ran.Add(1) }, param("x", kernels.ReadWrite))
			x, g := tandem.NewSlice[int32](s, 1), tandem.NewGraph()
			g.Add(gate, x)
			for range 1000 {
				g.Add(count, x)
			}
			r := submit(t, s, g)
			<-begun
			cause := errors.New("enough")
			r.Cancel(cause)
			close(release)
			if err := r.Wait(t.Context()); !errors.Is(err, cause) {
				t.Errorf("Wait: %v, want %v", err, cause)
			}
			if n := ran.Load(); int(n) >= 1000 {
				t.Errorf("all %d tasks ran after the cancellation", n)
			}
			if _, err := x.Values(context.Background()); !undefined(err) {
				t.Errorf("Values: %v, want undefined contents", err)
			}
			// The next graph writes all of it and is not concerned.
			h := tandem.NewGraph()
			h.Add(set, x, int32(7))
			if err := submit(t, s, h).Wait(t.Context()); err != nil {
				t.Fatal(err)
			}
			if got := values(t, x); got[0] != 7 {
				t.Errorf("x = %v, want 7", got)
			}
		})
	}
}

// TestBatchReadsEarly: a buffer whose last writer has ended is read while the
// rest of the graph still runs.
func TestBatchReadsEarly(t *testing.T) {
	s := open(t, tandem.Config{})
	release := make(chan struct{})
	gate := goKernel("gate", func(devices.Range, *devices.Args) { <-release }, param("x", kernels.ReadWrite))
	x, y, g := tandem.NewSlice[int32](s, 1), tandem.NewSlice[int32](s, 1), tandem.NewGraph()
	g.Add(set, x, int32(5))
	g.Add(add, x, y)
	g.Add(gate, y)
	r := submit(t, s, g)
	if got := values(t, x); got[0] != 5 {
		t.Errorf("x = %v, want 5", got)
	}
	close(release)
	if err := r.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// TestBatchEvents: an observer sees every task, in an order that keeps the
// dependencies, and the reasons for the placement.
func TestBatchEvents(t *testing.T) {
	type seen struct {
		launches []tandem.LaunchEvent
		decided  int
	}
	var got seen
	lock := make(chan struct{}, 1)
	lock <- struct{}{}
	s := open(t, tandem.Config{Observer: tandem.Observer{
		Launched: func(e tandem.LaunchEvent) { <-lock; got.launches = append(got.launches, e); lock <- struct{}{} },
		Decided: func(e tandem.DecisionEvent) {
			if len(e.Chosen) == 1 && e.Chosen[0].Device == "cpu:0" && e.Reason != "" && len(e.Candidates) > 0 {
				got.decided++
			}
		},
	}})
	x, y, g := tandem.SliceOf(s, []int32{1, 2}), tandem.NewSlice[int32](s, 2), tandem.NewGraph()
	for range 50 {
		g.Add(add, x, y)
		g.Add(add, y, x)
	}
	r := submit(t, s, g)
	if err := r.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(got.launches) != 100 || got.decided != 100 {
		t.Fatalf("%d launches and %d decisions, want 100 each", len(got.launches), got.decided)
	}
	at := map[tandem.OpID]devices.Times{}
	for i, e := range got.launches {
		if e.Task != i || e.Name == "" || e.Device != "cpu:0" || e.ZeroCopy != 16 || e.Range.Items() != 2 || e.Err != nil {
			t.Errorf("launch %d: %+v", i, e)
		}
		for _, p := range e.After {
			if before, ok := at[p]; !ok || before.End > e.Times.Start {
				t.Errorf("launch %d began at %v, after %v", i, e.Times.Start, before)
			}
		}
		at[e.Op] = e.Times
	}
	st := s.Stats()[0]
	if st.Tasks != 100 || st.WorkItems != 200 || st.BytesZeroCopy != 1600 {
		t.Errorf("stats %+v", st)
	}
	// What only reports ask for is there too.
	if p := r.Plan(); p.Problem() == nil || len(p.Schedule().Tasks) != 100 || len(p.Decisions()) != 100 || len(p.Tasks()) != 100 {
		t.Error("the plan is not complete")
	}
}

// BenchmarkBuild is what adding a task of two random buffers costs.
func BenchmarkBuild(b *testing.B) {
	s := open(b, tandem.Config{})
	x := make([]*tandem.Slice[int32], 64)
	for i := range x {
		x[i] = tandem.NewSlice[int32](s, 1)
	}
	k := goKernel("nop2", func(devices.Range, *devices.Args) {}, param("a", kernels.ReadWrite), param("b", kernels.ReadWrite))
	rng := rand.New(rand.NewPCG(1, 2))
	b.ReportAllocs()
	for b.Loop() {
		g := tandem.NewGraph()
		for range 100_000 {
			i := rng.IntN(64)
			g.Add(k, x[i], x[(i+1+rng.IntN(63))%64])
		}
		if err := g.Err(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/100_000, "ns/task")
}
