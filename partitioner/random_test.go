package partitioner

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/tandemrun/tandem/devices"
)

// randomProblem makes a problem with everything in it that the package knows:
// faces of one resource, refusals, divided tasks, halos, partial reads, versions
// of buffers, tight memories, contention, returns.
func randomProblem(rng *rand.Rand, size int) *Problem {
	nn := 1 + rng.IntN(4)
	p := &Problem{Nodes: make([]Node, nn), Contention: rng.IntN(2) == 0}
	up, down := make([]devices.Link, nn), make([]devices.Link, nn)
	for n := range up {
		up[n] = devices.Link{Latency: time.Duration(rng.IntN(2000)), Bandwidth: 1e8 * (1 + 50*rng.Float64())}
		down[n] = devices.Link{Latency: time.Duration(rng.IntN(2000)), Bandwidth: 1e8 * (1 + 50*rng.Float64())}
	}
	if rng.IntN(5) > 0 {
		p.Links = StarLinks(up, down)
	}
	for range 1 + rng.IntN(5) {
		d := Device{ID: string(rune('a' + len(p.Devices))), Node: rng.IntN(nn), Launch: time.Duration(rng.IntN(500))}
		if rng.IntN(3) == 0 {
			d.Resource = "shared"
		}
		if rng.IntN(5) == 0 {
			d.Ready = time.Duration(rng.IntN(100000))
		}
		p.Devices = append(p.Devices, d)
	}
	var readable []int // the newest version of each buffer
	add := func(d Datum) int {
		p.Data = append(p.Data, d)
		return len(p.Data) - 1
	}
	for range 1 + rng.IntN(4) {
		d := Datum{Bytes: int64(rng.IntN(100000)), Return: rng.IntN(8) == 0}
		if rng.IntN(4) > 0 {
			d.Nodes = []int{rng.IntN(nn)}
		}
		if rng.IntN(2) == 0 {
			d.Buffer = len(p.Data) + 1
		}
		readable = append(readable, add(d))
	}
	readers := map[int][]int{}
	speed := make([]float64, len(p.Devices))
	for i := range speed {
		speed[i] = 1 + 20*rng.Float64()
	}
	largest := int64(1)
	for i := range rng.IntN(size + 1) {
		t := Task{Name: "t" + string(rune('0'+i%10))}
		run := float64(rng.IntN(200000))
		for d := range p.Devices {
			e := Estimate{Run: time.Duration(run / speed[d] * (0.5 + rng.Float64()))}
			e.Fixed = e.Run / 10
			if rng.IntN(8) == 0 && d > 0 {
				e.Refused = "cannot"
			}
			t.Cost = append(t.Cost, e)
		}
		if rng.IntN(2) == 0 {
			t.Split = &Split{Items: rng.IntN(2000), Grain: rng.IntN(65)}
			if rng.IntN(6) == 0 {
				for range p.Devices {
					t.Split.Shares = append(t.Split.Shares, rng.Float64())
				}
			}
		}
		for range rng.IntN(4) {
			k := rng.IntN(len(readable))
			d := readable[k]
			r := Read{Datum: d}
			if t.Split != nil && rng.IntN(2) == 0 {
				r.ByShare, r.Halo = true, int64(rng.IntN(100))
			}
			if b := p.Data[d].Bytes; b > 0 && rng.IntN(3) == 0 {
				r.Lo = rng.Int64N(b)
				r.Hi = r.Lo + rng.Int64N(b-r.Lo) + 1
			}
			t.Reads = append(t.Reads, r)
			readers[d] = append(readers[d], i)
			if p.Data[d].Buffer != 0 && rng.IntN(3) == 0 && (t.Split == nil || r.ByShare && r.Halo == 0) && r.Hi == 0 && readable[k] == d {
				v := add(Datum{Bytes: p.Data[d].Bytes, Buffer: p.Data[d].Buffer, Return: rng.IntN(8) == 0})
				t.Writes = append(t.Writes, v)
				for _, q := range readers[d] {
					if q != i {
						t.After = append(t.After, q)
					}
				}
				readable[k] = v
			}
		}
		for _, r := range t.Reads {
			// A task reads no version that it has written itself.
			for _, w := range t.Writes {
				if r.Datum == w {
					t.Reads = nil
				}
			}
		}
		if len(t.Reads) == 0 {
			for _, w := range t.Writes {
				p.Data[w].Buffer = 0 // a version that nobody writes
			}
			t.Writes = nil
		}
		if rng.IntN(3) > 0 {
			d := add(Datum{Bytes: int64(rng.IntN(100000)), Return: rng.IntN(5) == 0})
			if rng.IntN(2) == 0 {
				p.Data[d].Buffer = d + 1
			}
			t.Writes = append(t.Writes, d)
			readable = append(readable, d)
		}
		if i > 0 && rng.IntN(4) == 0 {
			t.After = append(t.After, rng.IntN(i))
		}
		if rng.IntN(4) == 0 {
			t.Scratch = int64(rng.IntN(50000))
		}
		if rng.IntN(10) == 0 {
			t.Devices = []int{0}
		}
		s := &setup{Problem: p}
		largest = max(largest, s.workingSet(&t))
		p.Tasks = append(p.Tasks, t)
	}
	for n := range p.Nodes {
		if rng.IntN(2) == 0 {
			held := int64(0)
			for _, d := range p.Data {
				if slices.Contains(d.Nodes, n) {
					held += d.Bytes
				}
			}
			p.Nodes[n].Memory = max(held, largest*3/4+rng.Int64N(largest))
		}
	}
	return p
}

// seen counts what the random problems made plans do, so that the test knows
// that it tests it.
type seen struct{ plans, improved, divided, evicted, moved, returned, cut int }

// checkPlan plans a problem and validates every plan made for it.
func checkPlan(t *testing.T, seed uint64, size int) (n seen) {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 1))
	p := randomProblem(rng, size)
	pl, err := HEFT(p)
	var none *PlanError
	if errors.As(err, &none) {
		return n
	}
	if err != nil {
		t.Fatalf("seed %d: %v", seed, err)
	}
	if err := pl.Validate(p); err != nil {
		t.Fatalf("seed %d: HEFT: %v", seed, err)
	}
	better, err := Improve(p, pl, seed, 20*len(p.Tasks))
	if err != nil {
		t.Fatalf("seed %d: Improve: %v", seed, err)
	}
	if err := better.Validate(p); err != nil {
		t.Fatalf("seed %d: Improve: %v", seed, err)
	}
	if better.Makespan > pl.Makespan {
		t.Fatalf("seed %d: improved from %v to %v", seed, pl.Makespan, better.Makespan)
	}
	if better.Makespan < pl.Makespan {
		n.improved++
	}
	n.plans++
	n.evicted += len(pl.Evictions)
	for _, pm := range pl.Tasks {
		n.divided += len(pm.Shares) / 2
	}
	for _, x := range pl.Transfers {
		n.moved++
		if x.Task < 0 {
			n.returned++
		}
		if x.Hi-x.Lo < p.Data[x.Datum].Bytes {
			n.cut++
		}
	}
	return n
}

func TestRandomPlans(t *testing.T) {
	var all seen
	for seed := range uint64(1500) {
		n := checkPlan(t, seed, 30)
		all.plans += n.plans
		all.improved += n.improved
		all.divided += n.divided
		all.evicted += n.evicted
		all.moved += n.moved
		all.returned += n.returned
		all.cut += n.cut
	}
	t.Logf("%+v", all)
	if all.plans < 1000 || all.improved < 400 || all.divided < 1000 || all.evicted < 1000 || all.moved < 10000 || all.returned < 1000 || all.cut < 1000 {
		t.Errorf("the random problems test too little: %+v", all)
	}
}

func FuzzPlan(f *testing.F) {
	for seed := range uint64(20) {
		f.Add(seed, uint8(seed*3))
	}
	f.Fuzz(func(t *testing.T, seed uint64, size uint8) { checkPlan(t, seed, int(size)) })
}
