package tandem

import (
	"math"
	"testing"
	"time"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/partitioner/costmodel"
)

// TestLanes has launches on three workers, in the order in which they end, and
// holds the part of the device that the model is told each had.
func TestLanes(t *testing.T) {
	l := lanes{list: make([]lane, 3)}
	var got []costmodel.Sample
	want := map[float64]float64{} // share by number
	for i, c := range []struct {
		worker     int
		start, end time.Duration // in ms
		share      float64       // 0: all of it
	}{
		{0, 0, 10, 0.5},          // beside the next one
		{1, 0, 10, 0.5},          // and that beside it
		{1, 10, 20, 0.5},         // beside one that ends later
		{0, 10, 26, 16.0 / 32},   // beside the last one and two more
		{1, 20, 26, 0.5},         // no pause before it
		{2, 100, 110, 0},         // alone
		{0, 200, 210, 10.0 / 15}, // half of it beside the next
		{1, 205, 225, 20.0 / 25}, // a quarter of it
		{2, 300, 301, 0},         // alone
		{0, 400, 400, 0},         // of no length
	} {
		number := float64(i + 1)
		want[number] = c.share
		got = l.ended(c.worker, devices.Times{Start: c.start * time.Millisecond, End: c.end * time.Millisecond},
			costmodel.Sample{Size: costmodel.Size{Items: number}}, got)
	}
	if got = l.rest(got); len(got) != len(want) || len(l.open) != 0 {
		t.Fatalf("%d samples for %d launches, %d left", len(got), len(want), len(l.open))
	}
	for _, s := range got {
		if math.Abs(s.Share-want[s.Size.Items]) > 1e-9 {
			t.Errorf("launch %v: a share of %.3f, want %.3f", s.Size.Items, s.Share, want[s.Size.Items])
		}
	}
	for i := range 1000 { // one worker never ends anything more
		l.ended(1, devices.Times{Start: time.Hour + time.Duration(i), End: time.Hour + time.Duration(i) + 1}, costmodel.Sample{}, nil)
	}
	if len(l.open) > maxOpen {
		t.Errorf("%d launches wait, want at most %d", len(l.open), maxOpen)
	}
}
