package fpga

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestAnalyze(t *testing.T) {
	need(t)
	list, err := Analyze(t.Context(), kitSource(), AnalyzeOptions{Entry: "mad_u32", Targets: []Target{ICE40, ECP5}})
	if err != nil {
		t.Fatal(err)
	}
	r := list[0]
	ice, ecp := r.Area[ICE40], r.Area[ECP5]
	// Two registers of 32 bits, and an output of 32 and two bits that may lie
	// inside of the multipliers.
	if len(list) != 1 || r.Signature != "mad_u32(x rw uint32[], f uint32, s uint32)" || r.Line != 7 {
		t.Errorf("got %+v", list)
	}
	if ice.FF < 64 || ice.FF > 200 || ice.LUT < 30 || ice.LUT > 800 || ice.DSP < 1 || ice.BRAM != 0 {
		t.Errorf("iCE40: %+v", ice)
	}
	if ecp.FF < 64 || ecp.FF > 200 || ecp.DSP < 1 || ecp.BRAM != 0 {
		t.Errorf("ECP5: %+v", ecp)
	}
	if r.FmaxMHz != 0 && (r.FmaxMHz < 5 || r.FmaxMHz > 200) || r.FmaxMHz == 0 && len(r.Warnings) == 0 {
		t.Errorf("highest clock %v MHz, warnings %v", r.FmaxMHz, r.Warnings)
	}
	t.Logf("%v MHz, %+v %v", r.FmaxMHz, ice, r.Warnings)
	b, err := json.Marshal(r)
	if err != nil || !strings.Contains(string(b), `"area":{"ecp5":{"lut":`) {
		t.Errorf("as JSON: %s, %v", b, err)
	}
	if r.FmaxMHz > 0 {
		rig := rigOf(t, &Driver{})
		l, err := rig.run(rig.kernel("kit.v", string(kitText), "mad_u32"), 10, make([]uint32, 10), uint32(1), uint32(1))
		if err != nil || l.ClockMHz != r.FmaxMHz || l.ClockFrom != ClockAnalysed {
			t.Errorf("a launch after the analysis: %+v, %v", l, err)
		}
	}
	again, err := Analyze(t.Context(), kitSource(), AnalyzeOptions{Entry: "mad_u32", Targets: []Target{ICE40, ECP5}})
	if err != nil || again[0].FmaxMHz != r.FmaxMHz || again[0].Area[ICE40].LUT != ice.LUT {
		t.Errorf("from the cache: %+v, %v", again, err)
	}
}
