package costmodel

import (
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/tandemrun/tandem/devices"
)

var key = Key{"k", "d"}

func observe(t *testing.T, m *Model, size Size, runs ...time.Duration) {
	t.Helper()
	for _, r := range runs {
		if err := m.Observe(Sample{Key: key, Size: size, Run: r}); err != nil {
			t.Fatal(err)
		}
	}
}

func near(got time.Duration, want float64, rel float64) bool {
	return math.Abs(got.Seconds()/want-1) <= rel
}

func TestOutliersDoNotPoison(t *testing.T) {
	var m Model
	size := Size{Items: 1000}
	us := time.Microsecond
	observe(t, &m, size, 200*us, 100*time.Millisecond, 210*us)
	if e := m.Predict(key, size, Machine{}); !near(e.Run, 210e-6, 0.01) || e.Source != "history" {
		t.Errorf("three runs, one disturbed: %+v", e)
	}
	for range 30 {
		observe(t, &m, size, 190*us, 205*us, 100*time.Millisecond, 200*us)
	}
	e := m.Predict(key, size, Machine{})
	if !near(e.Run, 200e-6, 0.05) || e.Spread > 30*us {
		t.Errorf("one run in four disturbed: %+v", e)
	}
	// Two runs, the first disturbed (a cold cache): the faster one counts.
	var two Model
	observe(t, &two, size, 5*time.Millisecond, 200*us)
	if e := two.Predict(key, size, Machine{}); !near(e.Run, 200e-6, 0.01) {
		t.Errorf("two runs: %+v", e)
	}
}

func TestClockRampAndThrottle(t *testing.T) {
	var m Model
	size := Size{Items: 1000}
	for _, ms := range []float64{2, 1.8, 1.6, 1.4, 1.2, 1, 1, 1.01} {
		observe(t, &m, size, time.Duration(ms*1e6))
	}
	if e := m.Predict(key, size, Machine{}); !near(e.Run, 1e-3, 0.02) {
		t.Errorf("after the ramp: %v, want 1ms", e.Run)
	}
	for range 3 {
		observe(t, &m, size, 3*time.Millisecond)
	}
	if e := m.Predict(key, size, Machine{}); !near(e.Run, 1e-3, 0.02) {
		t.Errorf("three slow runs: %v, want 1ms still", e.Run)
	}
	observe(t, &m, size, 3*time.Millisecond, 3*time.Millisecond)
	if e := m.Predict(key, size, Machine{}); !near(e.Run, 3e-3, 0.02) {
		t.Errorf("five slow runs: %v, want 3ms", e.Run)
	}
}

func TestImpossibleSamples(t *testing.T) {
	var m Model
	ok := Sample{Key: key, Size: Size{Items: 10, Flops: 10, Bytes: 10}, Run: time.Millisecond}
	for what, change := range map[string]func(s *Sample){
		"no time":           func(s *Sample) { s.Run = 0 },
		"backwards":         func(s *Sample) { s.Run = -5 },
		"a day":             func(s *Sample) { s.Run = 25 * time.Hour },
		"longer than wall":  func(s *Sample) { s.Run, s.Elapsed = time.Second, time.Millisecond },
		"too many flops":    func(s *Sample) { s.Size.Flops, s.Run = 1e12, 1 },
		"too many bytes":    func(s *Sample) { s.Size.Bytes, s.Run = 1e9, 1 },
		"negative size":     func(s *Sample) { s.Size.Items = -1 },
		"size not a number": func(s *Sample) { s.Size.Items = math.NaN() },
		"share":             func(s *Sample) { s.Share = 1.5 },
	} {
		s := ok
		change(&s)
		if err := m.Observe(s); !errors.Is(err, devices.ErrInvalid) {
			t.Errorf("%s: %v, want ErrInvalid", what, err)
		}
	}
	if m.Rejected() != 9 || len(m.Entries()) != 0 {
		t.Errorf("%d rejected, %d series; want 9, 0", m.Rejected(), len(m.Entries()))
	}
}

func TestContention(t *testing.T) {
	var m Model
	size := Size{Items: 1000}
	observe(t, &m, size, time.Millisecond, time.Millisecond, time.Millisecond)
	for range 10 {
		s := Sample{Key: key, Size: size, Run: 4 * time.Millisecond, Elapsed: 8 * time.Millisecond, Contended: true}
		if err := m.Observe(s); err != nil {
			t.Fatal(err)
		}
	}
	if e := m.Predict(key, size, Machine{}); !near(e.Run, 1e-3, 0.01) {
		t.Errorf("%v, want the 1ms of the device alone", e.Run)
	}
	if s := m.Slowdown(key); s != 2 {
		t.Errorf("slow-down %g, want 2", s)
	}
	if s := m.Slowdown(Key{"other", "d"}); s != 1 {
		t.Errorf("slow-down of what was never seen %g, want 1", s)
	}
	// Half of the cores for twice the time are the same device-seconds.
	var half Model
	if err := half.Observe(Sample{Key: key, Size: size, Run: 2 * time.Millisecond, Share: 0.5}); err != nil {
		t.Fatal(err)
	}
	if e := half.Predict(key, size, Machine{}); !near(e.Run, 1e-3, 0.01) {
		t.Errorf("half of the device: %v, want 1ms", e.Run)
	}
}

// One measurement of 64 items with 5 ms that do not grow must not be scaled up
// as if they did; two are enough to tell.
func TestFixedPartIsNotScaled(t *testing.T) {
	var m Model
	run := func(n float64) time.Duration { return time.Duration((n/10 + 5) * 1e6) }
	observe(t, &m, Size{Items: 64}, run(64))
	e := m.Predict(key, Size{Items: 1e6}, Machine{Flops: 1e9})
	if e.Source != "fit" || e.Spread < e.Run/3 {
		t.Errorf("one size: %+v, want a wide spread", e)
	}
	observe(t, &m, Size{Items: 640}, run(640))
	e = m.Predict(key, Size{Items: 1e6}, Machine{Flops: 1e9})
	if !near(e.Run, 100.005, 0.01) || !near(e.Fixed, 5e-3, 0.02) {
		t.Errorf("two sizes: %+v, want 100s and 5ms fixed", e)
	}
}

func TestPriorWithoutSamples(t *testing.T) {
	var m Model
	info := devices.Info{Kind: devices.KindCPU, ComputeUnits: 2, ClockMHz: 2000}
	on := MachineOf(info, nil, devices.LangGo)
	e := m.Predict(key, Size{Items: 1e6, Flops: 4e9, Bytes: 8e6}, on)
	if e.Source != "guess" || e.Run != time.Second || e.Spread != 2*time.Second {
		t.Errorf("4e9 operations at 2 x 2 GHz: %+v, want 1s ± 2s", e)
	}
	on = MachineOf(info, &devices.Calibration{PeakFlops: 40e9, StreamBytes: 20e9}, devices.LangOpenCL)
	e = m.Predict(key, Size{Items: 1e6, Flops: 4e9, Bytes: 8e6}, on)
	if e.Source != "roofline" || e.Run != 200*time.Millisecond || e.Spread != e.Run {
		t.Errorf("compute bound: %+v, want 200ms", e)
	}
	if e = m.Predict(key, Size{Items: 1e6, Flops: 1e6, Bytes: 16e9}, on); e.Run != time.Second {
		t.Errorf("bandwidth bound: %+v, want 1s", e)
	}
	if e = m.Predict(key, Size{}, on); e.Run != 1 {
		t.Errorf("nothing to do: %+v, want 1ns", e)
	}
}

// truth are kernels as they behave: a fixed part, cache levels, cubic work.
var truth = map[string]func(n float64) (Size, float64){
	"saxpy": func(n float64) (Size, float64) {
		rate := 40e9
		if n*12 > 1<<20 {
			rate = 16e9
		}
		return Size{Items: n, Flops: 2 * n, Bytes: 12 * n}, 4e-6 + 12*n/rate
	},
	"gemm": func(n float64) (Size, float64) {
		return Size{Items: n * n, Flops: 2 * n * n * n, Bytes: 12 * n * n}, 20e-6 + 2*n*n*n/13e9
	},
	"nlogn": func(n float64) (Size, float64) {
		return Size{Items: n, Flops: n, Bytes: 8 * n}, 1e-6 + 2e-9*n*math.Log2(n)
	},
	"nbody, work not stated": func(n float64) (Size, float64) { return Size{Items: n, Flops: n, Bytes: 28 * n}, 3e-6 + 5e-9*n*n },
}

func TestPredictionError(t *testing.T) {
	const seed = 7
	rng := rand.New(rand.NewPCG(seed, 0))
	noisy := func(sec float64) time.Duration {
		sec *= 1 + 0.04*rng.NormFloat64()
		if rng.IntN(20) == 0 {
			sec += 0.1 // a 100 ms spike
		}
		return time.Duration(math.Max(sec*1e9, 1))
	}
	var seen, unseen []float64
	for name, kernel := range truth {
		var m Model
		sizes := []float64{1 << 10, 1 << 12, 1 << 14, 1 << 16, 1 << 18}
		probes := []float64{3000, 20000, 100000, 1 << 19}
		if name == "gemm" {
			sizes, probes = []float64{32, 64, 128, 256}, []float64{48, 100, 200, 512}
		}
		for range 3 {
			for _, n := range sizes {
				size, sec := kernel(n)
				observe(t, &m, size, noisy(sec))
			}
		}
		for _, n := range sizes {
			size, sec := kernel(n)
			seen = append(seen, math.Abs(m.Predict(key, size, Machine{}).Run.Seconds()/sec-1))
		}
		for _, n := range probes {
			size, sec := kernel(n)
			e := m.Predict(key, size, Machine{})
			unseen = append(unseen, math.Abs(e.Run.Seconds()/sec-1))
			t.Logf("%-24s n %7g: %-9v true %-9v %s ± %v", name, n, e.Run, time.Duration(sec*1e9), e.Source, e.Spread)
		}
	}
	median := func(x []float64) float64 { slices.Sort(x); return x[len(x)/2] }
	s, u := median(seen), median(unseen)
	t.Logf("seed %d: median error %.1f %% seen, %.1f %% unseen", seed, 100*s, 100*u)
	if s > 0.10 || u > 0.25 {
		t.Errorf("seed %d: median error %.1f %% seen (want ≤ 10), %.1f %% unseen (want ≤ 25)", seed, 100*s, 100*u)
	}
}

func TestJSONRoundTrip(t *testing.T) {
	var m Model
	for n := 1.0; n < 1e6; n *= 10 {
		observe(t, &m, Size{Items: n, Flops: 2 * n}, time.Duration(1000+10*n), time.Duration(1100+11*n))
	}
	b, err := json.Marshal(&m)
	if err != nil {
		t.Fatal(err)
	}
	var back Model
	if err := json.Unmarshal(b, &back); err != nil {
		t.Fatal(err)
	}
	again, err := json.Marshal(&back)
	if err != nil || string(again) != string(b) {
		t.Errorf("written %s, read and written again %s (%v)", b, again, err)
	}
	size := Size{Items: 5e7, Flops: 1e8}
	if a, b := m.Predict(key, size, Machine{}), back.Predict(key, size, Machine{}); a != b {
		t.Errorf("predicts %+v, after a round trip %+v", a, b)
	}
	for _, bad := range []string{
		``, `[]`, `{"version":2}`, `{"version":1,"series":[{"points":[{"runs_s":[-1]}]}]}`,
		`{"version":1,"series":[{"points":[{"runs_s":[]}]}]}`, `{"version":1,"series":[{},{}]}`,
		`{"version":1,"series":[{"elapsed_over_run":[0.5]}]}`,
	} {
		before, _ := json.Marshal(&back)
		if err := back.UnmarshalJSON([]byte(bad)); !errors.Is(err, devices.ErrInvalid) {
			t.Errorf("%s: %v, want ErrInvalid", bad, err)
		}
		if after, _ := json.Marshal(&back); string(after) != string(before) {
			t.Errorf("%s changed the model", bad)
		}
	}
}

func TestBounded(t *testing.T) {
	var m Model
	for i := range 500 {
		observe(t, &m, Size{Items: float64(i + 1)}, time.Duration(1000+i))
	}
	if n := len(m.Entries()[0].Points); n != maxPoints {
		t.Errorf("%d sizes kept, want %d", n, maxPoints)
	}
	if e := m.Predict(key, Size{Items: 500}, Machine{}); e.Source != "history" {
		t.Errorf("the newest size: %+v", e)
	}
	if e := m.Predict(key, Size{Items: 1}, Machine{}); e.Source != "fit" {
		t.Errorf("the oldest size: %+v", e)
	}
	for i := range maxSeries + 10 {
		if err := m.Observe(Sample{Key: Key{Kernel: string(rune(i + 1000)), Device: "x"}, Size: Size{Items: 1}, Run: 5}); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(m.Entries()); n != maxSeries {
		t.Errorf("%d series kept, want %d", n, maxSeries)
	}
}

func FuzzUnmarshal(f *testing.F) {
	var m Model
	_ = m.Observe(Sample{Key: key, Size: Size{Items: 3}, Run: 5})
	b, _ := json.Marshal(&m)
	f.Add(b)
	f.Fuzz(func(t *testing.T, b []byte) {
		var m Model
		if m.UnmarshalJSON(b) != nil {
			return
		}
		for _, e := range m.Entries() {
			for _, n := range []float64{0, 1, 1e9} {
				if p := m.Predict(e.Key, Size{Items: n}, Machine{}); p.Run <= 0 || p.Spread < 0 || p.Fixed > p.Run {
					t.Fatalf("%+v", p)
				}
			}
		}
	})
}
