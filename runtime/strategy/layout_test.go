package strategy

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/tandemrun/tandem/devices"
)

// exhaustive is the least bottleneck of all layouts, and the least time for an
// item among the layouts that have it; negative: there is none.
func exhaustive(sites []site, bytes []int64) (bottleneck, sum time.Duration) {
	stages := len(bytes) - 1
	bottleneck, sum = -1, -1
	used := make([]bool, len(sites))
	var try func(i int, worst, total time.Duration)
	try = func(i int, worst, total time.Duration) {
		if i == stages {
			if bottleneck < 0 || worst < bottleneck || worst == bottleneck && total < sum {
				bottleneck, sum = worst, total
			}
			return
		}
		for n := range sites {
			if used[n] {
				continue
			}
			used[n] = true
			for j := i + 1; j <= stages; j++ {
				if c, _, ok := sites[n].cycle(i, j, bytes); ok {
					try(j, max(worst, c), total+c)
				}
			}
			used[n] = false
		}
	}
	try(0, 0, 0)
	return bottleneck, sum
}

// TestLayoutIsBest compares random chains on random devices with all layouts
// there are.
func TestLayoutIsBest(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	none := 0
	for range 400 {
		stages, devs := 1+rng.IntN(6), 1+rng.IntN(4)
		bytes := make([]int64, stages+1)
		for i := range bytes {
			bytes[i] = rng.Int64N(1000)
		}
		var sites []site
		for d := range devs {
			if d > 0 && rng.IntN(3) == 0 { // a twin of the one before
				twin := site{}
				for _, f := range sites[d-1].faces {
					f.device = 10 * d
					twin.faces = append(twin.faces, f)
				}
				sites = append(sites, twin)
				continue
			}
			var s site
			for n := range 1 + rng.IntN(2) {
				f := face{device: 10*d + n, own: rng.IntN(2) == 0, engines: rng.IntN(3)}
				f.up = devices.Link{Latency: time.Duration(rng.IntN(5)), Bandwidth: 1e9 * (1 + rng.Float64())}
				f.down = devices.Link{Bandwidth: 1e9 * (1 + rng.Float64())}
				for range stages {
					run := time.Duration(rng.IntN(1000))
					if rng.IntN(8) == 0 {
						run = -1
					}
					f.run = append(f.run, run)
				}
				s.faces = append(s.faces, f)
			}
			sites = append(sites, s)
		}
		bottleneck, sum := exhaustive(sites, bytes)
		got := layout(sites, bytes)
		if bottleneck < 0 {
			none++
			if got != nil {
				t.Fatalf("layout %v where there is none", got)
			}
			continue
		}
		at, worst, total := 0, time.Duration(0), time.Duration(0)
		taken := map[int]bool{}
		for _, g := range got {
			if g.first != at || g.last <= g.first || taken[g.device/10] {
				t.Fatalf("layout %v is no partition over different devices", got)
			}
			at, worst, total = g.last, max(worst, g.cycle), total+g.cycle
			taken[g.device/10] = true
		}
		if at != stages || worst != bottleneck || total != sum {
			t.Fatalf("layout %v has bottleneck %v and time %v, best are %v and %v", got, worst, total, bottleneck, sum)
		}
	}
	if none == 0 || none == 400 {
		t.Errorf("%d of 400 problems have no layout: the test does not see both kinds", none)
	}
}

// alike are n devices on which every stage takes its own number of
// milliseconds.
func alike(n int, run ...time.Duration) (sites []site) {
	for d := range n {
		f := face{device: d}
		for _, r := range run {
			f.run = append(f.run, r*time.Millisecond)
		}
		sites = append(sites, site{faces: []face{f}})
	}
	return sites
}

// TestLayoutPrefersFewer has stages of 4, 1 and 1 ms: a third device does not
// help.
func TestLayoutPrefersFewer(t *testing.T) {
	got := layout(alike(3, 4, 1, 1), make([]int64, 4))
	want := []group{{0, 1, 0, 4 * time.Millisecond}, {1, 3, 1, 2 * time.Millisecond}}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("layout %v, want %v", got, want)
	}
}

// TestLayoutOfManyDevices has 40 devices of 40 kinds: the slow ones are left
// out, and the answer comes at once. Stages of 1 ms on 12 devices of 1 ms and 28
// that are ten times slower.
func TestLayoutOfManyDevices(t *testing.T) {
	var sites []site
	run := make([]time.Duration, 24)
	for d := range 40 {
		slow := 1.0
		if d >= 12 {
			slow = 10
		}
		f := face{device: d}
		for range run {
			f.run = append(f.run, time.Duration(slow*float64(time.Millisecond))+time.Duration(d))
		}
		sites = append(sites, site{faces: []face{f}})
	}
	got := layout(sites, make([]int64, len(run)+1))
	if len(got) != 12 {
		t.Fatalf("%d groups, want one on each of the 12 fast devices: %v", len(got), got)
	}
	for _, g := range got {
		if g.last-g.first != 2 || g.device >= 12 {
			t.Errorf("group %v, want 2 stages on a fast device", g)
		}
	}
	if all, states := classes(alike(60, run...), len(run), nil); len(all) != 1 || len(all[0]) != 24 || states != 25 {
		t.Errorf("60 devices that are alike: %d kinds in %d states, want 1 in 25", len(all), states)
	}
}
