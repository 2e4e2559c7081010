package cudatest

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
	"unsafe"
)

// A scribe writes a random program over eight 32-bit variables, as PTX and as
// a Go function of them: assignments, branches and loops, whose conditions
// differ from work-item to work-item.
type scribe struct {
	rng    *rand.Rand
	ptx    strings.Builder
	labels int
	loops  int
}

type step func(v *[10]uint32)

func (s *scribe) assignment() step {
	d, a, b := s.rng.IntN(8), s.rng.IntN(8), s.rng.IntN(8)
	k := s.rng.Uint32()
	ops := []struct {
		ptx string
		do  func(x, y uint32) uint32
	}{
		{"add.u32 %%r%d, %%r%d, %%r%d;", func(x, y uint32) uint32 { return x + y }},
		{"sub.u32 %%r%d, %%r%d, %%r%d;", func(x, y uint32) uint32 { return x - y }},
		{"mul.lo.u32 %%r%d, %%r%d, %%r%d;", func(x, y uint32) uint32 { return x * y }},
		{"xor.b32 %%r%d, %%r%d, %%r%d;", func(x, y uint32) uint32 { return x ^ y }},
		{"and.b32 %%r%d, %%r%d, %%r%d;", func(x, y uint32) uint32 { return x & y }},
		{"min.u32 %%r%d, %%r%d, %%r%d;", func(x, y uint32) uint32 { return min(x, y) }},
		{"shr.u32 %%r%d, %%r%d, %%r%d;", func(x, y uint32) uint32 { return x >> y }},
	}
	op := ops[s.rng.IntN(len(ops))]
	if s.rng.IntN(3) == 0 {
		fmt.Fprintf(&s.ptx, "\tadd.u32 %%r%d, %%r%d, %d;\n", d, a, k)
		return func(v *[10]uint32) { v[d] = v[a] + k }
	}
	fmt.Fprintf(&s.ptx, "\t"+op.ptx+"\n", d, a, b)
	return func(v *[10]uint32) { v[d] = op.do(v[a], v[b]) }
}

// condition sets %p to whether a bit of a variable is set.
func (s *scribe) condition() func(v *[10]uint32) bool {
	a, bit := s.rng.IntN(8), s.rng.IntN(8)
	fmt.Fprintf(&s.ptx, "\tbfe.u32 %%t, %%r%d, %d, 1;\n\tsetp.ne.u32 %%p, %%t, 0;\n", a, bit)
	return func(v *[10]uint32) bool { return v[a]>>bit&1 == 1 }
}

func (s *scribe) block(depth int) step {
	var steps []step
	for range 1 + s.rng.IntN(4) {
		switch k := s.rng.IntN(6); {
		case k == 0 && depth > 0:
			steps = append(steps, s.branch(depth-1))
		case k == 1 && depth > 0 && s.loops < 2:
			steps = append(steps, s.loop(depth-1))
		default:
			steps = append(steps, s.assignment())
		}
	}
	return func(v *[10]uint32) {
		for _, f := range steps {
			f(v)
		}
	}
}

func (s *scribe) branch(depth int) step {
	n := s.labels
	s.labels++
	c := s.condition()
	fmt.Fprintf(&s.ptx, "\t@!%%p bra ELSE%d;\n", n)
	yes := s.block(depth)
	fmt.Fprintf(&s.ptx, "\tbra END%d;\nELSE%d:\n", n, n)
	no := s.block(depth)
	fmt.Fprintf(&s.ptx, "END%d:\n", n)
	return func(v *[10]uint32) {
		if c(v) {
			yes(v)
		} else {
			no(v)
		}
	}
}

// loop goes round as often as some bits of a variable say, and may leave early.
func (s *scribe) loop(depth int) step {
	n, a, counter := s.labels, s.rng.IntN(8), 8+s.loops
	s.labels++
	s.loops++
	fmt.Fprintf(&s.ptx, "\tand.b32 %%r%d, %%r%d, 7;\nLOOP%d:\n\tsetp.eq.u32 %%p, %%r%d, 0;\n\t@%%p bra OUT%d;\n\tsub.u32 %%r%d, %%r%d, 1;\n",
		counter, a, n, counter, n, counter, counter)
	body := s.block(depth)
	leave := s.condition()
	fmt.Fprintf(&s.ptx, "\t@%%p bra OUT%d;\n", n)
	rest := s.block(0)
	fmt.Fprintf(&s.ptx, "\tbra LOOP%d;\nOUT%d:\n", n, n)
	s.loops--
	return func(v *[10]uint32) {
		for v[counter] = v[a] & 7; v[counter] != 0; {
			v[counter]--
			body(v)
			if leave(v) {
				return
			}
			rest(v)
		}
	}
}

// TestRandomPrograms compares random programs, each over 200 work-items in
// blocks of 40, with what they mean.
func TestRandomPrograms(t *testing.T) {
	r := open(t, "")
	seed := uint64(time.Now().UnixNano())
	rng := rand.New(rand.NewPCG(seed, 1))
	const programs, n = 60, 200
	ptx := new(strings.Builder)
	ptx.WriteString(ptxHead)
	steps := make([]step, programs)
	for i := range programs {
		s := &scribe{rng: rng}
		steps[i] = s.block(4)
		fmt.Fprintf(ptx, `
.visible .entry k%d(.param .u64 at)
{
	.reg .b32 %%r<10>, %%t;
	.reg .b64 %%a;
	.reg .pred %%p;
	{ .reg .b32 %%c, %%n; mov.u32 %%t, %%tid.x; mov.u32 %%c, %%ctaid.x; mov.u32 %%n, %%ntid.x; mad.lo.u32 %%t, %%c, %%n, %%t; }
	ld.param.u64 %%a, [at];
	mad.wide.u32 %%a, %%t, 32, %%a;
	ld.global.v4.u32 {%%r0, %%r1, %%r2, %%r3}, [%%a];
	ld.global.v4.u32 {%%r4, %%r5, %%r6, %%r7}, [%%a+16];
%s	st.global.v4.u32 [%%a], {%%r0, %%r1, %%r2, %%r3};
	st.global.v4.u32 [%%a+16], {%%r4, %%r5, %%r6, %%r7};
	ret;
}
`, i, s.ptx.String())
	}
	m := r.module(ptx.String())
	for i := range programs {
		v := make([][8]uint32, n)
		for k := range v {
			for j := range v[k] {
				v[k][j] = rng.Uint32()
			}
		}
		at := r.alloc(unsafe.Slice((*byte)(unsafe.Pointer(&v[0])), 32*n))
		if code := r.launch(r.function(m, fmt.Sprintf("k%d", i)), n/40, 40, 0, uint64(at)); code != 0 {
			t.Fatalf("program %d ended with %d (seed %d)", i, code, seed)
		}
		out := r.read(at, 32*n)
		for k := range v {
			var want [10]uint32
			copy(want[:], v[k][:])
			steps[i](&want)
			if got := *(*[8]uint32)(unsafe.Pointer(&out[32*k])); got != [8]uint32(want[:8]) {
				t.Fatalf("program %d, work-item %d: %x, want %x (seed %d)\n%s", i, k, got, want[:8], seed, ptx.String())
			}
		}
		r.must("cuMemFree_v2", at)
	}
}
