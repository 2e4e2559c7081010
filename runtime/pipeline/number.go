package pipeline

import (
	"fmt"
	"math"
	"math/bits"
	"strconv"
)

// num is a number in an expression: a whole one of 64 bits, exact, or a
// float64.
type num struct {
	i     int64
	f     float64
	float bool
}

func intNum(i int64) num     { return num{i: i} }
func floatNum(f float64) num { return num{f: f, float: true} }
func boolNum(b bool) num     { return num{i: int64(btoi(b))} }

func (n num) real() float64 {
	if n.float {
		return n.f
	}
	return float64(n.i)
}

func (n num) truth() bool {
	if n.float {
		return n.f != 0
	}
	return n.i != 0
}

// whole is the number as a whole one, if it is one.
func (n num) whole() (int64, bool) {
	if !n.float {
		return n.i, true
	}
	if n.f == math.Trunc(n.f) && n.f >= -0x1p63 && n.f < 0x1p63 {
		return int64(n.f), true
	}
	return 0, false
}

func (n num) String() string {
	if n.float {
		return strconv.FormatFloat(n.f, 'g', -1, 64)
	}
	return strconv.FormatInt(n.i, 10)
}

// goValue is the number as kernels.Type.Encode takes it.
func (n num) goValue() any {
	if n.float {
		return n.f
	}
	return n.i
}

// frame is what an expression is evaluated in: the values of loop variables or
// indices by slot, and the first thing that went wrong. After an error values
// mean nothing.
type frame struct {
	v   []int64
	err error
}

func (fr *frame) fail(format string, a ...any) num {
	if fr.err == nil {
		fr.err = fmt.Errorf(format, a...)
	}
	return num{}
}

func (fr *frame) overflow(a num, op string, b num) num {
	return fr.fail("%v %s %v does not fit in 64 bits", a, op, b)
}

func add(fr *frame, a, b num) num {
	if a.float || b.float {
		return floatNum(a.real() + b.real())
	}
	s := a.i + b.i
	if (s > a.i) != (b.i > 0) {
		return fr.overflow(a, "+", b)
	}
	return intNum(s)
}

func subtract(fr *frame, a, b num) num {
	if a.float || b.float {
		return floatNum(a.real() - b.real())
	}
	s := a.i - b.i
	if (s < a.i) != (b.i > 0) {
		return fr.overflow(a, "-", b)
	}
	return intNum(s)
}

func multiply(fr *frame, a, b num) num {
	if a.float || b.float {
		return floatNum(a.real() * b.real())
	}
	p, ok := mulInt(a.i, b.i)
	if !ok {
		return fr.overflow(a, "*", b)
	}
	return intNum(p)
}

func mulInt(a, b int64) (int64, bool) {
	over, low := bits.Mul64(magnitude(a), magnitude(b))
	negative := (a < 0) != (b < 0)
	switch {
	case over != 0:
		return 0, false
	case negative && low <= 1<<63:
		return -int64(low), true
	case !negative && low <= math.MaxInt64:
		return int64(low), true
	}
	return 0, false
}

func magnitude(a int64) uint64 {
	if a < 0 {
		return -uint64(a)
	}
	return uint64(a)
}

// divide stays whole where it comes out even.
func divide(fr *frame, a, b num) num {
	if !a.float && !b.float {
		if b.i == 0 {
			return fr.fail("%v / 0", a)
		}
		if a.i%b.i == 0 && !(a.i == math.MinInt64 && b.i == -1) {
			return intNum(a.i / b.i)
		}
	}
	return floatNum(a.real() / b.real())
}

func wholePair(fr *frame, op string, a, b num) (int64, int64, bool) {
	x, okX := a.whole()
	y, okY := b.whole()
	switch {
	case !okX || !okY:
		fr.fail("%s takes whole numbers, got %v and %v", op, a, b)
	case y == 0:
		fr.fail("%s of %v by 0", op, a)
	case x == math.MinInt64 && y == -1:
		fr.overflow(a, op, b)
	default:
		return x, y, true
	}
	return 0, 0, false
}

func remainder(fr *frame, a, b num) num {
	x, y, ok := wholePair(fr, "%", a, b)
	if !ok {
		return num{}
	}
	return intNum(x % y)
}

// floorDivide rounds down.
func floorDivide(fr *frame, a, b num) num {
	x, y, ok := wholePair(fr, "idiv", a, b)
	if !ok {
		return num{}
	}
	q := x / y
	if x%y != 0 && (x < 0) != (y < 0) {
		q--
	}
	return intNum(q)
}

// ceilDivide rounds up.
func ceilDivide(fr *frame, a, b num) num {
	x, y, ok := wholePair(fr, "ceildiv", a, b)
	if !ok {
		return num{}
	}
	q := x / y
	if x%y != 0 && (x < 0) == (y < 0) {
		q++
	}
	return intNum(q)
}

// power is exact for whole numbers with an exponent that is not negative.
func power(fr *frame, a, b num) num {
	if a.float || b.float || b.i < 0 {
		return floatNum(math.Pow(a.real(), b.real()))
	}
	result, base := int64(1), a.i
	for e := b.i; e > 0; e >>= 1 {
		var ok bool
		if e&1 == 1 {
			if result, ok = mulInt(result, base); !ok {
				return fr.overflow(a, "**", b)
			}
		}
		if e > 1 {
			if base, ok = mulInt(base, base); !ok {
				return fr.overflow(a, "**", b)
			}
		}
	}
	return intNum(result)
}

func negate(fr *frame, a num) num {
	if a.float {
		return floatNum(-a.f)
	}
	return subtract(fr, num{}, a)
}

func less(a, b num) bool {
	if a.float || b.float {
		return a.real() < b.real()
	}
	return a.i < b.i
}

func equal(a, b num) bool {
	if a.float || b.float {
		return a.real() == b.real()
	}
	return a.i == b.i
}

// rounded applies a rounding function; the result is whole where it fits.
func rounded(round func(float64) float64) func(*frame, num) num {
	return func(_ *frame, a num) num {
		if !a.float {
			return a
		}
		r := floatNum(round(a.f))
		if i, ok := r.whole(); ok {
			return intNum(i)
		}
		return r
	}
}

func realFunc(f func(float64) float64) func(*frame, num) num {
	return func(_ *frame, a num) num { return floatNum(f(a.real())) }
}
