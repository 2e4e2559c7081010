package observe

import (
	"bytes"
	"errors"
	"flag"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/tandemrun/tandem/devices"
	tandem "github.com/tandemrun/tandem/runtime"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func TestStats(t *testing.T) {
	got := Stats(edgesRun())
	want := []tandem.DeviceStats{
		{ID: "cpu:0", Backend: "cpu", Tasks: 4, WorkItems: 4 * 290000, Busy: 3751 * us, BusyS: 0.003751, BytesZeroCopy: 4*290000*4 + 872000},
		{ID: "opencl:0", Backend: "opencl", Tasks: 4, WorkItems: 4 * 582000, Busy: 3245 * us, BusyS: 0.003245, BytesH2D: 1747000, BytesD2H: 585000},
	}
	if len(got) != len(want) {
		t.Fatalf("%d devices, want %d", len(got), len(want))
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("got %+v\nwant %+v", got[i], want[i])
		}
	}
}

func TestStatsOfOverlapAndFailure(t *testing.T) {
	launch := func(op tandem.OpID, device string, from, to time.Duration, err error) tandem.LaunchEvent {
		return tandem.LaunchEvent{Run: 1, Op: op, Device: device, Queue: "compute#0", Range: devices.NDRange{Dims: 1, Size: [3]int{10}},
			Times: devices.Times{Start: from, End: to}, Err: err}
	}
	rec := Recording{
		Launches: []tandem.LaunchEvent{launch(1, "a", 0, 10, nil), launch(2, "a", 5, 20, nil), launch(3, "a", 30, 40, errors.New("no"))},
		Copies: []tandem.CopyEvent{
			{Run: 1, Op: 4, Device: "b", From: "a", To: "b", Bytes: 5},
			{Run: 1, Op: 5, Device: "b", From: "host", To: "b", Bytes: 7, Err: errors.New("no")},
		},
	}
	got := Stats(rec)
	if want := (tandem.DeviceStats{ID: "a", Tasks: 2, WorkItems: 20, Busy: 30, BusyS: 30e-9}); got[0] != want {
		t.Errorf("got %+v, want %+v", got[0], want)
	}
	if want := (tandem.DeviceStats{ID: "b", BytesD2D: 5}); got[1] != want {
		t.Errorf("got %+v, want %+v", got[1], want)
	}
}

func TestHiddenRatio(t *testing.T) {
	at := func(from, to time.Duration) devices.Times { return devices.Times{Start: from, End: to} }
	launches := []tandem.LaunchEvent{{Times: at(10, 20)}, {Times: at(15, 30)}, {Times: at(40, 50)}}
	for _, tt := range []struct {
		copies []tandem.CopyEvent
		want   float64
	}{
		{nil, 1},
		{[]tandem.CopyEvent{{Times: at(5, 5)}}, 1},
		{[]tandem.CopyEvent{{Times: at(0, 9), ZeroCopy: true}}, 1},
		{[]tandem.CopyEvent{{Times: at(0, 10)}}, 0},
		{[]tandem.CopyEvent{{Times: at(12, 28)}}, 1},
		{[]tandem.CopyEvent{{Times: at(25, 45)}}, 0.5},
		{[]tandem.CopyEvent{{Times: at(0, 60)}}, 0.5},
		{[]tandem.CopyEvent{{Times: at(0, 10)}, {Times: at(10, 40)}}, 0.5},
	} {
		if got := HiddenRatio(Recording{Launches: launches, Copies: tt.copies}); got != tt.want {
			t.Errorf("%v: got %v, want %v", tt.copies, got, tt.want)
		}
	}
	if got := HiddenRatio(Recording{}); got != 1 {
		t.Errorf("empty: got %v, want 1", got)
	}
}

// TestOverlapAgainstCounting compares the arithmetic with counting instants.
func TestOverlapAgainstCounting(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	for range 300 {
		var busy [64]bool
		var all []interval
		for range rng.IntN(8) {
			from := rng.IntN(60)
			v := interval{time.Duration(from), time.Duration(from + rng.IntN(5))}
			all = append(all, v)
			for i := v.from; i < v.to; i++ {
				busy[i] = true
			}
		}
		u := union(all)
		from := rng.IntN(60)
		v := interval{time.Duration(from), time.Duration(from + rng.IntN(4))}
		inside, total := time.Duration(0), time.Duration(0)
		for i, b := range busy {
			if b {
				total++
				if v.from <= time.Duration(i) && time.Duration(i) < v.to {
					inside++
				}
			}
		}
		if got := length(u); got != total {
			t.Fatalf("length of %v is %d, want %d", u, got, total)
		}
		if got := overlap(v, u); got != inside {
			t.Fatalf("overlap of %v with %v is %d, want %d", v, u, got, inside)
		}
	}
}

func TestTable(t *testing.T) {
	var b bytes.Buffer
	huge := []tandem.DeviceStats{
		{ID: "cuda:GPU-8f3b0c5e-0000-1111", Tasks: 123456, WorkItems: 987654321012, Busy: 123456 * time.Millisecond, BytesH2D: 1 << 40, BytesD2H: 999 << 20, BytesD2D: 1 << 33, BytesZeroCopy: 1023},
		{ID: "cpu:0\x1b[31m"},
	}
	for _, rows := range [][]tandem.DeviceStats{Stats(edgesRun()), Stats(edgesRun())[:1], huge, nil} {
		if err := Table(&b, rows); err != nil {
			t.Fatal(err)
		}
		b.WriteString("\n")
	}
	for line := range strings.Lines(b.String()) {
		if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > 80 {
			t.Errorf("%d columns: %s", n, line)
		}
		if trimmed := strings.TrimRight(line, " \n"); trimmed+"\n" != line {
			t.Errorf("blanks at the end: %q", line)
		}
	}
	const golden = "testdata/table.txt"
	if *update {
		if err := os.WriteFile(golden, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if b.String() != string(want) {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
}

func TestUnits(t *testing.T) {
	for got, want := range map[string]string{
		formatBytes(0): "0 B", formatBytes(1023): "1023 B", formatBytes(1024): "1.00 KiB", formatBytes(10235): "10.0 KiB",
		formatBytes(1 << 20): "1.00 MiB", formatBytes(1<<63 - 1): "8192 PiB",
		formatTime(0): "0 s", formatTime(999): "999 ns", formatTime(1500): "1.50 µs", formatTime(12345 * us): "12.3 ms",
		formatTime(90 * time.Second): "90.0 s", formatTime(-2 * us): "-2.00 µs",
		formatCount(0): "0", formatCount(999): "999", formatCount(1000): "1 000", formatCount(872000): "872 000",
		formatCount(999999999): "999 999 999", formatCount(1e9): "1.00 G", formatCount(5e15): "5.00 P",
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
