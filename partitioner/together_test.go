package partitioner

import (
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tandemrun/tandem/devices"
)

// pair is a producer and a consumer that run together between two other tasks.
// The producer cannot run on the first device.
func pair() *Problem {
	run := func(times ...time.Duration) (list []Estimate) {
		for _, d := range times {
			if d < 0 {
				list = append(list, Estimate{Refused: "not there"})
				continue
			}
			list = append(list, Estimate{Run: d})
		}
		return list
	}
	return &Problem{
		Devices: []Device{{ID: "a"}, {ID: "b", Launch: ms}},
		Data:    []Datum{{Name: "x", Bytes: 8, Nodes: []int{0}}, {Name: "y", Bytes: 8}, {Name: "z", Bytes: 8}},
		Tasks: []Task{
			{Name: "before", Cost: run(3*ms, 9*ms), Writes: []int{0}},
			{Name: "produce", Cost: run(-1, 5*ms), Reads: []Read{{Datum: 0}}, Together: 7},
			{Name: "consume", Cost: run(2*ms, 4*ms), Writes: []int{1}, Together: 7},
			{Name: "after", Cost: run(ms, ms), Reads: []Read{{Datum: 1}}, Writes: []int{2}},
		},
	}
}

func TestTogether(t *testing.T) {
	p := pair()
	p.Data[0].Nodes = nil
	pl, err := HEFT(p)
	if err != nil {
		t.Fatal(err)
	}
	if err := pl.Validate(p); err != nil {
		t.Fatal(err)
	}
	for _, i := range []int{1, 2} {
		want := []Share{{Device: 1, Start: 3 * ms, Finish: 9 * ms}}
		if got := pl.Tasks[i]; !slices.Equal(got.Shares, want) || !strings.Contains(got.Reason, "produce + consume run together") {
			t.Errorf("%s: %+v, want %+v", p.Tasks[i].Name, got, want)
		}
	}
	if pl.Makespan != 10*ms || !slices.Equal(pl.Order, []int{0, 1, 2, 3}) {
		t.Errorf("makespan %v in the order %v", pl.Makespan, pl.Order)
	}
	apart := *pl
	apart.Tasks = slices.Clone(pl.Tasks)
	apart.Tasks[2].Shares = []Share{{Device: 0, Start: 3 * ms, Finish: 5 * ms}}
	if err := apart.Validate(p); err == nil || !strings.Contains(err.Error(), "run together") {
		t.Errorf("a plan with the two on different devices: %v", err)
	}
	apart = *pl
	apart.Order = []int{1, 0, 2, 3}
	if err := apart.Validate(p); !errors.Is(err, devices.ErrInvalid) {
		t.Errorf("a plan with a task between the two: %v", err)
	}
}

func TestTogetherRefused(t *testing.T) {
	for name, c := range map[string]struct {
		change func(p *Problem)
		words  string
	}{
		"reads the other's result": {func(p *Problem) { p.Tasks[1].Reads = append(p.Tasks[1].Reads, Read{Datum: 1}) }, `"produce" is to run together with "consume" and reads`},
		"waits for the other":      {func(p *Problem) { p.Tasks[2].After = []int{1} }, `"consume" is to run together with "produce" and waits`},
		"divided":                  {func(p *Problem) { p.Tasks[2].Split = &Split{Items: 10} }, "divided"},
		"the same result":          {func(p *Problem) { p.Tasks[1].Writes = []int{1} }, "write datum 1"},
		"ring through another":     {func(p *Problem) { p.Tasks[1].Reads = append(p.Tasks[1].Reads, Read{Datum: 2}) }, "ring"},
		"different devices": {func(p *Problem) {
			p.Tasks[1].Cost[0].Refused = ""
			p.Tasks[1].Devices, p.Tasks[2].Devices = []int{0}, []int{1}
		}, "different devices"},
		"no device": {func(p *Problem) { p.Tasks[2].Cost[1].Refused = "no room" }, "no room"},
	} {
		p := pair()
		p.Data[0].Nodes = nil
		c.change(p)
		if _, err := HEFT(p); err == nil || !strings.Contains(err.Error(), c.words) {
			t.Errorf("%s: %v, want %q", name, err, c.words)
		}
	}
}

// TestTogetherRandom groups tasks of random problems that do not depend on each
// other, and checks the plans made for them.
func TestTogetherRandom(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	planned, grouped := 0, 0
	for range 2000 {
		p := randomProblem(rng, 14)
		groups := 0
		for i := range p.Tasks {
			for j := range i {
				if p.Tasks[i].Split == nil && p.Tasks[j].Split == nil && p.Tasks[i].Together+p.Tasks[j].Together == 0 && rng.IntN(3) == 0 {
					groups++
					p.Tasks[i].Together, p.Tasks[j].Together = groups, groups
				}
			}
		}
		pl, err := HEFT(p)
		if err != nil {
			var none *PlanError
			var ring *CycleError
			if !errors.As(err, &none) && !errors.As(err, &ring) && !errors.Is(err, devices.ErrInvalid) {
				t.Fatal(err)
			}
			continue
		}
		planned++
		grouped += groups
		if err := pl.Validate(p); err != nil {
			t.Fatal(err)
		}
		better, err := Improve(p, pl, 1, 200)
		if err != nil {
			t.Fatal(err)
		}
		if err := better.Validate(p); err != nil || better.Makespan > pl.Makespan {
			t.Fatalf("makespan %v after %v: %v", better.Makespan, pl.Makespan, err)
		}
	}
	if planned < 100 || grouped < 50 {
		t.Errorf("only %d plans with %d groups: the test proves little", planned, grouped)
	}
}
