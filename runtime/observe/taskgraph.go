package observe

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// mostNodes is how many boxes a drawn graph has at most: more are unreadable,
// and their layout would take its time.
const mostNodes = 300

// taskGraph is the graph of a run, laid out in layers from left to right.
type taskGraph struct {
	Width, Height int
	Nodes         []graphNode
	Edges         []graphEdge
	Note          string // what was left out
	Summary       bool   // boxes are not single tasks
}

// graphNode is a box: a task, or several that were drawn as one.
type graphNode struct {
	X, Y     int
	Title    string // short enough for the box
	Sub      string
	Tip      string // everything, for hovering
	Color    int
	Critical bool
}

type graphEdge struct {
	Path     string // SVG
	Critical bool
}

// newTaskGraph lays out the tasks of a run. The spans say what became of them.
func newTaskGraph(run Run, t timeline, colors map[string]int) taskGraph {
	tasks := taskBoxes(run, t, colors)
	preds := predecessors(run)
	layers, ok := layersOf(preds)
	if !ok {
		return taskGraph{Note: "The tasks wait for each other in a circle."}
	}
	note := ""
	if len(tasks) > mostNodes {
		tasks, preds, layers, note = summarise(tasks, preds, layers)
	}
	preds = reduced(preds, layers)
	g := taskGraph{Note: note, Summary: note != ""}
	for _, b := range tasks {
		g.Nodes = append(g.Nodes, b.graphNode)
	}
	g.place(preds, layers)
	return g
}

// box is a task with the numbers that a summary adds up.
type box struct {
	graphNode
	kernel string
	busy   time.Duration
}

func taskBoxes(run Run, t timeline, colors map[string]int) []box {
	boxes := make([]box, len(run.Tasks))
	where := make([][]string, len(run.Tasks))
	position := map[int]int{}
	for i, task := range run.Tasks {
		boxes[i] = box{graphNode: graphNode{Title: clip(task.Name, 22), Color: colors[task.Kernel]}, kernel: task.Kernel}
		position[task.ID] = i
	}
	for _, s := range t.spans {
		if s.launch == nil || s.run != run.Run {
			continue
		}
		i, ok := position[s.launch.Task]
		if !ok {
			continue
		}
		b := &boxes[i]
		b.busy += s.end - s.start
		b.Critical = b.Critical || s.critical
		if !slices.Contains(where[i], s.launch.Device) {
			where[i] = append(where[i], s.launch.Device)
		}
	}
	for i := range boxes {
		b := &boxes[i]
		b.Tip = fmt.Sprintf("%s\nkernel %s\ndid not run", run.Tasks[i].Name, b.kernel)
		b.Sub = "did not run"
		if len(where[i]) > 0 {
			on := where[i][0]
			if len(where[i]) > 1 {
				on = fmt.Sprintf("%d devices", len(where[i]))
			}
			b.Sub = formatTime(b.busy) + " · " + clip(on, 13)
			b.Tip = fmt.Sprintf("%s\nkernel %s\n%s on %s", run.Tasks[i].Name, b.kernel, formatTime(b.busy), strings.Join(where[i], ", "))
		}
	}
	return boxes
}

func clip(s string, most int) string {
	if r := []rune(s); len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return s
}

// predecessors are those of each task by position, without doubles.
func predecessors(run Run) [][]int {
	position := map[int]int{}
	for i, t := range run.Tasks {
		position[t.ID] = i
	}
	preds := make([][]int, len(run.Tasks))
	for i, t := range run.Tasks {
		for _, a := range t.After {
			if j, ok := position[a]; ok && j != i {
				preds[i] = append(preds[i], j)
			}
		}
		slices.Sort(preds[i])
		preds[i] = slices.Compact(preds[i])
	}
	return preds
}

// summarise makes one box of all tasks of a layer that run the same kernel,
// and drops the layers behind the first that do not fit.
func summarise(tasks []box, preds [][]int, layers []int) ([]box, [][]int, []int, string) {
	type key struct {
		layer  int
		kernel string
	}
	order := make([]int, len(tasks))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(layers[a], layers[b]) })
	groups := map[key]int{}
	group := make([]int, len(tasks))
	var boxes []box
	var counts, where []int
	shown := 0
	for _, i := range order {
		k := key{layers[i], tasks[i].kernel}
		g, ok := groups[k]
		if !ok {
			g = len(boxes)
			groups[k] = g
			boxes = append(boxes, box{graphNode: graphNode{Color: tasks[i].Color}, kernel: k.kernel})
			counts, where = append(counts, 0), append(where, k.layer)
		}
		group[i] = g
		counts[g]++
		boxes[g].busy += tasks[i].busy
	}
	last := where[len(where)-1]
	if len(boxes) > mostNodes {
		cut := where[mostNodes] // this layer does not fit as a whole
		n := max(slices.Index(where, cut), 1)
		boxes, where, last = boxes[:n], where[:n], cut-1
	}
	into := make([][]int, len(boxes))
	for i, g := range group {
		if g >= len(boxes) {
			continue
		}
		shown++
		for _, p := range preds[i] {
			into[g] = append(into[g], group[p])
		}
	}
	for g := range boxes {
		slices.Sort(into[g])
		into[g] = slices.Compact(into[g])
		b := &boxes[g]
		b.Title = fmt.Sprintf("%s × %d", clip(b.kernel, 14), counts[g])
		b.Sub = formatTime(b.busy) + " in all"
		b.Tip = fmt.Sprintf("%d tasks of kernel %s\n%s", counts[g], b.kernel, b.Sub)
	}
	note := fmt.Sprintf("%d tasks: those of one step that run the same kernel are drawn as one box.", len(tasks))
	if shown < len(tasks) {
		note += fmt.Sprintf(" These are the first %d steps with %d tasks.", last+1, shown)
	}
	return boxes, into, where, note
}

// kernelColors numbers the kernels by the time they took, so that the colors
// go to those that matter; further ones share the last.
func kernelColors(rec Recording) (map[string]int, []string) {
	busy := map[string]time.Duration{}
	for _, r := range rec.Runs {
		for _, t := range r.Tasks {
			busy[t.Kernel] += 0
		}
	}
	for _, e := range rec.Launches {
		busy[e.Kernel] += e.Times.Run()
	}
	var names []string
	for k := range busy {
		names = append(names, k)
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(cmp.Compare(busy[b], busy[a]), cmp.Compare(a, b)) })
	colors := map[string]int{}
	for i, k := range names {
		colors[k] = min(i, paletteSize)
	}
	return colors, names
}

// paletteSize is how many kernels have a color of their own.
const paletteSize = 8
