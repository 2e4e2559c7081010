package partitioner

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/tandemrun/tandem/devices"
)

// large is a random graph of n tasks with up to three inputs each on eight
// devices of their own memory.
func large(n int) *Problem {
	rng := rand.New(rand.NewPCG(uint64(n), 0))
	p := &Problem{Nodes: make([]Node, 8), Contention: true}
	link := devices.Link{Latency: 10 * time.Microsecond, Bandwidth: 10e9}
	links := []devices.Link{link, link, link, link, link, link, link, link}
	p.Links = StarLinks(links, links)
	for d := range 8 {
		p.Devices = append(p.Devices, Device{ID: fmt.Sprintf("sim:%d", d), Node: d, Launch: 5 * time.Microsecond})
	}
	p.Data = append(p.Data, Datum{Bytes: 1 << 20, Nodes: []int{0}})
	for i := range n {
		t := Task{Name: fmt.Sprintf("t%d", i), Writes: []int{i + 1}}
		run := 1e6 * (0.5 + rng.Float64())
		for d := range 8 {
			t.Cost = append(t.Cost, Estimate{Run: time.Duration(run * float64(d+1) / 2)})
		}
		for range 3 {
			t.Reads = append(t.Reads, Read{Datum: rng.IntN(min(i+1, 500)) + max(0, i-499)})
		}
		p.Data = append(p.Data, Datum{Bytes: 1 << 20, Return: i == n-1})
		p.Tasks = append(p.Tasks, t)
	}
	return p
}

func TestLargeGraph(t *testing.T) {
	p := large(10000)
	start := time.Now()
	pl, err := HEFT(p)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("10000 tasks on 8 devices planned in %v", time.Since(start))
	if err := pl.Validate(p); err != nil {
		t.Fatal(err)
	}
	if ratio := float64(pl.Makespan) / float64(pl.LowerBound); ratio > 1.3 {
		t.Errorf("makespan %v, lower bound %v: %.2f times", pl.Makespan, pl.LowerBound, ratio)
	}
}

func BenchmarkHEFT(b *testing.B) {
	for _, n := range []int{100, 1000, 10000, 100000} {
		p := large(n)
		b.Run(fmt.Sprintf("tasks=%d/devices=8", n), func(b *testing.B) {
			for b.Loop() {
				if _, err := HEFT(p); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/task")
		})
	}
}

func BenchmarkImprove(b *testing.B) {
	p := large(1000)
	const effort = 1_000_000
	for b.Loop() {
		if _, err := Improve(p, nil, 1, effort); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(effort)*float64(b.N)/b.Elapsed().Seconds(), "placements/s")
}
