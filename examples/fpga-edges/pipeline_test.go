package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/tandemrun/tandem/devices/all"
	"github.com/tandemrun/tandem/devices/devicetest"
	"github.com/tandemrun/tandem/devices/fpga"
	tandem "github.com/tandemrun/tandem/runtime"
	"github.com/tandemrun/tandem/runtime/pipeline"
)

// TestPipeline holds that both FPGAs have a part in every step of the pipeline,
// and that the file it writes is the same where they have none.
func TestPipeline(t *testing.T) {
	devicetest.Require(t, "fpga", (&fpga.Driver{}).Probe(t.Context()).Reason)
	root := t.TempDir()
	for _, name := range []string{"fpga-edges/pipeline.yaml", "edges/hubble_deep_field.jpg"} {
		b, err := os.ReadFile(filepath.Join("..", name))
		if err != nil {
			t.Fatal(err)
		}
		to := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(to, b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	p, err := pipeline.Load(filepath.Join(root, "fpga-edges"), pipeline.Options{})
	if err != nil {
		t.Fatal(err)
	}
	with, tasks := runPipeline(t, p, "")
	without, none := runPipeline(t, p, "cpu")
	if with != without {
		t.Errorf("with FPGAs the file hashes to %s, without to %s", with, without)
	}
	if tasks["fpga:0"] != 4 || tasks["fpga:1"] != 4 || tasks["cpu:0"] != 4 {
		t.Errorf("parts of tasks by device: %v, want 4 of each", tasks)
	}
	if none["fpga:0"] != 0 || none["cpu:0"] != 4 {
		t.Errorf("on the cpu alone: %v", none)
	}
}

// runPipeline runs p on the selected devices and returns the hash of its output
// and how many tasks, or parts, each device ran.
func runPipeline(t *testing.T, p *pipeline.Pipeline, selector string) (sum string, tasks map[string]int64) {
	t.Helper()
	ctx := t.Context()
	s, err := tandem.Open(ctx, tandem.Config{Drivers: all.Drivers(), Devices: selector, Emulate: p.Asks})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	b, err := p.Build(ctx, s)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Run(ctx, b.Graph); err != nil {
		t.Fatal(err)
	}
	outputs, err := b.WriteOutputs(ctx)
	if err != nil || len(outputs) != 1 {
		t.Fatalf("outputs %v, %v", outputs, err)
	}
	tasks = map[string]int64{}
	for _, d := range s.Stats() {
		tasks[d.ID] = d.Tasks
	}
	return outputs[0].SHA256, tasks
}
