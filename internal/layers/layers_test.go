// Package layers holds the test of the architecture: which folder may import
// which.
package layers

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/tandemrun/tandem"

// below lists the folders that a folder may import besides itself. Arrows point
// down only.
var below = map[string][]string{
	"cmd":         {"bench", "runtime", "partitioner", "transfer", "kernels", "devices"},
	"examples":    {"runtime", "partitioner", "transfer", "kernels", "devices"},
	"bench":       {"runtime", "partitioner", "transfer", "kernels", "devices"},
	"internal":    {"runtime", "partitioner", "transfer", "kernels", "devices"},
	"runtime":     {"partitioner", "transfer", "kernels", "devices"},
	"partitioner": {"devices", "kernels"},
	"transfer":    {"devices"},
	"kernels":     {"devices"},
	"devices":     {},
}

// also lists, for single folders, what they may import beyond that. The driver
// of CUDA compiles OpenCL C, which is read and rewritten where the languages of
// kernels are; nothing there knows a driver.
var also = map[string][]string{
	"devices/cuda": {"kernels", "kernels/clc", "kernels/bridge"},
}

// pure are packages that import nothing but the standard library and this
// module: contracts and algorithms, without a third party.
var pure = []string{"devices", "kernels", "partitioner", "transfer"}

// onlyIn says which packages may import a third party that has to stay in one
// place.
var onlyIn = map[string][]string{
	"github.com/ebitengine/purego": {"devices"},
	"github.com/spf13/cobra":       {"cmd"},
	"github.com/goccy/go-yaml":     {"runtime/pipeline", "devices/sim"},
}

// pkg is one package of the module with what it imports, tests included.
type pkg struct {
	path    string // under the module; "devices/cpu"
	imports []string
	tests   []string
}

func packages(t *testing.T) []pkg {
	t.Helper()
	const format = `{{.ImportPath}}|{{join .Imports " "}}|{{join .TestImports " "}} {{join .XTestImports " "}}`
	cmd := exec.Command("go", "list", "-f", format, module+"/...")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var list []pkg
	for line := range strings.Lines(string(out)) {
		f := strings.Split(strings.TrimSpace(line), "|")
		if len(f) != 3 {
			t.Fatalf("go list said %q", line)
		}
		list = append(list, pkg{strings.TrimPrefix(f[0], module+"/"), strings.Fields(f[1]), strings.Fields(f[2])})
	}
	if len(list) < 10 {
		t.Fatalf("go list found %d packages: the test would prove nothing", len(list))
	}
	return list
}

func top(path string) string {
	first, _, _ := strings.Cut(path, "/")
	return first
}

// wrongArrow says why from must not import path, or "".
func wrongArrow(from, path string) string {
	own, ok := strings.CutPrefix(path, module+"/")
	if !ok {
		return ""
	}
	allowed, known := below[top(from)]
	switch {
	case !known:
		return "the folder is not in the table of this test"
	case top(own) == top(from), slices.Contains(allowed, top(own)):
		return ""
	}
	for folder, more := range also {
		if (from == folder || strings.HasPrefix(from, folder+"/")) && slices.Contains(more, own) {
			return ""
		}
	}
	return "arrows point down only"
}

func TestArrows(t *testing.T) {
	for _, p := range packages(t) {
		for _, i := range append(p.imports, p.tests...) {
			if why := wrongArrow(p.path, i); why != "" {
				t.Errorf("%s imports %s: %s", p.path, i, why)
			}
		}
	}
}

func TestThirdParties(t *testing.T) {
	for _, p := range packages(t) {
		for _, i := range p.imports {
			third := strings.Contains(top(i), ".") && !strings.HasPrefix(i, module)
			if third && slices.Contains(pure, p.path) {
				t.Errorf("%s imports %s: the package gets by with the standard library", p.path, i)
			}
			for lib, places := range onlyIn {
				if i != lib && !strings.HasPrefix(i, lib+"/") {
					continue
				}
				if !slices.ContainsFunc(places, func(f string) bool { return p.path == f || strings.HasPrefix(p.path, f+"/") }) {
					t.Errorf("%s imports %s: only %v may", p.path, i, places)
				}
			}
		}
	}
}

func TestWrongArrowIsSeen(t *testing.T) {
	for _, c := range []struct {
		from, to string
		wrong    bool
	}{
		{"devices/cpu", module + "/devices", false},
		{"devices/cpu", module + "/kernels", true},
		{"kernels/clc", module + "/transfer", true},
		{"devices/cuda", module + "/kernels/bridge", false},
		{"devices/cuda/cudatest", module + "/kernels/bridge", false},
		{"devices/cuda", module + "/kernels/library", true},
		{"devices/cudax", module + "/kernels/bridge", true},
		{"runtime", module + "/cmd/tandem", true},
		{"runtime/observe", module + "/partitioner", false},
		{"cmd/tandem", module + "/runtime/pipeline", false},
		{"somewhere", module + "/devices", true},
		{"devices", "fmt", false},
	} {
		if got := wrongArrow(c.from, c.to) != ""; got != c.wrong {
			t.Errorf("%s -> %s: wrong is %v, want %v", c.from, c.to, got, c.wrong)
		}
	}
}
