package fpga

import (
	"strings"
	"testing"

	"github.com/tandemrun/tandem/devices"
)

// dropper loses a word when its output is not taken: a fault of the handshake
// that only stalls show.
const dropper = `// tandem: array x r uint8 s_axis
// tandem: array y w uint8 m_axis
module dropper(input wire aclk, input wire aresetn,
  input wire [7:0] s_axis_tdata, input wire s_axis_tvalid, output wire s_axis_tready, input wire s_axis_tlast,
  output reg [7:0] m_axis_tdata, output reg m_axis_tvalid, input wire m_axis_tready, output reg m_axis_tlast);
  assign s_axis_tready = 1;
  always @(posedge aclk)
    if (!aresetn) m_axis_tvalid <= 0;
    else if (s_axis_tvalid) begin m_axis_tvalid <= 1; m_axis_tdata <= s_axis_tdata; m_axis_tlast <= s_axis_tlast; end
    else if (m_axis_tready) m_axis_tvalid <= 0;
endmodule
`

func TestTry(t *testing.T) {
	need(t)
	list, err := Try(t.Context(), kitSource(), TryOptions{Words: 4096})
	if err != nil {
		t.Fatal(err)
	}
	by := map[string]Trial{}
	for _, r := range list {
		by[r.Entry] = r
	}
	mad := by["mad_u32"]
	if mad.Fault != "" || !mad.Same || mad.Free.WordsIn != 4096 || mad.Free.WordsOut != 4096 || mad.Range[0] != 4096 || mad.Values["f"] != trialValue {
		t.Errorf("mad_u32: %+v", mad)
	}
	// One word a cycle, and a few cycles to begin and to end.
	if c := mad.Free.Cycles; c < 4096 || c > 4096+32 {
		t.Errorf("mad_u32 took %d cycles for 4096 words", c)
	}
	if mad.Free.StallsIn != 0 || mad.Stalled.Cycles < mad.Free.Cycles*5/4 || mad.Stalled.StallsIn == 0 || mad.Stalled.StallsOut == 0 {
		t.Errorf("mad_u32 with stalls: %+v", mad.Stalled)
	}
	if f := by["fail"].Fault; !strings.Contains(f, "kit.v:") || by["fail"].Same {
		t.Errorf("fail: %q", f)
	}

	src := &devices.Source{Name: "dropper.v", Language: devices.LangRTL, Text: []byte(dropper)}
	list, err = Try(t.Context(), src, TryOptions{Words: 512})
	if err != nil {
		t.Fatal(err)
	}
	if r := list[0]; r.Same || r.Fault == "" && r.Stalled.WordsOut == r.Free.WordsOut {
		t.Errorf("the dropper passes: %+v", r)
	}

	src.Text = []byte(columnSum)
	if list, err = Try(t.Context(), src, TryOptions{Words: 1024}); err != nil {
		t.Fatal(err)
	}
	// Rows of 16, the most that the source allows, and one more on either side.
	if r := list[0]; r.Fault != "" || !r.Same || r.Values["width"] != 16 || r.Range[1] != 64 || r.Free.WordsIn != 16*66 || r.Free.WordsOut != 16*64 {
		t.Errorf("rows with a halo: %+v", r)
	}
}
