package transfer

import "testing"

// over is the state of operations that have all succeeded.
func over(*modelOp) (bool, error) { return true, nil }

// TestVersionsDoNotGrow writes part of a buffer in each of many runs: what is
// known of it stays the same size, and still says who holds all of it.
func TestVersionsDoNotGrow(t *testing.T) {
	const size, runs = 48, 1000
	tracker := NewTracker[*modelOp](size)
	for n := range runs {
		o := &modelOp{}
		l := &lowering{op: o}
		lo := int64(n % 3 * 8)
		tracker.Write(Host, lo, lo+16, o, l)
		tracker.Settle(over)
		tracker.EndRun(func(*modelOp) bool { return true })
		if len(tracker.segs) != 1 {
			t.Fatalf("run %d: %d segments, want 1", n, len(tracker.segs))
		}
		v := tracker.segs[0].version
		if len(v.holders) != 1 {
			t.Fatalf("run %d: %d holders, want 1: %+v", n, len(v.holders), v.holders)
		}
		if got := (Part[*modelOp]{0, size, v, tracker.seq}).Holders(func(*modelOp) Progress { return Done }); got != NodeSet(0).With(Host) {
			t.Fatalf("run %d: held by %b, want the host", n, got)
		}
	}
	for node, log := range tracker.logs {
		if len(log.writes) > 0 {
			t.Errorf("%d writes to node %d are remembered after the end", len(log.writes), node)
		}
	}
}

// TestSaved copies what a device alone holds to the host, out of turn.
func TestSaved(t *testing.T) {
	tracker := NewTracker[*modelOp](40)
	o := &modelOp{}
	tracker.Write(1, 10, 30, o, &lowering{op: o})
	tracker.Settle(over)
	if got := tracker.Sole(1); len(got) != 1 || got[0] != [2]int64{10, 30} {
		t.Fatalf("valid on node 1 alone: %v, want [10, 30)", got)
	}
	tracker.Saved(10, 30)
	if got := tracker.Sole(1); len(got) != 0 {
		t.Errorf("valid on node 1 alone after saving: %v", got)
	}
	if got := tracker.ValidBytes(Host, 0, 40); got != 40 {
		t.Errorf("%d bytes valid on the host, want 40", got)
	}
	tracker.Drop(1)
	for i := range tracker.segs {
		s := &tracker.segs[i]
		if got := (Part[*modelOp]{s.lo, s.hi, s.version, tracker.seq}).Holders(func(*modelOp) Progress { return Done }); got != NodeSet(0).With(Host) {
			t.Errorf("[%d, %d) is held by %b, want the host", s.lo, s.hi, got)
		}
	}
}
