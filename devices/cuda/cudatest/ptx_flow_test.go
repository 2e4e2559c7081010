package cudatest

import (
	"encoding/binary"
	"slices"
	"strings"
	"testing"
)

// words is memory of n 32-bit numbers, zero.
func (r *rig) words(n int) uintptr { r.t.Helper(); return r.alloc(make([]byte, 4*n)) }

func (r *rig) readWords(p uintptr, n int) []uint32 {
	r.t.Helper()
	out := make([]uint32, n)
	for i, b := 0, r.read(p, 4*n); i < n; i++ {
		out[i] = binary.LittleEndian.Uint32(b[4*i:])
	}
	return out
}

// entry is a kernel k with the pointer at in %a, the work-item's number in its
// block in %t and in all in %g, and registers to use.
func entry(body string) string {
	return `
.visible .entry k(.param .u64 at, .param .u64 more)
{
	.reg .b32 %t, %g, %r<20>;
	.reg .b64 %a, %m, %w, %d<10>;
	.reg .f32 %f<5>;
	.reg .b16 %h<5>;
	.reg .pred %p<8>;
	ld.param.u64 %a, [at];
	ld.param.u64 %m, [more];
	mov.u32 %t, %tid.x;
	{ .reg .b32 %x, %y; mov.u32 %x, %ctaid.x; mov.u32 %y, %ntid.x; mad.lo.u32 %g, %x, %y, %t; }
	mad.wide.u32 %w, %g, 4, %a;
` + body + `
	ret;
}
`
}

// TestFlow has kernels that write one word per work-item, over two blocks of 70.
func TestFlow(t *testing.T) {
	const block, n = 70, 140
	for _, c := range []struct {
		name, before, body string
		shared             int
		want               func(i int) uint32
	}{
		{"shared memory and a barrier", "", `
	.shared .align 4 .b8 s[280];
	mov.u32 %r0, s; mad.lo.u32 %r1, %t, 4, %r0; st.shared.u32 [%r1], %g;
	bar.sync 0;
	sub.u32 %r2, 69, %t; mad.lo.u32 %r1, %r2, 4, %r0; ld.shared.u32 %r3, [%r1]; st.global.u32 [%w], %r3;`, 0,
			func(i int) uint32 { return uint32(i/block*block + block - 1 - i%block) }},
		{"dynamic shared memory after static", ".extern .shared .align 16 .b8 dyn[];", `
	.shared .align 4 .u32 one;
	mov.u64 %d0, dyn; mad.wide.u32 %d1, %t, 4, %d0; st.shared.u32 [%d1], %g;
	setp.eq.u32 %p0, %t, 5; @%p0 st.shared.u32 [one], 1000;
	bar.sync 0;
	cvta.shared.u64 %d0, %d0; add.u32 %r2, %t, 1; rem.u32 %r2, %r2, 70; mad.wide.u32 %d1, %r2, 4, %d0; ld.u32 %r3, [%d1];
	ld.shared.u32 %r4, [one]; add.u32 %r3, %r3, %r4; st.global.u32 [%w], %r3;`, 280,
			func(i int) uint32 { return uint32(i/block*block+(i%block+1)%block) + 1000 }},
		{"a barrier that counts", "", `
	and.b32 %r0, %t, 3; setp.eq.u32 %p0, %r0, 1;
	bar.red.popc.u32 %r1, 0, %p0; bar.red.and.pred %p1, 0, %p0; bar.red.or.pred %p2, 0, !%p0;
	selp.u32 %r2, 1000, 0, %p1; selp.u32 %r3, 5000, 0, %p2; add.u32 %r1, %r1, %r2; add.u32 %r1, %r1, %r3; st.global.u32 [%w], %r1;`, 0,
			func(int) uint32 { return 5000 + 18 }},
		{"work-items that leave before a barrier", "", `
	.shared .align 4 .u32 s; setp.lt.u32 %p0, %t, 40; @%p0 exit;
	setp.eq.u32 %p1, %t, 69; @%p1 st.shared.u32 [s], 77; bar.sync 0; ld.shared.u32 %r0, [s]; st.global.u32 [%w], %r0;`, 0,
			func(i int) uint32 { return pick[uint32](i%block < 40, 0, 77) }},
		{"local memory", "", `
	.local .align 8 .b8 l[64];
	mov.u64 %d0, l; mov.u32 %r0, 0;
	L: mad.wide.u32 %d1, %r0, 4, %d0; mul.lo.u32 %r1, %r0, %g; st.local.u32 [%d1], %r1; add.u32 %r0, %r0, 1; setp.lt.u32 %p0, %r0, 16; @%p0 bra L;
	cvta.local.u64 %d0, %d0; and.b32 %r2, %g, 15; mad.wide.u32 %d1, %r2, 4, %d0; ld.u32 %r3, [%d1]; st.global.u32 [%w], %r3;`, 0,
			func(i int) uint32 { return uint32(i * (i & 15)) }},
		{"calls, deep and parted", `
.func (.param .b32 result) sum(.param .b32 n);
.func (.param .b32 result) sum(.param .b32 n)
{
	.local .align 4 .u32 mine;
	.reg .b32 %r<5>; .reg .pred %p;
	ld.param.u32 %r0, [n]; st.local.u32 [mine], %r0; setp.ne.u32 %p, %r0, 0; @%p bra MORE;
	st.param.b32 [result], 0; ret;
MORE:
	sub.u32 %r1, %r0, 1;
	{ .param .b32 a; .param .b32 b; st.param.b32 [a], %r1; call.uni (b), sum, (a); ld.param.b32 %r2, [b]; }
	ld.local.u32 %r3, [mine]; add.u32 %r2, %r2, %r3; st.param.b32 [result], %r2; ret;
}`, `
	and.b32 %r0, %g, 7; mov.u32 %r5, 1; setp.eq.u32 %p0, %r0, 3; @%p0 bra SKIP;
	{ .param .b32 a; .param .b32 b; st.param.b32 [a], %r0; call (b), sum, (a); ld.param.b32 %r5, [b]; }
	SKIP: st.global.u32 [%w], %r5;`, 0,
			func(i int) uint32 { return pick(i&7 == 3, 1, uint32((i&7)*(i&7+1)/2)) }},
		{"an indexed branch", "", `
	and.b32 %r0, %g, 3; ts: .branchtargets A, B, C, A; brx.idx %r0, ts;
	A: mov.u32 %r1, 10; bra E; B: mov.u32 %r1, 20; bra E; C: mov.u32 %r1, 30; E: st.global.u32 [%w], %r1;`, 0,
			func(i int) uint32 { return []uint32{10, 20, 30, 10}[i&3] }},
		{"variables with values", `
.const .align 4 .u32 table[4] = {5, 6, 7, 0x80};
.global .align 8 .u64 where = generic(bytes)+1;
.global .align 1 .b8 bytes[4] = {1, 255, 3};
`, `
	and.b32 %r0, %g, 3; mov.u64 %d0, table; mad.wide.u32 %d0, %r0, 4, %d0; ld.const.u32 %r1, [%d0];
	ld.global.u64 %d1, [where]; ld.s8 %r2, [%d1]; add.u32 %r1, %r1, %r2; ld.global.u8 %h0, [bytes+2]; cvt.u32.u16 %r3, %h0; add.u32 %r1, %r1, %r3;
	st.global.u32 [%w], %r1;`, 0,
			func(i int) uint32 { return []uint32{5, 6, 7, 128}[i&3] - 1 + 3 }},
		{"lanes", "", `
	mov.u32 %r9, 0xffffffff; setp.ge.u32 %p7, %t, 64; @%p7 mov.u32 %r9, 63;
	shfl.sync.down.b32 %r0|%p0, %g, 1, 31, %r9; @!%p0 mov.u32 %r0, 0;
	shfl.sync.idx.b32 %r1, %g, 2, 31, %r9; shfl.sync.bfly.b32 %r2, %g, 1, 31, %r9;
	and.b32 %r3, %g, 1; setp.eq.u32 %p1, %r3, 1; vote.sync.ballot.b32 %r4, %p1, %r9; popc.b32 %r4, %r4;
	redux.sync.max.u32 %r5, %t, %r9; match.any.sync.b32 %r6, %r3, %r9; popc.b32 %r6, %r6; mov.u32 %r7, %laneid;
	add.u32 %r0, %r0, %r1; add.u32 %r0, %r0, %r2; add.u32 %r0, %r0, %r4; add.u32 %r0, %r0, %r5; add.u32 %r0, %r0, %r6; add.u32 %r0, %r0, %r7;
	st.global.u32 [%w], %r0;`, 0,
			func(i int) uint32 {
				t := i % block
				lane, first, size := t%32, i-t%32, min(32, block-t/32*32)
				down := pick(lane == 31, 0, pick(lane+1 < size, i+1, 0))
				return uint32(down + first + 2 + (i ^ 1) + size/2 + (t - lane + size - 1) + size/2 + lane)
			}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := open(t, "")
			f := r.function(r.module(ptxHead+c.before+entry(c.body)), "k")
			at := r.words(n)
			if code := r.launch(f, n/block, block, c.shared, uint64(at), 0); code != 0 {
				t.Fatalf("the launch ended with %d", code)
			}
			for i, got := range r.readWords(at, n) {
				if c.name == "lanes" && i%block == block-1 { // its neighbour above has no value
					continue
				}
				if got != c.want(i) {
					t.Fatalf("work-item %d wrote %d, want %d", i, got, c.want(i))
				}
			}
		})
	}
}

// TestAtomics lets 1280 work-items of 10 blocks work on the same words.
func TestAtomics(t *testing.T) {
	r := open(t, "")
	f := r.function(r.module(ptxHead+entry(`
	red.global.add.u32 [%a], %g;
	atom.global.max.s32 %r0, [%a+4], %g;
	atom.min.u32 %r0, [%a+8], %g;
	atom.global.inc.u32 %r0, [%a+12], 99;
	cvt.rn.f32.u32 %f0, 1; red.global.add.f32 [%a+16], %f0;
	shl.b32 %r1, 1, %t; and.b32 %r2, %t, 31; shl.b32 %r1, 1, %r2; atom.global.or.b32 %r0, [%a+20], %r1;
	atom.global.add.u64 %d0, [%a+24], 4294967296;
	LOOP: ld.volatile.global.u32 %r3, [%a+32]; mul.lo.u32 %r4, %r3, 3; add.u32 %r4, %r4, 1; atom.global.cas.b32 %r5, [%a+32], %r3, %r4;
	setp.ne.u32 %p0, %r5, %r3; @%p0 bra LOOP;
	LOCK: atom.global.exch.b32 %r6, [%a+36], 1; setp.ne.u32 %p1, %r6, 0; @%p1 bra LOCK;
	ld.volatile.global.u32 %r7, [%a+40]; add.u32 %r7, %r7, 1; st.volatile.global.u32 [%a+40], %r7; membar.gl; atom.global.exch.b32 %r6, [%a+36], 0;`)), "k")
	first := make([]byte, 44)
	binary.LittleEndian.PutUint32(first[8:], 5000)
	at := r.alloc(first)
	const n = 1280
	if code := r.launch(f, 10, 128, 0, uint64(at), 0); code != 0 {
		t.Fatalf("the launch ended with %d", code)
	}
	chain := uint32(0)
	for range n {
		chain = 3*chain + 1
	}
	want := []uint32{n * (n - 1) / 2, n - 1, 0, n % 100, uint32(f32(n)), 0xffffffff, 0, n, chain, 0, n}
	if got := r.readWords(at, 11); !slices.Equal(got, want) {
		t.Errorf("the words are %d, want %d", got, want)
	}
}

// TestKernelFaults: each ends its context, with the code of its own, and the
// next call says it again.
func TestKernelFaults(t *testing.T) {
	for _, c := range []struct {
		name, body, settings string
		code                 int32
		block                int
	}{
		{"a byte beyond the end", "ld.global.u8 %h0, [%a+40];", "", 700, 1},
		{"partly beyond the end", "ld.global.u64 %d0, [%a+32]; st.global.u64 [%a+40], %d0;", "", 700, 1},
		{"null", "mov.u64 %d0, 0; ld.global.u32 %r0, [%d0];", "", 700, 1},
		{"misaligned", "ld.global.u32 %r0, [%a+2];", "", 716, 1},
		{"beyond shared memory", ".shared .u32 s; mov.u32 %r0, s; st.shared.u32 [%r0+64], 1;", "", 700, 1},
		{"beyond local memory", ".local .u32 l; mov.u64 %d0, l; st.local.u32 [%d0+1000000], 1;", "", 700, 1},
		{"one lane of many", "setp.eq.u32 %p0, %t, 77; mov.u64 %d0, %a; @%p0 mov.u64 %d0, 64; ld.global.u32 %r0, [%d0];", "", 700, 96},
		{"a trap", "trap;", "", 715, 1},
		{"too long", "L: bra L;", "steps=100000", 702, 1},
		{"too long in part", "setp.eq.u32 %p0, %t, 7; L: @%p0 bra L;", "steps=100000", 702, 64},
		{"a barrier that half comes to", "setp.lt.u32 %p0, %t, 7; @%p0 bar.sync 1, 64;", "", 702, 64},
		{"by rule", "", "fail=kernel:1:999", 999, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := open(t, c.settings)
			f := r.function(r.module(ptxHead+entry(c.body)), "k")
			at := r.words(10)
			if code := r.launch(f, 3, c.block, 0, uint64(at), 0); code != c.code {
				t.Errorf("the launch ended with %d, want %d", code, c.code)
			}
			out := make([]byte, 1)
			p := new(uintptr)
			r.want(c.code, "cuMemAlloc_v2", ptr(p), 16)
			r.want(c.code, "cuMemcpyDtoH_v2", ptr(&out[0]), at, 1)
		})
	}
}

// TestKernelPeerAccess: a kernel reaches the memory of another device only
// with peer access.
func TestKernelPeerAccess(t *testing.T) {
	for _, allowed := range []bool{true, false} {
		r := open(t, "devices=2")
		f := r.function(r.module(ptxHead+entry("ld.global.u32 %r0, [%m]; st.global.u32 [%a], %r0;")), "k")
		mine := r.words(1)
		other := r.out("cuDevicePrimaryCtxRetain", 1)
		r.must("cuCtxSetCurrent", other)
		theirs := r.alloc([]byte{1, 2, 3, 4})
		r.must("cuCtxSetCurrent", r.ctx)
		if allowed {
			r.must("cuCtxEnablePeerAccess", other, 0)
		}
		code := r.launch(f, 1, 1, 0, uint64(mine), uint64(theirs))
		if want := pick[int32](allowed, 0, illegalAddress); code != want {
			t.Errorf("peer access %v: the launch ended with %d, want %d", allowed, code, want)
		}
		if allowed && r.readWords(mine, 1)[0] != 0x04030201 {
			t.Errorf("read %#x", r.readWords(mine, 1)[0])
		}
	}
}

// TestLaunchChecks: what a launch is refused for.
func TestLaunchChecks(t *testing.T) {
	r := open(t, "shared=16KiB,shared_optin=32KiB,threads=512")
	f := r.function(r.module(ptxHead+entry("")), "k")
	params := []uintptr{0, 0}
	values := []uint64{0, 0}
	for i := range params {
		params[i] = ptr(&values[i])
	}
	launch := func(code int32, gx, bx, shared uintptr) {
		t.Helper()
		r.want(code, "cuLaunchKernel", f, gx, 1, 1, bx, 1, 1, shared, 0, ptr(&params[0]), 0)
	}
	launch(0, 1, 512, 16<<10)
	launch(invalidValue, 1, 513, 0)
	launch(invalidValue, 0, 1, 0)
	launch(invalidValue, 1, 1, 16<<10+1)
	r.must("cuFuncSetAttribute", f, 8, 32<<10)
	launch(0, 1, 1, 32<<10)
	r.want(invalidValue, "cuFuncSetAttribute", f, 8, 32<<10+1)
	r.want(invalidValue, "cuLaunchKernel", f, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0) // no parameters
	r.must("cuCtxSynchronize")
	if n := r.num("cuOccupancyMaxActiveBlocksPerMultiprocessor", f, 512, 0); n != 4 {
		t.Errorf("%d blocks of 512 at a time, want 4", n)
	}
}

// TestRefusedPTX: what cannot be read is refused with its line.
func TestRefusedPTX(t *testing.T) {
	r := open(t, "version=12080")
	for _, c := range []struct {
		ptx  string
		code int32
		says string
	}{
		{ptxHead + ".visible .entry k()\n{\n\t.reg .f32 %f<9>;\n\twmma.load.a.sync.aligned.row.m16n16k16.global.f32 %f1, %f2;\n}", 218, "ptx line 7: instruction wmma.load.a"},
		{ptxHead + ".visible .entry k()\n{\n\tbra nowhere;\n}", 218, "ptx line 6: label nowhere is nowhere"},
		{ptxHead + ".visible .entry k()\n{\n\t.reg .b32 %r<3>;\n\tadd.s32 %r1, %r2, %r3;\n}", 218, "ptx line 7: %r3 is not declared"},
		{ptxHead + ".visible .entry k()\n{\n\t.reg .b32 %r<3>;\n\tadd.s64 %r1, %r2, %r2;\n}", 218, "a register of 64 bits"},
		{ptxHead + ".visible .entry k()\n{\n\t.reg .b32 %r<3>;\n\tadd.wrong.s32 %r1, %r2, %r2;\n}", 218, "modifier .wrong"},
		{ptxHead + ".visible .entry k()\n{\n\t.reg .b32 %r<2000000000>;\n}", 218, "more than"},
		{ptxHead + ".visible .entry k()\n{\n", 218, "the end within a body"},
		{ptxHead + ".global .b8 x[99999999999];", 218, "more than"},
		{strings.Replace(ptxHead, "8.0", "9.0", 1), 222, "newer than 8.7"},
		{strings.Replace(ptxHead, "sm_80", "sm_90", 1), 209, "the device is sm_80"},
		{"\x7fELF\x02\x01\x01", 209, "machine code"},
		{"hello", 200, "neither PTX"},
	} {
		if code, log := r.refused(c.ptx); code != c.code || !strings.Contains(log, c.says) {
			t.Errorf("%q gave %d and %q, want %d and %q", c.ptx, code, log, c.code, c.says)
		}
	}
	if n := r.count("live device memory"); n != 0 {
		t.Errorf("%d bytes live after modules that failed, want 0", n)
	}
}

// TestFatBinary takes the PTX for the newest target that the device has.
func TestFatBinary(t *testing.T) {
	r := open(t, "")
	body := func(sm, v string) string {
		return strings.Replace(ptxHead, "80", sm, 1) + entry("st.global.u32 [%w], "+v+";")
	}
	var fat []byte
	for _, e := range []struct {
		kind uint16
		arch uint32
		data string
	}{{1, 75, body("75", "75")}, {2, 80, "\x7fELF"}, {1, 80, body("80", "80")}, {1, 90, body("90", "90")}} {
		e.data += strings.Repeat("\x00", 8-len(e.data)%8)
		h := make([]byte, 64)
		binary.LittleEndian.PutUint16(h, e.kind)
		binary.LittleEndian.PutUint32(h[4:], 64)
		binary.LittleEndian.PutUint64(h[8:], uint64(len(e.data)))
		binary.LittleEndian.PutUint32(h[28:], e.arch)
		fat = append(append(fat, h...), e.data...)
	}
	head := make([]byte, 16)
	binary.LittleEndian.PutUint32(head, 0xba55ed50)
	binary.LittleEndian.PutUint16(head[4:], 1)
	binary.LittleEndian.PutUint16(head[6:], 16)
	binary.LittleEndian.PutUint64(head[8:], uint64(len(fat)))
	f := r.function(r.module(string(head)+string(fat)), "k")
	at := r.words(1)
	if code := r.launch(f, 1, 1, 0, uint64(at), 0); code != 0 || r.readWords(at, 1)[0] != 80 {
		t.Errorf("the launch ended with %d and wrote %d, want 0 and 80", code, r.readWords(at, 1)[0])
	}
}
