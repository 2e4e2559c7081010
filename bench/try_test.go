package bench

import ("testing";"fmt";"time"; "sync"
"github.com/tandemrun/tandem/devices"
"github.com/tandemrun/tandem/devices/all"
	"github.com/tandemrun/tandem/partitioner/costmodel"
	tandem "github.com/tandemrun/tandem/runtime"
)

func TestShares(t *testing.T) {
	ctx := t.Context()
	o := &Options{Drivers: all.Drivers()}
	d, _ := o.halves(ctx)
	for _, j := range sharedJobs(o) {
		var mu sync.Mutex
		var ev []tandem.LaunchEvent
		s, err := tandem.Open(ctx, tandem.Config{Drivers: []devices.Driver{d}, Model: &costmodel.Model{}, Observer: tandem.Observer{Launched: func(e tandem.LaunchEvent) { mu.Lock(); ev = append(ev, e); mu.Unlock() }}})
		if err != nil { t.Fatal(err) }
		g := tandem.NewGraph()
		j.add(g, s)
		for i := range 10 {
			start := time.Now()
			p, err := s.Plan(ctx, g)
			if err != nil { t.Fatal(err) }
			r, err := s.Start(ctx, p)
			if err != nil { t.Fatal(err) }
			if err := r.Wait(ctx); err != nil { t.Fatal(err) }
			fmt.Println(j.name, i, time.Since(start), "predicted", p.Predicted, p.Decisions()[0].Chosen, p.Decisions()[0].Reason)
			for _, c := range p.Decisions()[0].Candidates { fmt.Println("     cand", c) }
			for _, e := range ev { fmt.Println("      ", e.Device, e.Range.Offset, e.Range.Size, e.Times.Run(), e.Times.Queued-p0(ev), e.Times.Start-p0(ev)) }
			ev = nil
		}
		s.Close()
	}
}
func p0(ev []tandem.LaunchEvent) time.Duration { m := ev[0].Times.Queued; for _, e := range ev { m = min(m, e.Times.Queued) }; return m }
