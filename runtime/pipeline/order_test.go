package pipeline

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

// scaleStep is a step on the cpu: dst = 2 * src.
func scaleStep(id, src, dst, more string) string {
	return fmt.Sprintf("{id: %s, kernel: vector.scale, args: {x: %s, y: %s, a: 2}%s}", id, src, dst, more)
}

const fourBuffers = `buffers:
  a: {dtype: float32, shape: [8], fill: 1}
  b: {dtype: float32, shape: [8]}
  c: {dtype: float32, shape: [8]}
  d: {dtype: float32, shape: [8]}
steps:
`

// loadTasks loads text and returns the names of the tasks and what each waits
// for by request.
func loadTasks(t *testing.T, text string) (names []string, after [][]string) {
	t.Helper()
	p, err := parse("p.yaml", []byte(text), Options{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range p.tasks {
		names = append(names, p.tasks[i].name)
	}
	for i := range p.tasks {
		var w []string
		for _, a := range p.tasks[i].after {
			w = append(w, names[a])
		}
		after = append(after, w)
	}
	return names, after
}

func TestLoopNames(t *testing.T) {
	text := fourBuffers +
		"  - " + scaleStep("first", "a", "b", "") + "\n" +
		"  - for: {m: [0, 2], k: [3, -1, -2]}\n    steps:\n" +
		"      - " + scaleStep("s", "b", "c", "") + "\n" +
		"      - for: {q: [m, m + 1]}\n        steps: [" + scaleStep("inner", "b", "d", ", after: [s, first]") + "]\n" +
		"      - {kernel: vector.scale, args: {x: b, y: c, a: k}, after: [inner]}\n" +
		"  - " + scaleStep("last", "a", "d", ", after: [inner]") + "\n" +
		"  - {kernel: vector.scale, args: [b, c, 3]}\n"
	text = strings.Replace(text, "args: [b, c, 3]", "args: {x: b, y: c, a: 3}", 1)
	names, after := loadTasks(t, text)
	want := []string{"first",
		"s[m=0,k=3]", "inner[m=0,k=3,q=0]", "vector.scale[m=0,k=3]", "s[m=0,k=1]", "inner[m=0,k=1,q=0]", "vector.scale[m=0,k=1]",
		"s[m=1,k=3]", "inner[m=1,k=3,q=1]", "vector.scale[m=1,k=3]", "s[m=1,k=1]", "inner[m=1,k=1,q=1]", "vector.scale[m=1,k=1]",
		"last", "vector.scale#2"}
	if !slices.Equal(names, want) {
		t.Fatalf("tasks %q, want %q", names, want)
	}
	for task, want := range map[int][]string{
		5:  {"s[m=0,k=1]", "first"},                                                                  // of the same iteration
		9:  {"inner[m=1,k=3,q=1]"},                                                                   // all of the loop inside
		13: {"inner[m=0,k=3,q=0]", "inner[m=0,k=1,q=0]", "inner[m=1,k=3,q=1]", "inner[m=1,k=1,q=1]"}, // from outside: all
	} {
		if !slices.Equal(after[task], want) {
			t.Errorf("%s waits for %q, want %q", names[task], after[task], want)
		}
	}
}

// TestRings holds the shortest ring through each bad wait, also through data.
func TestRings(t *testing.T) {
	for name, c := range map[string]struct {
		steps []string
		want  string
	}{
		"through data": {[]string{scaleStep("one", "a", "b", ", after: [three]"), scaleStep("two", "b", "c", ""), scaleStep("three", "c", "d", "")},
			"p.yaml:7:71: steps[0].after[0]: steps wait for each other in a ring: one -> two -> three -> one; "},
		"a short way": {[]string{scaleStep("one", "a", "b", ", after: [four]"), scaleStep("two", "b", "c", ""), scaleStep("three", "c", "d", ""), scaleStep("four", "a", "d", ", after: [one]")},
			"p.yaml:7:71: steps[0].after[0]: steps wait for each other in a ring: one -> four -> one; "},
		"in a loop": {[]string{"{for: {k: [0, 3]}, steps: [" + scaleStep("one", "a", "b", ", after: [two]") + ", " + scaleStep("two", "b", "c", "") + "]}"},
			"p.yaml:7:98: steps[0].steps[0].after[0]: steps wait for each other in a ring: one[k=0] -> two[k=0] -> one[k=0]; "},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := parse("p.yaml", []byte(fourBuffers+"  - "+strings.Join(c.steps, "\n  - ")+"\n"), Options{})
			if err == nil || !strings.HasPrefix(err.Error(), c.want) {
				t.Errorf("%v, want %s", err, c.want)
			}
		})
	}
	// Ahead, but no ring.
	names, after := loadTasks(t, fourBuffers+"  - "+scaleStep("one", "a", "b", ", after: [two]")+"\n  - "+scaleStep("two", "c", "d", "")+"\n")
	if len(names) != 2 || !slices.Equal(after[0], []string{"two"}) {
		t.Errorf("%q waits for %q", names, after)
	}
}

// TestRandomWaits compares the search for rings with a plain one.
func TestRandomWaits(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 2))
	for range 200 {
		n := 2 + rng.IntN(8)
		waits := make([][]int, n)
		var steps []string
		for i := range n {
			var ids []string
			for range rng.IntN(3) {
				if w := rng.IntN(n); rng.IntN(4) > 0 || w < i {
					waits[i] = append(waits[i], w)
					ids = append(ids, fmt.Sprintf("s%d", w))
				}
			}
			// Each writes a buffer of its own, so that only the waits count.
			steps = append(steps, fmt.Sprintf("  - {id: s%d, kernel: vector.scale, args: {x: a, y: o%d, a: 2}, after: [%s]}\n", i, i, strings.Join(ids, ", ")))
		}
		text := "buffers:\n  a: {dtype: float32, shape: [2], fill: 1}\n"
		for i := range n {
			text += fmt.Sprintf("  o%d: {dtype: float32, shape: [2]}\n", i)
		}
		_, err := parse("p.yaml", []byte(text+"steps:\n"+strings.Join(steps, "")), Options{})
		if want := ringIn(waits); want != (err != nil) {
			t.Fatalf("waits %v: ring %v, error %v", waits, want, err)
		}
	}
}

// ringIn reports whether some task can reach itself.
func ringIn(waits [][]int) bool {
	reach := make([][]bool, len(waits))
	for i := range waits {
		reach[i] = make([]bool, len(waits))
		for _, w := range waits[i] {
			reach[i][w] = true
		}
	}
	for k := range waits {
		for i := range waits {
			for j := range waits {
				reach[i][j] = reach[i][j] || (reach[i][k] && reach[k][j])
			}
		}
	}
	for i := range waits {
		if reach[i][i] {
			return true
		}
	}
	return false
}

// TestManyTasks holds that a large loop is read in linear time, and shares what
// does not change.
func TestManyTasks(t *testing.T) {
	start := time.Now()
	p, err := parse("p.yaml", []byte(fourBuffers+"  - for: {k: [0, 50000]}\n    steps:\n      - "+scaleStep("one", "a", "b", "")+"\n      - "+scaleStep("two", "b", "c", ", after: [one]")+"\n"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if p.Tasks() != 100000 || p.tasks[0].call != p.tasks[2].call {
		t.Errorf("%d tasks, calls %p and %p", p.Tasks(), p.tasks[0].call, p.tasks[2].call)
	}
	if took := time.Since(start); took > 30*time.Second {
		t.Errorf("it took %v", took)
	}
	steps := p.Steps()
	if len(steps) != 2 || steps[0].Tasks != 50000 || steps[1].ID != "two" || steps[1].Line != 10 || steps[0].NotSplit != "" {
		t.Errorf("steps %+v", steps)
	}
}
