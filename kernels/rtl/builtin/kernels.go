package builtin

import (
	"fmt"
	"math"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/kernels"
)

// The kernels that package library does not have.
var (
	Conv3x3   = conv3x3()
	Histogram = histogram()
	CRC32     = crc()
	FIR       = fir()
	MatVec    = matvec()
)

// All lists the kernels of this package that package library does not have,
// sorted by name. The slice is the caller's; the kernels are shared and
// immutable.
func All() []*kernels.Kernel { return []*kernels.Kernel{Conv3x3, CRC32, FIR, Histogram, MatVec} }

func array(mode kernels.Access, name string, d devices.DType, band kernels.BandFunc, doc string) kernels.Param {
	return kernels.Param{Name: name, Kind: kernels.Buffer, Type: kernels.Scalar(d), Mode: mode, Band: band, Doc: doc}
}

func value(name string, d devices.DType, def any, doc string) kernels.Param {
	return kernels.Param{Name: name, Kind: kernels.Value, Type: kernels.Scalar(d), Default: def, Doc: doc}
}

func implied(name, doc string) kernels.Param {
	return kernels.Param{Name: name, Kind: kernels.Value, Type: kernels.Scalar(devices.Int32), Implied: true, Doc: doc}
}

// implement gives k its two variants.
func implement(k *kernels.Kernel, f devices.GoFunc) *kernels.Kernel {
	v, _ := Variant(k.Name)
	src := &devices.Source{Name: k.Name + ".go", Language: devices.LangGo, Go: map[string]devices.GoFunc{v.Entry: f}}
	k.Variants = []kernels.Variant{{Language: devices.LangGo, Source: src, Entry: v.Entry}, v}
	return k
}

// whole is the band of an array that every work-item may read all of.
func whole(param string) kernels.BandFunc {
	return func(c *kernels.Call) (kernels.Band, error) { return kernels.Band{High: c.Array(param).Elements()}, nil }
}

const carries = "it carries something from one element to the next"

func conv3x3() *kernels.Kernel {
	k := &kernels.Kernel{
		Name: "rtl.conv3x3",
		Doc:  "3×3 convolution: the weighted sum, shifted right, cut to 0...255; beyond the edge the outermost pixel repeats",
		Params: []kernels.Param{
			array(kernels.Read, "src", devices.Uint8, kernels.Rows("src", 1), "gray picture (h, w)"),
			array(kernels.Write, "dst", devices.Uint8, kernels.Rows("dst", 0), "picture of src's shape"),
			implied("width", "pixels of a row, at most 8192"),
		},
		Infer: func(c *kernels.Call) error {
			src, dst := c.Array("src"), c.Array("dst")
			if src == nil || dst == nil || len(src.Shape) != 2 || len(dst.Shape) != 2 || src.Shape[0] != dst.Shape[0] || src.Shape[1] != dst.Shape[1] {
				return fmt.Errorf("\"src\" and \"dst\" have to be gray pictures (height, width) of one shape")
			}
			if src.Shape[1] > math.MaxInt32 {
				return fmt.Errorf("\"src\" has rows of %d pixels", src.Shape[1])
			}
			if err := c.SetValue("width", src.Shape[1]); err != nil {
				return err
			}
			c.SetRange(src.Shape[1], src.Shape[0])
			return nil
		},
		Work: func(c *kernels.Call) kernels.Work {
			n := float64(c.Array("src").Elements())
			return kernels.Work{Flops: 18 * n, Bytes: 2 * n}
		},
	}
	for row := range 3 {
		for col := range 3 {
			k.Params = append(k.Params, value(fmt.Sprintf("k%d%d", row, col), devices.Int16, nil, "weight of the pixel above left (00) to below right (22)"))
		}
	}
	k.Params = append(k.Params, value("shift", devices.Uint8, 0, "bits that the sum is shifted right, at most 31"))
	return implement(k, conv3x3Go)
}

// line infers an ND-range with a work-item for each element of an array.
func line(name string) func(c *kernels.Call) error {
	return func(c *kernels.Call) error {
		a := c.Array(name)
		if a == nil {
			return fmt.Errorf("array %q is missing", name)
		}
		c.SetRange(a.Elements())
		return nil
	}
}

func histogram() *kernels.Kernel {
	return implement(&kernels.Kernel{
		Name: "rtl.histogram",
		Doc:  "how often each of the 256 values occurs",
		Params: []kernels.Param{
			array(kernels.Read, "src", devices.Uint8, kernels.PerItem(1), "bytes"),
			array(kernels.Write, "bins", devices.Uint32, nil, "counts, (256,)"),
		},
		NoSplit: carries,
		Infer: func(c *kernels.Call) error {
			if b := c.Array("bins"); b == nil || b.Elements() != 256 {
				return fmt.Errorf("\"bins\" has to have 256 elements")
			}
			return line("src")(c)
		},
	}, histogramGo)
}

func crc() *kernels.Kernel {
	return implement(&kernels.Kernel{
		Name: "rtl.crc32",
		Doc:  "CRC-32 of IEEE 802.3",
		Params: []kernels.Param{
			array(kernels.Read, "src", devices.Uint8, kernels.PerItem(1), "bytes"),
			array(kernels.Write, "crc", devices.Uint32, nil, "the sum, a single element"),
		},
		NoSplit: carries,
		Infer: func(c *kernels.Call) error {
			if a := c.Array("crc"); a == nil || a.Elements() != 1 {
				return fmt.Errorf("\"crc\" has to have a single element")
			}
			return line("src")(c)
		},
	}, crc32Go)
}

func fir() *kernels.Kernel {
	k := &kernels.Kernel{
		Name: "rtl.fir",
		Doc:  "FIR filter with eight taps: y[i] = (h0·x[i] + ... + h7·x[i-7]) >> shift; before the first sample all is 0",
		Params: []kernels.Param{
			array(kernels.Read, "x", devices.Int16, kernels.PerItem(1), "samples"),
			array(kernels.Write, "y", devices.Int32, kernels.PerItem(1), "filtered samples, as many as x has"),
		},
		NoSplit: carries,
		Infer: func(c *kernels.Call) error {
			x, y := c.Array("x"), c.Array("y")
			if x == nil || y == nil || x.Elements() != y.Elements() {
				return fmt.Errorf("\"x\" and \"y\" have to have the same number of elements")
			}
			return line("x")(c)
		},
	}
	for i := range 8 {
		k.Params = append(k.Params, value(fmt.Sprintf("h%d", i), devices.Int16, nil, "tap"))
	}
	k.Params = append(k.Params, value("shift", devices.Uint8, 0, "bits that the sum is shifted right, at most 31"))
	return implement(k, firGo)
}

func matvec() *kernels.Kernel {
	return implement(&kernels.Kernel{
		Name: "rtl.matvec",
		Doc:  "y = (A·x) >> shift in fixed point: 16-bit elements, 48-bit sums, the low 32 bits kept",
		Params: []kernels.Param{
			array(kernels.Read, "a", devices.Int16, func(c *kernels.Call) (kernels.Band, error) {
				n, _ := c.Int("cols")
				return kernels.Band{Stride: n, High: n}, nil
			}, "matrix (rows, cols)"),
			array(kernels.Read, "x", devices.Int16, whole("x"), "vector (cols,), at most 4096 elements"),
			array(kernels.Write, "y", devices.Int32, kernels.PerItem(1), "product (rows,)"),
			implied("cols", "columns of the matrix"),
			value("shift", devices.Uint8, 0, "bits that the sum is shifted right, at most 47"),
		},
		Infer: func(c *kernels.Call) error {
			a, x, y := c.Array("a"), c.Array("x"), c.Array("y")
			if a == nil || x == nil || y == nil || len(a.Shape) != 2 || x.Elements() != a.Shape[1] || y.Elements() != a.Shape[0] || a.Shape[1] < 1 {
				return fmt.Errorf("\"a\" has to be a matrix (rows, cols), \"x\" have cols elements and \"y\" rows")
			}
			if err := c.SetValue("cols", a.Shape[1]); err != nil {
				return err
			}
			c.SetRange(a.Shape[0])
			return nil
		},
		Work: func(c *kernels.Call) kernels.Work {
			n := float64(c.Array("a").Elements())
			return kernels.Work{Flops: 2 * n, Bytes: 2 * n}
		},
	}, matvecGo)
}
