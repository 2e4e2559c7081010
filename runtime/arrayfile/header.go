package arrayfile

import (
	"fmt"
	"math"
	"math/bits"
	"strings"

	"github.com/tandemrun/tandem/devices"
)

// maxDims is the most dimensions an array has; NumPy's limit too.
const maxDims = 64

// Header describes an array: the type of its elements and how many there are
// in each dimension, the last one varying fastest. An empty Shape is a single
// element, as in NumPy; a dimension of 0 means no element at all.
type Header struct {
	DType devices.DType
	Shape []int64
}

// Elements is the number of elements. It is only meaningful if Bytes has no
// error.
func (h Header) Elements() int64 {
	n := int64(1)
	for _, d := range h.Shape {
		n *= d
	}
	return n
}

// Bytes is the size of the elements in bytes. An impossible header (no type, a
// negative dimension, more dimensions than 64, a size that no 64-bit number
// holds) is an error. The dimensions beside a 0 have to be possible too.
func (h Header) Bytes() (int64, error) {
	if h.DType == devices.NoType {
		return 0, fmt.Errorf("no dtype")
	}
	if len(h.Shape) > maxDims {
		return 0, fmt.Errorf("%d dimensions, at most %d are possible", len(h.Shape), maxDims)
	}
	size, empty := uint64(h.DType.Size()), false
	for _, d := range h.Shape {
		if d < 0 {
			return 0, fmt.Errorf("shape %s has a negative dimension", shapeText(h.Shape))
		}
		if d == 0 {
			empty = true
			continue
		}
		over, low := bits.Mul64(size, uint64(d))
		if over != 0 || low > math.MaxInt64 {
			return 0, fmt.Errorf("shape %s of %s does not fit into 64 bits of address", shapeText(h.Shape), h.DType)
		}
		size = low
	}
	if empty {
		return 0, nil
	}
	return int64(size), nil
}

// String is the header as NumPy would say it: "float32 (2, 3)".
func (h Header) String() string { return h.DType.String() + " " + shapeText(h.Shape) }

// shapeText writes a shape as a Python tuple, "(4,)" for one dimension.
func shapeText(shape []int64) string {
	parts := make([]string, len(shape))
	for i, d := range shape {
		parts[i] = fmt.Sprint(d)
	}
	if len(parts) == 1 {
		return "(" + parts[0] + ",)"
	}
	return "(" + strings.Join(parts, ", ") + ")"
}

// Alloc provides the memory that an array is read into: exactly as many bytes
// as the header says, which may be nil for none. The memory stays the
// caller's, also when reading fails afterwards.
type Alloc func(Header) ([]byte, error)

// memory calls alloc and holds it to its word.
func (alloc Alloc) memory(h Header) ([]byte, error) {
	size, err := h.Bytes()
	if err != nil {
		return nil, err
	}
	mem, err := alloc(h)
	if err != nil {
		return nil, fmt.Errorf("memory for %s: %w", h, err)
	}
	if int64(len(mem)) != size {
		return nil, fmt.Errorf("memory for %s: got %d bytes, need %d: %w", h, len(mem), size, devices.ErrInvalid)
	}
	return mem, nil
}
