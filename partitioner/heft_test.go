package partitioner

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/tandemrun/tandem/devices"
)

const ms = time.Millisecond

// topcuoglu is the worked example of Topcuoglu, Hariri and Wu (IEEE TPDS 2002,
// figures 2 and 3, table 1): ten tasks, three processors, one unit is 1 ms.
func topcuoglu() *Problem {
	cost := [10][3]int{
		{14, 16, 9}, {13, 19, 18}, {11, 13, 19}, {13, 8, 17}, {12, 13, 10},
		{13, 16, 9}, {7, 15, 11}, {5, 11, 14}, {18, 12, 20}, {21, 7, 16},
	}
	edges := [][3]int{
		{1, 2, 18}, {1, 3, 12}, {1, 4, 9}, {1, 5, 11}, {1, 6, 14}, {2, 8, 19}, {2, 9, 16}, {3, 7, 23},
		{4, 8, 27}, {4, 9, 23}, {5, 9, 13}, {6, 8, 15}, {7, 10, 17}, {8, 10, 11}, {9, 10, 13},
	}
	p := &Problem{
		Devices: []Device{{ID: "P1", Node: 1}, {ID: "P2", Node: 2}, {ID: "P3", Node: 3}},
		Nodes:   make([]Node, 4),
		Links:   make([][]devices.Link, 4),
	}
	for i := range p.Links {
		p.Links[i] = slices.Repeat([]devices.Link{{Bandwidth: 1000}}, 4) // 1 byte in 1 ms
	}
	for i := range cost {
		t := Task{Name: "n" + string(rune('0'+(i+1)%10))}
		for _, c := range cost[i] {
			t.Cost = append(t.Cost, Estimate{Run: time.Duration(c) * ms})
		}
		p.Tasks = append(p.Tasks, t)
	}
	for d, e := range edges {
		p.Data = append(p.Data, Datum{Bytes: int64(e[2])})
		p.Tasks[e[0]-1].Writes = append(p.Tasks[e[0]-1].Writes, d)
		p.Tasks[e[1]-1].Reads = append(p.Tasks[e[1]-1].Reads, Read{Datum: d})
	}
	return p
}

func TestHEFTWorkedExample(t *testing.T) {
	p := topcuoglu()
	s, err := prepare(p)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []float64{108, 77, 80, 80, 69, 63.333, 42.667, 35.667, 44.333, 14.667} {
		if got := s.upwardRanks()[i] / 1e6; got < want-0.001 || got > want+0.001 {
			t.Errorf("upward rank of n%d = %.3f, the paper has %.3f", i+1, got, want)
		}
	}
	pl, err := HEFT(p)
	if err != nil {
		t.Fatal(err)
	}
	if want := []int{0, 2, 3, 1, 4, 5, 8, 6, 7, 9}; !slices.Equal(pl.Order, want) {
		t.Errorf("order %v, the paper has %v", pl.Order, want)
	}
	want := []Share{
		{Device: 2, Start: 0, Finish: 9}, {Device: 0, Start: 27, Finish: 40}, {Device: 2, Start: 9, Finish: 28},
		{Device: 1, Start: 18, Finish: 26}, {Device: 2, Start: 28, Finish: 38}, {Device: 1, Start: 26, Finish: 42},
		{Device: 2, Start: 38, Finish: 49}, {Device: 0, Start: 57, Finish: 62}, {Device: 1, Start: 56, Finish: 68},
		{Device: 1, Start: 73, Finish: 80},
	}
	for i, w := range want {
		w.Start, w.Finish = w.Start*ms, w.Finish*ms
		if got := pl.Tasks[i].Shares; len(got) != 1 || got[0] != w {
			t.Errorf("n%d: %+v, the paper has %+v", i+1, got, w)
		}
	}
	if pl.Makespan != 80*ms {
		t.Errorf("makespan %v, the paper has 80", pl.Makespan)
	}
}

func TestProblemFaults(t *testing.T) {
	one := func(change func(p *Problem)) error {
		p := topcuoglu()
		change(p)
		_, err := HEFT(p)
		return err
	}
	var cycle *CycleError
	err := one(func(p *Problem) { p.Tasks[0].After = []int{9} })
	if !errors.As(err, &cycle) || len(cycle.Tasks) < 3 || cycle.Tasks[0] == cycle.Tasks[len(cycle.Tasks)-1] {
		t.Errorf("ring: %v", err)
	}
	var plan *PlanError
	err = one(func(p *Problem) {
		for d := range p.Tasks[3].Cost {
			p.Tasks[3].Cost[d].Refused = "lacks fp64"
		}
	})
	if !errors.As(err, &plan) || err.Error() != `task "n4": no device can run it: P1: lacks fp64; P2: lacks fp64; P3: lacks fp64` {
		t.Errorf("refused: %v", err)
	}
	for what, change := range map[string]func(p *Problem){
		"two writers":   func(p *Problem) { p.Tasks[5].Writes = []int{0} },
		"unknown datum": func(p *Problem) { p.Tasks[5].Reads[0].Datum = 99 },
		"own output":    func(p *Problem) { p.Tasks[0].Reads = []Read{{Datum: 0}} },
		"range":         func(p *Problem) { p.Tasks[5].Reads[0].Hi = 1000 },
		"costs":         func(p *Problem) { p.Tasks[5].Cost = p.Tasks[5].Cost[:1] },
		"negative run":  func(p *Problem) { p.Tasks[5].Cost[0].Run = -1 },
		"node":          func(p *Problem) { p.Devices[1].Node = 4 },
		"links":         func(p *Problem) { p.Links = p.Links[:2] },
		"after":         func(p *Problem) { p.Tasks[5].After = []int{-1} },
		"no devices":    func(p *Problem) { p.Devices = nil },
	} {
		if err := one(change); !errors.Is(err, devices.ErrInvalid) {
			t.Errorf("%s: %v, want ErrInvalid", what, err)
		}
	}
	if pl, err := HEFT(&Problem{}); err != nil || pl.Makespan != 0 {
		t.Errorf("empty problem: %v, %v", pl, err)
	}
}
