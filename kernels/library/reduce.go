package library

import (
	"fmt"
	"math"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/kernels"
)

// Reductions to one number.
//
// They are made of launches with temporaries between them. The order of the
// operations depends on the length alone, never on the device: an array of
// more than 2048 elements is cut into blocks of 2048; in each, lane j of 32
// starts at the neutral element and takes elements j, j+32, j+64, …; the lanes
// of all blocks are the array of the next round. The last 2048 or fewer
// elements go to 32 lanes in the same way, and then lane j takes lane j+16,
// j+8, j+4, j+2 and j+1. For float32 the error of a sum grows with the
// logarithm of the length.
//
// Sum and dot of nothing are 0, the least and the largest of nothing are an
// error. An int32 sum is an int64, which wraps around. NaN wins over every
// number in VectorMin and VectorMax; of -0 and 0 the one that comes first in
// the order above is kept.
var (
	VectorSum    = sumOf[float32, float32](float32s(), float32s())
	VectorSumF64 = sumOf[float64, float64](float64s(), float64s())
	VectorSumI32 = sumOf[int32, int64](int32s(), int64s())

	VectorDot    = dotOf[float32, float32](float32s(), float32s())
	VectorDotF64 = dotOf[float64, float64](float64s(), float64s())
	VectorDotI32 = dotOf[int32, int64](int32s(), int64s())

	VectorMin    = minOf[float32](float32s(), float32(math.Inf(1)))
	VectorMinF64 = minOf[float64](float64s(), math.Inf(1))
	VectorMinI32 = minOf[int32](int32s(), math.MaxInt32)

	VectorMax    = maxOf[float32](float32s(), float32(math.Inf(-1)))
	VectorMaxF64 = maxOf[float64](float64s(), math.Inf(-1))
	VectorMaxI32 = maxOf[int32](int32s(), math.MinInt32)
)

// The shape of the order of operations; reduce.cl has the same numbers.
const (
	lanes      = 32
	lanesItem  = 8 // of them one work-item's
	reduceSize = 2048
)

// reduceCL is reduce.cl for each pair of element and result type.
var reduceCL = map[[2]devices.DType]*devices.Source{
	{devices.Float32, devices.Float32}: clSource("reduce.cl", defFloat+"#define A float\n"+defSame+defSums+defRealBounds),
	{devices.Float64, devices.Float64}: clSource("reduce.cl", defDouble+"#define A double\n"+defSame+defSums+defRealBounds),
	{devices.Int32, devices.Int32}: clSource("reduce.cl", "#define T int\n#define A int\n#define V int8\n"+defEight+defSame+
		"#define LOWEST INT_MIN\n#define HIGHEST INT_MAX\n"),
	{devices.Int32, devices.Int64}: clSource("reduce.cl", "#define T int\n#define A ulong\n#define V ulong4\n"+defFour+
		"#define WIDEN(v) as_ulong((long)(v))\n#define WIDENV(v) as_ulong4(convert_long4(v))\n"+defSums),
	{devices.Int64, devices.Int64}: clSource("reduce.cl", "#define T ulong\n#define A ulong\n#define V ulong4\n"+defFour+defSame+defSums),
}

// Definitions that several of them need.
const (
	defSame       = "#define WIDEN(v) (v)\n#define WIDENV(v) (v)\n"
	defSums       = "#define SUMS\n"
	defRealBounds = "#define LOWEST -INFINITY\n#define HIGHEST INFINITY\n"
)

// A round is the two kernels of one round: from many blocks to their lanes,
// and from one block to the result.
type round struct {
	partial, final *kernels.Kernel
}

// A fold joins elements with lanes: rows takes whole rows of them from the
// beginning, as many as it says, on processors that have registers for that;
// group the elements at, at+32, … < end of a group of lanes.
type fold[T, A number] struct {
	rows  func(x, y []T, s *[lanes]A) (rows int)
	group func(x, y []T, at, end int, s *[laneGroup]A)
}

// all joins the elements from at to end with all lanes.
func (f fold[T, A]) all(x, y []T, at, end int, s *[lanes]A) {
	if at < end {
		at += lanes * f.rows(x[at:end], y[at:end], s)
	}
	if at >= end {
		return
	}
	for l := 0; l < lanes; l += laneGroup {
		f.group(x, y, at+l, end, (*[laneGroup]A)(s[l:]))
	}
}

// reduction makes the kernel of a reduction whose first round reads the given
// arrays and whose other rounds, if the elements are not the result's type or
// there are two arrays, are those of rest.
func reduction(name, doc string, inputs []string, e, result element, first, rest round, emptyOK bool) *kernels.Kernel {
	params := []kernels.Param{in(inputs[0], e.dtype, nil, "elements, in any shape")}
	if len(inputs) > 1 {
		params = append(params, in(inputs[1], e.dtype, nil, "elements, of x's shape"))
	}
	params = append(params, out("result", result.dtype, nil, "one number ("+result.word+")"))
	return &kernels.Kernel{
		Name:   name + e.suffix,
		Doc:    doc + " (" + e.word + ")",
		Params: params,
		Infer: func(c *kernels.Call) error {
			n, err := sameShape(c, inputs...)
			if err != nil {
				return err
			}
			if n == 0 && !emptyOK {
				return fmt.Errorf("%q has shape %s: an empty array has none", inputs[0], kernels.ShapeString(c.Array(inputs[0]).Shape))
			}
			if err := oneElement(c, "result"); err != nil {
				return err
			}
			return setRange(c, n)
		},
		Work: func(c *kernels.Call) kernels.Work {
			n := float64(c.Array(inputs[0]).Elements())
			return kernels.Work{Flops: n * float64(len(inputs)), Bytes: bytesOf(c, inputs...)}
		},
		Compose: func(c *kernels.Call) ([]kernels.Step, error) {
			args := make([]kernels.StepArg, 0, 3)
			for i := range inputs {
				args = append(args, kernels.OuterArg(i))
			}
			var steps []kernels.Step
			now, n := first, c.Array(inputs[0]).Elements()
			for n > reduceSize {
				n = ceilDiv(n, reduceSize) * lanes
				part := &kernels.Array{Name: fmt.Sprintf("%s.partial%d", name, len(steps)+1), DType: result.dtype, Shape: []int64{n}}
				steps = append(steps, kernels.Step{Kernel: now.partial, Args: append(args, kernels.TempArg(part))})
				now, args = rest, []kernels.StepArg{kernels.TempArg(part)}
			}
			steps = append(steps, kernels.Step{Kernel: now.final, Args: append(args, kernels.OuterArg(len(inputs)))})
			return steps, nil
		},
	}
}

// roundOf makes the kernels of one round.
func roundOf[T, A number](name, entry string, inputs []string, e, result element, start A, f fold[T, A], join func(a, b A) A) round {
	block := func(n int64) kernels.BandFunc {
		return func(*kernels.Call) (kernels.Band, error) {
			return kernels.Band{Dim: 1, Stride: n, High: n}, nil
		}
	}
	var params []kernels.Param
	for _, x := range inputs {
		params = append(params, in(x, e.dtype, block(reduceSize), "elements"))
	}
	length := implied("n", devices.Int64, "number of elements")
	cl := reduceCL[[2]devices.DType{e.dtype, result.dtype}]
	needs := e.needs
	work := func(c *kernels.Call) kernels.Work {
		return kernels.Work{Flops: size(c, "n") * float64(len(inputs)), Bytes: bytesOf(c, inputs...)}
	}
	partial := &kernels.Kernel{
		Name: name + e.suffix + ".partial",
		Doc:  "one round of " + name + ": the lanes of each block",
		Params: append(params[:len(params):len(params)],
			out("part", result.dtype, block(lanes), "32 for each block of 2048"), length),
		Variants: variants(partialGo(len(inputs), start, f), cl, entry+"_partial", needs),
		Infer: func(c *kernels.Call) error {
			n, err := sameShape(c, inputs...)
			if err != nil {
				return err
			}
			blocks := ceilDiv(n, reduceSize)
			if part := c.Array("part"); part == nil || part.Elements() != blocks*lanes {
				return fmt.Errorf("\"part\" has to have %d elements", blocks*lanes)
			}
			if err := set(c, "n", n); err != nil {
				return err
			}
			return setRange(c, lanes/lanesItem, blocks)
		},
		Work: work,
	}
	final := &kernels.Kernel{
		Name: name + e.suffix + ".final",
		Doc:  "the last round of " + name + ": at most 2048 elements to one number",
		Params: append(params[:len(params):len(params)],
			out("result", result.dtype, nil, "one number"), length),
		Variants: variants(finalGo(len(inputs), start, f, join), cl, entry+"_final", needs),
		Infer: func(c *kernels.Call) error {
			n, err := sameShape(c, inputs...)
			if err != nil {
				return err
			}
			if err := oneElement(c, "result"); err != nil {
				return err
			}
			if err := set(c, "n", n); err != nil {
				return err
			}
			return setRange(c, 1)
		},
		Work:    work,
		NoSplit: "it is a single work-item",
	}
	return round{partial, final}
}

func oneElement(c *kernels.Call, name string) error {
	if a := c.Array(name); a == nil || a.Elements() != 1 {
		shape := "none"
		if a != nil {
			shape = kernels.ShapeString(a.Shape)
		}
		return fmt.Errorf("%q has shape %s, want one element: (1,)", name, shape)
	}
	return nil
}

func partialGo[T, A number](inputs int, start A, f fold[T, A]) devices.GoFunc {
	return func(r devices.Range, a *devices.Args) {
		x, y := operands[T](a, inputs)
		part := devices.Slice[A](a, inputs)
		n := int(devices.Value[int64](a, inputs+1))
		for b := r.Lo[1]; b < r.Hi[1]; b++ {
			end := min(n, (b+1)*reduceSize)
			row := part[b*lanes : (b+1)*lanes]
			if r.Lo[0] == 0 && r.Hi[0] == lanes/lanesItem {
				s := startLanes(start)
				f.all(x, y, b*reduceSize, end, &s)
				copy(row, s[:])
				continue
			}
			for l := r.Lo[0] * lanesItem; l < r.Hi[0]*lanesItem; l += laneGroup {
				s := [laneGroup]A{start, start, start, start}
				f.group(x, y, b*reduceSize+l, end, &s)
				copy(row[l:], s[:])
			}
		}
	}
}

func finalGo[T, A number](inputs int, start A, f fold[T, A], join func(a, b A) A) devices.GoFunc {
	return func(r devices.Range, a *devices.Args) {
		if r.Lo[0] >= r.Hi[0] {
			return
		}
		x, y := operands[T](a, inputs)
		n := int(devices.Value[int64](a, inputs+1))
		lane := startLanes(start)
		f.all(x, y, 0, n, &lane)
		for w := lanes / 2; w > 0; w /= 2 {
			for j := range w {
				lane[j] = join(lane[j], lane[j+w])
			}
		}
		devices.Slice[A](a, inputs)[0] = lane[0]
	}
}

func startLanes[A number](start A) (s [lanes]A) {
	for l := range s {
		s[l] = start
	}
	return s
}

// operands are the one or two input arrays; the second is the first again
// where there is only one.
func operands[T any](a *devices.Args, inputs int) (x, y []T) {
	x = devices.Slice[T](a, 0)
	return x, devices.Slice[T](a, inputs-1)
}
