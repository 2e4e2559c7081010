// Package robustness drives the tandem program the way people do who report
// what went wrong: each folder of testdata is one kind of fault, as it was met
// by users of other programs, and each test holds what tandem does instead.
// docs/robustness.md is the table of all of them.
package robustness

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tandemrun/tandem/devices/devicetest"
	"github.com/tandemrun/tandem/devices/opencl"
	"github.com/tandemrun/tandem/devices/sycl"
)

// program is the path of the tandem binary, scratch a folder of this run.
var program, scratch string

func TestMain(m *testing.M) {
	if opencl.RunProbeChild() || sycl.RunProbeChild() {
		os.Exit(0)
	}
	// Tests that work in this process want several devices.
	name, value, _ := strings.Cut(twins, "=")
	if err := os.Setenv(name, value); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(withProgram(m.Run))
}

// withProgram builds the program, without the race detector whatever the tests
// run under, and removes everything afterwards.
func withProgram(run func() int) int {
	dir, err := os.MkdirTemp("", "robustness-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	scratch, program = dir, filepath.Join(dir, "tandem")
	if runtime.GOOS == "windows" {
		program += ".exe"
	}
	if out, err := exec.Command("go", "build", "-o", program, "github.com/tandemrun/tandem/cmd/tandem").CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "go build: %v\n%s", err, out)
		return 1
	}
	return run()
}

// limit is how long one call of the program may take.
const limit = 2 * time.Minute

// twins has PoCL show three devices, two of them with one name.
const twins = "POCL_DEVICES=pthread pthread basic"

// environment is this process's without what would change what the program
// does, with caches of this run and with the given settings.
func environment(settings ...string) []string {
	var env []string
	for _, v := range os.Environ() {
		name, _, _ := strings.Cut(v, "=")
		if strings.HasPrefix(name, "TANDEM_") || strings.HasPrefix(name, "POCL_") || strings.HasPrefix(name, "OCL_ICD_") {
			continue
		}
		env = append(env, v)
	}
	env = append(env, "TANDEM_CACHE_DIR="+filepath.Join(scratch, "cache"), "POCL_CACHE_DIR="+filepath.Join(scratch, "pocl"))
	return append(env, settings...)
}

// outcome is how a call of the program ended.
type outcome struct {
	t              *testing.T
	args           []string
	code           int
	stdout, stderr string
	wall           time.Duration
}

// tandem calls the program in a folder.
func tandem(t *testing.T, dir string, settings []string, args ...string) *outcome {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	var stdout, stderr bytes.Buffer
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = dir, environment(settings...), &stdout, &stderr
	begun := time.Now()
	err := cmd.Run()
	o := &outcome{t, args, cmd.ProcessState.ExitCode(), stdout.String(), stderr.String(), time.Since(begun)}
	var ended *exec.ExitError
	if err != nil && (!errors.As(err, &ended) || ctx.Err() != nil) {
		t.Fatalf("%s: %v after %v\n%s%s", o.command(), err, o.wall, o.stdout, o.stderr)
	}
	return o
}

func (o *outcome) command() string { return "tandem " + strings.Join(o.args, " ") }

// exits ends the test unless the program ended with the code.
func (o *outcome) exits(code int) *outcome {
	o.t.Helper()
	if o.code != code {
		o.t.Fatalf("%s: exit code %d, want %d\n%s%s", o.command(), o.code, code, o.stdout, o.stderr)
	}
	return o
}

// says checks that standard error holds all of the words, in this order.
func (o *outcome) says(words ...string) *outcome {
	o.t.Helper()
	inOrder(o.t, o.command(), o.stderr, words...)
	return o
}

func inOrder(t *testing.T, what, text string, words ...string) {
	t.Helper()
	rest := text
	for _, w := range words {
		_, after, ok := strings.Cut(rest, w)
		if !ok {
			t.Errorf("%s does not say %q, or not in this place:\n%s", what, w, text)
			return
		}
		rest = after
	}
}

// silentOn checks that none of the words is on standard error.
func (o *outcome) silentOn(words ...string) *outcome {
	o.t.Helper()
	for _, w := range words {
		if strings.Contains(o.stderr, w) {
			o.t.Errorf("%s says %q:\n%s", o.command(), w, o.stderr)
		}
	}
	return o
}

// document reads the JSON document on standard output.
func (o *outcome) document(into any) *outcome {
	o.t.Helper()
	if err := json.Unmarshal([]byte(o.stdout), into); err != nil {
		o.t.Fatalf("%s: no JSON document: %v\n%s%s", o.command(), err, o.stdout, o.stderr)
	}
	return o
}

// report is the part of the document of `tandem run --json` that tests need.
type report struct {
	Tasks   int
	Devices []struct {
		ID        string
		Tasks     int
		WorkItems int64 `json:"work_items"`
	}
	Outputs []struct{ Buffer, File string }
}

// items are the work-items by device.
func (r *report) items() map[string]int64 {
	m := map[string]int64{}
	for _, d := range r.Devices {
		m[d.ID] = d.WorkItems
	}
	return m
}

// probed is the part of the document of `tandem probe --json` that tests need.
type probed struct {
	Backends []struct {
		Name      string
		Available bool
		Warnings  []string
	}
	Devices []struct {
		ID           string
		Backend      string
		Name         string
		ComputeUnits int    `json:"compute_units"`
		LocalMemory  int64  `json:"local_memory_bytes"`
		MaxWorkGroup int64  `json:"max_work_group"`
		PhysicalID   string `json:"physical_id"`
	}
	Nodes struct {
		Verdict  string
		Warnings []string
		Nodes    []struct {
			Path   string
			Usable bool
		}
	}
}

// warnings are those of a backend.
func (p *probed) warnings(backend string) []string {
	for _, b := range p.Backends {
		if b.Name == backend {
			return b.Warnings
		}
	}
	return nil
}

func (p *probed) ids(backend string) []string {
	var ids []string
	for _, d := range p.Devices {
		if d.Backend == backend {
			ids = append(ids, d.ID)
		}
	}
	return ids
}

func probe(t *testing.T, settings ...string) *probed {
	t.Helper()
	var p probed
	tandem(t, t.TempDir(), settings, "probe", "--json").exits(0).document(&p)
	return &p
}

// here is what the machine has, asked once.
var here = sync.OnceValues(func() (*probed, error) {
	cmd := exec.Command(program, "probe", "--json")
	cmd.Env = environment()
	out, err := cmd.Output()
	if err != nil {
		return nil, err
	}
	p := &probed{}
	return p, json.Unmarshal(out, p)
})

// needOpenCL skips a test where there is no OpenCL device.
func needOpenCL(t *testing.T) *probed {
	t.Helper()
	p, err := here()
	if err != nil {
		t.Fatal(err)
	}
	if len(p.ids("opencl")) == 0 {
		devicetest.Require(t, "opencl", errors.New("tandem probe lists no OpenCL device"))
	}
	return p
}

// needTwins skips a test where PoCL cannot show one processor as three devices.
func needTwins(t *testing.T) {
	t.Helper()
	for _, d := range needOpenCL(t).Devices {
		if d.Backend == "opencl" && strings.HasPrefix(d.Name, "pthread") {
			return
		}
	}
	t.Skip("the OpenCL devices are not PoCL's")
}

// folder copies a folder of testdata.
func folder(t *testing.T, name string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(filepath.Join("testdata", name))); err != nil {
		t.Fatal(err)
	}
	return dir
}

// put writes a file and returns its folder.
func put(t *testing.T, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// contents are the files below a folder, by name, for comparing with later.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	m := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		m[path] = string(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// unchanged checks that a folder holds what it held before.
func unchanged(t *testing.T, dir string, before map[string]string) {
	t.Helper()
	after := contents(t, dir)
	for name, text := range after {
		switch old, was := before[name]; {
		case !was:
			t.Errorf("%s has been made", name)
		case old != text:
			t.Errorf("%s has been changed", name)
		}
	}
	for name := range before {
		if _, is := after[name]; !is {
			t.Errorf("%s has been removed", name)
		}
	}
}

// refused runs a job that must not run: exit code 2, no file touched, and the
// words on standard error.
func refused(t *testing.T, dir, job string, words ...string) *outcome {
	t.Helper()
	before := contents(t, dir)
	o := tandem(t, dir, nil, "run", job).exits(2).says(words...)
	unchanged(t, dir, before)
	return o
}

// ran runs a job that has to succeed.
func ran(t *testing.T, dir, job string, settings ...string) *report {
	t.Helper()
	var r report
	tandem(t, dir, settings, "run", job, "--json").exits(0).document(&r)
	return &r
}
