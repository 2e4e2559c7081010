package partitioner

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/tandemrun/tandem/devices"
)

// never is the time of what does not happen.
const never = time.Duration(math.MaxInt64)

// setup is a checked problem with everything in it that planning looks up
// again and again. It does not change once made.
type setup struct {
	*Problem
	nd, nn    int // devices, nodes
	resource  []int
	resources int
	node      []int           // by device
	run       []time.Duration // [task·nd + device] launch and run; -1: refused
	refused   []string        // why, same index
	parts     []bool          // a part may run there, same index; also where the whole does not fit
	reloads   []bool          // by device: images are loaded there
	shy       []bool          // too little is known to run the whole there: a part comes first
	cheapest  []time.Duration // by task, shortest run
	pred      [][]int
	succ      [][]edge
	writer    []int // by datum, or noWriter, pastWriter
	readers   []int // by datum, how many tasks read it
	order     []int // a topological order
	lat       []time.Duration
	perByte   []float64       // nanoseconds
	short     []time.Duration // by resource, shortest run of any task
	moveLat   float64         // mean over pairs of devices on different nodes, ns
	moveByte  float64
	tight     []bool // by node: its memory cannot hold everything
	anyTight  bool
}

// edge leads to a task that waits, for bytes of data or just so.
type edge struct {
	to    int
	bytes int64
}

func prepare(p *Problem) (*setup, error) {
	s := &setup{Problem: p, nd: len(p.Devices), nn: max(len(p.Nodes), 1)}
	for _, check := range []func() error{s.checkDevices, s.checkData, s.checkTasks, s.link, s.sort} {
		if err := check(); err != nil {
			return nil, err
		}
	}
	s.meanMoves()
	s.findTight()
	return s, nil
}

func invalid(format string, args ...any) error {
	return fmt.Errorf(format+": %w", append(args, devices.ErrInvalid)...)
}

func (s *setup) checkDevices() error {
	if s.nd == 0 && len(s.Tasks) > 0 {
		return invalid("plan: %d tasks and no device", len(s.Tasks))
	}
	number := map[string]int{}
	for i, d := range s.Devices {
		if d.Node < 0 || d.Node >= s.nn {
			return invalid("plan: device %q: memory node %d of %d", d.ID, d.Node, s.nn)
		}
		if d.Launch < 0 || d.Ready < 0 {
			return invalid("plan: device %q: launch %v, ready %v: negative", d.ID, d.Launch, d.Ready)
		}
		name := d.Resource
		if name == "" {
			name = fmt.Sprintf("device %d", i)
		}
		n, ok := number[name]
		if !ok {
			n = len(number)
			number[name] = n
		}
		s.resource = append(s.resource, n)
		s.node = append(s.node, d.Node)
		s.reloads = append(s.reloads, false)
	}
	s.resources = len(number)
	s.lat = make([]time.Duration, s.nn*s.nn)
	s.perByte = make([]float64, s.nn*s.nn)
	if s.Links == nil {
		return nil
	}
	if len(s.Links) != s.nn {
		return invalid("plan: links between %d nodes, but %d nodes", len(s.Links), s.nn)
	}
	for a, row := range s.Links {
		if len(row) != s.nn {
			return invalid("plan: node %d has links to %d nodes of %d", a, len(row), s.nn)
		}
		for b, l := range row {
			if l.Latency < 0 || l.Bandwidth < 0 || math.IsNaN(l.Bandwidth) {
				return invalid("plan: link %d to %d: latency %v, %g bytes/s", a, b, l.Latency, l.Bandwidth)
			}
			if a == b {
				continue
			}
			s.lat[a*s.nn+b] = l.Latency
			if l.Bandwidth > 0 {
				s.perByte[a*s.nn+b] = 1e9 / l.Bandwidth
			}
		}
	}
	return nil
}

func (s *setup) checkData() error {
	held := make([]int64, s.nn)
	for i, d := range s.Data {
		if d.Bytes < 0 {
			return invalid("plan: datum %d %q: %d bytes", i, d.Name, d.Bytes)
		}
		for _, n := range d.Nodes {
			if n < 0 || n >= s.nn {
				return invalid("plan: datum %d %q: memory node %d of %d", i, d.Name, n, s.nn)
			}
			held[n] += d.Bytes
		}
	}
	for n := range s.Nodes {
		if m := s.Nodes[n].Memory; n > 0 && m > 0 && held[n] > m {
			return invalid("plan: node %d holds %d bytes at the beginning, it has %d", n, held[n], m)
		}
	}
	return nil
}

func (s *setup) checkTasks() error {
	s.run = make([]time.Duration, len(s.Tasks)*s.nd)
	s.refused = make([]string, len(s.run))
	s.parts = make([]bool, len(s.run))
	s.shy = make([]bool, len(s.run))
	s.cheapest = make([]time.Duration, len(s.Tasks))
	s.short = make([]time.Duration, s.resources)
	for r := range s.short {
		s.short[r] = never
	}
	for i := range s.Tasks {
		if err := s.checkTask(i); err != nil {
			return err
		}
	}
	return nil
}

// checkTask checks what a task says of itself and works out where it can run.
func (s *setup) checkTask(i int) error {
	t := &s.Tasks[i]
	if len(t.Cost) != s.nd {
		return invalid("plan: task %q: costs for %d devices of %d", t.Name, len(t.Cost), s.nd)
	}
	if err := s.checkSplit(t); err != nil {
		return err
	}
	for _, d := range t.Devices {
		if d < 0 || d >= s.nd {
			return invalid("plan: task %q: device %d of %d", t.Name, d, s.nd)
		}
	}
	if t.Together != 0 {
		return invalid("plan: task %q is to run together with others: only whole problems are planned so", t.Name)
	}
	needs := s.workingSet(t)
	s.cheapest[i] = never
	divisible := false
	for d, c := range t.Cost {
		if c.Run < 0 || c.Fixed < 0 || c.Spread < 0 || c.Run > never/4 {
			return invalid("plan: task %q on %s: run %v, fixed %v, spread %v", t.Name, s.Devices[d].ID, c.Run, c.Fixed, c.Spread)
		}
		if c.Load < 0 {
			return invalid("plan: task %q on %s: loading takes %v", t.Name, s.Devices[d].ID, c.Load)
		}
		s.reloads[d] = s.reloads[d] || c.Image != "" && c.Load > 0
		k := i*s.nd + d
		why := c.Refused
		if why == "" && len(t.Devices) > 0 && !slices.Contains(t.Devices, d) {
			why = "not among the devices asked for"
		}
		s.parts[k] = why == "" && s.divisible(i)
		divisible = divisible || s.parts[k]
		if n := s.node[d]; why == "" && n > 0 && s.Nodes[n].Memory > 0 && needs > s.Nodes[n].Memory {
			why = fmt.Sprintf("its data need %d bytes, the memory has %d", needs, s.Nodes[n].Memory)
		}
		if why != "" {
			s.run[k], s.refused[k] = -1, why
			continue
		}
		s.run[k] = s.Devices[d].Launch + c.Run
		s.cheapest[i] = min(s.cheapest[i], s.run[k])
		r := s.resource[d]
		s.short[r] = min(s.short[r], s.run[k])
	}
	s.doubt(i)
	if s.cheapest[i] == never {
		if !divisible {
			return s.noDevice(i)
		}
		for d, c := range t.Cost {
			if s.parts[i*s.nd+d] {
				s.cheapest[i] = min(s.cheapest[i], s.Devices[d].Launch+c.Run)
			}
		}
	}
	return nil
}

// noDevice is the error of a task that runs nowhere.
func (s *setup) noDevice(t int) error {
	e := &PlanError{Task: s.Tasks[t].Name}
	for d := range s.Devices {
		e.Tried = append(e.Tried, s.Devices[d].ID+": "+s.refused[t*s.nd+d])
	}
	return e
}

// wholeRun is launch and run of all of t on a device that runs it or a part of
// it; -1: it runs neither.
func (s *setup) wholeRun(t, dev int) time.Duration {
	k := t*s.nd + dev
	if s.run[k] < 0 && s.parts[k] {
		return s.Devices[dev].Launch + s.Tasks[t].Cost[dev].Run
	}
	return s.run[k]
}

// partRefused says why a device cannot run t or a part of it; empty: it can.
func (s *setup) partRefused(t, dev int, part bool) string {
	k := t*s.nd + dev
	if part && s.parts[k] {
		return ""
	}
	return s.refused[k]
}

func (s *setup) checkSplit(t *Task) error {
	if t.Split == nil {
		return nil
	}
	if t.Split.Items < 0 || t.Split.Grain < 0 {
		return invalid("plan: task %q: split of %d work-items in grains of %d", t.Name, t.Split.Items, t.Split.Grain)
	}
	if n := len(t.Split.Shares); n > 0 && n != s.nd {
		return invalid("plan: task %q: shares for %d devices of %d", t.Name, n, s.nd)
	}
	return nil
}

// meanMoves averages the links over pairs of devices on different nodes: the
// mean communication cost of HEFT.
func (s *setup) meanMoves() {
	pairs := 0
	for a := range s.Devices {
		for b := range s.Devices {
			if k := s.node[a]*s.nn + s.node[b]; s.node[a] != s.node[b] {
				pairs++
				s.moveLat += float64(s.lat[k])
				s.moveByte += s.perByte[k]
			}
		}
	}
	if pairs > 0 {
		s.moveLat /= float64(pairs)
		s.moveByte /= float64(pairs)
	}
}

// meanMove is the mean cost of moving bytes from one device to another, in ns.
func (s *setup) meanMove(bytes int64) float64 {
	if bytes <= 0 {
		return 0
	}
	return s.moveLat + s.moveByte*float64(bytes)
}

// move is what moving bytes from node a to node b takes.
func (s *setup) move(a, b int, bytes int64) time.Duration {
	if a == b || bytes <= 0 {
		return 0
	}
	k := a*s.nn + b
	return s.lat[k] + time.Duration(s.perByte[k]*float64(bytes)+0.5)
}
