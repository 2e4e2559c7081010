package devicetest

import (
	"fmt"
	"math"
	"slices"

	"github.com/tandemrun/tandem/devices"
)

func argumentCases() []testCase {
	return []testCase{
		{"scalars", "every scalar type arrives with its sign and all its bits", scalars},
		{"scalar-f64", "doubles arrive with all their bits", scalarF64},
		{"scalar-f16", "halves arrive with all their bits", scalarF16},
		{"vectors", "vector arguments have the layout of OpenCL C; a 3-vector takes the room of four", vectors},
		{"structs", "a struct by value has the device's layout, gaps included", structs},
		{"null-pointers", "an array of length 0 is a null pointer to the kernel", nullPointers},
		{"value-size", "a value of the wrong size is an error, not whatever lies behind it", valueSize},
		{"local-memory", "local memory holds what was asked for", localMemory},
		{"local-refused", "too much local memory aborts the process inside some drivers; it has to be refused before", localRefused},
		{"args-reused", "the caller fills in the next launch while the last one still waits", argsReused},
	}
}

func scalars(e *env) {
	q, out, k := e.compute(), e.alloc(72), e.kernel("scalars")
	for _, low := range []bool{false, true} {
		args := []devices.Arg{buf(out), num(int8(127)), num(uint8(255)), num(int16(32767)), num(uint16(65535)),
			num(int32(math.MaxInt32)), num(uint32(math.MaxUint32)), num(int64(math.MaxInt64)), num(uint64(1<<63 + 5)), num(float32(-1.5))}
		want := []int64{127, 255, 32767, 65535, math.MaxInt32, math.MaxUint32, math.MaxInt64, math.MinInt64 + 5, int64(math.Float32bits(-1.5))}
		if low {
			args = []devices.Arg{buf(out), num(int8(-128)), num(uint8(1)), num(int16(-32768)), num(uint16(2)),
				num(int32(math.MinInt32)), num(uint32(3)), num(int64(math.MinInt64)), num(uint64(4)), num(float32(math.Inf(1)))}
			want = []int64{-128, 1, -32768, 2, math.MinInt32, 3, math.MinInt64, 4, int64(math.Float32bits(float32(math.Inf(1))))}
		}
		e.finish(e.launch(q, k, line(1), nil, args...))
		if got := devices.View[int64](e.read(q, out, 0, 72)); !slices.Equal(got, want) {
			e.fatalf("char, uchar, short, ushort, int, uint, long, ulong, float arrived as\n%v, want\n%v", got, want)
		}
	}
}

func scalarF64(e *env) {
	if !e.device().Info().FP64 {
		e.skipf("%s has no fp64", e.id())
	}
	q, out := e.compute(), e.alloc(8)
	for _, v := range []float64{math.Pi, -math.SmallestNonzeroFloat64, math.Inf(-1)} {
		e.finish(e.launch(q, e.kernel("scalar_f64"), line(1), nil, buf(out), num(v)))
		if got := devices.View[float64](e.read(q, out, 0, 8))[0]; got != v {
			e.fatalf("%v arrived as %v", v, got)
		}
	}
}

func scalarF16(e *env) {
	if !e.device().Info().FP16 {
		e.skipf("%s has no fp16", e.id())
	}
	q, out := e.compute(), e.alloc(2)
	const minusThird = 0xb555
	e.finish(e.launch(q, e.kernel("scalar_f16"), line(1), nil, buf(out), num(uint16(minusThird))))
	if got := devices.View[uint16](e.read(q, out, 0, 2))[0]; got != minusThird {
		e.fatalf("the half %#x arrived as %#x", minusThird, got)
	}
}

func vectors(e *env) {
	q, out := e.compute(), e.alloc(25*4)
	bytes := make([]byte, 16)
	for i := range bytes {
		bytes[i] = byte(200 + i)
	}
	e.finish(e.launch(q, e.kernel("vectors"), line(1), nil, buf(out),
		devices.Arg{Value: devices.AsBytes([]float32{1.5, -2, 3, 4})},
		devices.Arg{Value: devices.AsBytes([]int32{-7, 8})},
		devices.Arg{Value: bytes},
		devices.Arg{Value: devices.AsBytes([]float32{10, 11, 12, -99})}))
	want := []float32{1.5, -2, 3, 4, -7, 8}
	for _, b := range bytes {
		want = append(want, float32(b))
	}
	want = append(want, 10, 11, 12)
	if got := devices.View[float32](e.read(q, out, 0, 100)); !slices.Equal(got, want) {
		e.fatalf("float4, int2, uchar16, float3 arrived as\n%v, want\n%v", got, want)
	}
}

func structs(e *env) {
	q, out := e.compute(), e.alloc(20)
	s := make([]byte, 48)
	copy(s[0:], devices.AsBytes([]int32{-12345}))
	copy(s[16:], devices.AsBytes([]float32{1.5, 2.5, -3.5}))
	s[32] = 0xfe
	e.finish(e.launch(q, e.kernel("structs"), line(1), nil, buf(out), devices.Arg{Value: s}))
	if got, want := devices.View[float32](e.read(q, out, 0, 20)), []float32{-12345, 1.5, 2.5, -3.5, -2}; !slices.Equal(got, want) {
		e.fatalf("struct {int; float3; char} arrived as %v, want %v", got, want)
	}
}

func nullPointers(e *env) {
	q, out, some, k := e.compute(), e.alloc(4), e.alloc(4), e.kernel("nulls")
	for want, args := range [][]devices.Arg{
		{buf(some), buf(some)}, {{}, buf(some)}, {buf(some), {}}, {{}, {}},
	} {
		e.finish(e.launch(q, k, line(1), nil, args[0], args[1], buf(out)))
		if got := e.readU32(q, out, 1)[0]; got != uint32(want) {
			e.fatalf("the kernel found null pointers %b, want %b", got, want)
		}
	}
}

func valueSize(e *env) {
	q, b, k := e.compute(), e.alloc(16), e.kernel("mad_u32")
	for _, wrong := range [][]byte{make([]byte, 1), make([]byte, 8)} {
		what := fmt.Sprintf("a uint given as %d bytes", len(wrong))
		ev, err := q.Launch(&devices.Launch{Kernel: k, Range: line(4), Args: []devices.Arg{buf(b), {Value: wrong}, num(uint32(1))}}, nil)
		if err == nil {
			// A device that learns it late fails the launch.
			if err = e.wait(e.keep(ev, nil)); err == nil {
				e.fatalf("%s was taken", what)
			}
			continue
		}
		e.wantErr(err, devices.ErrInvalid, what, e.id(), "mad_u32")
	}
	roundTrip(e, 64)
}

func localMemory(e *env) {
	q, out, k := e.compute(), e.alloc(4096), e.kernel("scratch")
	for range 3 {
		e.write(q, out, 0, make([]byte, 4096))
		r := devices.NDRange{Dims: 1, Size: [3]int{1024}, Local: [3]int{16}}
		e.finish(e.launch(q, k, r, nil, buf(out), devices.Arg{LocalBytes: 64}))
		for i, v := range e.readU32(q, out, 1024) {
			if v != uint32(i)+1 {
				e.fatalf("work-item %d got %d through local memory, want %d", i, v, i+1)
			}
		}
	}
}

func localRefused(e *env) {
	q, out, k := e.compute(), e.alloc(64), e.kernel("scratch")
	limit := e.device().Info().LocalMemory
	for _, n := range []int64{limit + 1, 1 << 40, -4} {
		e.refused(fmt.Sprintf("%d bytes of local memory on a device that has %d", n, limit), "scratch", fmt.Sprint(n))(
			q.Launch(&devices.Launch{Kernel: k, Range: devices.NDRange{Dims: 1, Size: [3]int{16}, Local: [3]int{16}},
				Args: []devices.Arg{buf(out), {LocalBytes: n}}}, nil))
	}
	roundTrip(e, 64)
}

func argsReused(e *env) {
	q, q2, b, scrap := e.compute(), e.compute(), e.alloc(8), e.alloc(4)
	k, spin := e.kernel("fill"), e.kernel("spin")
	value := []byte{0}
	wait := make([]devices.Event, 1)
	l := &devices.Launch{Kernel: k, Args: []devices.Arg{buf(b), {Value: value}}}
	var last devices.Event
	for i := range 8 {
		// Each launch fills one byte more than the one after it.
		value[0] = byte(i + 1)
		wait[0] = e.slow(q2, spin, scrap)
		l.Range = line(8 - i)
		last = e.keep(q.Launch(l, wait))
		value[0] = 99
		wait[0] = nil
		l.Range = line(1)
		l.Args[0], l.Args[1] = devices.Arg{}, devices.Arg{}
		l.Args = []devices.Arg{buf(b), {Value: value}}
	}
	e.finish(last)
	if got, want := e.read(q, b, 0, 8), []byte{8, 7, 6, 5, 4, 3, 2, 1}; !slices.Equal(got, want) {
		e.fatalf("launches whose arguments were reused filled %v, want %v", got, want)
	}
}
