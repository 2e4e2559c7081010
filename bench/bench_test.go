package bench_test

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/tandemrun/tandem/bench"
	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/devices/all"
	"github.com/tandemrun/tandem/devices/devicetest"
	"github.com/tandemrun/tandem/devices/fpga"
)

// want are the results that each problem gives, with what bounds are exact
// enough to be held in a test.
var want = map[string][]string{
	"cholesky":    {}, // needs OpenBLAS, as gemm does
	"gemm":        {},
	"coexec":      {"coexec.sim.efficiency", "coexec.sim.cold_over_best"}, // the others need two cores
	"cold":        {},                                                     // needs the program
	"grain":       {"grain.metg50_us", "grain.independent.4us.efficiency", "grain.stencil.64us.efficiency", "grain.fft.replay.metg50_us"},
	"idle":        {},
	"fpga":        fpgaFigures(),
	"launch":      {"launch.chain.cpu.us", "launch.chain.cpu.over_hand", "launch.chains4.cpu.us"},
	"launch.sycl": {}, // needs a SYCL device, as stream.sycl does
	"library":     {"library.vector.add.1000000.us", "library.fractal.mandelbrot.f64.256.cpu.us", "library.image.blur.1024.us"},
	"overhead":    {"overhead.chain.1k.us_per_task", "overhead.rw3.10k.bytes_per_task", "overhead.forkjoin.10k.us_per_task"},
	"overlap":     {"overlap.makespan_over_bound", "overlap.hidden_ratio", "overlap.chain_overhead"},
	"predict":     {"predict.seen.median_error", "predict.unseen.median_error", "predict.makespan_error"},
	"replay":      {"replay.rw2.2k.us_per_task", "replay.rw2.2k.over_first"},
	"schedule":    {"schedule.mean_over_heft", "schedule.max_over_heft", "schedule.plan_seconds"},
	"tracing":     {"tracing.over_without"},
	"stream":      {"stream.triad.cpu.gbps", "stream.triad.gbps", "stream.triad.cpu.over_plain_go"},
	"stream.sycl": {},
}

// fpgaFigures are those that the FPGA emulation has where its tools are.
func fpgaFigures() []string {
	if !(&fpga.Driver{}).Probe(context.Background()).Available {
		return nil
	}
	return []string{"fpga.bulk.mword_s", "fpga.bulk.over_bare", "fpga.session.over_bare", "fpga.launch16.mword_s", "fpga.words_per_cycle"}
}

// exact are figures of virtual time or of plans: the same on every machine.
var exact = map[string][2]float64{
	"fpga.words_per_cycle":        {0.9, 1},
	"overlap.makespan_over_bound": {1, 1.05},
	"overlap.hidden_ratio":        {0.95, 1},
	"overlap.chain_overhead_sim":  {-0.01, 0.01},
	"coexec.sim.efficiency":       {0.9, 1.02},
	"coexec.sim.cold_over_best":   {0.7, 1.2},
	"schedule.mean_over_heft":     {0.5, 0.95},
	"schedule.max_over_heft":      {0.5, 1},
}

func TestProblems(t *testing.T) {
	devicetest.CheckGoroutines(t)
	var names []string
	for _, p := range bench.Problems() {
		names = append(names, p.Name)
		t.Run(p.Name, func(t *testing.T) {
			results, err := p.Run(t.Context(), bench.Options{Drivers: all.Drivers(), Quick: true, Note: func(text string) { t.Log(text) }})
			if err != nil {
				t.Fatal(err)
			}
			got := map[string]bool{}
			for _, r := range results {
				t.Logf("%s = %.4g %s", r.Name, r.Value, r.Unit)
				if got[r.Name] {
					t.Errorf("%s is there twice", r.Name)
				}
				got[r.Name] = true
				if !strings.HasPrefix(r.Name, p.Name+".") || r.Unit == "" || r.Better != "lower" && r.Better != "higher" || math.IsNaN(r.Value) || math.IsInf(r.Value, 0) {
					t.Errorf("result %+v", r)
				}
				if b, ok := exact[r.Name]; ok && (r.Value < b[0] || r.Value > b[1]) {
					t.Errorf("%s = %v, want %v to %v", r.Name, r.Value, b[0], b[1])
				}
			}
			for _, name := range want[p.Name] {
				if !got[name] {
					t.Errorf("there is no %s", name)
				}
			}
			if _, err := json.Marshal(results); err != nil {
				t.Error(err)
			}
		})
	}
	if !slices.IsSorted(names) || len(names) != len(want) {
		t.Errorf("problems %v, want %d in order", names, len(want))
	}
}

func TestSelect(t *testing.T) {
	some, err := bench.Select("schedule", "overlap")
	if err != nil || len(some) != 2 || some[0].Name != "overlap" || some[1].Name != "schedule" {
		t.Errorf("Select gave %v, %v", some, err)
	}
	if all, err := bench.Select(); err != nil || len(all) != len(bench.Problems()) {
		t.Errorf("Select of nothing gave %d problems, %v", len(all), err)
	}
	if _, err := bench.Select("overlop"); !errors.Is(err, devices.ErrInvalid) || !strings.Contains(err.Error(), "overlap, predict") {
		t.Errorf("Select of a wrong name: %v", err)
	}
}
