package transfer

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

var (
	programs = flag.Int("programs", 10000, "random programs of TestModel")
	seedFlag = flag.Uint64("seed", 0, "seed of TestModel; 0: from the clock")
)

const (
	modelNodes = 4
	modelSize  = 48
)

// modelOp is an operation of a random program: a read, a write, both, or a copy
// that the tracker asked for.
type modelOp struct {
	waits  []*modelOp
	done   bool
	run    func()
	failed error
}

// machine executes operations in any order that their waits allow, on real
// bytes in each node's memory, next to a byte-by-byte model of what has to
// come out.
type machine struct {
	t       *testing.T
	rng     *rand.Rand
	tracker *Tracker[*modelOp]
	memory  [modelNodes][modelSize]int
	want    [modelSize]int              // contents in program order
	valid   [modelNodes][modelSize]bool // which replicas the rules call valid
	pending []*modelOp
	moved   int
	peers   bool // devices copy from each other directly
}

// lowering is the machine while it lowers one operation.
type lowering struct {
	*machine
	op    *modelOp
	reads []Part[*modelOp]
}

func (l *lowering) Wait(p *modelOp, _ bool) { l.op.waits = append(l.op.waits, p) }

func (l *lowering) Reads(p Part[*modelOp]) { l.reads = append(l.reads, p) }

func (m *machine) Direct(from, to Node) bool { return from == Host || to == Host || m.peers }

func (m *machine) Move(mv Move, after []*modelOp, _ []Part[*modelOp]) *modelOp {
	if mv.From == mv.To || mv.Lo >= mv.Hi {
		m.t.Fatalf("senseless move %+v", mv)
	}
	c := &modelOp{waits: slices.Clone(after)}
	c.run = func() { copy(m.memory[mv.To][mv.Lo:mv.Hi], m.memory[mv.From][mv.Lo:mv.Hi]) }
	m.pending = append(m.pending, c)
	for i := mv.Lo; i < mv.Hi; i++ {
		if !m.valid[mv.From][i] {
			m.t.Fatalf("byte %d copied from node %d, where it is not valid", i, mv.From)
		}
		if m.valid[mv.To][i] {
			m.t.Fatalf("byte %d copied to node %d, where it is valid already", i, mv.To)
		}
		m.valid[mv.To][i] = true
		m.moved++
	}
	return c
}

// step adds one operation.
func (m *machine) step(value int) {
	node := Node(m.rng.IntN(modelNodes))
	lo := int64(m.rng.IntN(modelSize + 1))
	hi := lo + int64(m.rng.IntN(modelSize+1-int(lo)))
	if m.rng.IntN(3) == 0 {
		lo, hi = 0, modelSize
	}
	reads, writes := m.rng.IntN(3) > 0, m.rng.IntN(2) == 0
	o := &modelOp{}
	l := &lowering{machine: m, op: o}
	if reads {
		missing := 0
		for i := lo; i < hi; i++ {
			if !m.valid[node][i] {
				missing++
				if node != Host && !m.valid[Host][i] && !m.peers {
					missing++ // by way of the host
				}
			}
		}
		before := m.moved
		if err := m.tracker.Read(node, lo, hi, o, l); err != nil {
			m.t.Fatal(err)
		}
		if m.moved-before != missing {
			m.t.Fatalf("read of [%d, %d) on node %d moved %d bytes, want %d", lo, hi, node, m.moved-before, missing)
		}
	}
	want := slices.Clone(m.want[lo:hi])
	if writes {
		v := m.tracker.Write(node, lo, hi, o, l)
		for _, r := range l.reads {
			if v.Version != nil {
				v.Version.Lineage(r)
			}
		}
		for i := lo; i < hi; i++ {
			m.want[i] = value
			for n := range m.valid {
				m.valid[n][i] = n == int(node)
			}
		}
	}
	o.run = func() {
		if got := m.memory[node][lo:hi]; reads && !slices.Equal(got, want) {
			m.t.Fatalf("read of [%d, %d) on node %d: %v, want %v", lo, hi, node, got, want)
		}
		if writes {
			for i := lo; i < hi; i++ {
				m.memory[node][i] = value
			}
		}
	}
	m.pending = append(m.pending, o)
}

// run executes up to n operations, in a random order that the waits allow.
func (m *machine) run(n int) {
	for ; n > 0 && len(m.pending) > 0; n-- {
		var ready []int
		for i, o := range m.pending {
			if !slices.ContainsFunc(o.waits, func(w *modelOp) bool { return !w.done }) {
				ready = append(ready, i)
			}
		}
		if len(ready) == 0 {
			m.t.Fatal("operations wait for each other in a ring")
		}
		i := ready[m.rng.IntN(len(ready))]
		m.pending[i].run()
		m.pending[i].done = true
		m.pending = slices.Delete(m.pending, i, i+1)
	}
}

func (o *modelOp) state() (bool, error) { return o.done, o.failed }

// evict drops a node's replica after writing back what is valid nowhere else.
func (m *machine) evict() {
	node := Node(1 + m.rng.IntN(modelNodes-1))
	for _, r := range m.tracker.Sole(node) {
		o := &modelOp{run: func() {}}
		if err := m.tracker.Read(Host, r[0], r[1], o, &lowering{machine: m, op: o}); err != nil {
			m.t.Fatal(err)
		}
		m.pending = append(m.pending, o)
	}
	m.run(1 << 30)
	m.tracker.Settle((*modelOp).state)
	m.tracker.Drop(node)
	for i := range m.memory[node] {
		m.memory[node][i] = -1 // the memory belongs to somebody else now
		m.valid[node][i] = false
	}
}

func (m *machine) check() {
	for i := range modelSize {
		var got [modelNodes]bool
		v := m.tracker.Valid(int64(i), int64(i)+1)
		for n := range got {
			got[n] = v.Has(Node(n))
			if got[n] != m.valid[n][i] {
				m.t.Fatalf("byte %d valid on node %d: %v, want %v", i, n, got[n], m.valid[n][i])
			}
		}
	}
}

// TestModel runs random programs of reads, writes, device changes and evictions
// and compares them with a byte-by-byte model.
func TestModel(t *testing.T) {
	seed := *seedFlag
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	t.Logf("%d programs, seed %d", *programs, seed)
	for p := range *programs {
		m := &machine{t: t, rng: rand.New(rand.NewPCG(seed, uint64(p))), tracker: NewTracker[*modelOp](modelSize)}
		m.peers = m.rng.IntN(2) == 0
		for i := range modelSize {
			m.valid[Host][i] = true
		}
		for v := range 5 + m.rng.IntN(40) {
			m.step(v + 1)
			switch m.rng.IntN(8) {
			case 0:
				m.run(m.rng.IntN(10))
			case 1:
				m.run(m.rng.IntN(5))
				m.tracker.Settle((*modelOp).state)
				m.check()
			case 2:
				m.evict()
			}
		}
		m.run(1 << 30)
		m.tracker.Settle((*modelOp).state)
		m.check()
		if n := m.tracker.Segments(); n > modelSize {
			t.Fatalf("%d segments for %d bytes", n, modelSize)
		}
		if t.Failed() {
			t.Fatalf("program %d of seed %d", p, seed)
		}
	}
}

// plain is a lowering that notes moves and nothing else.
type plain struct{ moves []Move }

func (*plain) Direct(a, b Node) bool  { return a == Host || b == Host }
func (*plain) Wait(*modelOp, bool)    {}
func (*plain) Reads(p Part[*modelOp]) {}
func (p *plain) Move(m Move, _ []*modelOp, _ []Part[*modelOp]) *modelOp {
	p.moves = append(p.moves, m)
	return &modelOp{}
}

func TestNeighboursMerge(t *testing.T) {
	tr := NewTracker[*modelOp](100)
	done := &modelOp{done: true}
	for i := range int64(10) {
		tr.Write(Host, i*10, i*10+10, done, &plain{})
	}
	tr.Settle((*modelOp).state)
	tr.EndRun(func(*modelOp) bool { return true })
	if tr.Segments() != 1 {
		t.Errorf("%d segments, want 1", tr.Segments())
	}
}

func TestReadMovesOnlyWhatIsMissing(t *testing.T) {
	tr := NewTracker[*modelOp](100)
	var l plain
	read := func(node Node, lo, hi int64) {
		if err := tr.Read(node, lo, hi, &modelOp{}, &l); err != nil {
			t.Fatal(err)
		}
	}
	read(1, 20, 40)
	read(1, 10, 50)
	read(1, 10, 50)
	if got, want := fmt.Sprint(l.moves), "[{0 1 20 40} {0 1 10 20} {0 1 40 50}]"; got != want {
		t.Errorf("moves %s, want %s", got, want)
	}
}

func TestFailedWriterTaints(t *testing.T) {
	tr := NewTracker[*modelOp](100)
	boom := errors.New("boom")
	tr.Write(1, 20, 40, &modelOp{done: true, failed: boom}, &plain{})
	tr.Settle((*modelOp).state)
	read := func(lo, hi int64) error {
		return tr.Read(Host, lo, hi, &modelOp{done: true}, &plain{})
	}
	if err := read(0, 20); err != nil {
		t.Errorf("untouched range: %v", err)
	}
	var taint *Taint
	if err := read(30, 50); !errors.As(err, &taint) || !errors.Is(err, boom) || taint.Lo != 20 || taint.Hi != 40 {
		t.Errorf("err = %v, want the taint of [20, 40)", err)
	}
	tr.Write(Host, 20, 40, &modelOp{done: true}, &plain{})
	if err := read(0, 100); err != nil {
		t.Errorf("after writing anew: %v", err)
	}
}
