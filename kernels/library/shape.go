package library

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/kernels"
)

// setRange sets the ND-range, or checks the one that the caller gave: what a
// built-in kernel runs over follows from its arrays.
func setRange(c *kernels.Call, size ...int64) error {
	if c.Range.Dims == 0 {
		c.SetRange(size...)
		return nil
	}
	given := c.Range.Norm()
	want := [3]int64{1, 1, 1}
	copy(want[:], size)
	for d := range 3 {
		if int64(given.Size[d]) != want[d] || given.Offset[d] != 0 {
			return fmt.Errorf("global size %v at offset %v, but the shapes ask for %v at 0; leave it out",
				c.Range.Size[:c.Range.Dims], c.Range.Offset[:c.Range.Dims], size)
		}
	}
	return nil
}

// arrays checks that the caller gave every named array.
func arrays(c *kernels.Call, names ...string) error {
	for _, n := range names {
		if c.Array(n) == nil {
			return fmt.Errorf("array %q is missing", n)
		}
	}
	return nil
}

// sameShape checks that all named arrays have the shape of the first, and
// returns the number of elements.
func sameShape(c *kernels.Call, names ...string) (int64, error) {
	if err := arrays(c, names...); err != nil {
		return 0, err
	}
	first := c.Array(names[0])
	for _, n := range names[1:] {
		if a := c.Array(n); !slices.Equal(a.Shape, first.Shape) {
			return 0, fmt.Errorf("%q has shape %s and %q has shape %s; they have to be equal",
				names[0], kernels.ShapeString(first.Shape), n, kernels.ShapeString(a.Shape))
		}
	}
	return first.Elements(), nil
}

// dims checks that the named array has the given number of dimensions, each of
// which fits an int32 with room to round up, and returns its shape. what says what it is, for the
// message: "a matrix (rows, columns)".
func dims(c *kernels.Call, name string, n int, what string) ([]int64, error) {
	a := c.Array(name)
	if a == nil {
		return nil, fmt.Errorf("array %q is missing", name)
	}
	if len(a.Shape) != n {
		return nil, fmt.Errorf("%q has shape %s, want %s", name, kernels.ShapeString(a.Shape), what)
	}
	return a.Shape, fits(name, a)
}

func fits(name string, a *kernels.Array) error {
	for _, d := range a.Shape {
		if d > math.MaxInt32-64 {
			return fmt.Errorf("%q has shape %s; no dimension may exceed %d", name, kernels.ShapeString(a.Shape), math.MaxInt32-64)
		}
	}
	return nil
}

// set gives values to implied parameters: name, value, name, value, …
func set(c *kernels.Call, pairs ...any) error {
	for i := 0; i < len(pairs); i += 2 {
		if err := c.SetValue(pairs[i].(string), pairs[i+1]); err != nil {
			return err
		}
	}
	return nil
}

// number reads a value parameter of type int32, float32 or float64.
func numberOf(c *kernels.Call, name string) (float64, error) {
	i := c.Kernel.Param(name)
	if i < 0 || len(c.Args[i].Value) == 0 {
		return 0, fmt.Errorf("value %q is missing", name)
	}
	b := c.Args[i].Value
	switch c.Kernel.Params[i].Type.Elem {
	case devices.Float32:
		return float64(math.Float32frombits(binary.NativeEndian.Uint32(b))), nil
	case devices.Float64:
		return math.Float64frombits(binary.NativeEndian.Uint64(b)), nil
	}
	v, ok := c.Int(name)
	if !ok {
		return 0, fmt.Errorf("value %q is no number", name)
	}
	return float64(v), nil
}

// size is a count of the call's implied parameter name, for Work.
func size(c *kernels.Call, name string) float64 {
	v, _ := c.Int(name)
	return float64(v)
}

// bytesOf is the size of the named arrays together, for Work.
func bytesOf(c *kernels.Call, names ...string) float64 {
	var n float64
	for _, name := range names {
		n += float64(c.Array(name).Bytes())
	}
	return n
}

// ceilDiv is a/b rounded up, for a ≥ 0 and b > 0.
func ceilDiv(a, b int64) int64 { return (a + b - 1) / b }
