package arrayfile

import (
	"fmt"
	"math"
	"slices"

	"github.com/tandemrun/tandem/devices"
)

// Array is an array in memory.
type Array struct {
	Header
	Data []byte
}

// Tolerance is how far two elements may lie apart and still count as equal. Two
// are equal if one of the bounds holds; the zero value asks for the same value.
type Tolerance struct {
	RTol   float64 // times the magnitude of the element of b, the reference
	ATol   float64 // in the unit of the elements; both bounds add up: |a-b| <= ATol + RTol*|b|
	MaxULP uint64  // representable numbers apart, for floating-point types
}

// Result is the outcome of Compare. The zero value of Worst and First means
// nothing unless Differing is above 0.
type Result struct {
	Equal     bool       `json:"equal"`
	Reason    string     `json:"reason,omitempty"` // why not, in one line
	Elements  int64      `json:"elements"`
	Differing int64      `json:"differing"` // elements outside the tolerance
	First     Difference `json:"first,omitzero"`
	Worst     Difference `json:"worst,omitzero"`
	// MaxAbs and MaxULP are taken over all pairs of finite elements, also the
	// ones within the tolerance.
	MaxAbs float64 `json:"max_abs"`
	MaxULP uint64  `json:"max_ulp"`
}

// Difference is a pair of elements. The values are text so that nan, inf and
// integers of 64 bits survive JSON.
type Difference struct {
	Index []int64 `json:"index"`
	A     string  `json:"a"`
	B     string  `json:"b"`
}

// Compare compares a with the reference b element by element. NaN equals NaN
// and nothing else, an infinity equals itself, -0 equals 0. The worst element
// is one where a NaN or an infinity meets something else, the first of them;
// without such a one that with the largest difference. Arrays of different
// shapes or types are not equal, and their elements are not looked at. An error
// is data that is not as long as its header says.
func Compare(a, b Array, tol Tolerance) (Result, error) {
	for _, x := range []Array{a, b} {
		if err := checkData(x.Header, x.Data); err != nil {
			return Result{}, fmt.Errorf("compare: %w", err)
		}
	}
	if !(tol.RTol >= 0) || !(tol.ATol >= 0) {
		return Result{}, fmt.Errorf("compare: tolerances %v and %v have to be 0 or above: %w", tol.RTol, tol.ATol, devices.ErrInvalid)
	}
	switch {
	case !slices.Equal(a.Shape, b.Shape):
		return Result{Reason: fmt.Sprintf("shape %s against %s", shapeText(a.Shape), shapeText(b.Shape))}, nil
	case a.DType != b.DType:
		return Result{Reason: fmt.Sprintf("dtype %s against %s", a.DType, b.DType)}, nil
	}
	r := Result{Elements: a.Elements()}
	size, worst := a.DType.Size(), -1.0
	for i := range r.Elements {
		at := i * int64(size)
		x, y := a.Data[at:at+int64(size)], b.Data[at:at+int64(size)]
		d := distance(a.DType, x, y, tol)
		if !math.IsInf(d.abs, 1) {
			r.MaxAbs, r.MaxULP = max(r.MaxAbs, d.abs), max(r.MaxULP, d.ulp)
		}
		if d.equal {
			continue
		}
		if r.Differing++; r.Differing == 1 {
			r.First = difference(a, b, i)
		}
		if d.abs > worst {
			worst, r.Worst = d.abs, difference(a, b, i)
		}
	}
	r.Equal = r.Differing == 0
	if !r.Equal {
		r.Reason = fmt.Sprintf("%d of %d elements differ, the worst at %s: %s against %s",
			r.Differing, r.Elements, shapeText(r.Worst.Index), r.Worst.A, r.Worst.B)
	}
	return r, nil
}

func difference(a, b Array, i int64) Difference {
	size := int64(a.DType.Size())
	d := Difference{
		Index: make([]int64, len(a.Shape)),
		A:     string(appendElement(nil, a.DType, a.Data[i*size:(i+1)*size])),
		B:     string(appendElement(nil, b.DType, b.Data[i*size:(i+1)*size])),
	}
	for k := len(a.Shape) - 1; k >= 0; k-- {
		d.Index[k] = i % a.Shape[k]
		i /= a.Shape[k]
	}
	return d
}

// gap is how far two elements lie apart.
type gap struct {
	abs   float64 // +Inf where no number says it
	ulp   uint64
	equal bool
}

func distance(t devices.DType, x, y []byte, tol Tolerance) gap {
	if !t.Float() {
		return integerGap(t, x, y, tol)
	}
	a, b := elementFloat(t, x), elementFloat(t, y)
	switch {
	case a == b || math.IsNaN(a) && math.IsNaN(b):
		return gap{equal: true}
	case math.IsNaN(a) || math.IsNaN(b) || math.IsInf(a, 0) || math.IsInf(b, 0):
		return gap{abs: math.Inf(1)}
	}
	g := gap{abs: math.Abs(a - b), ulp: ulps(t, getBits(x), getBits(y))}
	// Opposite numbers near the largest float64 are further apart than that.
	g.abs = min(g.abs, math.MaxFloat64)
	g.equal = g.abs <= tol.ATol+tol.RTol*math.Abs(b) || g.ulp <= tol.MaxULP
	return g
}

// ulps counts the representable numbers from one bit pattern to the other.
func ulps(t devices.DType, a, b uint64) uint64 {
	sign := uint64(1) << (8*t.Size() - 1)
	magA, magB := a&^sign, b&^sign
	if a&sign != b&sign {
		return magA + magB
	}
	return max(magA, magB) - min(magA, magB)
}

// integerGap subtracts without overflow; only the tolerance is in float64.
func integerGap(t devices.DType, x, y []byte, tol Tolerance) gap {
	var apart uint64
	var reference float64
	if t.Signed() {
		a, b := elementInt(t, x), elementInt(t, y)
		apart, reference = uint64(max(a, b))-uint64(min(a, b)), float64(b)
	} else {
		a, b := getBits(x), getBits(y)
		apart, reference = max(a, b)-min(a, b), float64(b)
	}
	g := gap{abs: float64(apart), equal: apart == 0}
	if !g.equal {
		g.equal = g.abs <= tol.ATol+tol.RTol*math.Abs(reference)
	}
	return g
}
