package observe

import (
	"fmt"
	"testing"
	"time"

	"github.com/tandemrun/tandem/devices"
	tandem "github.com/tandemrun/tandem/runtime"
)

// TestModelledTrack holds that an emulated device has a track with what its
// launches would take on the hardware, one after the other, loading included.
func TestModelledTrack(t *testing.T) {
	const t0 = time.Second
	launch := func(op tandem.OpID, name string, from, to time.Duration, m devices.Modelled) tandem.LaunchEvent {
		at := times(t0+from, t0+to)
		at.Model = m
		return tandem.LaunchEvent{Run: 1, Op: op, Name: name, Kernel: "image." + name, Parts: 1, Device: "fpga:0", Queue: "compute#0",
			Range: devices.NDRange{Dims: 1, Size: [3]int{1000}}, Times: at}
	}
	rec := feed(tandem.RunStarted{Run: 1, Name: "r", Devices: []devices.Info{{ID: "cpu:0"}, {ID: "fpga:0", Emulated: true}}, At: t0},
		[]tandem.LaunchEvent{
			launch(1, "gray", 100*us, 400*us, devices.Modelled{Run: 30 * us, Load: 1000 * us, Cycles: 3000, WordsIn: 3000, WordsOut: 1000, StallsIn: 5, StallsOut: 2}),
			launch(2, "blur", 400*us, 900*us, devices.Modelled{Run: 20 * us, Cycles: 2000, WordsIn: 1000, WordsOut: 1000}),
			launch(3, "sobel", 2000*us, 2900*us, devices.Modelled{Run: 10 * us, Cycles: 1000, WordsIn: 1000, WordsOut: 1000}),
			{Run: 1, Op: 4, Name: "threshold", Parts: 1, Device: "cpu:0", Queue: "compute#0", Times: times(t0+3000*us, t0+3100*us)},
		}, nil, &tandem.RunFinished{Run: 1, At: t0 + 4*time.Millisecond}).Recording()
	var got, tracks []string
	for _, e := range readTrace(t, rec) {
		switch {
		case e.Ph == "M" && e.Name == "thread_name" && e.Args["name"] == modelledTrack:
			tracks = append(tracks, fmt.Sprintf("%d/%d", e.PID, e.TID))
		case e.Cat == loadKind || e.Cat == modelledTrack:
			got = append(got, fmt.Sprintf("%s %g+%g cycles %v per cycle %v in %d/%d", e.Name, e.TS, e.Dur, e.Args["cycles"], e.Args["words_per_cycle"], e.PID, e.TID))
		case e.Name == "blur" && e.Args["cycles"] != 2000.0:
			t.Errorf("the launch itself says %v", e.Args)
		case e.Name == "threshold" && e.Args["cycles"] != nil:
			t.Errorf("a launch of a device that is there says %v", e.Args)
		}
	}
	want := []string{
		"load image for image.gray 100+1000 cycles <nil> per cycle <nil> in 3/3",
		"gray 1100+30 cycles 3000 per cycle 1 in 3/3",
		"blur 1130+20 cycles 2000 per cycle 0.5 in 3/3",
		"sobel 2000+10 cycles 1000 per cycle 1 in 3/3",
	}
	if fmt.Sprint(got) != fmt.Sprint(want) || fmt.Sprint(tracks) != "[3/3]" {
		t.Errorf("tracks %v with\n%q, want\n%q", tracks, got, want)
	}
}
