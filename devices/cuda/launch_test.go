package cuda

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/tandemrun/tandem/devices"
)

// where is CUDA C whose kernels say where their threads are: without guard, so
// that one thread too many shows.
const where = `
__global__ void where1(int *out, int sentinel) {
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	atomicAdd(out + i, 1 + sentinel + (gridDim.x << 8));
}
__global__ void where2(int *out, int width) {
	int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
	atomicAdd(out + y * width + x, 1 + (gridDim.x << 8) + (gridDim.y << 16));
}
namespace mine {
template <class T> __global__ void fill(T *out, T v) { out[blockIdx.x * blockDim.x + threadIdx.x] = v; }
template __global__ void fill<int>(int *, int);
template __global__ void fill<float>(float *, float);
}
__global__ void twice(int *x) { x[threadIdx.x] *= 2; }
__global__ void twice(int *x, int n) { x[threadIdx.x] *= n; }
extern "C" __global__ void turned(int *x) {
	extern __shared__ int pad[];
	pad[threadIdx.x] = x[blockIdx.x * blockDim.x + threadIdx.x];
	__syncthreads();
	x[blockIdx.x * blockDim.x + threadIdx.x] = pad[blockDim.x - 1 - threadIdx.x];
}
extern "C" __global__ void __launch_bounds__(64) bounded(int *x) { x[threadIdx.x] = 1; }
`

// TestRanges: every thread of a range runs exactly once and sees the grid of
// the whole range, whatever the local size, the offset and the part.
func TestRanges(t *testing.T) {
	r := newRig(t, needCompiler(t))
	p := r.program(devices.LangCUDA, where)
	one, two := r.kernel(p, "where1"), r.kernel(p, "where2")
	for _, nd := range []devices.NDRange{
		{Dims: 1, Size: [3]int{64}, Local: [3]int{64}},
		{Dims: 1, Size: [3]int{1000}, Local: [3]int{64}},
		{Dims: 1, Size: [3]int{1000}},
		{Dims: 1, Size: [3]int{1009}},
		{Dims: 1, Size: [3]int{1}},
		{Dims: 1, Size: [3]int{100}, Offset: [3]int{64}, Local: [3]int{32}},
		{Dims: 1, Size: [3]int{36}, Offset: [3]int{64}, Local: [3]int{32}, Whole: [3]int{100}},
		{Dims: 1, Size: [3]int{64}, Local: [3]int{32}, Whole: [3]int{100}},
		{Dims: 1, Size: [3]int{37}, Offset: [3]int{63}, Whole: [3]int{100}},
	} {
		n := nd.Norm()
		end := n.Offset[0] + n.Size[0]
		out := r.buffer(make([]int32, end+64))
		r.must(r.launch(one, nd, buf(out), num(int32(0))))
		got := r.read(out)
		for i, v := range got {
			want := int32(0)
			if i >= n.Offset[0] && i < end {
				want = 1
			}
			if v&0xff != want {
				t.Fatalf("range %+v: work-item %d ran %d times, want %d", nd, i, v&0xff, want)
			}
			if local := n.Local[0]; want == 1 && local > 0 {
				whole := max(n.Whole[0], 0)
				if nd.Whole == [3]int{} {
					whole = end
				}
				if blocks := int32((whole + local - 1) / local); v>>8 != blocks {
					t.Fatalf("range %+v: work-item %d saw %d blocks, want %d", nd, i, v>>8, blocks)
				}
			}
		}
	}
	nd := devices.NDRange{Dims: 2, Size: [3]int{10, 7}, Local: [3]int{4, 4}}
	out := r.buffer(make([]int32, 16*12))
	r.must(r.launch(two, nd, buf(out), num(int32(16))))
	for i, v := range r.read(out) {
		want := int32(0)
		if i%16 < 10 && i/16 < 7 {
			want = 1 + 3<<8 + 2<<16
		}
		if v != want {
			t.Fatalf("range %+v: work-item (%d, %d) gave %#x, want %#x", nd, i%16, i/16, v, want)
		}
	}
}

func TestNames(t *testing.T) {
	r := newRig(t, needCompiler(t))
	p := r.program(devices.LangCUDA, where)
	out := r.buffer(blank(8))
	nd := devices.NDRange{Dims: 1, Size: [3]int{8}}
	r.must(r.launch(r.kernel(p, "mine::fill<int>"), nd, buf(out), num(int32(5))))
	if got := r.read(out); !slices.Equal(got, []int32{5, 5, 5, 5, 5, 5, 5, 5}) {
		t.Errorf("mine::fill<int> filled %v", got)
	}
	if i := r.kernel(p, "mine::fill<float>").Info(); i.Args != 2 || i.Entry != "mine::fill<float>" {
		t.Errorf("mine::fill<float> is %+v", i)
	}
	_, err := p.Kernel("twice")
	if !errors.Is(err, devices.ErrInvalid) || !strings.Contains(err.Error(), "_Z5twicePi") || !strings.Contains(err.Error(), "_Z5twicePii") {
		t.Errorf("an overloaded kernel: %v, want the list of symbols", err)
	}
	r.must(r.launch(r.kernel(p, "_Z5twicePii"), nd, buf(out), num(int32(3))))
	if got := r.read(out); got[7] != 15 {
		t.Errorf("the overload with two parameters gave %v", got)
	}
	if _, err := p.Kernel("nothing"); !errors.Is(err, devices.ErrInvalid) || !strings.Contains(err.Error(), "mine::fill<float>, mine::fill<int>, turned, twice, where1, where2") {
		t.Errorf("a kernel that does not exist: %v", err)
	}
	if i := r.kernel(p, "bounded").Info(); i.MaxWorkGroup != 64 {
		t.Errorf("a kernel with __launch_bounds__(64) takes groups of %d", i.MaxWorkGroup)
	}
	if _, err := r.launch(r.kernel(p, "bounded"), devices.NDRange{Dims: 1, Size: [3]int{128}, Local: [3]int{128}}, buf(out)); !errors.Is(err, devices.ErrInvalid) || !strings.Contains(err.Error(), "at most 64") {
		t.Errorf("a group of 128: %v", err)
	}
}

func TestDynamicShared(t *testing.T) {
	r := newRig(t, needCompiler(t))
	k := r.kernel(r.program(devices.LangCUDA, where), "turned")
	x := make([]int32, 128)
	want := make([]int32, 128)
	for i := range x {
		x[i], want[i/64*64+63-i%64] = int32(i), int32(i)
	}
	out := r.buffer(x)
	nd := devices.NDRange{Dims: 1, Size: [3]int{128}, Local: [3]int{64}}
	// The shared memory takes no parameter, wherever it is in the list.
	r.must(r.launch(k, nd, devices.Arg{LocalBytes: 256}, buf(out)))
	if got := r.read(out); !slices.Equal(got, want) {
		t.Errorf("turned to %v, want %v", got, want)
	}
	most := r.d.info.LocalMemory
	r.must(r.launch(k, nd, buf(out), devices.Arg{LocalBytes: most})) // more than the 48 KiB that go without asking
	if got := r.read(out); !slices.Equal(got, x) {
		t.Errorf("turned back to %v, want %v", got, x)
	}
	_, err := r.launch(k, nd, buf(out), devices.Arg{LocalBytes: most + 1})
	if !errors.Is(err, devices.ErrInvalid) || !strings.Contains(err.Error(), fmt.Sprint(most+1)) {
		t.Errorf("more shared memory than there is: %v", err)
	}
	// A block that is not full would miss a barrier's others.
	nd.Size[0] = 100
	_, err = r.launch(k, nd, buf(out), devices.Arg{LocalBytes: 256})
	if !errors.Is(err, devices.ErrInvalid) || !strings.Contains(err.Error(), "its threads work together in blocks") || !strings.Contains(err.Error(), "turned") {
		t.Errorf("a ragged range for a kernel with barriers: %v", err)
	}
	nd.Local[0] = 0 // a local size that divides is found
	r.must(r.launch(k, nd, buf(out), devices.Arg{LocalBytes: 4096}))
}

func TestOffGrid(t *testing.T) {
	r := newRig(t, needCompiler(t))
	k := r.kernel(r.program(devices.LangCUDA, where), "where1")
	out := r.buffer(make([]int32, 256))
	_, err := r.launch(k, devices.NDRange{Dims: 1, Size: [3]int{64}, Offset: [3]int{7}, Local: [3]int{32}}, buf(out), num(int32(0)))
	if !errors.Is(err, devices.ErrInvalid) || !strings.Contains(err.Error(), "offset 7 is no multiple of the local size 32") {
		t.Errorf("an offset between blocks: %v", err)
	}
	if got := r.read(out); slices.Max(got) != 0 {
		t.Errorf("a refused launch wrote %v", got)
	}
}

const tinyPTX = `.version 7.0
.target sm_52
.address_size 64
.visible .entry tiny(.param .u64 tiny_param_0, .param .u32 tiny_param_1)
{
	.reg .b32 %r<8>;
	.reg .b64 %rd<5>;
	ld.param.u64 %rd1, [tiny_param_0];
	ld.param.u32 %r1, [tiny_param_1];
	cvta.to.global.u64 %rd2, %rd1;
	mov.u32 %r2, %ctaid.x;
	mov.u32 %r3, %ntid.x;
	mov.u32 %r4, %tid.x;
	mad.lo.s32 %r5, %r2, %r3, %r4;
	mul.wide.s32 %rd3, %r5, 4;
	add.s64 %rd4, %rd2, %rd3;
	st.global.u32 [%rd4], %r1;
	ret;
}
`

func TestPTX(t *testing.T) {
	r := newRig(t, need(t))
	p := r.program(devices.LangPTX, tinyPTX)
	k := r.kernel(p, "tiny")
	out := r.buffer(blank(100))
	r.must(r.launch(k, devices.NDRange{Dims: 1, Size: [3]int{77}, Local: [3]int{16}}, buf(out), num(int32(9))))
	want := blank(100)
	for i := range 77 {
		want[i] = 9
	}
	if got := r.read(out); !slices.Equal(got, want) {
		t.Errorf("wrote %v, want 77 times 9", got)
	}
	if _, err := r.launch(k, devices.NDRange{Dims: 1, Size: [3]int{1}}, buf(out), num(int64(9))); !errors.Is(err, devices.ErrInvalid) || !strings.Contains(err.Error(), "takes 4 bytes, 8 were given") {
		t.Errorf("a value of 8 bytes for a u32: %v", err)
	}
	_, err := r.d.Compile(t.Context(), &devices.Source{Name: "bad.ptx", Language: devices.LangPTX, Text: []byte(strings.Replace(tinyPTX, "mad.lo.s32", "mad.wrong.s32", 1))})
	var ce *devices.CompileError
	if !errors.As(err, &ce) || ce.Source != "bad.ptx" || ce.Device != r.d.info.ID || ce.Log == "" {
		t.Errorf("PTX with an unknown instruction: %#v", err)
	}
	if _, err := r.d.Compile(t.Context(), &devices.Source{Name: "bad.cubin", Language: devices.LangBinary, Text: []byte("neither")}); !errors.As(err, &ce) || !errors.Is(err, devices.ErrInvalid) {
		t.Errorf("a binary that is none: %v", err)
	}
}

func TestCompileErrors(t *testing.T) {
	r := newRig(t, needCompiler(t))
	for name, c := range map[string]struct {
		language devices.Language
		text     string
		word     string
	}{
		"bad.cu": {devices.LangCUDA, "#line 1 \"bad.cu\"\n__global__ void k(int *x) {\n  x[0] = nowhere;\n}\n", "bad.cu:2"},
		"bad.cl": {devices.LangOpenCL, "__kernel void k(__global int *x) {\n  x[0] = nowhere;\n}\n", "bad.cl:2"},
	} {
		_, err := r.d.Compile(t.Context(), &devices.Source{Name: name, Language: c.language, Text: []byte(c.text)})
		var ce *devices.CompileError
		if !errors.As(err, &ce) || ce.Device != "cuda:0" || !strings.Contains(ce.Log, c.word) || !strings.Contains(ce.Log, "nowhere") {
			t.Errorf("%s: %+v, want a log that names %s", name, err, c.word)
		}
	}
	_, err := r.d.Compile(t.Context(), &devices.Source{Name: "k.cu", Language: devices.LangCUDA, Text: []byte("__global__ void k() {}"), Options: []string{"--gpu-architecture=sm_50"}})
	if !errors.Is(err, devices.ErrInvalid) || !strings.Contains(err.Error(), "--gpu-architecture=sm_50") {
		t.Errorf("an option for another architecture: %v", err)
	}
}

func TestReplay(t *testing.T) {
	r := newRig(t, needCompiler(t))
	p := r.program(devices.LangOpenCL, "__kernel void mad(__global uint *x, uint a, uint b) { size_t i = get_global_id(0); x[i] = x[i] * a + b; }\n")
	k := r.kernel(p, "mad")
	b := r.buffer(make([]int32, 100))
	nd := devices.NDRange{Dims: 1, Size: [3]int{100}, Local: [3]int{64}}
	replayer, ok := devices.As[devices.Replayer](devices.Device(r.d))
	if !ok {
		t.Fatal("the device records nothing")
	}
	var launches []devices.Launch
	want := int32(0)
	for i := range int32(10) {
		launches = append(launches, devices.Launch{Kernel: k, Range: nd, Args: []devices.Arg{buf(b), num(i + 2), num(i)}})
	}
	replay, err := replayer.Record(launches)
	if err != nil {
		t.Fatal(err)
	}
	if got := r.read(b); slices.Max(got) != 0 {
		t.Fatalf("recording ran: %v", got)
	}
	var last []devices.Event
	for range 3 {
		for i := range int32(10) {
			want = want*(i+2) + i
		}
		e, err := replay.Enqueue(r.q, last)
		if err != nil {
			t.Fatal(err)
		}
		last = []devices.Event{e}
		defer e.Release()
	}
	if err := devices.Wait(t.Context(), last[0]); err != nil {
		t.Fatal(err)
	}
	for i, v := range r.read(b) {
		if v != want {
			t.Fatalf("after three replays element %d is %d, want %d", i, v, want)
		}
	}
	if _, err := replayer.Record([]devices.Launch{{Kernel: k, Range: nd, Args: []devices.Arg{buf(b)}}}); !errors.Is(err, devices.ErrInvalid) || !strings.Contains(err.Error(), "launch 0 of 1") {
		t.Errorf("a launch that lacks arguments was recorded: %v", err)
	}
	if err := replay.Close(); err != nil {
		t.Fatal(err)
	}
	if err := replay.Close(); err != nil {
		t.Errorf("second Close: %v", err)
	}
	if _, err := replay.Enqueue(r.q, nil); !errors.Is(err, devices.ErrClosed) {
		t.Errorf("a closed replay: %v", err)
	}
}
