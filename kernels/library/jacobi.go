package library

import (
	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/kernels"
)

// StencilJacobi2D is one sweep of a five-point average. Run it again with the
// arrays exchanged for the next.
var (
	StencilJacobi2D    = stencilJacobi2D[float32](float32s())
	StencilJacobi2DF64 = stencilJacobi2D[float64](float64s())
)

var stencilCL = map[string]*devices.Source{
	float32s().suffix: clSource("stencil.cl", defFloat+"#define FIFTH 0.2f\n"),
	float64s().suffix: clSource("stencil.cl", defDouble+"#define FIFTH 0.2\n"),
}

func stencilJacobi2D[T real](e element) *kernels.Kernel {
	return &kernels.Kernel{
		Name: "stencil.jacobi2d" + e.suffix,
		Doc:  "dst = ((((c + above) + below) + left) + right)·0.2, the border copied (" + e.word + ")",
		Params: []kernels.Param{
			in("src", e.dtype, kernels.Rows("src", 1), "grid (h, w)"),
			out("dst", e.dtype, kernels.Rows("dst", 0), "next grid, of src's shape"),
			implied("width", devices.Int32, "elements of a row"),
			implied("height", devices.Int32, "rows"),
		},
		Variants: variants(jacobiGo[T], stencilCL[e.suffix], "stencil_jacobi2d", e.needs),
		Infer: func(c *kernels.Call) error {
			if _, err := sameShape(c, "src", "dst"); err != nil {
				return err
			}
			s, err := dims(c, "src", 2, "a grid (height, width)")
			if err != nil {
				return err
			}
			if err := set(c, "width", s[1], "height", s[0]); err != nil {
				return err
			}
			return setRange(c, s[1], s[0])
		},
		Work: func(c *kernels.Call) kernels.Work {
			return kernels.Work{Flops: 5 * float64(c.Range.Items()), Bytes: bytesOf(c, "src", "dst")}
		},
	}
}

func jacobiGo[T real](r devices.Range, a *devices.Args) {
	src, dst := devices.Slice[T](a, 0), devices.Slice[T](a, 1)
	width, height := int(devices.Value[int32](a, 2)), int(devices.Value[int32](a, 3))
	for y := r.Lo[1]; y < r.Hi[1]; y++ {
		mid := src[y*width : (y+1)*width]
		out := dst[y*width : (y+1)*width]
		from, to := max(r.Lo[0], 1), min(r.Hi[0], width-1)
		if y == 0 || y == height-1 || from >= to {
			copy(out[r.Lo[0]:r.Hi[0]], mid[r.Lo[0]:r.Hi[0]])
			continue
		}
		if r.Lo[0] == 0 {
			out[0] = mid[0]
		}
		if r.Hi[0] == width {
			out[width-1] = mid[width-1]
		}
		above, below := src[(y-1)*width+from:(y-1)*width+to], src[(y+1)*width+from:(y+1)*width+to]
		jacobiRow(out[from:to], above, mid[from-1:to+1], below)
	}
}

// jacobiRow averages len(out) elements; mid begins one before and ends one
// after them.
func jacobiRow[T real](out, above, mid, below []T) {
	n := jacobiBlocks(out, above, mid, below)
	out, above, mid, below = out[n:], above[n:], mid[n:], below[n:]
	for len(out) >= 4 && len(above) >= 4 && len(below) >= 4 && len(mid) >= 6 {
		o, a, m, b := (*[4]T)(out), (*[4]T)(above), (*[6]T)(mid), (*[4]T)(below)
		o[0] = ((((m[1] + a[0]) + b[0]) + m[0]) + m[2]) * 0.2
		o[1] = ((((m[2] + a[1]) + b[1]) + m[1]) + m[3]) * 0.2
		o[2] = ((((m[3] + a[2]) + b[2]) + m[2]) + m[4]) * 0.2
		o[3] = ((((m[4] + a[3]) + b[3]) + m[3]) + m[5]) * 0.2
		out, above, mid, below = out[4:], above[4:], mid[4:], below[4:]
	}
	for i := range out {
		out[i] = ((((mid[i+1] + above[i]) + below[i]) + mid[i]) + mid[i+2]) * 0.2
	}
}
