package bridge

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/tandemrun/tandem/devices"
)

// TestRange plays launches through as the header reads a Range, and counts how
// often each work-item runs and what it is told.
func TestRange(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 1))
	for range 300 {
		nd := devices.NDRange{Dims: 1 + rng.IntN(3)}
		local := [3]int{1, 1, 1}
		part := rng.IntN(2) == 0
		for d := range nd.Dims {
			nd.Size[d] = 1 + rng.IntN([]int{150, 20, 7}[nd.Dims-1])
			nd.Offset[d] = rng.IntN(6)
			local[d] = 1 + rng.IntN(7)
			if part {
				nd.Whole[d] = nd.Offset[d] + nd.Size[d] + rng.IntN(5)
			}
		}
		n := nd.Norm()
		r := RangeOf(nd, local)
		grid := r.Blocks(local)
		runs := map[[3]uint64]int{}
		// In two launches, as of a grid that is too large.
		cut := rng.Uint64N(grid[1] + 1)
		for _, g := range [][2]uint64{{0, cut}, {cut, grid[1]}} {
			from := r.From([3]uint64{0, g[0], 0}, local)
			for bz := range grid[2] {
				for by := range g[1] - g[0] {
					for bx := range grid[0] {
						for thread := range uint64(local[0] * local[1] * local[2]) {
							tx, ty, tz := thread%uint64(local[0]), thread/uint64(local[0])%uint64(local[1]), thread/uint64(local[0]*local[1])
							play(t, &from, n, part, local, [3]uint64{bx, by, bz}, [3]uint64{tx, ty, tz}, runs)
						}
					}
				}
			}
		}
		if int64(len(runs)) != n.Items() {
			t.Fatalf("%+v in blocks of %v: %d work-items ran, want %d", nd, local, len(runs), n.Items())
		}
		for id, count := range runs {
			if count != 1 {
				t.Fatalf("%+v in blocks of %v: work-item %v ran %d times", nd, local, id, count)
			}
		}
	}
}

// play runs one thread.
func play(t *testing.T, r *Range, n devices.NDRange, part bool, local [3]int, block, thread [3]uint64, runs map[[3]uint64]int) {
	t.Helper()
	var id [3]uint64
	for d := range 3 {
		l := uint64(local[d])
		index := block[d]*l + thread[d]
		if index >= r.Size[d] {
			return
		}
		id[d] = r.First[d] + index
		origin := uint64(n.Offset[d]) // of group 0
		if part {
			origin = 0
		}
		group := r.Group[d] + block[d]
		if r.Skew[d] != 0 {
			group = r.Group[d] + (uint64(r.Skew[d])+index)/l
		}
		if want := (id[d] - origin) / l; group != want {
			t.Fatalf("%+v in blocks of %v: work-item %d of dimension %d is in group %d, want %d", n, local, id[d], d, group, want)
		}
		if want := uint64(n.Whole[d]); r.Whole[d] != want || r.Groups[d] != (want+l-1)/l {
			t.Fatalf("%+v: global size %v, %v groups", n, r.Whole, r.Groups)
		}
		if part && r.Offset[d] != 0 || !part && r.Offset[d] != uint64(n.Offset[d]) {
			t.Fatalf("%+v: global offset %v", n, r.Offset)
		}
	}
	runs[id]++
}

func TestPut(t *testing.T) {
	r := Range{First: [3]uint64{1, 2, 3}, Size: [3]uint64{4, 5, 6}, Whole: [3]uint64{7, 8, 9}, Offset: [3]uint64{10, 11, 12},
		Group: [3]uint64{13, 14, 15}, Groups: [3]uint64{16, 17, 18}, Skew: [3]uint32{19, 20, 21}, Dims: 22}
	b := make([]byte, RangeBytes)
	r.Put(b)
	for i := range 18 {
		if n := binary.LittleEndian.Uint64(b[8*i:]); n != uint64(i+1) {
			t.Errorf("word %d is %d, want %d", i, n, i+1)
		}
	}
	for i := range 4 {
		if n := binary.LittleEndian.Uint32(b[144+4*i:]); n != uint32(i+19) {
			t.Errorf("half word %d is %d, want %d", i, n, i+19)
		}
	}
	if n := testing.AllocsPerRun(100, func() { r.Put(b) }); n != 0 {
		t.Errorf("Put makes %v allocations", n)
	}
}

func TestLocalOffsets(t *testing.T) {
	offsets := make([]uint32, 3)
	if sum := LocalOffsets([]int64{4, 256, 1}, offsets); sum != 385 || offsets != nil && (offsets[0] != 0 || offsets[1] != 128 || offsets[2] != 384) {
		t.Errorf("offsets %v, sum %d", offsets, sum)
	}
	if sum := LocalOffsets(nil, nil); sum != 0 {
		t.Errorf("no local memory is %d bytes", sum)
	}
}
