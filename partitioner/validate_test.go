package partitioner

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/tandemrun/tandem/devices"
)

// Each way to break a plan has to be found, and named.
func TestValidateFindsFaults(t *testing.T) {
	for _, c := range []struct {
		name, says string
		breakIt    func(p *Problem, pl *Plan)
	}{
		{"nothing", "", func(*Problem, *Plan) {}},
		{"a placement is missing", "placements", func(_ *Problem, pl *Plan) { pl.Tasks = pl.Tasks[1:] }},
		{"order", "before", func(_ *Problem, pl *Plan) { pl.Order[0], pl.Order[9] = pl.Order[9], pl.Order[0] }},
		{"order twice", "twice", func(_ *Problem, pl *Plan) { pl.Order[9] = pl.Order[0] }},
		{"no part", "0 parts", func(_ *Problem, pl *Plan) { pl.Tasks[3].Shares = nil }},
		{"no device", "device 7", func(_ *Problem, pl *Plan) { pl.Tasks[3].Shares[0].Device = 7 }},
		{"refused", "cannot run it", func(p *Problem, pl *Plan) { p.Tasks[3].Cost[pl.Tasks[3].Shares[0].Device].Refused = "no" }},
		{"too short", "it takes", func(_ *Problem, pl *Plan) { pl.Tasks[3].Shares[0].Finish -= ms }},
		{"its bounds", "its parts", func(_ *Problem, pl *Plan) { pl.Tasks[3].Start += ms }},
		{"precedence", "for which it waits", func(_ *Problem, pl *Plan) { move(pl, 9, -70*ms) }},
		{"input late", "without byte", func(_ *Problem, pl *Plan) { move(pl, 9, -2*ms) }},
		{"transfer missing", "without byte", func(_ *Problem, pl *Plan) { pl.Transfers = pl.Transfers[1:] }},
		{"transfer too fast", "it takes", func(_ *Problem, pl *Plan) { pl.Transfers[0].End -= ms }},
		{"transfer too early", "is not there", func(_ *Problem, pl *Plan) { pl.Transfers[0].Start -= ms; pl.Transfers[0].End -= ms }},
		{"transfer from nowhere", "is not there", func(_ *Problem, pl *Plan) { pl.Transfers[0].From = 0 }},
		{"transfer to itself", "transfer 0", func(_ *Problem, pl *Plan) { pl.Transfers[0].From = pl.Transfers[0].To }},
		{"evicted before use", "without byte", func(p *Problem, pl *Plan) {
			x := pl.Transfers[0]
			pl.Evictions = append(pl.Evictions, Eviction{Datum: x.Datum, Hi: p.Data[x.Datum].Bytes, Node: x.To, At: x.End})
		}},
		{"evicted where it is not", "it is not there", func(_ *Problem, pl *Plan) {
			pl.Evictions = append(pl.Evictions, Eviction{Datum: 0, Hi: 1, Node: 0, At: 99 * ms})
		}},
		{"used twice", "used twice", func(_ *Problem, pl *Plan) { move(pl, 4, -5*ms) }},
		{"faces of one processor", "used twice", func(p *Problem, _ *Plan) { p.Devices[0].Resource, p.Devices[1].Resource = "cpu", "cpu" }},
		{"device not free", "is free at", func(p *Problem, _ *Plan) { p.Devices[2].Ready = ms }},
		{"memory", "node 3 holds", func(p *Problem, _ *Plan) { p.Nodes[3].Memory = 78 }},
		{"link used twice", "used twice", func(p *Problem, _ *Plan) { p.Contention = true }},
		{"makespan", "makespan", func(_ *Problem, pl *Plan) { pl.Makespan -= ms }},
		{"bound", "lower bound", func(_ *Problem, pl *Plan) { pl.LowerBound += ms }},
		{"not returned", "not on the host", func(p *Problem, _ *Plan) { p.Data[14].Return = true }},
	} {
		p := topcuoglu()
		pl, err := HEFT(p)
		if err != nil {
			t.Fatal(err)
		}
		c.breakIt(p, pl)
		err = pl.Validate(p)
		switch {
		case c.says == "":
			if err != nil {
				t.Errorf("%s: %v", c.name, err)
			}
		case !errors.Is(err, devices.ErrInvalid) || !strings.Contains(err.Error(), c.says):
			t.Errorf("%s: %v, want ErrInvalid that says %q", c.name, err, c.says)
		}
	}
}

// move shifts a task in a plan.
func move(pl *Plan, t int, by time.Duration) {
	pm := &pl.Tasks[t]
	pm.Start, pm.Finish = pm.Start+by, pm.Finish+by
	for i := range pm.Shares {
		pm.Shares[i].Start += by
		pm.Shares[i].Finish += by
	}
}
