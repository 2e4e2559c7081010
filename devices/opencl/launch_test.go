package opencl

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/devices/internal/ragged"
)

// look writes what a work-item sees: how often it ran, and for each dimension
// group id, number of groups, global size, global offset, local size, local
// id.
const lookText = `
int3 ask(int d, int which) {
  int3 r = 0;
  r.x = which == 0 ? get_group_id(d) : which == 1 ? get_num_groups(d) : which == 2 ? get_global_size(d)
      : which == 3 ? get_global_offset(d) : which == 4 ? get_local_size(d) : get_local_id(d);
  return r;
}
__kernel void look(__global int *out, int ox, int oy, int oz, int w, int h) {
  __global int *o = out + 19 * ((get_global_id(0) - ox) + w * ((get_global_id(1) - oy) + h * (get_global_id(2) - oz)));
  o[0]++;
  for (int which = 0; which < 6; which++)
    for (int d = 0; d < 3; d++)
      o[1 + which * 3 + d] = ask(d, which).x;
}
__kernel void plain(__global int *out, int ox, int oy, int oz, int w, int h) {
  out[19 * ((get_global_id(0) - ox) + w * ((get_global_id(1) - oy) + h * (get_global_id(2) - oz)))]++;
}
`

// lookAt runs look over r and compares what every work-item saw with what
// OpenCL 2.0 tells one in groups of different sizes.
func lookAt(t *testing.T, q *queue, k *kernel, r devices.NDRange) {
	t.Helper()
	n := r.Norm()
	items := n.Size[0] * n.Size[1] * n.Size[2]
	out := alloc(t, q.d, int64(max(items, 1)*19*4))
	upload(t, q, out, make([]byte, max(items, 1)*19*4))
	launch(t, q, &devices.Launch{Kernel: k, Range: r, Args: []devices.Arg{{Buffer: out},
		i32(int32(n.Offset[0])), i32(int32(n.Offset[1])), i32(int32(n.Offset[2])), i32(int32(n.Size[0])), i32(int32(n.Size[1]))}})
	got := ints(download(t, q, out))
	part := r.Whole != [3]int{}
	for i := range items {
		at := [3]int{i % n.Size[0], i / n.Size[0] % n.Size[1], i / n.Size[0] / n.Size[1]}
		want := make([]int32, 19)
		want[0] = 1
		if k.entry == "look" {
			for d := range 3 {
				whole, origin, offset, local := n.Whole[d], n.Offset[d], n.Offset[d], max(n.Local[d], 1)
				if part {
					origin, offset = 0, 0
				}
				rel := at[d] + n.Offset[d] - origin
				group := rel / local
				want[1+d] = int32(group)
				want[4+d] = int32((whole + local - 1) / local)
				want[7+d] = int32(whole)
				want[10+d] = int32(offset)
				want[13+d] = int32(min(local, whole-group*local))
				want[16+d] = int32(rel - group*local)
			}
		}
		if g := got[i*19 : (i+1)*19]; fmt.Sprint(g) != fmt.Sprint(want) {
			t.Fatalf("%+v: work-item %v saw %v, want %v (runs; group, groups, size, offset, local size, local id)", r, at, g, want)
		}
	}
}

func TestRaggedIndices(t *testing.T) {
	d := open(t, 0)
	q := newQueue(t, d)
	p := compile(t, d, lookText)
	look, plain := kernelOf(t, p, "look"), kernelOf(t, p, "plain")
	if look.rules.Uses&ragged.SeesCut == 0 || plain.rules.Uses != ragged.None {
		t.Fatalf("usage: look %b, plain %b", look.rules.Uses, plain.rules.Uses)
	}
	for _, r := range []devices.NDRange{
		{Dims: 1, Size: [3]int{1000}, Local: [3]int{64}},
		{Dims: 1, Size: [3]int{10}, Local: [3]int{64}},
		{Dims: 1, Size: [3]int{1000}, Offset: [3]int{7}, Local: [3]int{64}},
		{Dims: 1, Size: [3]int{128}, Local: [3]int{64}},
		{Dims: 2, Size: [3]int{10, 7}, Local: [3]int{4, 4}},
		{Dims: 2, Size: [3]int{10, 7}, Offset: [3]int{3, 5}, Local: [3]int{4, 1}},
		{Dims: 3, Size: [3]int{5, 6, 7}, Local: [3]int{2, 4, 3}},
		// Parts of a split, the last one ragged.
		{Dims: 1, Size: [3]int{512}, Offset: [3]int{64}, Local: [3]int{64}, Whole: [3]int{1000}},
		{Dims: 1, Size: [3]int{424}, Offset: [3]int{576}, Local: [3]int{64}, Whole: [3]int{1000}},
		{Dims: 2, Size: [3]int{10, 3}, Offset: [3]int{0, 4}, Local: [3]int{4, 4}, Whole: [3]int{10, 7}},
		{Dims: 3, Size: [3]int{5, 6, 3}, Offset: [3]int{0, 0, 3}, Local: [3]int{5, 2, 3}, Whole: [3]int{5, 6, 6}},
	} {
		lookAt(t, q, look, r)
		lookAt(t, q, plain, r)
	}
	seed := uint64(time.Now().UnixNano())
	rng := rand.New(rand.NewPCG(seed, 1))
	t.Logf("seed %d", seed)
	for range 20 {
		r := devices.NDRange{Dims: 1 + rng.IntN(3)}
		for d := range r.Dims {
			r.Size[d], r.Offset[d], r.Local[d] = 1+rng.IntN(20), rng.IntN(5), 1+rng.IntN(3)
		}
		lookAt(t, q, plain, r)
		r.Local = [3]int{}
		lookAt(t, q, plain, r)
	}
	if n := p.specials.Len(); n == 0 || n > ragged.MaxBuilds {
		t.Errorf("%d builds for geometries are kept", n)
	}
}

// TestGeometryBuilds counts how often a kernel is compiled for a geometry.
func TestGeometryBuilds(t *testing.T) {
	d := open(t, 0)
	q := newQueue(t, d)
	p := compile(t, d, "__kernel void k(__global int *x) { x[get_global_id(0)] = get_global_size(0); }")
	k := kernelOf(t, p, "k")
	x := alloc(t, d, 4*4096)
	for n := range ragged.MaxBuilds + 4 {
		size := 100 + n%(ragged.MaxBuilds+2)
		launch(t, q, &devices.Launch{Kernel: k, Range: devices.NDRange{Dims: 1, Size: [3]int{size}, Local: [3]int{64}}, Args: []devices.Arg{{Buffer: x}}})
		if got := ints(download(t, q, x))[size-1]; got != int32(size) {
			t.Fatalf("the last of %d work-items saw a global size of %d", size, got)
		}
	}
	if n := p.specials.Len(); n > ragged.MaxBuilds {
		t.Errorf("%d builds are kept, at most %d should be", n, ragged.MaxBuilds)
	}
	if n := len(k.variants); n > ragged.MaxBuilds {
		t.Errorf("%d kernel handles are kept, at most %d should be", n, ragged.MaxBuilds)
	}
}

func TestLaunchRefusals(t *testing.T) {
	d := open(t, 0)
	q := newQueue(t, d)
	p := compile(t, d, `
__kernel __attribute__((reqd_work_group_size(64, 1, 1))) void saxpy_fixed(float a, __global const float *x, __global float *y) { size_t i = get_global_id(0); y[i] = a * x[i] + y[i]; }
__kernel void group_sum(__global const float *x, __global float *sums, __local float *scratch) { scratch[get_local_id(0)] = x[get_global_id(0)]; barrier(CLK_LOCAL_MEM_FENCE); sums[get_group_id(0)] = scratch[0]; }
__kernel void much(__global float *x, __local float *scratch) { __local float inner[100000]; inner[get_local_id(0)] = x[0]; scratch[0] = 0; barrier(CLK_LOCAL_MEM_FENCE); x[0] = inner[0]; }
typedef struct { int a; float4 b; } S;
__kernel void values(__global int *x, float3 v, uchar c, S s) { x[0] = (int)v.x + c + s.a; }`)
	fixed, sum, much, values := kernelOf(t, p, "saxpy_fixed"), kernelOf(t, p, "group_sum"), kernelOf(t, p, "much"), kernelOf(t, p, "values")
	if got := fixed.info.FixedWorkGroup; got != [3]int{64, 1, 1} {
		t.Fatalf("FixedWorkGroup %v", got)
	}
	b := devices.Arg{Buffer: alloc(t, d, 4096*4)}
	limit := d.info.LocalMemory
	local := func(n int64) devices.Arg { return devices.Arg{LocalBytes: n} }
	value := func(n int) devices.Arg { return devices.Arg{Value: make([]byte, n)} }
	line := func(n, l int) devices.NDRange {
		return devices.NDRange{Dims: 1, Size: [3]int{n}, Local: [3]int{l}}
	}
	for _, c := range []struct {
		name string
		l    devices.Launch
		want []string // in the message; none: it is fine
	}{
		{"fixed, ragged", devices.Launch{Kernel: fixed, Range: line(1000, 64), Args: []devices.Arg{value(4), b, b}}, []string{"saxpy_fixed", "64", "1000"}},
		{"fixed, ragged, free", devices.Launch{Kernel: fixed, Range: line(1000, 0), Args: []devices.Arg{value(4), b, b}}, []string{"saxpy_fixed", "64", "1000"}},
		{"fixed, another", devices.Launch{Kernel: fixed, Range: line(1024, 32), Args: []devices.Arg{value(4), b, b}}, []string{"saxpy_fixed", "64", "32"}},
		{"fixed, right", devices.Launch{Kernel: fixed, Range: line(1024, 0), Args: []devices.Arg{value(4), b, b}}, nil},
		{"no size", devices.Launch{Kernel: sum, Range: line(64, 8), Args: []devices.Arg{b, b, {}}}, []string{"scratch", "__local", "argument 2"}},
		{"a buffer", devices.Launch{Kernel: sum, Range: line(64, 8), Args: []devices.Arg{b, b, b}}, []string{"scratch", "__local", "buffer"}},
		{"too much", devices.Launch{Kernel: sum, Range: line(64, 8), Args: []devices.Arg{b, b, local(2 * limit)}}, []string{"scratch", fmt.Sprint(2 * limit), fmt.Sprint(limit)}},
		{"together too much", devices.Launch{Kernel: much, Range: line(8, 8), Args: []devices.Arg{b, local(limit - 400000 + 1)}}, []string{"scratch", fmt.Sprint(limit + 1), fmt.Sprint(limit)}},
		{"together just right", devices.Launch{Kernel: much, Range: line(8, 8), Args: []devices.Arg{b, local(128)}}, nil},
		{"too few", devices.Launch{Kernel: sum, Range: line(64, 8), Args: []devices.Arg{b}}, []string{"group_sum", "3", "1"}},
		{"local size", devices.Launch{Kernel: sum, Range: line(8192*2, 8192), Args: []devices.Arg{b, b, local(4)}}, []string{"group_sum", "8192", fmt.Sprint(d.info.MaxItemSizes[0])}},
		{"vector too short", devices.Launch{Kernel: values, Range: line(1, 1), Args: []devices.Arg{b, value(12), value(1), value(32)}}, []string{"values", "argument 1 (float3 v)", "16", "12"}},
		{"scalar too long", devices.Launch{Kernel: values, Range: line(1, 1), Args: []devices.Arg{b, value(16), value(4), value(32)}}, []string{"argument 2 (uchar c)", "1 bytes", "4"}},
		{"no value", devices.Launch{Kernel: values, Range: line(1, 1), Args: []devices.Arg{b, {}, value(1), value(32)}}, []string{"float3 v", "value"}},
		{"value for a buffer", devices.Launch{Kernel: values, Range: line(1, 1), Args: []devices.Arg{value(8), value(16), value(1), value(32)}}, []string{"argument 0 (int* x)", "buffer", "8"}},
		{"all right", devices.Launch{Kernel: values, Range: line(1, 1), Args: []devices.Arg{b, value(16), value(1), value(32)}}, nil},
		{"dimensions", devices.Launch{Kernel: values, Range: devices.NDRange{Dims: 4}, Args: []devices.Arg{b, value(16), value(1), value(32)}}, []string{"4 dimensions"}},
		{"negative", devices.Launch{Kernel: values, Range: line(-1, 0), Args: []devices.Arg{b, value(16), value(1), value(32)}}, []string{"-1"}},
		{"no part", devices.Launch{Kernel: values, Range: devices.NDRange{Dims: 1, Size: [3]int{10}, Offset: [3]int{5}, Whole: [3]int{14}}, Args: []devices.Arg{b, value(16), value(1), value(32)}}, []string{"10", "5", "14"}},
		{"cuts a group", devices.Launch{Kernel: sum, Range: devices.NDRange{Dims: 1, Size: [3]int{16}, Offset: [3]int{4}, Local: [3]int{8}, Whole: [3]int{64}}, Args: []devices.Arg{b, b, local(64)}}, []string{"group_sum", "8", "4"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			e, err := q.Launch(&c.l, nil)
			if err == nil {
				defer e.Release()
				if werr := devices.Wait(t.Context(), e); werr != nil {
					t.Fatal(werr)
				}
			}
			if c.want == nil {
				if err != nil {
					t.Fatal(err)
				}
				return
			}
			if !errors.Is(err, devices.ErrInvalid) {
				t.Fatalf("got %v, want %v", err, devices.ErrInvalid)
			}
			for _, w := range append(c.want, d.info.ID) {
				if !strings.Contains(err.Error(), w) {
					t.Errorf("%q does not say %q", err, w)
				}
			}
		})
	}
}

// TestBarrierWithoutLocal runs a kernel with barriers whose range has no fair
// divisor.
func TestBarrierWithoutLocal(t *testing.T) {
	d := open(t, 0)
	q := newQueue(t, d)
	k := kernelOf(t, compile(t, d, `
__kernel void rev(__global int *x, __local int *s) {
  int l = get_local_id(0), n = get_local_size(0);
  s[l] = x[get_global_id(0)];
  barrier(CLK_LOCAL_MEM_FENCE);
  x[get_global_id(0)] = s[n - 1 - l] + 100000 * n;
}`), "rev")
	for _, n := range []int{1, 7, 64, 1000, 1009, 2 * 4099} {
		x := alloc(t, d, int64(4*n))
		in := make([]byte, 0, 4*n)
		for i := range n {
			in = append(in, i32(int32(i)).Value...)
		}
		upload(t, q, x, in)
		launch(t, q, &devices.Launch{Kernel: k, Range: devices.NDRange{Dims: 1, Size: [3]int{n}}, Args: []devices.Arg{{Buffer: x}, {LocalBytes: 4 * 4096}}})
		out := ints(download(t, q, x))
		for i := 0; i < n; {
			size := int(out[i] / 100000)
			if size < 1 || i+size > n {
				t.Fatalf("%d work-items: group of %d at %d", n, size, i)
			}
			for l := range size {
				if want := int32(i + size - 1 - l + 100000*size); out[i+l] != want {
					t.Fatalf("%d work-items: item %d holds %d, want %d", n, i+l, out[i+l], want)
				}
			}
			i += size
		}
	}
}

func TestAllocations(t *testing.T) {
	d := open(t, 0)
	q, q2 := newQueue(t, d), newQueue(t, d)
	k := kernelOf(t, compile(t, d, "__kernel void k(__global int *x, int a) { x[get_global_id(0)] += a; }"), "k")
	x := alloc(t, d, 4096*4)
	l := &devices.Launch{Kernel: k, Range: devices.NDRange{Dims: 1, Size: [3]int{1000}, Local: [3]int{64}}, Args: []devices.Arg{{Buffer: x}, i32(1)}}
	wait := make([]devices.Event, 1)
	done := make(told, 1)
	round := func() {
		e, err := q.Launch(l, nil)
		if err != nil {
			t.Fatal(err)
		}
		wait[0] = e
		e2, err := q2.Launch(l, wait)
		if err != nil {
			t.Fatal(err)
		}
		e2.Notify(done)
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		if _, err := e2.Times(); err != nil {
			t.Fatal(err)
		}
		e.Release()
		e2.Release()
	}
	for range 50 {
		round()
	}
	if n := testing.AllocsPerRun(200, round); n != 0 && !raceEnabled {
		t.Errorf("%v allocations for two ragged launches with wait, notification and times, want 0", n)
	}
	if testing.Short() {
		return
	}
	// Callbacks beyond the slots: all delivered.
	const many = 4 * relaySlots
	events := make([]devices.Event, many)
	all := make(told, many)
	for i := range events {
		e, err := q.Launch(l, nil)
		if err != nil {
			t.Fatal(err)
		}
		events[i] = e
		e.Notify(all)
	}
	for range many {
		if err := <-all; err != nil {
			t.Error(err)
		}
	}
	for _, e := range events {
		e.Release()
	}
	if used := d.relay.used.Load(); used != 0 {
		t.Errorf("relay slots %b are still taken", used)
	}
}

// resident is the process's resident memory in bytes.
func resident(t *testing.T) int64 {
	b, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		t.Skip("resident memory is only known on Linux")
	}
	pages, err := strconv.ParseInt(strings.Fields(string(b))[1], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return pages * int64(os.Getpagesize())
}

func TestManyLaunches(t *testing.T) {
	total := 100_000
	if testing.Short() {
		total = 20_000
	}
	d := open(t, 0)
	q, q2 := newQueue(t, d), newQueue(t, d)
	k := kernelOf(t, compile(t, d, "__kernel void k(__global int *x) { x[get_global_id(0)] += 1; }"), "k")
	x := alloc(t, d, 256)
	upload(t, q, x, make([]byte, 256))
	l := &devices.Launch{Kernel: k, Range: devices.NDRange{Dims: 1, Size: [3]int{64}, Local: [3]int{64}}, Args: []devices.Arg{{Buffer: x}}}
	var last devices.Event
	var base int64
	var goroutines int
	wait := make([]devices.Event, 1)
	for i := range total {
		var w []devices.Event
		if last != nil {
			wait[0], w = last, wait
		}
		on := q
		if i%2 == 1 {
			on = q2
		}
		e, err := on.Launch(l, w)
		if err != nil {
			t.Fatal(err)
		}
		if last != nil {
			last.Release()
		}
		last = e
		if i%1000 == 999 { // a bounded number in flight, as a scheduler has it
			if err := devices.Wait(t.Context(), e); err != nil {
				t.Fatal(err)
			}
		}
		if i == total/5-1 {
			debug.FreeOSMemory()
			base, goroutines = resident(t), runtime.NumGoroutine()
		}
	}
	if err := devices.Wait(t.Context(), last); err != nil {
		t.Fatal(err)
	}
	last.Release()
	if got := ints(download(t, q, x)); got[0] != int32(total) || got[63] != int32(total) {
		t.Errorf("after %d launches the cells hold %d and %d", total, got[0], got[63])
	}
	debug.FreeOSMemory()
	if grown := resident(t) - base; grown > 4<<20 {
		t.Errorf("resident memory grew by %d bytes over the last %d launches", grown, total*4/5)
	}
	if n := runtime.NumGoroutine(); n > goroutines {
		t.Errorf("%d goroutines, %d after a fifth of the launches", n, goroutines)
	}
	if n := d.open[kindEvent].Load(); n != 0 {
		t.Errorf("%d events are open", n)
	}
	t.Logf("%d events made for %d launches", d.pool.made, total)
}

// TestLongChain has one event after the other wait for the one before, with
// nobody looking at any but the last.
func TestLongChain(t *testing.T) {
	d := open(t, 0)
	q := newQueue(t, d)
	k := kernelOf(t, compile(t, d, "__kernel void k(__global int *x) { x[0] += 1; }"), "k")
	x := alloc(t, d, 4)
	upload(t, q, x, make([]byte, 4))
	gate, set, err := d.userEvent()
	if err != nil {
		t.Fatal(err)
	}
	gate.q = q
	last := devices.Event(gate)
	l := &devices.Launch{Kernel: k, Range: devices.NDRange{Dims: 1, Size: [3]int{1}}, Args: []devices.Arg{{Buffer: x}}}
	const length = 20_000
	for range length {
		e, err := q.Launch(l, []devices.Event{last})
		if err != nil {
			t.Fatal(err)
		}
		last.Release()
		last = e
	}
	if done, _ := last.Done(); done {
		t.Error("done before the first could begin")
	}
	if code := set(statusComplete); code != success {
		t.Fatal(symbol(code))
	}
	if err := devices.Wait(t.Context(), last); err != nil {
		t.Fatal(err)
	}
	last.Release()
	if got := ints(download(t, q, x))[0]; got != length {
		t.Errorf("%d launches ran, want %d", got, length)
	}
}

// TestLongWaitList waits for more events than one call of the library takes.
func TestLongWaitList(t *testing.T) {
	d := open(t, 0)
	q, q2 := newQueue(t, d), newQueue(t, d)
	k := kernelOf(t, compile(t, d, "__kernel void k(__global int *x, int i) { x[i] = 1; }"), "k")
	const n = 2*maxWait + 50
	x, y := alloc(t, d, 4*n), alloc(t, d, 4*n)
	upload(t, q, x, make([]byte, 4*n))
	gate, set, err := d.userEvent() // so that none has finished when the list is handed over
	if err != nil {
		t.Fatal(err)
	}
	gate.q = q
	wait := []devices.Event{gate}
	l := &devices.Launch{Kernel: k, Range: devices.NDRange{Dims: 1, Size: [3]int{1}}}
	for i := range n {
		l.Args = []devices.Arg{{Buffer: x}, i32(int32(i))}
		wait = append(wait, enqueue(t, q, l, gate))
	}
	e, err := q2.Copy(&devices.Copy{Kind: devices.DeviceToDevice, Src: x, Dst: y, Size: 4 * n}, wait)
	if err != nil {
		t.Fatal(err)
	}
	if done, _ := e.Done(); done {
		t.Error("done before what it waits for")
	}
	if code := set(statusComplete); code != success {
		t.Fatal(symbol(code))
	}
	if err := devices.Wait(t.Context(), e); err != nil {
		t.Fatal(err)
	}
	e.Release()
	gate.Release()
	for i, v := range ints(download(t, q2, y)) {
		if v != 1 {
			t.Fatalf("the copy found cell %d unwritten", i)
		}
	}
}
