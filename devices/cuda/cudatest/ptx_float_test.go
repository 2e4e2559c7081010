package cudatest

import (
	"math"
	"math/big"
	"strconv"
	"testing"
)

func itoa(v uint64) string { return strconv.FormatUint(v, 10) }

// fma32 rounds a·b+c once.
func fma32(a, b, c float32) float32 {
	p := float64(a) * float64(b) // exact
	s := p + float64(c)
	if math.IsInf(s, 0) || math.IsNaN(s) || math.IsInf(float64(c), 0) {
		return float32(s)
	}
	exact := new(big.Float).SetPrec(2000).SetFloat64(p)
	exact.Add(exact, new(big.Float).SetFloat64(float64(c)))
	if exact.Sign() == 0 {
		return float32(s)
	}
	f, _ := exact.Float32()
	return f
}

// toHalf rounds to the nearest half by trying them all.
func toHalf(v float64) uint64 {
	if math.IsNaN(v) {
		return 0x7fff
	}
	sign := uint64(0)
	if math.Signbit(v) {
		sign, v = 0x8000, -v
	}
	if v >= 65520 {
		return sign | 0x7c00
	}
	lo, hi := uint64(0), uint64(0x7c00)
	for hi-lo > 1 {
		if mid := (lo + hi) / 2; halfValue(mid) <= v {
			lo = mid
		} else {
			hi = mid
		}
	}
	down, up := v-halfValue(lo), pick(hi == 0x7c00, 65536, halfValue(hi))-v
	if up < down || up == down && hi&1 == 0 {
		lo = hi
	}
	return sign | lo
}

func halfValue(h uint64) float64 {
	e, m := int(h>>10&31), float64(h&1023)
	v := math.Ldexp(m, -24)
	switch {
	case e == 31 && m != 0:
		return math.NaN()
	case e == 31:
		v = math.Inf(1)
	case e > 0:
		v = math.Ldexp(1024+m, e-25)
	}
	if h&0x8000 != 0 {
		return -v
	}
	return v
}

func flush32(v float32) float32 {
	if math.Abs(float64(v)) < 0x1p-126 {
		return float32(math.Copysign(0, float64(v)))
	}
	return v
}

// lesser is PTX's min, greater its max.
func lesser(a, b float64) float64 {
	switch {
	case math.IsNaN(a):
		return b
	case math.IsNaN(b):
		return a
	}
	return math.Min(a, b)
}

func greater(a, b float64) float64 { return -lesser(-a, -b) }

func one(f func(a, b, c float32) float32) func(a, b, c uint64) uint64 {
	return func(a, b, c uint64) uint64 { return f32(f(as32(a), as32(b), as32(c))) }
}

func two(f func(a, b, c float64) float64) func(a, b, c uint64) uint64 {
	return func(a, b, c uint64) uint64 { return f64(f(as64(a), as64(b), as64(c))) }
}

func half(f func(a, b, c float64) float64) func(a, b, c uint64) uint64 {
	return func(a, b, c uint64) uint64 { return toHalf(f(halfValue(a), halfValue(b), halfValue(c))) }
}

// directed rounds the exact a+b towards zero or up, in the range of normal numbers.
func directed(mode big.RoundingMode) func(a, b, c uint64) uint64 {
	return one(func(a, b, _ float32) float32 {
		x := new(big.Float).SetPrec(24).SetMode(mode)
		x.Add(big.NewFloat(float64(a)), big.NewFloat(float64(b)))
		f, _ := x.Float32()
		return f
	})
}

var moderate = []uint64{f32(1), f32(-1.5), f32(1e-7), f32(3.1415927), f32(-12345.678), f32(1e6), f32(0.1), f32(7)}

func TestFloats(t *testing.T) {
	cmp32 := func(f func(a, b float32) bool) func(a, b, c uint64) uint64 {
		return func(a, b, _ uint64) uint64 { return truth(f(as32(a), as32(b))) }
	}
	nan := func(a, b float32) bool { return a != a || b != b }
	runUnits(t, true, []unit{
		{"add.f32 %d, %a, %b;", 32, 32, one(func(a, b, _ float32) float32 { return a + b }), nil, 0},
		{"sub.rn.f32 %d, %a, %b;", 32, 32, one(func(a, b, _ float32) float32 { return a - b }), nil, 0},
		{"mul.f32 %d, %a, %b;", 32, 32, one(func(a, b, _ float32) float32 { return a * b }), nil, 0},
		{"div.rn.f32 %d, %a, %b;", 32, 32, one(func(a, b, _ float32) float32 { return a / b }), nil, 0},
		{"fma.rn.f32 %d, %a, %b, %c;", 32, 32, one(fma32), nil, 0},
		{"sqrt.rn.f32 %d, %a;", 32, 32, one(func(a, _, _ float32) float32 { return float32(math.Sqrt(float64(a))) }), nil, 0},
		{"rcp.rn.f32 %d, %a;", 32, 32, one(func(a, _, _ float32) float32 { return 1 / a }), nil, 0},
		{"add.rz.f32 %d, %a, %b;", 32, 32, directed(big.ToZero), moderate, 0},
		{"add.rp.f32 %d, %a, %b;", 32, 32, directed(big.ToPositiveInf), moderate, 0},
		{"add.rm.f32 %d, %a, %b;", 32, 32, directed(big.ToNegativeInf), moderate, 0},
		{"add.ftz.f32 %d, %a, %b;", 32, 32, one(func(a, b, _ float32) float32 { return flush32(flush32(a) + flush32(b)) }), nil, 0},
		{"mul.sat.f32 %d, %a, %b;", 32, 32, one(func(a, b, _ float32) float32 { return pick(a*b > 0, min(a*b, 1), 0) }), nil, 0},
		{"min.f32 %d, %a, %b;", 32, 32, one(func(a, b, _ float32) float32 { return float32(lesser(float64(a), float64(b))) }), nil, 0},
		{"max.f32 %d, %a, %b;", 32, 32, one(func(a, b, _ float32) float32 { return float32(greater(float64(a), float64(b))) }), nil, 0},
		{"max.NaN.f32 %d, %a, %b;", 32, 32, one(func(a, b, _ float32) float32 { return max(a, b) }), nil, 0},
		{"abs.f32 %d, %a;", 32, 32, func(a, _, _ uint64) uint64 { return a &^ (1 << 31) }, nil, 0},
		{"neg.f32 %d, %a;", 32, 32, func(a, _, _ uint64) uint64 { return a ^ 1<<31 }, nil, 0},
		{"copysign.f32 %d, %a, %b;", 32, 32, func(a, b, _ uint64) uint64 { return a&(1<<31) | b&^(1<<31) }, nil, 0},
		{"ex2.approx.f32 %d, %a;", 32, 32, one(func(a, _, _ float32) float32 { return float32(math.Exp2(float64(a))) }), moderate, 1e-6},
		{"abs.f32 %x, %a; lg2.approx.f32 %d, %x;", 32, 32, one(func(a, _, _ float32) float32 { return float32(math.Log2(math.Abs(float64(a)))) }), moderate, 1e-6},
		{"sin.approx.f32 %d, %a;", 32, 32, one(func(a, _, _ float32) float32 { return float32(math.Sin(float64(a))) }), moderate, 1e-6},
		{"rsqrt.approx.f32 %d, %a;", 32, 32, one(func(a, _, _ float32) float32 { return float32(1 / math.Sqrt(float64(a))) }), moderate, 1e-6},
		{"div.full.f32 %d, %a, %b;", 32, 32, one(func(a, b, _ float32) float32 { return a / b }), moderate, 1e-6},
		{"add.f64 %d, %a, %b;", 64, 64, two(func(a, b, _ float64) float64 { return a + b }), nil, 0},
		{"sub.f64 %d, %a, %b;", 64, 64, two(func(a, b, _ float64) float64 { return a - b }), nil, 0},
		{"mul.f64 %d, %a, %b;", 64, 64, two(func(a, b, _ float64) float64 { return a * b }), nil, 0},
		{"div.rn.f64 %d, %a, %b;", 64, 64, two(func(a, b, _ float64) float64 { return a / b }), nil, 0},
		{"fma.rn.f64 %d, %a, %b, %c;", 64, 64, two(math.FMA), nil, 0},
		{"sqrt.rn.f64 %d, %a;", 64, 64, two(func(a, _, _ float64) float64 { return math.Sqrt(a) }), nil, 0},
		{"min.f64 %d, %a, %b;", 64, 64, two(func(a, b, _ float64) float64 { return lesser(a, b) }), nil, 0},
		{"rcp.approx.ftz.f64 %d, %a;", 64, 64, two(func(a, _, _ float64) float64 { return 1 / a }), []uint64{f64(3), f64(-0.7), f64(1e200)}, 1e-5},
		{"setp.lt.f32 %d, %a, %b;", 32, 1, cmp32(func(a, b float32) bool { return a < b }), nil, 0},
		{"setp.ne.f32 %d, %a, %b;", 32, 1, cmp32(func(a, b float32) bool { return a != b && !nan(a, b) }), nil, 0},
		{"setp.neu.f32 %d, %a, %b;", 32, 1, cmp32(func(a, b float32) bool { return a != b }), nil, 0},
		{"setp.geu.f32 %d, %a, %b;", 32, 1, cmp32(func(a, b float32) bool { return a >= b || nan(a, b) }), nil, 0},
		{"setp.equ.f32 %d, %a, %b;", 32, 1, cmp32(func(a, b float32) bool { return a == b || nan(a, b) }), nil, 0},
		{"setp.nan.f32 %d, %a, %b;", 32, 1, cmp32(nan), nil, 0},
		{"setp.num.f64 %d, %a, %b;", 64, 1, func(a, b, _ uint64) uint64 { return truth(as64(a) == as64(a) && as64(b) == as64(b)) }, nil, 0},
		{"setp.gtu.f64 %d, %a, %b;", 64, 1, func(a, b, _ uint64) uint64 { return truth(!(as64(a) <= as64(b))) }, nil, 0},
		{"testp.subnormal.f32 %d, %a;", 32, 1, func(a, _, _ uint64) uint64 { return truth(a&0x7f800000 == 0 && a&0x7fffff != 0) }, nil, 0},
		{"add.f16 %d, %a, %b;", 16, 16, half(func(a, b, _ float64) float64 { return a + b }), nil, 0},
		{"mul.f16 %d, %a, %b;", 16, 16, half(func(a, b, _ float64) float64 { return a * b }), nil, 0},
		{"fma.rn.f16 %d, %a, %b, %c;", 16, 16, half(func(a, b, c float64) float64 { return a*b + c }), nil, 0},
		{"max.f16 %d, %a, %b;", 16, 16, half(func(a, b, _ float64) float64 { return greater(a, b) }), nil, 0},
		{"setp.lt.f16 %d, %a, %b;", 16, 1, func(a, b, _ uint64) uint64 { return truth(halfValue(a) < halfValue(b)) }, nil, 0},
		{"mov.b32 %t, {%a, %b}; mov.b32 %u, {%b, %c}; add.f16x2 %d, %t, %u;", 16, 32, func(a, b, c uint64) uint64 {
			return toHalf(halfValue(a)+halfValue(b)) | toHalf(halfValue(b)+halfValue(c))<<16
		}, []uint64{0x3c00, 0x4248, 0xb266, 0x0203, 0x7bff}, 0},
	})
}

func TestConversions(t *testing.T) {
	// clamped converts to an integer of n bits as PTX does.
	clamped := func(v float64, n int, sign bool, from64 bool) uint64 {
		low, high := 0.0, math.Ldexp(1, n)
		if sign {
			low, high = -math.Ldexp(1, n-1), math.Ldexp(1, n-1)
		}
		switch {
		case v != v:
			return pick[uint64](n == 64 || from64, 1<<(n-1), 0)
		case v >= high:
			return uint64(1)<<(n-pick(sign, 1, 0)) - 1
		case v <= low:
			return uint64(1) << (n - 1) & pick[uint64](sign, ^uint64(0), 0)
		case v < 0:
			return uint64(int64(v))
		}
		return uint64(v)
	}
	from32 := func(round func(float64) float64, n int, sign bool) func(a, b, c uint64) uint64 {
		return func(a, _, _ uint64) uint64 { return clamped(round(float64(as32(a))), n, sign, false) }
	}
	from64 := func(round func(float64) float64, n int, sign bool) func(a, b, c uint64) uint64 {
		return func(a, _, _ uint64) uint64 { return clamped(round(as64(a)), n, sign, true) }
	}
	runUnits(t, true, []unit{
		{"cvt.u64.u32 %d, %a;", 32, 64, func(a, _, _ uint64) uint64 { return a }, nil, 0},
		{"cvt.s64.s32 %d, %a;", 32, 64, func(a, _, _ uint64) uint64 { return uint64(sx(a, 32)) }, nil, 0},
		{"cvt.s32.s8 %d, %a;", 32, 32, func(a, _, _ uint64) uint64 { return uint64(sx(a, 8)) }, nil, 0},
		{"cvt.u32.u8 %d, %a;", 32, 32, func(a, _, _ uint64) uint64 { return a & 255 }, nil, 0},
		{"cvt.s16.s8 %d, %a;", 16, 16, func(a, _, _ uint64) uint64 { return uint64(sx(a, 8)) }, nil, 0},
		{"cvt.u16.u64 %d, %a;", 64, 16, func(a, _, _ uint64) uint64 { return a }, nil, 0},
		{"cvt.sat.u8.s32 %d, %a;", 32, 32, func(a, _, _ uint64) uint64 { return uint64(max(min(sx(a, 32), 255), 0)) }, nil, 0},
		{"cvt.sat.s16.s64 %d, %a;", 64, 16, func(a, _, _ uint64) uint64 { return uint64(max(min(int64(a), 32767), -32768)) }, nil, 0},
		{"cvt.rn.f32.s32 %d, %a;", 32, 32, func(a, _, _ uint64) uint64 { return f32(float32(int32(a))) }, nil, 0},
		{"cvt.rn.f32.u32 %d, %a;", 32, 32, func(a, _, _ uint64) uint64 { return f32(float32(uint32(a))) }, nil, 0},
		{"cvt.rn.f32.u64 %d, %a;", 64, 32, func(a, _, _ uint64) uint64 {
			f, _ := new(big.Float).SetUint64(a).Float32()
			return f32(f)
		}, nil, 0},
		{"cvt.rn.f64.s64 %d, %a;", 64, 64, func(a, _, _ uint64) uint64 { return f64(float64(int64(a))) }, nil, 0},
		{"cvt.rz.f32.s32 %d, %a;", 32, 32, func(a, _, _ uint64) uint64 {
			f, _ := new(big.Float).SetPrec(24).SetMode(big.ToZero).SetInt64(sx(a, 32)).Float32()
			return f32(f)
		}, nil, 0},
		{"cvt.rzi.s32.f32 %d, %a;", 32, 32, from32(math.Trunc, 32, true), nil, 0},
		{"cvt.rzi.u32.f32 %d, %a;", 32, 32, from32(math.Trunc, 32, false), nil, 0},
		{"cvt.rni.s32.f32 %d, %a;", 32, 32, from32(math.RoundToEven, 32, true), nil, 0},
		{"cvt.rmi.s64.f32 %d, %a;", 32, 64, from32(math.Floor, 64, true), nil, 0},
		{"cvt.rpi.s32.f64 %d, %a;", 64, 32, from64(math.Ceil, 32, true), nil, 0},
		{"cvt.rzi.u64.f64 %d, %a;", 64, 64, from64(math.Trunc, 64, false), nil, 0},
		{"cvt.rni.f32.f32 %d, %a;", 32, 32, one(func(a, _, _ float32) float32 { return float32(math.RoundToEven(float64(a))) }), nil, 0},
		{"cvt.rmi.f64.f64 %d, %a;", 64, 64, two(func(a, _, _ float64) float64 { return math.Floor(a) }), nil, 0},
		{"cvt.sat.f32.f32 %d, %a;", 32, 32, one(func(a, _, _ float32) float32 { return pick(a > 0, min(a, 1), 0) }), nil, 0},
		{"cvt.f64.f32 %d, %a;", 32, 64, func(a, _, _ uint64) uint64 { return f64(float64(as32(a))) }, nil, 0},
		{"cvt.rn.f32.f64 %d, %a;", 64, 32, func(a, _, _ uint64) uint64 { return f32(float32(as64(a))) }, nil, 0},
		{"cvt.f32.f16 %d, %a;", 16, 32, func(a, _, _ uint64) uint64 { return f32(float32(halfValue(a))) }, nil, 0},
		{"cvt.rn.f16.f32 %d, %a;", 32, 16, func(a, _, _ uint64) uint64 { return toHalf(float64(as32(a))) }, nil, 0},
		{"cvt.rn.f16.s32 %d, %a;", 32, 16, func(a, _, _ uint64) uint64 { return toHalf(float64(int32(a))) }, nil, 0},
		{"cvt.rn.f16x2.f32 %d, %a, %b;", 32, 32, func(a, b, _ uint64) uint64 { return toHalf(float64(as32(a)))<<16 | toHalf(float64(as32(b))) }, moderate, 0},
		{"cvt.rn.bf16.f32 %d, %a;", 32, 16, func(a, _, _ uint64) uint64 {
			return (a + 0x7fff + a>>16&1) >> 16
		}, moderate, 0},
	})
}
