package cudatest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
	"time"
	"unsafe"
)

const ptxHead = ".version 8.0\n.target sm_80\n.address_size 64\n"

// module loads PTX, which has to be right.
func (r *rig) module(ptx string) uintptr {
	r.t.Helper()
	text := append([]byte(ptx), 0)
	var pin runtime.Pinner
	defer pin.Unpin()
	pin.Pin(&text[0])
	return r.out("cuModuleLoadData", uintptr(unsafe.Pointer(&text[0])))
}

// refused loads PTX that has to fail, and returns what the log says.
func (r *rig) refused(ptx string) (int32, string) {
	r.t.Helper()
	text, log := append([]byte(ptx), 0), make([]byte, 4096)
	m := new(uintptr)
	options := []int32{5, 6}
	values := []uintptr{uintptr(unsafe.Pointer(&log[0])), uintptr(len(log))}
	var pin runtime.Pinner
	defer pin.Unpin()
	pin.Pin(&log[0])
	code := r.call("cuModuleLoadDataEx", uintptr(unsafe.Pointer(m)), uintptr(unsafe.Pointer(&text[0])), 2, uintptr(unsafe.Pointer(&options[0])), uintptr(unsafe.Pointer(&values[0])))
	if int(values[1]) > len(log) {
		r.t.Fatalf("the log has %d bytes of %d", values[1], len(log))
	}
	return code, string(log[:values[1]])
}

func (r *rig) function(m uintptr, name string) uintptr {
	r.t.Helper()
	text := append([]byte(name), 0)
	var pin runtime.Pinner
	defer pin.Unpin()
	pin.Pin(&text[0])
	return r.out("cuModuleGetFunction", m, uintptr(unsafe.Pointer(&text[0])))
}

// launch runs a kernel whose parameters have 64 bits each, and returns what
// waiting for it says.
func (r *rig) launch(f uintptr, grid, block, shared int, params ...uint64) int32 {
	r.t.Helper()
	pointers := make([]uintptr, len(params)+1)
	var pin runtime.Pinner
	defer pin.Unpin()
	for i := range params {
		pin.Pin(&params[i])
		pointers[i] = uintptr(unsafe.Pointer(&params[i]))
	}
	pin.Pin(&pointers[0])
	r.must("cuLaunchKernel", f, uintptr(grid), 1, 1, uintptr(block), 1, 1, uintptr(shared), 0, uintptr(unsafe.Pointer(&pointers[0])), 0)
	return r.call("cuCtxSynchronize")
}

// A unit is one instruction, with %a, %b and %c of in bits and %d of out bits
// (1: a predicate), and what it gives.
type unit struct {
	ptx     string
	in, out int
	want    func(a, b, c uint64) uint64
	values  []uint64 // for a, b and c; nil: random numbers and the special ones
	near    float64  // relative error allowed, of floats
}

// kernel is the unit as a kernel over arrays of 64-bit values.
func (u *unit) kernel(name string) string {
	reg := func(bits int) string {
		if bits == 1 {
			return ".pred"
		}
		return fmt.Sprintf(".b%d", bits)
	}
	store := fmt.Sprintf("st.global.b%d [%%p4], %%d;", u.out)
	if u.out == 1 {
		store = "selp.b32 %t, 1, 0, %d; st.global.b32 [%p4], %t;"
	}
	return fmt.Sprintf(`
.visible .entry %[1]s(.param .u64 pa, .param .u64 pb, .param .u64 pc, .param .u64 pd, .param .u64 n)
{
	.reg %[2]s %%a, %%b, %%c, %%x, %%y;
	.reg %[3]s %%d;
	.reg .pred %%p, %%q;
	.reg .b32 %%t, %%u;
	.reg .b64 %%p1, %%p2, %%p3, %%p4, %%i;
	ld.param.u64 %%p1, [pa]; ld.param.u64 %%p2, [pb]; ld.param.u64 %%p3, [pc]; ld.param.u64 %%p4, [pd]; ld.param.u32 %%u, [n];
	mov.u32 %%t, %%ctaid.x;
	mad.lo.u32 %%t, %%t, 96, 0;
	{ .reg .b32 %%v; mov.u32 %%v, %%tid.x; add.u32 %%t, %%t, %%v; }
	setp.ge.u32 %%q, %%t, %%u;
	@%%q bra done;
	mul.wide.u32 %%i, %%t, 8;
	add.u64 %%p1, %%p1, %%i; add.u64 %%p2, %%p2, %%i; add.u64 %%p3, %%p3, %%i; add.u64 %%p4, %%p4, %%i;
	ld.global.b%[4]d %%a, [%%p1]; ld.global.b%[4]d %%b, [%%p2]; ld.global.b%[4]d %%c, [%%p3];
	%[5]s
	%[6]s
done:
	ret;
}
`, name, reg(u.in), reg(u.out), u.in, u.ptx, store)
}

var (
	special16 = []uint64{0, 1, 2, 15, 16, 17, 0x7fff, 0x8000, 0x8001, 0xffff, 0x3c00, 0xbc00, 0x7bff, 0x7c00, 0xfc00, 0x7e00, 0x0001, 0x03ff, 0x0400}
	special32 = []uint64{0, 1, 2, 7, 31, 32, 33, 255, 0x7fffffff, 0x80000000, 0x80000001, 0xffffffff, f32(1), f32(-1), f32(0.5), f32(1e10), f32(-1e10),
		f32(3.5), f32(-2.5), f32(1e-40), f32(math.MaxFloat32), 0x7f800000, 0xff800000, 0x7fc00000, f32(float32(1 << 24)), f32(255.75)}
	special64 = []uint64{0, 1, 2, 63, 64, 65, 255, 0x7fffffffffffffff, 0x8000000000000000, 0xffffffffffffffff, 1 << 32, f64(1), f64(-1), f64(0.5),
		f64(1e300), f64(-3.5), f64(5e-324), f64(math.MaxFloat64), f64(math.Inf(1)), f64(math.Inf(-1)), 0x7ff8000000000000, f64(1e19), f64(-1e19)}
)

func f32(v float32) uint64  { return uint64(math.Float32bits(v)) }
func f64(v float64) uint64  { return math.Float64bits(v) }
func as32(v uint64) float32 { return math.Float32frombits(uint32(v)) }
func as64(v uint64) float64 { return math.Float64frombits(v) }

func (u *unit) inputs(rng *rand.Rand, n int) []uint64 {
	special := map[int][]uint64{16: special16, 32: special32, 64: special64}[u.in]
	if u.values != nil {
		special = u.values
	}
	v := make([]uint64, n)
	for i := range v {
		switch {
		case u.values != nil || rng.IntN(3) == 0:
			v[i] = special[rng.IntN(len(special))]
		case u.in == 32 && rng.IntN(2) == 0:
			v[i] = f32(float32(rng.NormFloat64() * 1000))
		case u.in == 64 && rng.IntN(2) == 0:
			v[i] = f64(rng.NormFloat64() * 1000)
		default:
			v[i] = rng.Uint64() & (1<<u.in - 1)
		}
	}
	return v
}

func isNaN(bits int, v uint64) bool {
	switch bits {
	case 16:
		return v&0x7fff > 0x7c00
	case 32:
		return v&0x7fffffff > 0x7f800000
	}
	return v&^(1<<63) > 0x7ff<<52
}

// runUnits runs every unit on random values and compares. A NaN is as good as
// another where floats says that the results are floats.
func runUnits(t *testing.T, floats bool, units []unit) {
	t.Helper()
	r := open(t, "sm=90")
	seed := uint64(time.Now().UnixNano())
	rng := rand.New(rand.NewPCG(seed, 0))
	ptx := new(strings.Builder)
	ptx.WriteString(strings.Replace(ptxHead, "sm_80", "sm_90", 1))
	for i := range units {
		ptx.WriteString(units[i].kernel(fmt.Sprintf("k%d", i)))
	}
	m := r.module(ptx.String())
	const n = 500
	for i := range units {
		u := &units[i]
		var in [3][]uint64
		var at [4]uintptr
		for k := range in {
			in[k] = u.inputs(rng, n)
			at[k] = r.alloc(unsafe.Slice((*byte)(unsafe.Pointer(&in[k][0])), 8*n))
		}
		at[3] = r.alloc(make([]byte, 8*n))
		if code := r.launch(r.function(m, fmt.Sprintf("k%d", i)), (n+95)/96, 96, 0, uint64(at[0]), uint64(at[1]), uint64(at[2]), uint64(at[3]), n); code != 0 {
			t.Fatalf("%s: launch ended with %d", u.ptx, code)
		}
		out := r.read(at[3], 8*n)
		for k := range n {
			a, b, c := in[0][k], in[1][k], in[2][k]
			got := *(*uint64)(unsafe.Pointer(&out[8*k]))
			want := u.want(a, b, c)
			if u.out == 1 {
				want &= 1
			} else if u.out < 64 {
				want &= 1<<u.out - 1
			}
			if got == want || floats && u.out > 1 && isNaN(u.out, got) && isNaN(u.out, want) {
				continue
			}
			if u.near > 0 {
				g, w := as64(got), as64(want)
				if u.out == 32 {
					g, w = float64(as32(got)), float64(as32(want))
				}
				if math.Abs(g-w) <= u.near*math.Abs(w) {
					continue
				}
			}
			t.Errorf("%s of %#x, %#x, %#x = %#x, want %#x (seed %d)", u.ptx, a, b, c, got, want, seed)
			break
		}
		for _, p := range at {
			r.must("cuMemFree_v2", p)
		}
	}
}
