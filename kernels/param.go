package kernels

import (
	"fmt"

	"github.com/tandemrun/tandem/devices"
)

// Access says what a kernel does with an array.
type Access uint8

// The access modes. Write means that the contents from before do not matter:
// whatever a launch leaves unwritten inside its band is undefined afterwards.
const (
	Read Access = iota + 1
	Write
	ReadWrite
)

func (a Access) String() string { return [...]string{"-", "r", "w", "rw"}[a] }

// Reads reports whether the old contents are needed.
func (a Access) Reads() bool { return a == Read || a == ReadWrite }

// Writes reports whether the contents change.
func (a Access) Writes() bool { return a == Write || a == ReadWrite }

// ParseAccess reads "r", "w" or "rw".
func ParseAccess(s string) (Access, bool) {
	switch s {
	case "r":
		return Read, true
	case "w":
		return Write, true
	case "rw":
		return ReadWrite, true
	}
	return 0, false
}

// ParamKind is what an argument has to be.
type ParamKind uint8

// The kinds of parameters.
const (
	Buffer ParamKind = iota // an array in global or constant memory
	Value                   // a scalar, vector or struct by value
	Local                   // an amount of local memory
)

func (k ParamKind) String() string { return [...]string{"buffer", "value", "local"}[k] }

// Param is one parameter of a kernel.
type Param struct {
	Name string
	Kind ParamKind
	Type Type   // of one element, of the value, or of one element of local memory
	Mode Access // Buffer: what the signature allows or, where the source was understood, what it does
	Doc  string
	// Default, where set, is used for a Value that the caller leaves out and
	// Infer does not fill in.
	Default any
	// Implied marks a Value that Infer computes; it is not for the caller.
	Implied bool
	// Band says which elements a range of work-items touches; nil: not known,
	// any of them. Needed for every array that is written before a launch can
	// be split.
	Band BandFunc
	// Reach, where set, says which bytes of the array every launch is certain
	// to touch; Bind refuses arrays that are too small for it.
	Reach ReachFunc
	Pos   Pos // where a source declares it
}

func (p Param) String() string {
	switch p.Kind {
	case Buffer:
		return fmt.Sprintf("%s %s %s[]", p.Name, p.Mode, p.Type)
	case Local:
		return fmt.Sprintf("%s local %s[]", p.Name, p.Type)
	default:
		return fmt.Sprintf("%s %s", p.Name, p.Type)
	}
}

// Pos is a place in a source file; Line and Column count from 1, 0: unknown.
type Pos struct {
	File         string
	Line, Column int
}

func (p Pos) String() string {
	switch {
	case p.Line == 0:
		return p.File
	case p.Column == 0:
		return fmt.Sprintf("%s:%d", p.File, p.Line)
	}
	return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column)
}

// A BandFunc resolves an access mapping for one call.
type BandFunc func(c *Call) (Band, error)

// A Band maps a range of work-items to the elements it touches: those with
// Lo ≤ id < Hi in dimension Dim, over the whole of all other dimensions,
// touch no element outside [Lo·Stride+Low, (Hi−1)·Stride+High), cut to the
// array's bounds. For a written array, bands of disjoint ranges have to be
// disjoint (High − Low ≤ Stride), or the launch cannot be split.
type Band struct {
	Dim       int
	Stride    int64 // elements per step of Dim
	Low, High int64 // span of one step, in elements; a halo makes Low negative
}

// Elements is the half-open element range that work-items [lo, hi) touch of an
// array of n elements.
func (b Band) Elements(lo, hi, n int64) (from, to int64) {
	if hi <= lo {
		return 0, 0
	}
	from = min(max(lo*b.Stride+b.Low, 0), n)
	to = min(max((hi-1)*b.Stride+b.High, from), n)
	return from, to
}

// Disjoint reports whether bands of different work-items never overlap.
func (b Band) Disjoint() bool { return b.High-b.Low <= b.Stride }

// PerItem is the band of a one-dimensional kernel in which work-item i touches
// elements [i·n, i·n+n).
func PerItem(n int64) BandFunc {
	return func(*Call) (Band, error) { return Band{Dim: 0, Stride: n, High: n}, nil }
}

// Rows is the band of a two-dimensional kernel over the rows of argument
// param's own array: work-items of row y (dimension 1) touch rows y−halo to
// y+halo. A row is everything but the first dimension of the shape.
func Rows(param string, halo int64) BandFunc {
	return func(c *Call) (Band, error) {
		a := c.Array(param)
		if a == nil || len(a.Shape) == 0 {
			return Band{}, fmt.Errorf("%s: no rows", param)
		}
		row := a.Elements() / max(a.Shape[0], 1)
		return Band{Dim: 1, Stride: row, Low: -halo * row, High: (halo + 1) * row}, nil
	}
}

// Array is the description of an array: what Bind needs to know of a buffer.
type Array struct {
	Name  string
	DType devices.DType
	Shape []int64 // row-major; empty: a single element
}

// Elements is the number of elements.
func (a *Array) Elements() int64 {
	n := int64(1)
	for _, d := range a.Shape {
		n *= d
	}
	return n
}

// Bytes is the size in bytes.
func (a *Array) Bytes() int64 { return a.Elements() * int64(a.DType.Size()) }

func (a *Array) String() string { return fmt.Sprintf("%s %s%s", a.Name, a.DType, ShapeString(a.Shape)) }

// ShapeString writes a shape as numpy does: (4, 3), (7,), ().
func ShapeString(shape []int64) string {
	s := "("
	for i, d := range shape {
		if i > 0 {
			s += ", "
		}
		s += fmt.Sprint(d)
	}
	if len(shape) == 1 {
		s += ","
	}
	return s + ")"
}
