package bench_test

import (
	"testing"

	"github.com/tandemrun/tandem/bench"
	"github.com/tandemrun/tandem/devices/all"
	"os"
)

func TestTry(t *testing.T) {
	ps, err := bench.Select(os.Getenv("P"))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range ps {
		rs, err := p.Run(t.Context(), bench.Options{Drivers: all.Drivers(), Quick: os.Getenv("Q") != "", Note: func(s string) { t.Log(s) }})
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range rs {
			t.Logf("%-40s %10.4g %s %s", r.Name, r.Value, r.Unit, r.Better)
		}
	}
}
