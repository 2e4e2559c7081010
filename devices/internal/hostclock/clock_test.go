package hostclock

import (
	"testing"

	"github.com/tandemrun/tandem/devices"
)

func TestClock(t *testing.T) {
	var c Clock
	// The device's clock is 1000 ahead; measured between 40 and 60.
	c.Calibrate(1050, 40, 60)
	got := c.Times([4]uint64{1100, 1110, 1120, 1150}, 95, 200)
	if want := (devices.Times{Queued: 100, Submitted: 110, Start: 120, End: 150}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	// It lags behind by 30: what was queued cannot have been before the call.
	got = c.Times([4]uint64{1170, 1175, 1180, 1190}, 200, 300)
	if want := (devices.Times{Queued: 200, Submitted: 205, Start: 210, End: 220}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	// And it runs ahead: the end cannot be after it was seen.
	got = c.Times([4]uint64{1300, 1300, 1400, 1480}, 250, 400)
	if want := (devices.Times{Queued: 250, Submitted: 250, Start: 320, End: 400}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	// Times in disorder, as some drivers give them for empty commands.
	got = c.Times([4]uint64{1500, 1400, 0, 1490}, 400, 600)
	if !(400 <= got.Queued && got.Queued <= got.Submitted && got.Submitted <= got.Start && got.Start <= got.End && got.End <= 600) {
		t.Errorf("out of order: %+v", got)
	}
	// A clock that was never measured begins with the first command.
	var fresh Clock
	if got := fresh.Times([4]uint64{7, 8, 9, 10}, 100, 150); got.Queued != 100 || got.End != 103 {
		t.Errorf("uncalibrated: %+v", got)
	}
}
