package pipeline

import (
	"errors"
	"strings"
	"testing"

	tandem "github.com/tandemrun/tandem/runtime"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/devices/cpu"
)

// TestTogetherFaults has steps that cannot run together.
func TestTogetherFaults(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "k.cl", "__kernel void get(__global float *x) { x[0] = 1.0f; }\n__kernel void put(__global const float *x) { if (x[0] < 0) printf(\"x\"); }\n")
	step := func(id, kernel, buffer, more string) string {
		return "  - {id: " + id + ", kernel: {file: k.cl, entry: " + kernel + "}, global: 1, args: [" + buffer + "]" + more + "}\n"
	}
	for name, c := range map[string]struct{ steps, want string }{
		"unknown":  {step("a", "get", "x", ", together: [bb]") + step("b", "put", "y", ""), "p.yaml:6:80: steps[0].together[0]: there is no step \"bb\" to run together with; there are a, b"},
		"itself":   {step("a", "get", "x", ", together: [a]") + step("b", "put", "y", ""), "p.yaml:6:80: steps[0].together[0]: the step names itself; the others are enough"},
		"no list":  {step("a", "get", "x", ", together: b") + step("b", "put", "y", ""), "p.yaml:6:79: steps[0].together: want a list, got text \"b\"; write [b]"},
		"data":     {step("a", "get", "x", "") + step("b", "put", "x", ", together: [a]"), "p.yaml:7:80: steps[1].together[0]: steps \"a\" and \"b\" are to run together, and \"a\" writes buffer \"x\", for which \"b\" would wait; what one kernel sends to the other while both run goes through a channel"},
		"waits":    {step("a", "get", "x", "") + step("b", "put", "y", ", after: [a], together: [a]"), "p.yaml:7:77: steps[1].after[0]: step \"b\" waits for \"a\", with which it is to run together"},
		"split":    {step("a", "get", "x", ", split: [0.5, 0.5]") + step("b", "put", "y", ", together: [a]"), "p.yaml:6:76: steps[0].split: a step that runs together with others cannot be divided; take split out, or write split: none"},
		"composed": {"  - {id: s, kernel: vector.sum, args: [x, z]}\n" + step("b", "put", "y", ", together: [s]"), "several launches"},
		"loop":     {step("a", "get", "x", "") + "  - {for: {k: [0, 2]}, steps: [{id: b, kernel: {file: k.cl, entry: put}, global: 1, args: [y], together: [a]}]}\n", "p.yaml:7:107: steps[1].steps[0].together[0]: step \"a\" stands in another loop: what runs together is of one iteration"},
	} {
		t.Run(name, func(t *testing.T) {
			got := strings.Join(faultsOf(t, dir, twoBuffers+"  z: {dtype: float32, shape: [1]}\nsteps:\n"+c.steps, Options{}), "\n")
			if got != c.want && (name != "composed" || !strings.Contains(got, c.want)) {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

// TestTogetherGroups holds that steps that name each other in any way are one
// group, for each iteration of a loop.
func TestTogetherGroups(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "k.cl", "__kernel void k(int n) { if (n < 0) printf(\"n\"); }\n")
	one := ", kernel: {file: k.cl, entry: k}, global: 1, args: [k]"
	p, err := Load(write(t, dir, "p.yaml", "steps:\n  - for: {k: [0, 3]}\n    steps:\n      - {id: a"+one+", together: [b]}\n      - {id: b"+one+"}\n      - {id: c"+one+", together: [d]}\n      - {id: d"+one+", together: [a]}\n      - {id: e"+one+"}\n"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	s, err := tandem.Open(testContext(t), tandem.Config{Drivers: []devices.Driver{cpu.Driver{}}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	b, err := p.Build(testContext(t), s)
	if err != nil {
		t.Fatal(err)
	}
	// The graph is in order; what is missing is a device.
	if _, err = s.Plan(testContext(t), b.Graph); !errors.Is(err, devices.ErrUnsupported) {
		t.Errorf("planned: %v", err)
	}
	var names []string
	for _, st := range p.steps[0].gang.steps {
		names = append(names, st.id)
	}
	if got := strings.Join(names, ""); got != "abcd" || p.steps[4].gang != nil {
		t.Errorf("the group is %q, want abcd without e", got)
	}
}
