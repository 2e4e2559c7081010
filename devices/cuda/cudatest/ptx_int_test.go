package cudatest

import (
	"math/bits"
	"testing"
)

func sx(v uint64, n int) int64 { return int64(v<<(64-n)) >> (64 - n) }

func pick[T any](ok bool, a, b T) T {
	if ok {
		return a
	}
	return b
}

func truth(ok bool) uint64 { return pick[uint64](ok, 1, 0) }

// integerUnits are the units of a width n.
func integerUnits(n int) []unit {
	mask := uint64(1)<<n - 1
	if n == 64 {
		mask = ^uint64(0)
	}
	suffix := map[int]string{16: "16", 32: "32", 64: "64"}[n]
	u, s, b := ".u"+suffix, ".s"+suffix, ".b"+suffix
	abc := " %d, %a, %b, %c;"
	ab := " %d, %a, %b;"
	clamp := func(c uint64) uint { return uint(min(c&0xffffffff, 200)) }
	// Shifts take their amount from 32 bits.
	amount := map[int]string{16: "cvt.u32.u16 %t, %b;", 32: "mov.b32 %t, %b;", 64: "cvt.u32.u64 %t, %b;"}[n]
	return []unit{
		{"add" + u + ab, n, n, func(a, b, _ uint64) uint64 { return a + b }, nil, 0},
		{"sub" + s + ab, n, n, func(a, b, _ uint64) uint64 { return a - b }, nil, 0},
		{"mul.lo" + s + ab, n, n, func(a, b, _ uint64) uint64 { return a * b }, nil, 0},
		{"mul.hi" + u + ab, n, n, func(a, b, _ uint64) uint64 {
			hi, lo := bits.Mul64(a, b)
			return pick(n == 64, hi, lo>>(n&63))
		}, nil, 0},
		{"mul.hi" + s + ab, n, n, func(a, b, _ uint64) uint64 {
			if n < 64 {
				return uint64(sx(a, n) * sx(b, n) >> n)
			}
			hi, _ := bits.Mul64(a, b)
			return hi - pick(int64(a) < 0, b, 0) - pick(int64(b) < 0, a, 0)
		}, nil, 0},
		{"mad.lo" + u + abc, n, n, func(a, b, c uint64) uint64 { return a*b + c }, nil, 0},
		{"div" + u + ab, n, n, func(a, b, _ uint64) uint64 { return pick(b == 0, mask, a/pick(b == 0, 1, b)) }, nil, 0},
		{"rem" + u + ab, n, n, func(a, b, _ uint64) uint64 { return pick(b == 0, a, a%pick(b == 0, 1, b)) }, nil, 0},
		{"div" + s + ab, n, n, func(a, b, _ uint64) uint64 {
			return uint64(pick(b == 0, -1, sx(a, n)/pick(b == 0, 1, sx(b, n))))
		}, nil, 0},
		{"rem" + s + ab, n, n, func(a, b, _ uint64) uint64 {
			return uint64(pick(b == 0, sx(a, n), sx(a, n)%pick(b == 0, 1, sx(b, n))))
		}, nil, 0},
		{"min" + u + ab, n, n, func(a, b, _ uint64) uint64 { return min(a, b) }, nil, 0},
		{"max" + u + ab, n, n, func(a, b, _ uint64) uint64 { return max(a, b) }, nil, 0},
		{"min" + s + ab, n, n, func(a, b, _ uint64) uint64 { return uint64(min(sx(a, n), sx(b, n))) }, nil, 0},
		{"max" + s + ab, n, n, func(a, b, _ uint64) uint64 { return uint64(max(sx(a, n), sx(b, n))) }, nil, 0},
		{"neg" + s + " %d, %a;", n, n, func(a, _, _ uint64) uint64 { return -a }, nil, 0},
		{"abs" + s + " %d, %a;", n, n, func(a, _, _ uint64) uint64 { return uint64(pick(sx(a, n) < 0, -sx(a, n), sx(a, n))) }, nil, 0},
		{"not" + b + " %d, %a;", n, n, func(a, _, _ uint64) uint64 { return ^a }, nil, 0},
		{"cnot" + b + " %d, %a;", n, n, func(a, _, _ uint64) uint64 { return truth(a == 0) }, nil, 0},
		{"and" + b + ab, n, n, func(a, b, _ uint64) uint64 { return a & b }, nil, 0},
		{"or" + b + ab, n, n, func(a, b, _ uint64) uint64 { return a | b }, nil, 0},
		{"xor" + b + ab, n, n, func(a, b, _ uint64) uint64 { return a ^ b }, nil, 0},
		{amount + " shl" + b + " %d, %a, %t;", n, n, func(a, b, _ uint64) uint64 { return a << clamp(b) }, nil, 0},
		{amount + " shr" + u + " %d, %a, %t;", n, n, func(a, b, _ uint64) uint64 { return a >> clamp(b) }, nil, 0},
		{amount + " shr" + s + " %d, %a, %t;", n, n, func(a, b, _ uint64) uint64 { return uint64(sx(a, n) >> clamp(b)) }, nil, 0},
		{"sad" + u + abc, n, n, func(a, b, c uint64) uint64 { return c + pick(a < b, b-a, a-b) }, nil, 0},
		{"setp.lt" + s + ab, n, 1, func(a, b, _ uint64) uint64 { return truth(sx(a, n) < sx(b, n)) }, nil, 0},
		{"setp.hs" + u + ab, n, 1, func(a, b, _ uint64) uint64 { return truth(a >= b) }, nil, 0},
		{"setp.eq" + b + ab, n, 1, func(a, b, _ uint64) uint64 { return truth(a == b) }, []uint64{1, 2, 3}, 0},
		{"setp.ne" + s + " %p, %a, 2; setp.gt.or" + s + " %d, %a, %b, !%p;", n, 1, func(a, b, _ uint64) uint64 {
			return truth(sx(a, n) > sx(b, n) || a == 2)
		}, []uint64{1, 2, 3}, 0},
		{"setp.le" + u + " %p|%q, %a, %b; and.pred %d, %q, %p; or.pred %d, %d, %q;", n, 1, func(a, b, _ uint64) uint64 { return truth(a > b) }, nil, 0},
		{"setp.lt" + u + " %p, %a, %b; selp" + b + " %d, %a, %c, %p;", n, n, func(a, b, c uint64) uint64 { return pick(a < b, a, c) }, nil, 0},
		{"mov" + b + " %d, %a; setp.lt" + u + " %p, %a, %b; @!%p xor" + b + " %d, %b, %c; @%p add" + u + " %d, %d, 3;", n, n, func(a, b, c uint64) uint64 {
			return pick(a < b, a+3, b^c)
		}, nil, 0},
	}
}

func TestIntegers(t *testing.T) {
	units := append(append(integerUnits(16), integerUnits(32)...), integerUnits(64)...)
	field := func(a, pos, n uint64, width int, sign bool) uint64 {
		pos, n = pos&255, n&255
		var top bool
		if n > 0 {
			top = sign && a>>min(pos+n-1, uint64(width-1))&1 == 1
		}
		var v uint64
		for i := range uint64(width) {
			switch {
			case i < n && pos+i < uint64(width):
				v |= a >> (pos + i) & 1 << i
			case top:
				v |= 1 << i
			}
		}
		return v
	}
	lut := func(f func(a, b, c uint64) uint64) uint64 { return f(0xf0, 0xcc, 0xaa) & 255 }
	mixed := func(a, b, c uint64) uint64 { return a&^b | c ^ a }
	units = append(units, []unit{
		{"mul.wide.u32 %d, %a, %b;", 32, 64, func(a, b, _ uint64) uint64 { return a * b }, nil, 0},
		{"mul.wide.s32 %d, %a, %b;", 32, 64, func(a, b, _ uint64) uint64 { return uint64(sx(a, 32) * sx(b, 32)) }, nil, 0},
		{"mul.wide.s16 %d, %a, %b;", 16, 32, func(a, b, _ uint64) uint64 { return uint64(sx(a, 16) * sx(b, 16)) }, nil, 0},
		{"mul.wide.u32 %d, %a, %b; mad.wide.s32 %d, %b, %c, %d;", 32, 64, func(a, b, c uint64) uint64 { return a*b + uint64(sx(b, 32)*sx(c, 32)) }, nil, 0},
		{"mul24.lo.s32 %d, %a, %b;", 32, 32, func(a, b, _ uint64) uint64 { return uint64(sx(a, 24) * sx(b, 24)) }, nil, 0},
		{"mad24.hi.u32 %d, %a, %b, %c;", 32, 32, func(a, b, c uint64) uint64 { return (a&0xffffff)*(b&0xffffff)>>16 + c }, nil, 0},
		{"add.sat.s32 %d, %a, %b;", 32, 32, func(a, b, _ uint64) uint64 {
			return uint64(max(min(sx(a, 32)+sx(b, 32), 1<<31-1), -1<<31))
		}, nil, 0},
		{"popc.b32 %d, %a;", 32, 32, func(a, _, _ uint64) uint64 { return uint64(bits.OnesCount64(a)) }, nil, 0},
		{"popc.b64 %d, %a;", 64, 32, func(a, _, _ uint64) uint64 { return uint64(bits.OnesCount64(a)) }, nil, 0},
		{"clz.b32 %d, %a;", 32, 32, func(a, _, _ uint64) uint64 { return uint64(bits.LeadingZeros32(uint32(a))) }, nil, 0},
		{"clz.b64 %d, %a;", 64, 32, func(a, _, _ uint64) uint64 { return uint64(bits.LeadingZeros64(a)) }, nil, 0},
		{"brev.b32 %d, %a;", 32, 32, func(a, _, _ uint64) uint64 { return uint64(bits.Reverse32(uint32(a))) }, nil, 0},
		{"brev.b64 %d, %a;", 64, 64, func(a, _, _ uint64) uint64 { return bits.Reverse64(a) }, nil, 0},
		{"bfind.u32 %d, %a;", 32, 32, func(a, _, _ uint64) uint64 { return uint64(bits.Len64(a) - 1) }, nil, 0},
		{"bfind.shiftamt.s32 %d, %a;", 32, 32, func(a, _, _ uint64) uint64 {
			n := bits.Len64(uint64(pick(sx(a, 32) < 0, ^sx(a, 32), sx(a, 32))))
			return uint64(pick(n == 0, -1, 32-n))
		}, nil, 0},
		{"bfe.u32 %d, %a, %b, %c;", 32, 32, func(a, b, c uint64) uint64 { return field(a, b, c, 32, false) }, nil, 0},
		{"bfe.s32 %d, %a, %b, %c;", 32, 32, func(a, b, c uint64) uint64 { return field(a, b, c, 32, true) }, nil, 0},
		{"cvt.u32.u64 %t, %b; cvt.u32.u64 %u, %c; bfe.s64 %d, %a, %t, %u;", 64, 64, func(a, b, c uint64) uint64 { return field(a, b, c, 64, true) }, nil, 0},
		{"bfi.b32 %d, %a, %b, %c, 9;", 32, 32, func(a, b, c uint64) uint64 {
			at := uint64(0x1ff) << min(c&255, 63)
			return b&^at | a<<min(c&255, 63)&at
		}, nil, 0},
		{"prmt.b32 %d, %a, %b, %c;", 32, 32, func(a, b, c uint64) uint64 {
			var v uint64
			for k := range 4 {
				sel := c >> (4 * k) & 15
				x := (b<<32 | a) >> (8 * (sel & 7)) & 255
				if sel&8 != 0 {
					x = pick[uint64](x&128 != 0, 255, 0)
				}
				v |= x << (8 * k)
			}
			return v
		}, nil, 0},
		{"shf.l.wrap.b32 %d, %a, %b, %c;", 32, 32, func(a, b, c uint64) uint64 { return (b<<32 | a) << (c & 31) >> 32 }, nil, 0},
		{"shf.r.clamp.b32 %d, %a, %b, %c;", 32, 32, func(a, b, c uint64) uint64 { return (b<<32 | a) >> min(c, 32) }, nil, 0},
		{"lop3.b32 %d, %a, %b, %c, " + itoa(lut(mixed)) + ";", 32, 32, mixed, nil, 0},
		{"dp4a.u32.s32 %d, %a, %b, %c;", 32, 32, func(a, b, c uint64) uint64 {
			for k := range 4 {
				c += a >> (8 * k) & 255 * uint64(int64(int8(b>>(8*k))))
			}
			return c
		}, nil, 0},
		{"slct.b32.s32 %d, %a, %b, %c;", 32, 32, func(a, b, c uint64) uint64 { return pick(sx(c, 32) >= 0, a, b) }, nil, 0},
		// 128 bits of carries in 32-bit steps: (a:b) + (b:c), the upper word.
		{"add.cc.u32 %t, %b, %c; addc.u32 %d, %a, %b;", 32, 32, func(a, b, c uint64) uint64 { return (a<<32 + b + b<<32 + c) >> 32 }, nil, 0},
		{"sub.cc.u32 %t, %b, %c; subc.u32 %d, %a, %b;", 32, 32, func(a, b, c uint64) uint64 { return (a<<32 + b - b<<32 - c) >> 32 }, nil, 0},
		{"mad.lo.cc.u32 %t, %a, %b, %c; madc.hi.u32 %d, %a, %b, 0;", 32, 32, func(a, b, c uint64) uint64 { return (a*b + c) >> 32 }, nil, 0},
		{"add.cc.u64 %d, %a, %b; addc.u64 %d, 0, 0;", 64, 64, func(a, b, _ uint64) uint64 { _, c := bits.Add64(a, b, 0); return c }, nil, 0},
		{"mov.b64 {%t, %u}, %a; mov.b64 %d, {%u, %t};", 64, 64, func(a, _, _ uint64) uint64 { return bits.RotateLeft64(a, 32) }, nil, 0},
		{"mov.b32 %d, {%a, %b};", 16, 32, func(a, b, _ uint64) uint64 { return a | b<<16 }, nil, 0},
		{"set.lt.u32.s32 %d, %a, %b;", 32, 32, func(a, b, _ uint64) uint64 { return pick[uint64](sx(a, 32) < sx(b, 32), 0xffffffff, 0) }, nil, 0},
	}...)
	runUnits(t, false, units)
}
