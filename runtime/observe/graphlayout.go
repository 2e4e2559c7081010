package observe

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
)

// The measures of a drawn graph, in pixels.
const (
	nodeWidth  = 168
	nodeHeight = 44
	layerGap   = 52
	nodeGap    = 14
	wireGap    = 8 // beside an edge that only passes through
	margin     = 8
)

// vertex is a box before it has a place. One without a node is where a long
// edge passes through a layer.
type vertex struct {
	node   *graphNode
	layer  int
	y      float64 // of its middle
	before []int   // neighbors in the layer before, and after
	after  []int
}

// layersOf puts each task one layer behind the last of those it waits for. It
// is false if there is a cycle.
func layersOf(preds [][]int) ([]int, bool) {
	succs, waits := make([][]int, len(preds)), make([]int, len(preds))
	var ready []int
	for i, ps := range preds {
		for _, p := range ps {
			succs[p] = append(succs[p], i)
		}
		if waits[i] = len(ps); waits[i] == 0 {
			ready = append(ready, i)
		}
	}
	layers, done := make([]int, len(preds)), 0
	for ; done < len(ready); done++ {
		for _, s := range succs[ready[done]] {
			layers[s] = max(layers[s], layers[ready[done]]+1)
			if waits[s]--; waits[s] == 0 {
				ready = append(ready, s)
			}
		}
	}
	return layers, done == len(preds)
}

// reduced drops the edges that others imply.
func reduced(preds [][]int, layers []int) [][]int {
	order := make([]int, len(preds))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(layers[a], layers[b]) })
	words := (len(preds) + 63) / 64
	reach := make([][]uint64, len(preds)) // what lies before each task
	out := make([][]int, len(preds))
	for _, i := range order {
		all, implied := make([]uint64, words), make([]uint64, words)
		for _, p := range preds[i] {
			for w := range words {
				implied[w] |= reach[p][w]
			}
			all[p/64] |= 1 << (p % 64)
		}
		for _, p := range preds[i] {
			if implied[p/64]>>(p%64)&1 == 0 {
				out[i] = append(out[i], p)
			}
		}
		for w := range words {
			all[w] |= implied[w]
		}
		reach[i] = all
	}
	return out
}

// place gives every box its position and draws the edges, after Sugiyama,
// Tagawa and Toda (1981): edges that span layers get a point in each, the order
// within a layer follows the middle of a point's neighbors, and so does its
// height as far as the order allows.
func (g *taskGraph) place(preds [][]int, layers []int) {
	vs := make([]vertex, len(g.Nodes))
	depth := 0
	for i := range g.Nodes {
		vs[i] = vertex{node: &g.Nodes[i], layer: layers[i]}
		depth = max(depth, layers[i]+1)
	}
	type wire struct {
		points   []int
		critical bool
	}
	var wires []wire
	for i, ps := range preds {
		for _, p := range ps {
			w := wire{[]int{p}, g.Nodes[p].Critical && g.Nodes[i].Critical}
			for l := layers[p] + 1; l < layers[i]; l++ {
				w.points = append(w.points, len(vs))
				vs = append(vs, vertex{layer: l})
			}
			w.points = append(w.points, i)
			for k := 1; k < len(w.points); k++ {
				a, b := w.points[k-1], w.points[k]
				vs[a].after = append(vs[a].after, b)
				vs[b].before = append(vs[b].before, a)
			}
			wires = append(wires, w)
		}
	}
	columns := make([][]int, depth)
	for i, v := range vs {
		columns[v.layer] = append(columns[v.layer], i)
	}
	for _, c := range columns {
		for k, i := range c {
			vs[i].y = float64(k)
		}
	}
	for sweep := range 12 {
		for k := range columns {
			c, neighbors := columns[k], func(v vertex) []int { return v.before }
			if sweep%2 == 1 {
				c, neighbors = columns[depth-1-k], func(v vertex) []int { return v.after }
			}
			arrange(vs, c, neighbors)
		}
	}
	for sweep := range 24 {
		for k := range columns {
			c := columns[k]
			if sweep%2 == 1 {
				c = columns[depth-1-k]
			}
			straighten(vs, c)
		}
	}
	top, bottom := math.Inf(1), math.Inf(-1)
	for _, v := range vs {
		top, bottom = min(top, v.y-v.half()), max(bottom, v.y+v.half())
	}
	if len(vs) == 0 {
		return
	}
	x := func(v vertex) int { return margin + v.layer*(nodeWidth+layerGap) }
	y := func(v vertex) int { return margin + int(math.Round(v.y-top)) }
	for _, v := range vs {
		if v.node != nil {
			v.node.X, v.node.Y = x(v), y(v)-nodeHeight/2
		}
	}
	for _, w := range wires {
		var b strings.Builder
		from := vs[w.points[0]]
		fmt.Fprintf(&b, "M%d %d", x(from)+nodeWidth, y(from))
		for k, i := range w.points[1:] {
			to := vs[i]
			fmt.Fprintf(&b, "C%d %d %d %d %d %d", x(to)-layerGap/2, y(from), x(to)-layerGap/2, y(to), x(to), y(to))
			if k+2 < len(w.points) {
				fmt.Fprintf(&b, "h%d", nodeWidth)
			}
			from = to
		}
		g.Edges = append(g.Edges, graphEdge{b.String(), w.critical})
	}
	// Critical edges lie on top.
	slices.SortStableFunc(g.Edges, func(a, b graphEdge) int { return cmp.Compare(btoi(a.Critical), btoi(b.Critical)) })
	g.Width = 2*margin + depth*(nodeWidth+layerGap) - layerGap
	g.Height = 2*margin + int(math.Ceil(bottom-top))
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

func (v vertex) half() float64 {
	if v.node == nil {
		return wireGap / 2
	}
	return nodeHeight / 2
}

// arrange sorts a layer by the middle of each vertex's neighbors. y is the
// position in the layer here.
func arrange(vs []vertex, column []int, neighbors func(vertex) []int) {
	middle := map[int]float64{}
	for _, i := range column {
		middle[i] = vs[i].y
		if ns := neighbors(vs[i]); len(ns) > 0 {
			sum := 0.0
			for _, n := range ns {
				sum += vs[n].y
			}
			middle[i] = sum / float64(len(ns))
		}
	}
	slices.SortStableFunc(column, func(a, b int) int { return cmp.Compare(middle[a], middle[b]) })
	for k, i := range column {
		vs[i].y = float64(k)
	}
}

// gravity draws everything a little to the middle, so that parts of the graph
// that have little to do with each other do not drift apart.
const gravity = 0.9

// straighten moves the vertices of a layer towards their neighbors: as near as
// the order and the gaps allow, in the sense of least squares. That is an
// isotonic regression, solved by joining neighbors that are in each other's
// way into blocks (Ayer et al., 1955).
func straighten(vs []vertex, column []int) {
	type block struct {
		sum   float64
		count int
	}
	mean := func(b block) float64 { return b.sum / float64(b.count) }
	var blocks []block
	offsets := make([]float64, len(column))
	for k, i := range column {
		if k > 0 {
			offsets[k] = offsets[k-1] + vs[column[k-1]].half() + vs[i].half() + nodeGap
		}
		wish, n := 0.0, 0
		for _, side := range [][]int{vs[i].before, vs[i].after} {
			for _, j := range side {
				wish += vs[j].y
				n++
			}
		}
		if n == 0 {
			wish, n = vs[i].y, 1
		}
		b := block{gravity*wish/float64(n) - offsets[k], 1}
		for len(blocks) > 0 && mean(blocks[len(blocks)-1]) > mean(b) {
			last := blocks[len(blocks)-1]
			b = block{last.sum + b.sum, last.count + b.count}
			blocks = blocks[:len(blocks)-1]
		}
		blocks = append(blocks, b)
	}
	k := 0
	for _, b := range blocks {
		for range b.count {
			vs[column[k]].y = mean(b) + offsets[k]
			k++
		}
	}
}
