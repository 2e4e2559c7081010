package pipeline

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/kernels"
)

// indexNames are the names of the indices in a fill, by dimension.
func indexNames() []string { return []string{"i", "j", "k"} }

// fill is what a buffer starts with: the bytes of one value, or a formula over
// the indices.
type fill struct {
	*formula
	pattern []byte // of a value
}

// readFill compiles a fill. A value is encoded at once, and a formula is tried
// at the first and the last element.
func (r *reader) readFill(b *buffer, n *node, path string) *fill {
	if n.kind == kindBool {
		n = &node{kind: kindInt, line: n.line, col: n.col, text: n.text, number: n.number}
	}
	shape := b.array.Shape
	s := r.scope()
	s.slots = indexNames()[:min(len(shape), 3)]
	s.clash = func(name string) string {
		d := slices.Index(indexNames(), name)
		_, isVar := r.vars[name]
		switch {
		case d < 0:
			return ""
		case d < len(shape) && isVar:
			return fmt.Sprintf("%q is an index of the fill and a variable (line %d); rename the variable", name, r.varNodes[name].line)
		case d >= len(shape) && !isVar:
			return fmt.Sprintf("%q is the index of dimension %d, and the shape %s has %d", name, d+1, kernels.ShapeString(shape), len(shape))
		}
		return ""
	}
	f := r.formula(n, path, s)
	if f == nil {
		return nil
	}
	out := &fill{formula: f}
	size := b.array.DType.Size()
	if f.fixed {
		v, ok := r.value(f, nil)
		if !ok {
			return nil
		}
		out.pattern = make([]byte, size)
		if !putNumber(out.pattern, b.array.DType, v) {
			r.add(n, path, "%s does not fit in %s", f.gives(v), b.array.DType)
		}
		return out
	}
	if b.array.Elements() == 0 {
		return out
	}
	last := slices.Clone(shape)
	for d := range last {
		last[d]--
	}
	scratch := make([]byte, size)
	for _, at := range [][]int64{make([]int64, len(shape)), last} {
		if err := out.element(scratch, b.array.DType, at); err != nil {
			r.add(n, path, "%v", err)
			break
		}
	}
	return out
}

// element evaluates the formula at one element.
func (f *fill) element(mem []byte, d devices.DType, at []int64) error {
	fr := frame{v: at}
	v := f.eval(&fr)
	if fr.err != nil {
		return fmt.Errorf("%s at %v: %w", f.shown(), at, fr.err)
	}
	if !putNumber(mem, d, v) {
		return fmt.Errorf("%s is %v at %v, which does not fit in %s", f.shown(), v, at, d)
	}
	return nil
}

// fillCheck is how many elements are filled between two looks at the context.
const fillCheck = 1 << 16

// write fills mem, an array of the given type and shape.
func (f *fill) write(ctx context.Context, mem []byte, d devices.DType, shape []int64) error {
	if len(mem) == 0 {
		return nil
	}
	if f.pattern != nil {
		for n := copy(mem, f.pattern); n < len(mem); n *= 2 {
			copy(mem[n:], mem[:n])
		}
		return nil
	}
	size := d.Size()
	fr := frame{v: make([]int64, len(shape))}
	for n := 0; n*size < len(mem); n++ {
		if v := f.eval(&fr); fr.err != nil || !putNumber(mem[n*size:n*size+size], d, v) {
			return f.element(make([]byte, size), d, fr.v) // for the message
		}
		for dim := len(shape) - 1; dim >= 0; dim-- {
			if fr.v[dim]++; fr.v[dim] < shape[dim] {
				break
			}
			fr.v[dim] = 0
		}
		if n%fillCheck == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
	return nil
}

// putNumber writes v as a d and reports whether it fits: a whole number within
// the range of an integer type, any number for a float, which rounds.
func putNumber(mem []byte, d devices.DType, v num) bool {
	switch d {
	case devices.Float32:
		binary.NativeEndian.PutUint32(mem, math.Float32bits(float32(v.real())))
		return true
	case devices.Float64:
		binary.NativeEndian.PutUint64(mem, math.Float64bits(v.real()))
		return true
	case devices.Float16:
		binary.NativeEndian.PutUint16(mem, kernels.HalfFromFloat(v.real()))
		return true
	}
	if v.float && d == devices.Uint64 && v.f >= 0x1p63 && v.f < 0x1p64 {
		binary.NativeEndian.PutUint64(mem, uint64(v.f))
		return v.f == float64(uint64(v.f))
	}
	i, ok := v.whole()
	if !ok {
		return false
	}
	low, high := int64(0), int64(1)
	switch bits := d.Size() * 8; {
	case d == devices.Bool:
	case d.Signed():
		low, high = -1<<(bits-1), 1<<(bits-1)-1
	case bits == 64:
		high = 1<<63 - 1
	default:
		high = 1<<bits - 1
	}
	if i < low || i > high {
		return false
	}
	switch d.Size() {
	case 1:
		mem[0] = byte(i)
	case 2:
		binary.NativeEndian.PutUint16(mem, uint16(i))
	case 4:
		binary.NativeEndian.PutUint32(mem, uint32(i))
	default:
		binary.NativeEndian.PutUint64(mem, uint64(i))
	}
	return true
}
