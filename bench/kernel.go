package bench

import (
	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/kernels"
)

// goKernel makes a kernel from a Go function; its ND-range is that of its
// first array.
func goKernel(name string, f devices.GoFunc, params ...kernels.Param) *kernels.Kernel {
	src := &devices.Source{Name: name, Language: devices.LangGo, Go: map[string]devices.GoFunc{name: f}}
	return &kernels.Kernel{Name: name, Params: params,
		Variants: []kernels.Variant{{Language: devices.LangGo, Entry: name, Source: src}},
		Infer: func(c *kernels.Call) error {
			for _, a := range c.Args {
				if a.Array != nil {
					c.SetRange(a.Array.Elements())
					break
				}
			}
			return nil
		}}
}

func array(name string, t devices.DType, mode kernels.Access) kernels.Param {
	return kernels.Param{Name: name, Kind: kernels.Buffer, Type: kernels.Scalar(t), Mode: mode, Band: kernels.PerItem(1)}
}

func number(name string, t devices.DType) kernels.Param {
	return kernels.Param{Name: name, Kind: kernels.Value, Type: kernels.Scalar(t)}
}

// affine writes y = 3x + 1.
func affine() *kernels.Kernel {
	return goKernel("affine", func(r devices.Range, a *devices.Args) {
		x, y := devices.Slice[int32](a, 0), devices.Slice[int32](a, 1)
		for i := r.Lo[0]; i < r.Hi[0]; i++ {
			y[i] = 3*x[i] + 1
		}
	}, array("x", devices.Int32, kernels.Read), array("y", devices.Int32, kernels.Write))
}

// step does x = 3x + 1 in place.
func step() *kernels.Kernel {
	return goKernel("step", func(r devices.Range, a *devices.Args) {
		x := devices.Slice[int32](a, 0)
		for i := r.Lo[0]; i < r.Hi[0]; i++ {
			x[i] = 3*x[i] + 1
		}
	}, array("x", devices.Int32, kernels.ReadWrite))
}

// spin computes for a time in proportion to rounds and writes what came out.
func spin() *kernels.Kernel {
	return goKernel("spin", func(r devices.Range, a *devices.Args) {
		x, rounds := devices.Slice[int32](a, 0), devices.Value[int32](a, 1)
		for i := r.Lo[0]; i < r.Hi[0]; i++ {
			v := uint32(x[i])
			for range rounds {
				v = v*1664525 + 1013904223
			}
			x[i] = int32(v)
		}
	}, array("x", devices.Int32, kernels.ReadWrite), number("rounds", devices.Int32))
}
