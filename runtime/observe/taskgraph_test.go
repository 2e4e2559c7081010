package observe

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	tandem "github.com/tandemrun/tandem/runtime"
)

func TestTaskGraphOfEdges(t *testing.T) {
	rec := edgesRun()
	colors, kernels := kernelColors(rec)
	if want := []string{"image.blur", "image.sobel", "image.gray", "image.threshold"}; !slices.Equal(kernels, want) {
		t.Errorf("kernels by time: %v, want %v", kernels, want)
	}
	g := newTaskGraph(rec.Runs[0], newTimeline(rec), colors)
	if len(g.Nodes) != 4 || len(g.Edges) != 3 || g.Note != "" {
		t.Fatalf("%d boxes, %d edges, note %q", len(g.Nodes), len(g.Edges), g.Note)
	}
	for i, want := range []graphNode{
		{X: 8, Y: 8, Title: "gray", Sub: "1.04 ms · 2 devices", Tip: "gray\nkernel image.gray\n1.04 ms on cpu:0, opencl:0", Color: 2, Critical: true},
		{X: 228, Y: 8, Title: "blur", Sub: "3.49 ms · 2 devices", Tip: "blur\nkernel image.blur\n3.49 ms on cpu:0, opencl:0", Color: 0, Critical: true},
	} {
		if g.Nodes[i] != want {
			t.Errorf("got %+v\nwant %+v", g.Nodes[i], want)
		}
	}
	if want := (graphEdge{"M176 30C202 30 202 30 228 30", true}); g.Edges[0] != want {
		t.Errorf("got %+v, want %+v", g.Edges[0], want)
	}
}

func tasksOf(after ...[]int) Run {
	r := Run{}
	for i, a := range after {
		r.Tasks = append(r.Tasks, tandem.TaskInfo{ID: i, Name: fmt.Sprint("t", i), Kernel: "k", After: a})
	}
	return r
}

func TestTaskGraphDropsImpliedEdges(t *testing.T) {
	run := tasksOf(nil, []int{0, 0, 99}, []int{0, 1}, []int{2, 0, 1})
	g := newTaskGraph(run, timeline{}, nil)
	if len(g.Edges) != 3 {
		t.Errorf("%d edges, want the chain of 3", len(g.Edges))
	}
	if g.Nodes[3].Sub != "did not run" {
		t.Errorf("a task without a launch says %q", g.Nodes[3].Sub)
	}
	if g := newTaskGraph(tasksOf([]int{1}, []int{0}), timeline{}, nil); len(g.Nodes) != 0 || !strings.Contains(g.Note, "circle") {
		t.Errorf("cycle: %+v", g)
	}
}

var numbers = regexp.MustCompile(`-?\d+`)

// TestTaskGraphLayout draws graphs by chance: no box lies on another or outside
// of the picture, and each edge runs from left to right.
func TestTaskGraphLayout(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	for range 40 {
		var after [][]int
		for i := range 1 + rng.IntN(mostNodes) {
			var a []int
			for range rng.IntN(4) {
				if i > 0 {
					a = append(a, rng.IntN(i))
				}
			}
			after = append(after, a)
		}
		g := newTaskGraph(tasksOf(after...), timeline{}, nil)
		columns := map[int][]int{}
		for _, n := range g.Nodes {
			columns[n.X] = append(columns[n.X], n.Y)
			if n.X < 0 || n.Y < 0 || n.X+nodeWidth > g.Width || n.Y+nodeHeight > g.Height {
				t.Fatalf("%+v is outside of %d x %d", n, g.Width, g.Height)
			}
		}
		for x, ys := range columns {
			slices.Sort(ys)
			for i := 1; i < len(ys); i++ {
				if ys[i]-ys[i-1] < nodeHeight+nodeGap-1 { // rounded to pixels
					t.Fatalf("boxes at %d, %d and %d overlap", x, ys[i-1], ys[i])
				}
			}
		}
		for _, e := range g.Edges {
			ends := numbers.FindAllString(e.Path, -1)
			from, _ := strconv.Atoi(ends[0])
			to, _ := strconv.Atoi(ends[len(ends)-2])
			if to <= from {
				t.Fatalf("edge %s runs backwards", e.Path)
			}
		}
	}
}

func TestTaskGraphSummary(t *testing.T) {
	const n, width = 4000, 100 // 40 steps of 100 tasks, of two kernels
	run := Run{}
	for i := range n {
		task := tandem.TaskInfo{ID: i, Name: fmt.Sprint("t", i), Kernel: fmt.Sprint("k", i%2)}
		if i >= width {
			task.After = []int{i - width}
		}
		run.Tasks = append(run.Tasks, task)
	}
	g := newTaskGraph(run, timeline{}, nil)
	if len(g.Nodes) != 80 || len(g.Edges) != 78 || g.Nodes[0].Title != "k0 × 50" || !g.Summary {
		t.Errorf("%d boxes, %d edges, the first is %+v", len(g.Nodes), len(g.Edges), g.Nodes[0])
	}
	if want := "4000 tasks: those of one step that run the same kernel are drawn as one box."; g.Note != want {
		t.Errorf("note %q, want %q", g.Note, want)
	}
	// A chain is too long even so.
	run = tasksOf(nil)
	for i := 1; i < 1000; i++ {
		run.Tasks = append(run.Tasks, tandem.TaskInfo{ID: i, Kernel: "k", After: []int{i - 1}})
	}
	g = newTaskGraph(run, timeline{}, nil)
	if len(g.Nodes) != mostNodes || !strings.HasSuffix(g.Note, "These are the first 300 steps with 300 tasks.") {
		t.Errorf("%d boxes, note %q", len(g.Nodes), g.Note)
	}
}

func TestReportDataIsBounded(t *testing.T) {
	const seed = 5
	t.Logf("seed %d", seed)
	rec := bigRun(500, seed)
	tl := newTimeline(rec)
	d := newReportData(rec, tl, nil, 100)
	if len(d.Slices) != 100 || len(d.After) != 100 {
		t.Fatalf("%d slices, %d lists of dependencies", len(d.Slices), len(d.After))
	}
	shortest := d.Slices[0][2]
	for i, s := range d.Slices {
		shortest = min(shortest, s[2])
		if i > 0 && (s[0] < d.Slices[i-1][0] || s[0] == d.Slices[i-1][0] && s[1] < d.Slices[i-1][1]) {
			t.Errorf("slice %d is out of order", i)
		}
		for _, a := range d.After[i] {
			if a < 0 || a >= 100 {
				t.Errorf("slice %d waits for %d", i, a)
			}
		}
	}
	longer := 0
	for _, s := range tl.spans {
		if int64(s.end-s.start) > shortest {
			longer++
		}
	}
	if longer >= 100 {
		t.Errorf("%d spans are longer than the shortest of the 100 longest", longer)
	}
}
