package library

import (
	"fmt"
	"math"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/kernels"
)

// FractalMandelbrot computes, for each pixel, the first n for which |z(n)| > 2,
// where z(0) = 0, z(n+1) = z(n)² + c and c is the pixel's place in the plane; the
// limit where there is none below it. The picture shows the given span of the
// plane from side to side around (x, y), with square pixels and the imaginary
// axis upwards. float32 resolves spans down to about 1e-3, float64 to 1e-12.
var (
	FractalMandelbrot    = fractalMandelbrot[float32](float32s(), defFloat+"#define T4 float4\n#define M4 int4\n")
	FractalMandelbrotF64 = fractalMandelbrot[float64](float64s(), defDouble+"#define T4 double4\n#define M4 long4\n")
)

// mandelbrotItem is the number of neighbouring pixels that a work-item computes.
const mandelbrotItem = 4

func fractalMandelbrot[T real](e element, defs string) *kernels.Kernel {
	return &kernels.Kernel{
		Name: "fractal.mandelbrot" + e.suffix,
		Doc:  "steps until z = z² + c leaves the circle of radius 2 (" + e.word + ")",
		Params: []kernels.Param{
			out("dst", devices.Uint16, kernels.Rows("dst", 0), "number of steps (h, w), the limit inside the set"),
			value("x", e.dtype, -0.75, "real part of the middle"),
			value("y", e.dtype, 0, "imaginary part of the middle"),
			value("span", e.dtype, 3, "width of the picture in the plane, above 0"),
			value("limit", devices.Int32, 256, "most steps, 1 to 65535"),
			implied("width", devices.Int32, "pixels of a row"),
			implied("left", e.dtype, "real part of the first column"),
			implied("top", e.dtype, "imaginary part of the first row"),
			implied("step", e.dtype, "distance of two pixels"),
		},
		Variants: variants(mandelbrotGo[T], clSource("fractal.cl", defs), "fractal_mandelbrot", e.needs),
		Infer:    inferMandelbrot,
		Work: func(c *kernels.Call) kernels.Work {
			limit, _ := c.Int("limit")
			// Half of the pixels reach the limit in the usual views.
			return kernels.Work{Flops: 4 * float64(limit) * float64(c.Array("dst").Elements()), Bytes: bytesOf(c, "dst")}
		},
	}
}

func inferMandelbrot(c *kernels.Call) error {
	s, err := dims(c, "dst", 2, "a picture (height, width)")
	if err != nil {
		return err
	}
	if limit, _ := c.Int("limit"); limit < 1 || limit > math.MaxUint16 {
		return fmt.Errorf("limit is %d, want 1 to %d", limit, math.MaxUint16)
	}
	var at [3]float64
	for i, name := range []string{"x", "y", "span"} {
		if at[i], err = numberOf(c, name); err != nil {
			return err
		}
		if math.IsNaN(at[i]) || math.IsInf(at[i], 0) {
			return fmt.Errorf("%s is %v, want a finite number", name, at[i])
		}
	}
	if at[2] <= 0 {
		return fmt.Errorf("span is %v, want a number above 0", at[2])
	}
	h, w := float64(s[0]), float64(s[1])
	step := at[2] / max(w, 1)
	err = set(c, "width", s[1], "left", at[0]-float64(step*((w-1)/2)), "top", at[1]+float64(step*((h-1)/2)), "step", step)
	if err != nil {
		return err
	}
	return setRange(c, ceilDiv(s[1], mandelbrotItem), s[0])
}

func mandelbrotGo[T real](r devices.Range, a *devices.Args) {
	dst := devices.Slice[uint16](a, 0)
	limit, width := int(devices.Value[int32](a, 4)), int(devices.Value[int32](a, 5))
	left, top, step := devices.Value[T](a, 6), devices.Value[T](a, 7), devices.Value[T](a, 8)
	for y := r.Lo[1]; y < r.Hi[1]; y++ {
		ci := top - T(step*T(y))
		x, end := r.Lo[0]*mandelbrotItem, min(r.Hi[0]*mandelbrotItem, width)
		d := dst[y*width+x : y*width+end]
		if escapeRow(d, left, step, x, ci, limit) {
			continue
		}
		for ; len(d) >= 4; x += 4 {
			escapeFour((*[4]uint16)(d), ci, limit,
				left+T(step*T(x)), left+T(step*T(x+1)), left+T(step*T(x+2)), left+T(step*T(x+3)))
			d = d[4:]
		}
		for i := range d {
			d[i] = uint16(escape(left+T(step*T(x+i)), ci, 0, 0, 0, limit))
		}
	}
}

// escape continues from z = (zr, zi) after n steps.
func escape[T real](cr, ci, zr, zi T, n, limit int) int {
	rr, ii := T(zr*zr), T(zi*zi)
	for n < limit && rr+ii <= 4 {
		zi = T(2*T(zr*zi)) + ci
		zr = (rr - ii) + cr
		rr, ii = T(zr*zr), T(zi*zi)
		n++
	}
	return n
}

// escapeFour takes steps for four pixels of a row at once, whose chains of
// dependent operations overlap, as long as all of them stay inside.
func escapeFour[T real](d *[4]uint16, ci T, limit int, c0, c1, c2, c3 T) {
	var r0, r1, r2, r3, i0, i1, i2, i3 T
	n := 0
	for n < limit {
		a0, a1, a2, a3 := T(r0*r0), T(r1*r1), T(r2*r2), T(r3*r3)
		b0, b1, b2, b3 := T(i0*i0), T(i1*i1), T(i2*i2), T(i3*i3)
		if a0+b0 > 4 || a1+b1 > 4 || a2+b2 > 4 || a3+b3 > 4 {
			break
		}
		i0, r0 = T(2*T(r0*i0))+ci, (a0-b0)+c0
		i1, r1 = T(2*T(r1*i1))+ci, (a1-b1)+c1
		i2, r2 = T(2*T(r2*i2))+ci, (a2-b2)+c2
		i3, r3 = T(2*T(r3*i3))+ci, (a3-b3)+c3
		n++
	}
	d[0] = uint16(escape(c0, ci, r0, i0, n, limit))
	d[1] = uint16(escape(c1, ci, r1, i1, n, limit))
	d[2] = uint16(escape(c2, ci, r2, i2, n, limit))
	d[3] = uint16(escape(c3, ci, r3, i3, n, limit))
}
