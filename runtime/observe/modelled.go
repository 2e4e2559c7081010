package observe

import (
	"time"

	"github.com/tandemrun/tandem/devices"
)

// modelledTrack is the name of an emulated device's further track: what its
// launches would have taken on the hardware. Each begins when it began here, or
// when the one before has ended there.
const modelledTrack = "modelled hardware"

// loadKind is the category of an image being loaded.
const loadKind = "reconfiguration"

// modelled writes a track for each emulated device, numbered from tid.
func (t *traceWriter) modelled(tl *timeline, pids map[string]int, tid int) {
	for _, id := range tl.devices {
		free := time.Duration(-1)
		for i := range tl.spans { // by track and time; such a device has one compute queue
			s := &tl.spans[i]
			if s.launch == nil || s.device() != id || s.launch.Times.Model.Run <= 0 {
				continue
			}
			if free < 0 {
				t.thread(pids[id], tid, modelledTrack, tid)
			}
			m := &s.launch.Times.Model
			at := max(free, s.start)
			if m.Load > 0 {
				dur := micros(m.Load)
				t.event(traceEvent{Name: "load image for " + s.launch.Kernel, Cat: loadKind, Phase: "X", PID: pids[id], TID: tid,
					TS: micros(at - tl.from), Dur: &dur, Args: map[string]any{"task": s.launch.Name, "op": s.op}})
				at += m.Load
			}
			dur := micros(m.Run)
			t.event(traceEvent{Name: s.title(), Cat: modelledTrack, Phase: "X", PID: pids[id], TID: tid,
				TS: micros(at - tl.from), Dur: &dur, Args: modelArgs(m)})
			free = at + m.Run
		}
		if free >= 0 {
			tid++
		}
	}
}

// modelArgs are what is known of a launch on emulated hardware.
func modelArgs(m *devices.Modelled) map[string]any {
	args := map[string]any{"cycles": m.Cycles, "words_in": m.WordsIn, "words_out": m.WordsOut, "stalls_in": m.StallsIn, "stalls_out": m.StallsOut,
		"modelled_us": micros(m.Run)}
	if m.Cycles > 0 {
		args["words_per_cycle"] = float64(max(m.WordsIn, m.WordsOut)) / float64(m.Cycles)
	}
	if m.Load > 0 {
		args["load_us"] = micros(m.Load)
	}
	return args
}
