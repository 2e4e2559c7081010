package docs

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tandemrun/tandem/devices/all"
	"github.com/tandemrun/tandem/devices/devicetest"
	"github.com/tandemrun/tandem/devices/sim"
	tandem "github.com/tandemrun/tandem/runtime"
	"github.com/tandemrun/tandem/runtime/arrayfile"
	"github.com/tandemrun/tandem/runtime/pipeline"
)

// TestProgram builds the README's Go program as a command of this module and
// compares what it prints with what the README says.
func TestProgram(t *testing.T) {
	source := shown(t, "go")
	if n := strings.Count(source, "\n"); n > 25 {
		t.Errorf("the program has %d lines, the README promises a short one: at most 25", n)
	}
	dir := t.TempDir()
	file, program := filepath.Join(dir, "main.go"), filepath.Join(dir, "program")
	write(t, file, source)
	// An overlay puts the file into the module without writing there.
	place, err := filepath.Abs(filepath.Join(root, "internal", "docs", "readme", "main.go"))
	if err != nil {
		t.Fatal(err)
	}
	overlay, err := json.Marshal(map[string]map[string]string{"Replace": {place: file}})
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "overlay.json"), string(overlay))
	build := exec.Command("go", "build", "-overlay", filepath.Join(dir, "overlay.json"), "-o", program, "./internal/docs/readme")
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	out, err := exec.CommandContext(ctx, program).CombinedOutput()
	if err != nil {
		t.Fatalf("the program: %v\n%s", err, out)
	}
	if want := shown(t, "text"); string(out) != want {
		t.Errorf("the program prints\n%sthe README says\n%s", out, want)
	}
}

// TestPipeline reads the README's pipeline and kernel, and runs them where
// there is an OpenCL device.
func TestPipeline(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "heat.yaml")
	write(t, file, shown(t, "yaml"))
	write(t, filepath.Join(dir, "paint.cl"), shown(t, "c"))
	p, err := pipeline.Load(file, pipeline.Options{Set: []string{"rounds=30"}})
	if err != nil {
		t.Fatal(err)
	}
	if got := p.Tasks(); got != 61 {
		t.Errorf("%d tasks, want 2 for each of 30 rounds and one to paint", got)
	}
	if w := p.Warnings(); len(w) > 0 {
		t.Errorf("warnings: %v", w)
	}

	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	s, err := tandem.Open(ctx, tandem.Config{Drivers: all.Drivers(), Devices: "opencl"})
	devicetest.Require(t, "opencl", err)
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
	if _, err := b.WriteOutputs(ctx); err != nil {
		t.Fatal(err)
	}
	var pixels []byte
	h, err := arrayfile.Read(filepath.Join(dir, "heat.png"), arrayfile.Options{}, func(h arrayfile.Header) ([]byte, error) {
		n, err := h.Bytes()
		pixels = make([]byte, n)
		return pixels, err
	})
	if err != nil {
		t.Fatal(err)
	}
	if h.String() != "uint8 (256, 256)" {
		t.Fatalf("heat.png is %v, want uint8 (256, 256)", h)
	}
	want := heat(256, 30)
	for i := range want {
		if got, want := pixels[i], byte(want[i]*255); got != want {
			t.Fatalf("pixel %d of row %d is %d, want %d", i%256, i/256, got, want)
		}
	}
}

// heat is the README's pipeline in Go: 2·rounds sweeps over n x n cells whose
// border stays as it is.
func heat(n, rounds int) []float32 {
	a, b := make([]float32, n*n), make([]float32, n*n)
	for j := range n {
		a[j] = 1
	}
	for range 2 * rounds {
		copy(b, a)
		for y := 1; y < n-1; y++ {
			for x := 1; x < n-1; x++ {
				i := y*n + x
				b[i] = ((((a[i] + a[i-n]) + a[i+n]) + a[i-1]) + a[i+1]) * 0.2
			}
		}
		a, b = b, a
	}
	return a
}

// TestCommands holds the README's table of commands against the program.
func TestCommands(t *testing.T) {
	program := filepath.Join(t.TempDir(), "tandem")
	build := exec.Command("go", "build", "-o", program, "./cmd/tandem")
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	help, err := exec.Command(program, "--help").Output()
	if err != nil {
		t.Fatal(err)
	}
	_, list, _ := strings.Cut(string(help), "Available Commands:\n")
	list, _, _ = strings.Cut(list, "\n\n")
	commands := map[string]bool{}
	for line := range strings.Lines(list) {
		if name, _, _ := strings.Cut(strings.TrimSpace(line), " "); name != "help" {
			commands[name] = true
		}
	}
	if len(commands) < 5 {
		t.Fatalf("%d commands found: the test would prove nothing\n%s", len(commands), help)
	}
	described := map[string]bool{}
	for line := range strings.Lines(readFile(t, filepath.Join(root, "README.md"))) {
		if row, ok := strings.CutPrefix(line, "| `tandem "); ok {
			described[row[:strings.IndexAny(row, " `")]] = true
		}
	}
	for name := range commands {
		if !described[name] {
			t.Errorf("README.md does not describe tandem %s", name)
		}
	}
	for name := range described {
		if !commands[name] {
			t.Errorf("README.md describes tandem %s, which does not exist", name)
		}
	}
}

// TestSimulation reads the description of simulated devices that
// docs/simulation.md shows.
func TestSimulation(t *testing.T) {
	const page = "docs/simulation.md"
	text := readFile(t, filepath.Join(root, filepath.FromSlash(page)))
	var shown string
	for _, b := range blocks(text) {
		if b.lang == "yaml" {
			shown = b.text
		}
	}
	d, err := sim.Parse(page, []byte(shown))
	if err != nil {
		t.Fatal(err)
	}
	if len(d.Devices) != 2 || d.Devices[0].Count != 2 || d.Devices[1].LostAt != 12*time.Millisecond {
		t.Errorf("read as %+v", d)
	}
}

// TestTiers holds the README's list of drivers against the list in the code.
func TestTiers(t *testing.T) {
	text := readFile(t, filepath.Join(root, "README.md"))
	_, section, ok := strings.Cut(text, "\n## Devices\n")
	if !ok {
		t.Fatal("README.md has no section Devices")
	}
	section, _, _ = strings.Cut(section, "\n## ")
	for _, d := range all.Drivers() {
		if !strings.Contains(section, "| `"+d.Name()+"` |") {
			t.Errorf("the section Devices has no row for the driver %s", d.Name())
		}
	}
	for _, line := range strings.Split(section, "\n") {
		name, ok := strings.CutPrefix(line, "| `")
		if !ok {
			continue
		}
		name, _, _ = strings.Cut(name, "`")
		if _, err := os.Stat(filepath.Join(root, "devices", name)); err != nil {
			t.Errorf("the section Devices has a row for %s: %v", name, err)
		}
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
