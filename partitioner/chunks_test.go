package partitioner

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

// simDevice is a device with true costs, in ms.
type simDevice struct {
	item, fixed float64
	known       bool
	dies        float64 // time at which it stops answering, 0: never
}

// runChunks carries a division out on a virtual clock and returns when the last
// piece is done, in ms, checking that every work-item runs exactly once.
func runChunks(t *testing.T, total, grain int, devs []simDevice, weight func(i int) float64) (end float64, items []int) {
	t.Helper()
	var ask []ChunkDevice
	for _, d := range devs {
		a := ChunkDevice{}
		if d.known {
			a = ChunkDevice{Item: d.item / 1e3, Fixed: time.Duration(d.fixed * 1e6)}
		}
		ask = append(ask, a)
	}
	sum := make([]float64, total+1)
	for i := range total {
		sum[i+1] = sum[i] + weight(i)
	}
	c := NewChunks(total, grain, 1, ask)
	type job struct {
		lo, hi     int
		start, end float64
		busy       bool
	}
	jobs := make([]job, len(devs))
	done := make([]bool, total)
	items = make([]int, len(devs))
	now := 0.0
	dead := make([]bool, len(devs))
	for {
		for d := range devs {
			if jobs[d].busy || dead[d] {
				continue
			}
			lo, hi, ok := c.Next(d)
			if !ok {
				continue
			}
			if lo%grain != 0 || hi%grain != 0 && hi != total || hi <= lo {
				t.Fatalf("piece [%d, %d) of %d, grain %d", lo, hi, total, grain)
			}
			jobs[d] = job{lo, hi, now, now + devs[d].fixed + devs[d].item*(sum[hi]-sum[lo]), true}
			if devs[d].dies > 0 && jobs[d].end > devs[d].dies {
				jobs[d].end = max(now, devs[d].dies)
			}
		}
		next := -1
		for d := range jobs {
			if jobs[d].busy && (next < 0 || jobs[d].end < jobs[next].end) {
				next = d
			}
		}
		if next < 0 {
			break
		}
		j := &jobs[next]
		now, j.busy = j.end, false
		if devs[next].dies > 0 && now >= devs[next].dies {
			dead[next] = true
			c.Drop(next)
			c.GiveBack(next, j.lo, j.hi)
			continue
		}
		end = now
		for i := j.lo; i < j.hi; i++ {
			if done[i] {
				t.Fatalf("work-item %d ran twice", i)
			}
			done[i] = true
		}
		items[next] += j.hi - j.lo
		c.Done(next, j.hi-j.lo, time.Duration((j.end-j.start)*1e6))
	}
	if c.Left() != 0 {
		t.Fatalf("%d work-items left", c.Left())
	}
	for i, ok := range done {
		if !ok {
			t.Fatalf("work-item %d did not run", i)
		}
	}
	return end, items
}

func even(int) float64 { return 1 }

// A cold start with a partner 100 times slower: never much worse than the fast
// device alone, for any size, whichever is asked first.
func TestChunksColdStart(t *testing.T) {
	fast, slow := simDevice{item: 1e-3, fixed: 0.2}, simDevice{item: 0.1, fixed: 5}
	for _, total := range []int{2000, 10_000, 100_000, 1_000_000} {
		alone := float64(total)*fast.item + fast.fixed
		for i, devs := range [][]simDevice{{fast, slow}, {slow, fast}} {
			end, items := runChunks(t, total, 1, devs, even)
			t.Logf("%d items, order %d: %.1f ms, fast alone %.1f ms, items %v", total, i, end, alone, items)
			// The slow one's launch alone takes 5 ms; a small job cannot know.
			if end > max(1.2*alone, alone+8) {
				t.Errorf("%d items: %.1f ms, the fast device alone takes %.1f ms", total, end, alone)
			}
		}
	}
	// With measurements the slow one gets nothing of a small job.
	fast.known, slow.known = true, true
	end, items := runChunks(t, 2000, 1, []simDevice{fast, slow}, even)
	if items[1] != 0 || end > 4 {
		t.Errorf("2000 items, warm: %.2f ms, items %v", end, items)
	}
}

// Co-execution of known devices comes close to the sum of their speeds, also
// where the work is uneven.
func TestChunksEfficiency(t *testing.T) {
	uneven := func(i int) float64 { return 0.2 + 3*math.Pow(math.Sin(float64(i)/20000), 8) }
	for name, c := range map[string]struct {
		weight func(int) float64
		want   float64
	}{"regular": {even, 0.95}, "irregular": {uneven, 0.90}} {
		const total = 200_000
		work := 0.0
		for i := range total {
			work += c.weight(i)
		}
		for _, ratio := range []float64{1, 3, 10} {
			devs := []simDevice{{item: 0.005, fixed: 0.05, known: true}, {item: 0.005 * ratio, fixed: 0.05, known: true}}
			end, _ := runChunks(t, total, 64, devs, c.weight)
			ideal := work / (1/devs[0].item + 1/devs[1].item)
			t.Logf("%s 1:%g: %.3f", name, ratio, ideal/end)
			if ideal/end < c.want {
				t.Errorf("%s, speeds 1:%g: efficiency %.3f, want %.2f", name, ratio, ideal/end, c.want)
			}
		}
	}
}

// Whatever the devices are and whichever fail, every work-item runs once.
func TestChunksAlwaysFinish(t *testing.T) {
	for seed := range uint64(400) {
		rng := rand.New(rand.NewPCG(seed, 0))
		devs := []simDevice{{item: 0.01, fixed: rng.Float64()}}
		for range rng.IntN(5) {
			d := simDevice{item: math.Pow(10, -4*rng.Float64()), fixed: 10 * rng.Float64(), known: rng.IntN(2) == 0}
			if rng.IntN(3) == 0 {
				d.dies = 1 + 30*rng.Float64()
			}
			devs = append(devs, d)
		}
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			runChunks(t, rng.IntN(3000), 1+rng.IntN(70), devs, even)
		})
	}
}
