package observe

import (
	"errors"
	"math"
	"slices"
	"sync"
	"testing"
	"time"

	tandem "github.com/tandemrun/tandem/runtime"
)

func TestRecorderIsSafeAndComplete(t *testing.T) {
	r := new(Recorder)
	o := r.Observer()
	o.RunStarted(tandem.RunStarted{Run: 2, Name: "late", At: 5})
	o.RunStarted(tandem.RunStarted{Run: 1, Name: "early", At: 3})
	after := []tandem.OpID{7}
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range 1000 {
				op := tandem.OpID(g*1000 + i + 1)
				o.Launched(tandem.LaunchEvent{Run: 1, Op: op, After: after})
				if i%10 == 0 {
					o.Copied(tandem.CopyEvent{Run: 2, Op: op})
					o.Faulted(tandem.FaultEvent{Run: 1, At: time.Duration(10000 - int(op))})
					o.Decided(tandem.DecisionEvent{Run: 1})
				}
				if i%250 == 0 {
					_ = r.Recording()
				}
			}
		})
	}
	wg.Wait()
	after[0] = 8 // the session's own slice: what was recorded stays
	failed := errors.New("failed")
	o.RunFinished(tandem.RunFinished{Run: 2, At: 9, Err: failed})
	o.RunFinished(tandem.RunFinished{Run: 3, At: 9}) // never began
	rec := r.Recording()
	if len(rec.Launches) != 8000 || len(rec.Copies) != 800 || len(rec.Faults) != 800 || len(rec.Decisions) != 800 {
		t.Fatalf("%d launches, %d copies, %d faults, %d decisions", len(rec.Launches), len(rec.Copies), len(rec.Faults), len(rec.Decisions))
	}
	for i, e := range rec.Launches {
		if e.Op != tandem.OpID(i+1) || !slices.Equal(e.After, []tandem.OpID{7}) {
			t.Fatalf("launch %d is op %d after %v", i, e.Op, e.After)
		}
	}
	if !slices.IsSortedFunc(rec.Faults, func(a, b tandem.FaultEvent) int { return int(a.At - b.At) }) {
		t.Error("faults are not by time")
	}
	if len(rec.Runs) != 2 || rec.Runs[0].Name != "early" || rec.Runs[0].Finished || !rec.Runs[1].Finished || rec.Runs[1].Err != failed || rec.Runs[1].End != 9 {
		t.Errorf("runs: %+v", rec.Runs)
	}
}

// TestRecorderLimit: a long run leaves a record of bounded size that says how
// much it lacks.
func TestRecorderLimit(t *testing.T) {
	r := &Recorder{Limit: 160}
	o := r.Observer()
	for i := range 10_000 {
		o.Launched(tandem.LaunchEvent{Run: 1, Op: tandem.OpID(2*i + 1)})
		o.Copied(tandem.CopyEvent{Run: 1, Op: tandem.OpID(2*i + 2)})
		o.Faulted(tandem.FaultEvent{Run: 1})
	}
	rec := r.Recording()
	if len(rec.Launches) != 80 || len(rec.Copies) != 80 || len(rec.Faults) != 160 || rec.Dropped != 2*9_920+9_840 {
		t.Errorf("%d launches, %d copies, %d faults, %d dropped; want 80, 80, 160, %d", len(rec.Launches), len(rec.Copies), len(rec.Faults), rec.Dropped, 2*9_920+9_840)
	}
	if last := rec.Launches[79].Op; last != 159 {
		t.Errorf("the last launch kept is op %d, want 159: the first ones are kept", last)
	}
	if r := new(Recorder); r.limit() != DefaultLimit {
		t.Errorf("limit %d", r.limit())
	}
}

func BenchmarkRecorder(b *testing.B) {
	for _, after := range []int{0, 2} {
		b.Run(map[int]string{0: "after=0", 2: "after=2"}[after], func(b *testing.B) {
			r := &Recorder{Limit: math.MaxInt32}
			o := r.Observer()
			e := tandem.LaunchEvent{Run: 1, After: make([]tandem.OpID, after)}
			b.ReportAllocs()
			for b.Loop() {
				e.Op++
				o.Launched(e)
			}
		})
	}
}
