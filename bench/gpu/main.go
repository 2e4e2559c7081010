// Command gpu tests and measures the driver cuda on a machine with an NVIDIA
// GPU, or on the test double: it runs test programs that were built before,
// takes the figures, prints one table and writes one JSON document.
//
//	gpu -tests DIR -json gpu.json
//
// It needs neither Go nor the sources. See make gpu and make gpu-package.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"

	"github.com/tandemrun/tandem/bench"
	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/devices/cpu"
	"github.com/tandemrun/tandem/devices/cuda"
	"github.com/tandemrun/tandem/devices/cuda/measure"
)

// doubleName is the name of the test double's devices.
const doubleName = "tandem CUDA test double"

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

// document is what is written as JSON.
type document struct {
	At     time.Time        `json:"at"`
	Device devices.Info     `json:"device"`
	Double bool             `json:"double"` // the figures are the double's and say nothing of speed
	Tests  []test           `json:"tests"`
	Result []measure.Figure `json:"results"`
	Left   []string         `json:"left_out,omitempty"` // what was not measured, and why
}

// test is the outcome of one test program.
type test struct {
	Name    string  `json:"name"`
	Passed  int     `json:"passed"`
	Failed  int     `json:"failed"`
	Skipped int     `json:"skipped"`
	Seconds float64 `json:"seconds"`
	Log     string  `json:"log,omitempty"` // of a program with failures, its end
}

func run(args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("gpu", flag.ContinueOnError)
	flags.SetOutput(stderr)
	tests := flags.String("tests", "", "folder with test programs (*.test) to run first")
	out := flags.String("json", "", "file for the JSON document")
	quick := flags.Bool("quick", false, "measure less, for the double")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	doc, err := measureAll(context.Background(), *tests, *quick, stderr)
	if err != nil {
		fmt.Fprintln(stderr, "gpu:", err)
		return 1
	}
	print(stdout, doc)
	if *out != "" {
		b, err := json.MarshalIndent(doc, "", "  ")
		if err == nil {
			err = os.WriteFile(*out, append(b, '\n'), 0o644)
		}
		if err != nil {
			fmt.Fprintln(stderr, "gpu:", err)
			return 1
		}
	}
	for _, t := range doc.Tests {
		if t.Failed > 0 {
			fmt.Fprintf(stderr, "gpu: %s failed:\n%s\n", t.Name, t.Log)
			return 1
		}
	}
	return 0
}

func measureAll(ctx context.Context, tests string, quick bool, progress io.Writer) (*document, error) {
	driver := &cuda.Driver{}
	b := driver.Probe(ctx)
	if !b.Available {
		return nil, fmt.Errorf("there is no GPU to measure: %w; %s", b.Reason, b.Hint)
	}
	doc := &document{At: time.Now(), Device: b.Devices[0], Double: b.Devices[0].Name == doubleName, Tests: []test{}}
	programs, err := filepath.Glob(filepath.Join(tests, "*.test"))
	if err != nil {
		return nil, err
	}
	slices.Sort(programs)
	for _, p := range programs {
		if tests == "" {
			break
		}
		fmt.Fprintf(progress, "testing %s ...\n", filepath.Base(p))
		t, err := runTest(ctx, p, quick)
		if err != nil {
			return nil, err
		}
		doc.Tests = append(doc.Tests, t)
	}
	fmt.Fprintln(progress, "measuring ...")
	figures, err := measure.All(ctx, driver, measure.Options{Quick: quick})
	if err != nil {
		return nil, err
	}
	doc.Result = figures
	o := bench.Options{Drivers: []devices.Driver{cpu.Driver{}, driver}, Devices: "cpu,cuda:0", Quick: quick, Note: func(text string) { doc.Left = append(doc.Left, text) }}
	together, err := coexecute(ctx, o.Drivers, quick)
	if err != nil {
		return nil, err
	}
	doc.Result = append(doc.Result, together...)
	problems, err := bench.Select("launch")
	if err != nil {
		return nil, err
	}
	for _, p := range problems {
		results, err := p.Run(ctx, o)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", p.Name, err)
		}
		for _, r := range results {
			doc.Result = append(doc.Result, measure.Figure{Name: r.Name, Value: r.Value, Unit: r.Unit, Better: r.Better})
		}
	}
	return doc, nil
}

var outcome = regexp.MustCompile(`(?m)^\s*--- (PASS|FAIL|SKIP): `)

// testTimeout bounds one test program.
const testTimeout = 20 * time.Minute

// only are the tests that a program is for, where it has others too.
var only = map[string]string{"library": "^TestOracle$/^cuda$"}

// runTest runs a test program and counts.
func runTest(ctx context.Context, program string, quick bool) (test, error) {
	bounded, cancel := context.WithTimeout(ctx, testTimeout)
	defer cancel()
	path, err := filepath.Abs(program)
	if err != nil {
		return test{}, err
	}
	name := strings.TrimSuffix(filepath.Base(program), ".test")
	args := []string{"-test.v"}
	if filter := only[name]; filter != "" {
		args = append(args, "-test.run="+filter)
	}
	if quick {
		args = append(args, "-test.short")
	}
	cmd := exec.CommandContext(bounded, path, args...)
	cmd.Dir = filepath.Dir(path) // testdata lies beside it
	cmd.Env = append(os.Environ(), "TANDEM_CUDA_TEST_GPU=1")
	start := time.Now()
	log, err := cmd.CombinedOutput()
	t := test{Name: name, Seconds: time.Since(start).Seconds()}
	for _, m := range outcome.FindAllSubmatch(log, -1) {
		switch string(m[1]) {
		case "PASS":
			t.Passed++
		case "FAIL":
			t.Failed++
		default:
			t.Skipped++
		}
	}
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		t.Failed = max(t.Failed, 1) // it may have died before it could say so
		t.Log = string(log[max(0, len(log)-8000):])
	case err != nil:
		return t, fmt.Errorf("%s: %w", program, err)
	}
	return t, nil
}

// print writes the table.
func print(w io.Writer, doc *document) {
	t := table.NewWriter()
	t.SetOutputMirror(w)
	title := fmt.Sprintf("%s, %s, driver %s", doc.Device.Name, doc.Device.UUID, doc.Device.DriverVersion)
	note := ""
	if doc.Double {
		title += "\nThis is the test double: its figures say nothing about speed."
		note = "double"
	}
	t.SetTitle("%s", title)
	t.AppendHeader(table.Row{"what", "value", "unit", "better", ""})
	for _, r := range doc.Tests {
		state := "ok"
		if r.Failed > 0 {
			state = "FAILED"
		}
		t.AppendRow(table.Row{"test " + r.Name, fmt.Sprintf("%d passed, %d failed, %d skipped", r.Passed, r.Failed, r.Skipped), fmt.Sprintf("in %.1f s", r.Seconds), "", state})
	}
	for _, f := range doc.Result {
		t.AppendRow(table.Row{f.Name, fmt.Sprintf("%.4g", f.Value), f.Unit, f.Better, note})
	}
	t.Render()
	for _, left := range doc.Left {
		fmt.Fprintln(w, "left out:", left)
	}
}
