package strategy

import (
	_ "embed"
	"fmt"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/kernels"
)

//go:embed place.cl
var placeSource []byte

// Kernels that put a panel of columns into its place in a matrix.
var (
	placeFloat32 = newPlace[float32]("uint")
	placeFloat64 = newPlace[float64]("ulong")
)

// placeOf is the kernel for elements of type T.
func placeOf[T Real]() *kernels.Kernel {
	if devices.DTypeOf[T]() == devices.Float64 {
		return placeFloat64
	}
	return placeFloat32
}

func newPlace[T Real](bits string) *kernels.Kernel {
	const entry = "columns_place"
	dtype := devices.DTypeOf[T]()
	integer := kernels.Scalar(devices.Int32)
	cl := &devices.Source{Name: "place.cl", Language: devices.LangOpenCL, Text: append([]byte("#define T "+bits+"\n#line 1 \"place.cl\"\n"), placeSource...)}
	inGo := &devices.Source{Name: "place.go", Language: devices.LangGo, Go: map[string]devices.GoFunc{entry: placeGo[T]}}
	return &kernels.Kernel{
		Name: "columns.place." + dtype.String(),
		Doc:  "put a panel into columns first, first+1, … of a matrix",
		Params: []kernels.Param{
			{Name: "part", Kind: kernels.Buffer, Type: kernels.Scalar(dtype), Mode: kernels.Read, Doc: "panel (rows, width)"},
			{Name: "whole", Kind: kernels.Buffer, Type: kernels.Scalar(dtype), Mode: kernels.ReadWrite, Doc: "matrix (rows, n)"},
			{Name: "first", Kind: kernels.Value, Type: integer, Doc: "column of the panel's first"},
			{Name: "width", Kind: kernels.Value, Type: integer, Implied: true, Doc: "columns of the panel"},
			{Name: "n", Kind: kernels.Value, Type: integer, Implied: true, Doc: "columns of the matrix"},
		},
		Variants: []kernels.Variant{
			{Language: devices.LangGo, Source: inGo, Entry: entry},
			{Language: devices.LangOpenCL, Source: cl, Entry: entry},
		},
		NoSplit: "panels that share rows of a matrix share cache lines",
		Infer: func(c *kernels.Call) error {
			part, whole := c.Array("part"), c.Array("whole")
			if part == nil || whole == nil || len(part.Shape) != 2 || len(whole.Shape) != 2 || part.Shape[0] != whole.Shape[0] {
				return fmt.Errorf("a panel and a matrix of as many rows are wanted")
			}
			first, ok := c.Int("first")
			if !ok || first < 0 || first+part.Shape[1] > whole.Shape[1] {
				return fmt.Errorf("%d columns from %d on do not fit into %d", part.Shape[1], first, whole.Shape[1])
			}
			if err := c.SetValue("width", part.Shape[1]); err != nil {
				return err
			}
			c.SetRange(part.Shape[1], part.Shape[0])
			return c.SetValue("n", whole.Shape[1])
		},
		Work: func(c *kernels.Call) kernels.Work {
			part := c.Array("part")
			return kernels.Work{Flops: float64(part.Elements()), Bytes: 2 * float64(part.Bytes())}
		},
	}
}

func placeGo[T Real](r devices.Range, args *devices.Args) {
	part, whole := devices.Slice[T](args, 0), devices.Slice[T](args, 1)
	first, width, n := int(devices.Value[int32](args, 2)), int(devices.Value[int32](args, 3)), int(devices.Value[int32](args, 4))
	for y := r.Lo[1]; y < r.Hi[1]; y++ {
		copy(whole[y*n+first+r.Lo[0]:y*n+first+r.Hi[0]], part[y*width+r.Lo[0]:y*width+r.Hi[0]])
	}
}
