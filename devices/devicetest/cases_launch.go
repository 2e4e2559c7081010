package devicetest

import (
	"fmt"

	"github.com/tandemrun/tandem/devices"
)

func launchCases() []testCase {
	return []testCase{
		{"once-1d", "every work-item runs exactly once, also where the local size does not divide the global size", func(e *env) {
			for _, n := range []int{1, 2, 7, 63, 64, 65, 1000, 4097, 100_003} {
				for _, local := range []int{0, 1, 16, 64} {
					once(e, devices.NDRange{Dims: 1, Size: [3]int{n}, Local: [3]int{local}})
				}
			}
		}},
		{"once-2d", "the same in two dimensions, where a ragged edge appears twice", func(e *env) {
			for _, size := range [][3]int{{1, 1}, {10, 7}, {7, 10}, {33, 5}, {1, 100}, {100, 1}, {129, 65}} {
				for _, local := range [][3]int{{}, {4, 4}, {16, 1}, {1, 8}} {
					once(e, devices.NDRange{Dims: 2, Size: size, Local: local})
				}
			}
		}},
		{"once-3d", "the same in three dimensions", func(e *env) {
			for _, size := range [][3]int{{1, 1, 1}, {5, 3, 2}, {17, 9, 3}, {2, 3, 50}, {1, 1, 9}, {30, 20, 10}} {
				for _, local := range [][3]int{{}, {8, 4, 2}, {1, 1, 4}} {
					once(e, devices.NDRange{Dims: 3, Size: size, Local: local})
				}
			}
		}},
		{"once-offset", "a launch at an offset runs those work-items and no others", func(e *env) {
			once(e, devices.NDRange{Dims: 1, Size: [3]int{100}, Offset: [3]int{33}})
			once(e, devices.NDRange{Dims: 1, Size: [3]int{100}, Offset: [3]int{33}, Local: [3]int{16}})
			once(e, devices.NDRange{Dims: 2, Size: [3]int{10, 7}, Offset: [3]int{3, 2}, Local: [3]int{4, 4}})
			once(e, devices.NDRange{Dims: 3, Size: [3]int{5, 3, 2}, Offset: [3]int{3, 2, 1}})
		}},
		{"ids", "a kernel that computes with its id and the global size gets the numbers OpenCL defines", ids},
		{"parts", "a launch that is split over devices gives the bytes of one that is not", parts},
		{"groups", "kernels that use group ids see the same groups however the launch was put together", groups},
		{"range-empty", "an empty range is legal, runs nothing, and keeps its place in the order", rangeEmpty},
		{"range-refused", "a range that cannot be meant is refused with kernel and numbers before it damages anything", rangeRefused},
		{"launch-foreign", "kernels and buffers of another device must be refused, not crash", launchForeign},
		{"float-tolerance", "floats agree between devices within the stated bound", floatTolerance},
	}
}

// once runs count over r and looks at the cells of r and of everything around.
func once(e *env, r devices.NDRange) {
	n := r.Norm()
	var box [3]int // r with its offset and a margin
	for d := range 3 {
		box[d] = n.Offset[d] + n.Size[d] + 2
		if d >= r.Dims {
			box[d] = 1
		}
	}
	cells := box[0] * box[1] * box[2]
	q := e.compute()
	b := e.u32(q, make([]uint32, cells+1))
	w, h := uint32(box[0]), uint32(box[1])
	e.finish(e.launch(q, e.kernel("count"), r, nil, buf(b), num(w), num(h), num(uint32(cells))))
	got := e.readU32(q, b, cells+1)
	for i, v := range got {
		id := [3]int{i % box[0], i / box[0] % box[1], i / box[0] / box[1]}
		want := uint32(1)
		for d := range 3 {
			if id[d] < n.Offset[d] || id[d] >= n.Offset[d]+n.Size[d] {
				want = 0
			}
		}
		if i == cells {
			want = 0
			id = [3]int{-1, -1, -1}
		}
		if v != want {
			e.fatalf("range %+v: work-item %v ran %d times, want %d (id -1 stands for work-items beyond everything)", r, id, v, want)
		}
	}
	e.must(b.Free(), "Free")
	e.must(q.Close(), "Queue.Close")
}

// seen is what one work-item sees: its id and the global size.
func (e *env) seen(q devices.Queue, r devices.NDRange, b devices.Buffer, box [3]int) {
	e.finish(e.launch(q, e.kernel("ids"), r, nil, buf(b), num(uint32(box[0])), num(uint32(box[1]))))
}

func (e *env) checkSeen(q devices.Queue, b devices.Buffer, what string, box, lo, hi, global [3]int) {
	got := devices.View[int32](e.read(q, b, 0, b.Size()))
	for i := range box[0] * box[1] * box[2] {
		id := [3]int{i % box[0], i / box[0] % box[1], i / box[0] / box[1]}
		want := [6]int32{-1, -1, -1, -1, -1, -1}
		inside := true
		for d := range 3 {
			inside = inside && id[d] >= lo[d] && id[d] < hi[d]
		}
		if inside {
			for d := range 3 {
				want[d], want[3+d] = int32(id[d]), int32(global[d])
			}
		}
		if g := [6]int32(got[6*i : 6*i+6]); g != want {
			e.fatalf("%s: work-item %v saw id and global size %v, want %v", what, id, g, want)
		}
	}
}

// blank is a buffer for ids of a box, filled with -1.
func (e *env) blank(q devices.Queue, box [3]int) devices.Buffer {
	v := make([]uint32, 6*box[0]*box[1]*box[2])
	for i := range v {
		v[i] = ^uint32(0)
	}
	return e.u32(q, v)
}

func ids(e *env) {
	q := e.compute()
	for _, r := range []devices.NDRange{
		{Dims: 1, Size: [3]int{100}},
		{Dims: 1, Size: [3]int{100}, Local: [3]int{16}},
		{Dims: 1, Size: [3]int{50}, Offset: [3]int{20}},
		{Dims: 2, Size: [3]int{10, 7}, Local: [3]int{4, 4}},
		{Dims: 2, Size: [3]int{10, 7}, Offset: [3]int{1, 2}},
		{Dims: 3, Size: [3]int{5, 4, 3}},
		{Dims: 3, Size: [3]int{5, 4, 3}, Offset: [3]int{3, 2, 1}, Local: [3]int{2, 2, 2}},
	} {
		n := r.Norm()
		hi := [3]int{n.Offset[0] + n.Size[0], n.Offset[1] + n.Size[1], n.Offset[2] + n.Size[2]}
		b := e.blank(q, hi)
		e.seen(q, r, b, hi)
		e.checkSeen(q, b, fmt.Sprintf("range %+v", r), hi, n.Offset, hi, n.Size)
	}
}

func parts(e *env) {
	q := e.compute()
	for _, c := range []struct {
		dims         int
		whole, local [3]int
		cuts         []int // of the slowest dimension
	}{
		{1, [3]int{100, 1, 1}, [3]int{}, []int{0, 37, 38, 100}},
		{1, [3]int{100, 1, 1}, [3]int{16, 0, 0}, []int{0, 32, 96, 100}},
		{2, [3]int{10, 30, 1}, [3]int{}, []int{0, 1, 13, 30}},
		{2, [3]int{10, 30, 1}, [3]int{4, 4, 0}, []int{0, 8, 12, 30}},
		{3, [3]int{5, 4, 9}, [3]int{}, []int{0, 4, 5, 9}},
	} {
		b := e.blank(q, c.whole)
		slow := c.dims - 1
		for i := range len(c.cuts) - 1 {
			r := devices.NDRange{Dims: c.dims, Size: c.whole, Local: c.local, Whole: c.whole}
			r.Offset[slow], r.Size[slow] = c.cuts[i], c.cuts[i+1]-c.cuts[i]
			for d := c.dims; d < 3; d++ {
				r.Size[d], r.Whole[d] = 0, 0
			}
			e.seen(q, r, b, c.whole)
		}
		e.checkSeen(q, b, fmt.Sprintf("%v cut at %v", c.whole[:c.dims], c.cuts), c.whole, [3]int{}, c.whole, c.whole)
	}
}

func groups(e *env) {
	if e.o.Kernels.Language == devices.LangGo {
		e.skipf("a Go function sees no work-groups")
	}
	q, k := e.compute(), e.kernel("groups")
	for _, c := range []struct {
		r                   devices.NDRange
		base, count, offset int // id of the first group's first item, number of groups, offset seen
	}{
		{devices.NDRange{Size: [3]int{64}, Local: [3]int{16}}, 0, 4, 0},
		{devices.NDRange{Size: [3]int{100}, Local: [3]int{16}}, 0, 7, 0},
		{devices.NDRange{Size: [3]int{40}, Offset: [3]int{16}, Local: [3]int{8}}, 16, 5, 16},
		{devices.NDRange{Size: [3]int{40}, Offset: [3]int{16}, Local: [3]int{8}, Whole: [3]int{64}}, 0, 8, 0},
		{devices.NDRange{Size: [3]int{36}, Offset: [3]int{64}, Local: [3]int{16}, Whole: [3]int{100}}, 0, 7, 0},
	} {
		c.r.Dims = 1
		end := c.r.Offset[0] + c.r.Size[0]
		b := e.alloc(int64(16 * end))
		e.finish(e.launch(q, k, c.r, nil, buf(b)))
		got := devices.View[int32](e.read(q, b, 0, b.Size()))
		for i := c.r.Offset[0]; i < end; i++ {
			local := c.r.Local[0]
			want := [4]int32{int32((i - c.base) / local), int32(c.count), int32((i - c.base) % local), int32(c.offset)}
			if g := [4]int32(got[4*i : 4*i+4]); g != want {
				e.fatalf("range %+v: work-item %d saw group, groups, local id and offset %v, want %v", c.r, i, g, want)
			}
		}
	}
}

func rangeEmpty(e *env) {
	q, q2 := e.compute(), e.compute()
	out, k, spin := e.u32(q, []uint32{7, 7}), e.kernel("count"), e.kernel("spin")
	scrap := e.alloc(4)
	for _, r := range []devices.NDRange{
		{Dims: 1}, {Dims: 1, Local: [3]int{16}}, {Dims: 2, Size: [3]int{0, 5}}, {Dims: 2, Size: [3]int{5, 0}},
		{Dims: 3, Size: [3]int{5, 5, 0}}, {Dims: 1, Offset: [3]int{5}, Whole: [3]int{10}},
	} {
		before := e.slow(q2, spin, scrap)
		ev := e.launch(q, k, r, []devices.Event{before}, buf(out), num(uint32(1)), num(uint32(1)), num(uint32(1)))
		e.finish(ev)
		if done, _ := before.Done(); !done {
			e.fatalf("the empty range %+v was done before the event that it waits for", r)
		}
	}
	if got := e.readU32(q, out, 2); got[0] != 7 || got[1] != 7 {
		e.fatalf("an empty range changed memory to %v", got)
	}
}

func rangeRefused(e *env) {
	q, b, k := e.compute(), e.alloc(64), e.kernel("fill")
	huge := e.device().Info().MaxWorkGroup
	launch := func(r devices.NDRange, words ...string) {
		e.refused(fmt.Sprintf("range %+v", r), append(words, "fill")...)(
			q.Launch(&devices.Launch{Kernel: k, Range: r, Args: []devices.Arg{buf(b), num(uint8(1))}}, nil))
	}
	launch(devices.NDRange{})
	launch(devices.NDRange{Dims: 4})
	launch(devices.NDRange{Dims: -1})
	launch(devices.NDRange{Dims: 1, Size: [3]int{-1}}, "-1")
	launch(devices.NDRange{Dims: 1, Size: [3]int{4}, Offset: [3]int{-3}}, "-3")
	launch(devices.NDRange{Dims: 1, Size: [3]int{4}, Local: [3]int{-2}}, "-2")
	launch(devices.NDRange{Dims: 1, Size: [3]int{4}, Local: [3]int{huge + 1}}, fmt.Sprint(huge+1))
	launch(devices.NDRange{Dims: 1, Size: [3]int{4}, Offset: [3]int{3}, Whole: [3]int{6}})
	e.refused("a launch without a kernel")(q.Launch(&devices.Launch{Range: line(1)}, nil))
	if n := k.Info().Args; n > 0 {
		e.refused("a launch with an argument too few", "fill")(q.Launch(&devices.Launch{Kernel: k, Range: line(1), Args: []devices.Arg{buf(b)}}, nil))
		e.refused("a launch with an argument too many", "fill")(q.Launch(&devices.Launch{Kernel: k, Range: line(1),
			Args: []devices.Arg{buf(b), num(uint8(1)), num(uint8(1))}}, nil))
	}
	roundTrip(e, 64)
}

func launchForeign(e *env) {
	other := e.another()
	p, err := other.Compile(e.ctx, e.o.Kernels)
	e.must(err, "Compile")
	e.programs = append(e.programs, p)
	foreignKernel, foreignBuffer := e.kernelOf(p, "fill"), e.allocOn(other, 64)
	q, k, b := e.compute(), e.kernel("fill"), e.alloc(64)
	e.refused("a launch of another device's kernel")(q.Launch(&devices.Launch{Kernel: foreignKernel, Range: line(1), Args: []devices.Arg{buf(b), num(uint8(1))}}, nil))
	e.refused("a launch with another device's buffer", "fill")(q.Launch(&devices.Launch{Kernel: k, Range: line(1), Args: []devices.Arg{buf(foreignBuffer), num(uint8(1))}}, nil))
	roundTrip(e, 64)
}

func floatTolerance(e *env) {
	rng, seed := e.random()
	x := make([]float32, 1000)
	for i := range x {
		x[i] = rng.Float32()*2 - 1
	}
	q, b := e.compute(), e.alloc(4000)
	e.write(q, b, 0, devices.AsBytes(x))
	const f, s = 1.7, 3.1 // the sum stays away from 0, where rounding of the product would count
	e.finish(e.launch(q, e.kernel("mad_f32"), line(1000), nil, buf(b), num(float32(f)), num(float32(s))))
	for i, got := range devices.View[float32](e.read(q, b, 0, 4000)) {
		want := float64(x[i])*float64(float32(f)) + float64(float32(s))
		if off := (float64(got) - want) / want; off > e.o.Tolerance || off < -e.o.Tolerance {
			e.fatalf("%v * %v + %v gave %v, want %v within %v of it (seed %d)", x[i], f, s, got, want, e.o.Tolerance, seed)
		}
	}
}
