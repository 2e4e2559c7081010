package library

import (
	"unsafe"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/kernels"
	"github.com/tandemrun/tandem/kernels/rtl/builtin"
)

// vectorCL is vector.cl for each element type, by suffix.
var vectorCL = map[string]*devices.Source{
	float32s().suffix: clSource("vector.cl", defFloat),
	float64s().suffix: clSource("vector.cl", defDouble),
	int32s().suffix:   clSource("vector.cl", defInt),
}

// Elementwise vector kernels. The arrays of a call have one shape, of any
// number of dimensions. Integers wrap around.
var (
	VectorAdd    = vectorAdd[float32](float32s()) // z = x + y
	VectorAddF64 = vectorAdd[float64](float64s())
	VectorAddI32 = vectorAdd[int32](int32s())

	VectorSaxpy    = vectorSaxpy[float32](float32s()) // y = a·x + y
	VectorSaxpyF64 = vectorSaxpy[float64](float64s())
	VectorSaxpyI32 = builtin.Extend(vectorSaxpy[int32](int32s()))

	VectorScale    = vectorScale[float32](float32s()) // y = a·x
	VectorScaleF64 = vectorScale[float64](float64s())
	VectorScaleI32 = vectorScale[int32](int32s())
)

func vectorAdd[T number](e element) *kernels.Kernel {
	one := kernels.PerItem(1)
	return &kernels.Kernel{
		Name: "vector.add" + e.suffix,
		Doc:  "z = x + y, element by element (" + e.word + ")",
		Params: []kernels.Param{
			in("x", e.dtype, one, "first summand"),
			in("y", e.dtype, one, "second summand, of x's shape"),
			out("z", e.dtype, one, "sum, of x's shape"),
		},
		Variants: variants(addGo[T], vectorCL[e.suffix], "vector_add", e.needs),
		Infer:    elementwise("x", "y", "z"),
		Work: func(c *kernels.Call) kernels.Work {
			return kernels.Work{Flops: float64(c.Array("x").Elements()), Bytes: bytesOf(c, "x", "y", "z")}
		},
	}
}

func vectorSaxpy[T number](e element) *kernels.Kernel {
	one := kernels.PerItem(1)
	return &kernels.Kernel{
		Name: "vector.saxpy" + e.suffix,
		Doc:  "y = a·x + y, product and sum each rounded (" + e.word + ")",
		Params: []kernels.Param{
			value("a", e.dtype, nil, "factor of x"),
			in("x", e.dtype, one, "vector to add"),
			inout("y", e.dtype, one, "vector added to, of x's shape"),
		},
		Variants: variants(saxpyGo[T], vectorCL[e.suffix], "vector_saxpy", e.needs),
		Infer:    elementwise("x", "y"),
		Work: func(c *kernels.Call) kernels.Work {
			return kernels.Work{Flops: 2 * float64(c.Array("x").Elements()), Bytes: bytesOf(c, "x", "y", "y")}
		},
	}
}

func vectorScale[T number](e element) *kernels.Kernel {
	one := kernels.PerItem(1)
	return &kernels.Kernel{
		Name: "vector.scale" + e.suffix,
		Doc:  "y = a·x (" + e.word + ")",
		Params: []kernels.Param{
			value("a", e.dtype, nil, "factor"),
			in("x", e.dtype, one, "vector to scale"),
			out("y", e.dtype, one, "product, of x's shape"),
		},
		Variants: variants(scaleGo[T], vectorCL[e.suffix], "vector_scale", e.needs),
		Infer:    elementwise("x", "y"),
		Work: func(c *kernels.Call) kernels.Work {
			return kernels.Work{Flops: float64(c.Array("x").Elements()), Bytes: bytesOf(c, "x", "y")}
		},
	}
}

// elementwise infers a one-dimensional ND-range with one work-item for each
// element of arrays of one shape.
func elementwise(names ...string) func(*kernels.Call) error {
	return func(c *kernels.Call) error {
		n, err := sameShape(c, names...)
		if err != nil {
			return err
		}
		return setRange(c, n)
	}
}

// largeArray is the size in bytes from which results are written past the
// caches: more than what one of several workers has of them.
const largeArray = 32 << 20

// isLarge reports whether an array of an element for each work-item is that.
func isLarge[T any](r *devices.Range) bool {
	var z T
	return r.Global[0] >= largeArray/int(unsafe.Sizeof(z))
}

// The loops below begin with the whole blocks that the processor has wide
// registers for (addBlocks and its like). They take eight elements at a time
// through array pointers: one bounds check for eight, and independent operations
// that the processor overlaps.

func addGo[T number](r devices.Range, a *devices.Args) {
	lo, hi := r.Lo[0], r.Hi[0]
	z := devices.Slice[T](a, 2)[lo:hi]
	x, y := devices.Slice[T](a, 0)[lo:hi], devices.Slice[T](a, 1)[lo:hi]
	n := addBlocks(z, x, y, isLarge[T](&r))
	x, y, z = x[n:], y[n:], z[n:]
	for len(z) >= 8 && len(x) >= 8 && len(y) >= 8 {
		p, q, s := (*[8]T)(x), (*[8]T)(y), (*[8]T)(z)
		s[0], s[1], s[2], s[3] = p[0]+q[0], p[1]+q[1], p[2]+q[2], p[3]+q[3]
		s[4], s[5], s[6], s[7] = p[4]+q[4], p[5]+q[5], p[6]+q[6], p[7]+q[7]
		x, y, z = x[8:], y[8:], z[8:]
	}
	for i := range z {
		z[i] = x[i] + y[i]
	}
}

func saxpyGo[T number](r devices.Range, a *devices.Args) {
	f := devices.Value[T](a, 0)
	lo, hi := r.Lo[0], r.Hi[0]
	x, y := devices.Slice[T](a, 1)[lo:hi], devices.Slice[T](a, 2)[lo:hi]
	n := saxpyBlocks(y, x, f)
	x, y = x[n:], y[n:]
	for len(x) >= 8 && len(y) >= 8 {
		p, q := (*[8]T)(x), (*[8]T)(y)
		q[0], q[1], q[2], q[3] = T(f*p[0])+q[0], T(f*p[1])+q[1], T(f*p[2])+q[2], T(f*p[3])+q[3]
		q[4], q[5], q[6], q[7] = T(f*p[4])+q[4], T(f*p[5])+q[5], T(f*p[6])+q[6], T(f*p[7])+q[7]
		x, y = x[8:], y[8:]
	}
	for i := range y {
		y[i] = T(f*x[i]) + y[i]
	}
}

func scaleGo[T number](r devices.Range, a *devices.Args) {
	f := devices.Value[T](a, 0)
	lo, hi := r.Lo[0], r.Hi[0]
	x, y := devices.Slice[T](a, 1)[lo:hi], devices.Slice[T](a, 2)[lo:hi]
	n := scaleBlocks(y, x, f, isLarge[T](&r))
	x, y = x[n:], y[n:]
	for len(x) >= 8 && len(y) >= 8 {
		p, q := (*[8]T)(x), (*[8]T)(y)
		q[0], q[1], q[2], q[3] = f*p[0], f*p[1], f*p[2], f*p[3]
		q[4], q[5], q[6], q[7] = f*p[4], f*p[5], f*p[6], f*p[7]
		x, y = x[8:], y[8:]
	}
	for i := range y {
		y[i] = f * x[i]
	}
}
