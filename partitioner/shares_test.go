package partitioner

import (
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// The arithmetic of a slow partner: 1000 items/ms with 0.2 ms per launch beside
// 10 items/ms with 5 ms per launch.
func TestSharesSlowPartner(t *testing.T) {
	devs := []ShareDevice{{Fixed: 200 * time.Microsecond, Item: 1e-6}, {Fixed: 5 * ms, Item: 1e-4}}
	for _, c := range []struct {
		total, slow int
		makespan    time.Duration
	}{
		{1_000_000, 9853, 990347 * time.Microsecond},
		{10_000, 51, 10149 * time.Microsecond},
		{2000, 0, 2200 * time.Microsecond},
	} {
		got := Shares(c.total, 1, devs)
		if got[1] != c.slow || got[0] != c.total-c.slow {
			t.Errorf("%d items: %v, want %d on the slow device", c.total, got, c.slow)
		}
		if m := max(devs[0].Finish(got[0]), devs[1].Finish(got[1])); m != c.makespan {
			t.Errorf("%d items: done at %v, want %v", c.total, m, c.makespan)
		}
	}
}

// Shares is optimal: no other division at multiples of the grain is done
// earlier.
func TestSharesOptimal(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 3).Draw(t, "devices")
		devs := make([]ShareDevice, n)
		for i := range devs {
			devs[i] = ShareDevice{
				Ready: time.Duration(rapid.IntRange(0, 50).Draw(t, "ready")) * ms,
				Fixed: time.Duration(rapid.IntRange(0, 20).Draw(t, "fixed")) * ms,
				Item:  float64(rapid.IntRange(0, 30).Draw(t, "item")) * 1e-3,
			}
		}
		total, grain := rapid.IntRange(0, 60).Draw(t, "total"), rapid.IntRange(1, 9).Draw(t, "grain")
		got := Shares(total, grain, devs)
		sum, used := 0, 0
		cost := func(parts []int) (m time.Duration) {
			for i, k := range parts {
				// A ragged end costs as much as a whole grain here: cuts are
				// chosen before it is known which part is the last.
				m = max(m, devs[i].Finish((k+grain-1)/grain*grain))
			}
			return m
		}
		for _, k := range got {
			if sum += k; k < 0 || sum%grain != 0 && sum != total {
				t.Fatalf("cut at %d of %d, grain %d: %v", sum, total, grain, got)
			}
			if k > 0 {
				used++
			}
		}
		if sum != total {
			t.Fatalf("%v sums to %d, want %d", got, sum, total)
		}
		units := (total + grain - 1) / grain
		best := time.Duration(math.MaxInt64)
		var all func(i, left int, parts []int)
		all = func(i, left int, parts []int) {
			if i == n-1 {
				parts[i] = left * grain
				best = min(best, cost(parts))
				return
			}
			for k := 0; k <= left; k++ {
				parts[i] = k * grain
				all(i+1, left-k, parts)
			}
		}
		all(0, units, make([]int, n))
		if c := cost(got); c > best+time.Microsecond {
			t.Fatalf("%v is done at %v, the best division at %v", got, c, best)
		}
	})
}

func TestSharesEdges(t *testing.T) {
	d := ShareDevice{Item: 1e-3}
	for _, c := range []struct {
		name         string
		total, grain int
		devs         []ShareDevice
		want         []int
	}{
		{"no devices", 10, 1, nil, nil},
		{"nothing", 0, 1, []ShareDevice{d, d}, []int{0, 0}},
		{"one item", 1, 32, []ShareDevice{d, d}, []int{1, 0}},
		{"free devices", 10, 1, []ShareDevice{{}, {}}, []int{10, 0}},
		{"memory", 100, 10, []ShareDevice{{Item: 1e-3, Most: 35}, {Item: 1}}, []int{30, 70}},
		{"too little memory", 100, 10, []ShareDevice{{Item: 1, Most: 10}, {Item: 1, Most: 20}}, []int{80, 20}},
	} {
		got := Shares(c.total, c.grain, c.devs)
		sum := 0
		for _, n := range got {
			sum += n
		}
		if c.devs != nil && sum != c.total {
			t.Errorf("%s: %v sums to %d", c.name, got, sum)
		}
		if c.name == "one item" || c.name == "free devices" {
			slices.Sort(got)
			slices.Reverse(got)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

func TestFractions(t *testing.T) {
	for _, c := range []struct {
		total, grain int
		shares       []float64
		want         []int
	}{
		{1000, 32, []float64{0.334, 0.333, 0.333}, []int{352, 352, 296}},
		{200, 32, []float64{0.334, 0.333, 0.333}, []int{96, 64, 40}},
		{1, 1, []float64{0.5, 0.5}, []int{1, 0}},
		{10, 1, []float64{0.5, 0.5}, []int{5, 5}},
		{10, 1, []float64{0, 0}, []int{10, 0}},
		{10, 1, []float64{math.NaN(), -1, math.Inf(1), 2}, []int{0, 0, 0, 10}},
		{7, 1, []float64{math.MaxFloat64, math.MaxFloat64}, []int{4, 3}},
		{0, 4, []float64{1, 1}, []int{0, 0}},
		{5, 1, nil, nil},
	} {
		if got := Fractions(c.total, c.grain, c.shares); !slices.Equal(got, c.want) {
			t.Errorf("Fractions(%d, %d, %v) = %v, want %v", c.total, c.grain, c.shares, got, c.want)
		}
	}
}
