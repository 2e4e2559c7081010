package measure

import (
	"strings"
	"testing"

	"github.com/tandemrun/tandem/devices/cuda"
	"github.com/tandemrun/tandem/devices/cuda/cudatest"
	"github.com/tandemrun/tandem/devices/devicetest"
)

// TestAll measures the double, to see that there are figures and that they are
// possible ones: what they are says nothing.
func TestAll(t *testing.T) {
	driver := &cuda.Driver{Library: cudatest.Build(t), CacheDir: t.TempDir()}
	devicetest.Require(t, cudatest.Require, driver.Probe(t.Context()).Reason)
	figures, err := All(t.Context(), driver, Options{Quick: true})
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]float64{}
	for _, f := range figures {
		if f.Value < 0 || f.Unit == "" || f.Better == "" || f.Unit == "ratio" && strings.HasSuffix(f.Name, "hidden_ratio") && f.Value > 1 {
			t.Errorf("%+v is no figure", f)
		}
		seen[f.Name] = f.Value
	}
	for _, name := range []string{"copy.pinned.h2d.gbps", "copy.pinned.d2h.gbps", "copy.pageable.h2d.gbps", "copy.pageable.d2h.gbps", "launch.us", "launch.by_hand.us", "launch.over_hand"} {
		if seen[name] <= 0 {
			t.Errorf("%s is %v", name, seen[name])
		}
	}
	if _, ok := seen["overlap.hidden_ratio"]; !ok {
		t.Error("there is no figure overlap.hidden_ratio")
	}
}
