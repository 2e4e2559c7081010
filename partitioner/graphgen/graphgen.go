// Package graphgen generates scheduling problems: ten families of task graphs
// from the literature on machines of unequal devices. They are what plans are
// compared on, in tests and in the program's benchmark. The same seed gives the
// same problems on every machine.
package graphgen

import (
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/partitioner"
)

// Config says what to generate.
type Config struct {
	Family  string  // one of Families
	Tasks   int     // about so many
	Devices int     // at least 1; the first computes on the host's memory, each other one on its own
	Ratio   float64 // speed of the fastest over the slowest device, at least 1
	// CCR is the mean time of moving a task's result between devices over the
	// mean run time of a task.
	CCR  float64
	Seed uint64
}

func (c Config) String() string {
	return fmt.Sprintf("%s, %d tasks, %d devices 1:%.3g, CCR %.3g, seed %d", c.Family, c.Tasks, c.Devices, c.Ratio, c.CCR, c.Seed)
}

// Families are the names of the graph families.
func Families() []string {
	names := make([]string, len(families))
	for i, f := range families {
		names[i] = f.name
	}
	return names
}

var families = [...]struct {
	name  string
	build func(b *builder, tasks int)
}{
	{"fork-join", forkJoin}, {"cholesky", cholesky}, {"lu", lu}, {"fft", fft}, {"gauss", gauss},
	{"montage", montage}, {"stencil", stencil}, {"tree", tree}, {"layered", layered}, {"chains", chains},
}

// Generate makes a problem. An unknown family is devices.ErrInvalid.
func Generate(c Config) (*partitioner.Problem, error) {
	for i, f := range families {
		if f.name != c.Family {
			continue
		}
		if c.Devices < 1 || c.Tasks < 1 || !(c.Ratio >= 1) || !(c.CCR >= 0) {
			return nil, fmt.Errorf("graphgen: %v: %w", c, devices.ErrInvalid)
		}
		b := &builder{rng: rand.New(rand.NewPCG(c.Seed, uint64(i)))}
		f.build(b, c.Tasks)
		return b.problem(c), nil
	}
	return nil, fmt.Errorf("graphgen: no family %q: %w", c.Family, devices.ErrInvalid)
}

// node is a task before there are devices.
type node struct {
	kind  int     // tasks of one kind run the same kernel
	work  float64 // relative
	bytes float64 // relative size of its result
	deps  []int
}

type builder struct {
	rng   *rand.Rand
	nodes []node
}

// add makes a task and returns its number. Work and result vary by a quarter
// either way.
func (b *builder) add(kind int, work, bytes float64, deps ...int) int {
	vary := func() float64 { return 0.75 + 0.5*b.rng.Float64() }
	b.nodes = append(b.nodes, node{kind, work * vary(), bytes * vary(), deps})
	return len(b.nodes) - 1
}

// meanRun is the mean run time of all tasks over all devices.
const meanRun = 10 * time.Millisecond

// problem puts the graph on a machine.
func (b *builder) problem(c Config) *partitioner.Problem {
	p := &partitioner.Problem{Nodes: make([]partitioner.Node, c.Devices)}
	slow := make([]float64, c.Devices) // time factor
	for d := range slow {
		slow[d] = math.Pow(c.Ratio, b.rng.Float64())
		switch d {
		case 0:
			slow[d] = c.Ratio
		case 1:
			slow[d] = 1
		}
		p.Devices = append(p.Devices, partitioner.Device{ID: fmt.Sprintf("sim:%d", d), Node: d})
		p.Nodes[d].Name = p.Devices[d].ID
	}
	// A kind of task suits one device better than another, by up to 2 either way
	// where devices differ at all.
	affinity := map[[2]int]float64{}
	bend := min(1, math.Log2(c.Ratio))
	factor := func(kind, d int) float64 {
		k := [2]int{kind, d}
		if affinity[k] == 0 {
			affinity[k] = math.Exp2(bend * (2*b.rng.Float64() - 1))
		}
		return affinity[k] * slow[d]
	}
	sumRun, sumBytes := 0.0, 0.0
	runs := make([][]float64, len(b.nodes))
	for i, n := range b.nodes {
		sumBytes += n.bytes
		for d := range c.Devices {
			r := n.work * factor(n.kind, d)
			runs[i] = append(runs[i], r)
			sumRun += r / float64(c.Devices)
		}
	}
	unit := meanRun.Seconds() / (sumRun / float64(len(b.nodes)))
	const size = 1e6 // mean bytes of a result
	meanMove := c.CCR * meanRun.Seconds()
	links := make([]devices.Link, c.Devices)
	for d := range links {
		// One hop from the host or to it; between two devices it is two.
		hops := 2 - 2/float64(c.Devices)
		links[d] = devices.Link{Latency: time.Duration(0.05 * meanMove / hops * 1e9), Bandwidth: size / max(0.95*meanMove/hops, 1e-9)}
	}
	p.Links = partitioner.StarLinks(links, links)
	used := make([]bool, len(b.nodes))
	for _, n := range b.nodes {
		for _, q := range n.deps {
			used[q] = true
		}
	}
	for i, n := range b.nodes {
		t := partitioner.Task{Name: fmt.Sprintf("t%d", i)}
		for d := range c.Devices {
			t.Cost = append(t.Cost, partitioner.Estimate{Run: time.Duration(math.Round(runs[i][d] * unit * 1e9)), Source: "guess"})
		}
		bytes := int64(n.bytes / (sumBytes / float64(len(b.nodes))) * size)
		p.Data = append(p.Data, partitioner.Datum{Name: t.Name, Bytes: bytes, Return: !used[i]})
		t.Writes = []int{i}
		for _, q := range n.deps {
			t.Reads = append(t.Reads, partitioner.Read{Datum: q})
		}
		p.Tasks = append(p.Tasks, t)
	}
	for i := range p.Tasks {
		if len(b.nodes[i].deps) == 0 {
			in := len(p.Data)
			p.Data = append(p.Data, partitioner.Datum{Name: "in" + p.Tasks[i].Name[1:], Bytes: p.Data[i].Bytes, Nodes: []int{0}})
			p.Tasks[i].Reads = append(p.Tasks[i].Reads, partitioner.Read{Datum: in})
		}
	}
	return p
}
