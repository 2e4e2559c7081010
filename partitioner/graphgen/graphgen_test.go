package graphgen

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/partitioner"
)

func TestGenerate(t *testing.T) {
	for _, family := range Families() {
		for _, tasks := range []int{1, 40, 300} {
			c := Config{Family: family, Tasks: tasks, Devices: 3, Ratio: 10, CCR: 1, Seed: 5}
			p, err := Generate(c)
			if err != nil {
				t.Fatal(err)
			}
			if n := len(p.Tasks); tasks >= 40 && (n < tasks/2 || n > 3*tasks) {
				t.Errorf("%v: %d tasks", c, n)
			}
			run := 0.0
			for _, task := range p.Tasks {
				for _, e := range task.Cost {
					run += e.Run.Seconds() / float64(len(task.Cost)*len(p.Tasks))
				}
			}
			if run < 0.0099 || run > 0.0101 {
				t.Errorf("%v: mean run %g s, want 0.01", c, run)
			}
			again, _ := Generate(c)
			a, _ := json.Marshal(p)
			if b, _ := json.Marshal(again); string(a) != string(b) {
				t.Errorf("%v: the same seed gave another problem", c)
			}
			if _, err := partitioner.HEFT(p); err != nil {
				t.Errorf("%v: %v", c, err)
			}
		}
	}
	for _, c := range []Config{{Family: "no such"}, {Family: "lu"}, {Family: "lu", Tasks: 3, Devices: 2, Ratio: 0.5}} {
		if _, err := Generate(c); !errors.Is(err, devices.ErrInvalid) {
			t.Errorf("%v: %v, want ErrInvalid", c, err)
		}
	}
}

func TestImprovedPlans(t *testing.T) {
	const seed = 1
	n := 200
	if testing.Short() {
		n = 50
	}
	scores, err := Compare(Suite(n, seed), 800)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range scores {
		t.Logf("%-10s %3d problems: HEFT %.3f, improved %.3f of the lower bound; ratio mean %.3f, max %.3f", s.Family, s.Problems, s.HEFT, s.Improved, s.MeanRatio, s.MaxRatio)
	}
	if all := scores[len(scores)-1]; all.MeanRatio > 0.93 || all.MaxRatio > 1 {
		t.Errorf("seed %d: improved over HEFT: mean %.3f, max %.3f; want ≤ 0.93, ≤ 1", seed, all.MeanRatio, all.MaxRatio)
	}
}
