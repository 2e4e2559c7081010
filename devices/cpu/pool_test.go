package cpu

import (
	"math"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tandemrun/tandem/devices"
)

// TestCutCovers cuts ranges of all shapes: the chunks have to cover each
// work-item once, and be about as many as wanted.
func TestCutCovers(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	rng := rand.New(rand.NewPCG(seed, 0))
	for range 500 {
		r := devices.NDRange{Dims: 1 + rng.IntN(3)}
		for d := range r.Dims {
			r.Size[d] = rng.IntN([]int{5, 20, 3}[d] * (1 + rng.IntN(15)))
			r.Offset[d] = rng.IntN(100)
		}
		want := 1 + rng.IntN(100)
		c := cutRange(r.Norm(), want)
		n := r.Norm()
		if int(c.chunks) > want || r.Items() > 0 && c.chunks < 1 || r.Items() == 0 && c.chunks != 0 {
			t.Fatalf("seed %d: %+v cut into %d chunks, want at most %d", seed, r, c.chunks, want)
		}
		ran := make([]int8, r.Items())
		for i := range c.chunks {
			b := c.chunk(i)
			if b.Global != n.Whole {
				t.Fatalf("seed %d: chunk %d of %+v sees the global size %v", seed, i, r, b.Global)
			}
			for z := b.Lo[2]; z < b.Hi[2]; z++ {
				for y := b.Lo[1]; y < b.Hi[1]; y++ {
					for x := b.Lo[0]; x < b.Hi[0]; x++ {
						ran[(x-n.Offset[0])+n.Size[0]*((y-n.Offset[1])+n.Size[1]*(z-n.Offset[2]))]++
					}
				}
			}
		}
		for i, k := range ran {
			if k != 1 {
				t.Fatalf("seed %d: %+v cut into %d: work-item %d in %d chunks", seed, r, want, i, k)
			}
		}
	}
}

func TestCutHuge(t *testing.T) {
	r := devices.NDRange{Dims: 1, Size: [3]int{math.MaxInt}}
	c := cutRange(r.Norm(), 64)
	last := 0
	for i := range c.chunks {
		b := c.chunk(i)
		if b.Lo[0] != last || b.Hi[0] <= b.Lo[0] {
			t.Fatalf("chunk %d is [%d,%d) after %d", i, b.Lo[0], b.Hi[0], last)
		}
		last = b.Hi[0]
	}
	if last != math.MaxInt {
		t.Errorf("the chunks end at %d", last)
	}
}

// TestPieces holds the number of chunks to what is known of a kernel.
func TestPieces(t *testing.T) {
	f := &function{}
	for _, c := range []struct {
		per     time.Duration // per work-item; 0: not known
		items   int64
		workers int
		n       int
		short   bool
	}{
		{0, 1, 4, 1, true},
		{0, 2, 4, 2, false},
		{0, 1 << 20, 4, someChunks * 4, false},
		{1, 100, 4, fewChunks, true},
		{1, 3, 4, 3, true},
		{1000, 1000, 4, 50, false}, // 1 ms
		{time.Second, 1000, 4, manyChunks * 4, false},
		{time.Second, 2, 4, 2, false},
		{time.Second, 1000, 1, 1, true},
	} {
		f.perItem.Store(0)
		if c.per > 0 {
			f.learn(1, c.per)
		}
		if n, short := f.pieces(c.items, c.workers); n != c.n || short != c.short {
			t.Errorf("%d items of %v on %d workers: %d pieces, short %v; want %d, %v", c.items, c.per, c.workers, n, short, c.n, c.short)
		}
	}
}

// TestDeque lets three thieves loose on one owner: each command is taken once.
func TestDeque(t *testing.T) {
	const n = 50_000
	var q deque
	taken := make([]atomic.Int32, n)
	cmds := make([]command, n)
	index := func(c *command) int { return int(c.cut.chunks) }
	for i := range cmds {
		cmds[i].cut.chunks = int32(i)
	}
	var over atomic.Bool
	var thieves sync.WaitGroup
	for range 3 {
		thieves.Go(func() {
			for !over.Load() {
				if c := q.steal(); c != nil {
					taken[index(c)].Add(1)
				}
			}
		})
	}
	seed := uint64(time.Now().UnixNano())
	rng := rand.New(rand.NewPCG(seed, 0))
	for i := range cmds {
		for !q.push(&cmds[i]) {
			if c := q.pop(); c != nil {
				taken[index(c)].Add(1)
			}
		}
		if rng.IntN(3) == 0 {
			if c := q.pop(); c != nil {
				taken[index(c)].Add(1)
			}
		}
	}
	for !q.empty() {
		if c := q.pop(); c != nil {
			taken[index(c)].Add(1)
		}
	}
	over.Store(true)
	thieves.Wait()
	for i := range taken {
		if k := taken[i].Load(); k != 1 {
			t.Fatalf("seed %d: command %d was taken %d times", seed, i, k)
		}
	}
}

// TestSpans lets workers begin the chunks of one launch: each is begun once.
func TestSpans(t *testing.T) {
	for range 200 {
		const workers, chunks, first = 4, 333, 3
		c := &command{}
		c.cut.chunks = chunks
		c.deal(first, workers)
		begun := make([]atomic.Int32, chunks)
		var all sync.WaitGroup
		for w := range workers {
			all.Go(func() {
				for {
					i, ok := c.begin(w)
					if !ok {
						return
					}
					begun[i].Add(1)
				}
			})
		}
		all.Wait()
		for i := range begun {
			want := int32(1)
			if i < first {
				want = 0
			}
			if got := begun[i].Load(); got != want {
				t.Fatalf("chunk %d was begun %d times, want %d", i, got, want)
			}
		}
		if c.open() {
			t.Fatal("chunks left when all were begun")
		}
	}
}

// TestAccount holds allocations below the account's total.
func TestAccount(t *testing.T) {
	info := describe(1)
	d := newDevice(info, &account{total: 1000}, nil)
	defer func() { _ = d.Close() }()
	a, err := d.Alloc(600)
	if err != nil {
		t.Fatal(err)
	}
	if free := d.Info().MemoryFree; free != 400 {
		t.Errorf("%d bytes free, want 400", free)
	}
	if _, err := d.Alloc(401); err == nil || err.Error() != "cpu:0: Alloc(401 bytes) with 600 of 1000 bytes in use: out of device memory" {
		t.Errorf("Alloc beyond the total gave %v", err)
	}
	if err := a.Free(); err != nil {
		t.Fatal(err)
	}
	b, err := d.Alloc(1000)
	if err != nil {
		t.Fatal(err)
	}
	_ = b.Free()
}
