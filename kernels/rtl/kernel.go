package rtl

import (
	"fmt"
	"strconv"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/devices/fpga/verilog"
	"github.com/tandemrun/tandem/kernels"
)

// makeKernel turns a module into a kernel with one variant.
func makeKernel(m *verilog.Module, src *devices.Source) (*kernels.Kernel, error) {
	k := &kernels.Kernel{
		Name:     m.Name,
		Doc:      m.Doc,
		Variants: []kernels.Variant{{Language: devices.LangRTL, Source: src, Entry: m.Entry}},
		Infer:    func(c *kernels.Call) error { return infer(m, c) },
	}
	if !m.Split {
		k.NoSplit = fmt.Sprintf("module %s does not say \"// tandem: split\", so it may carry something from one word to the next", m.Entry)
	}
	for i := range m.Params {
		p := &m.Params[i]
		param := kernels.Param{Name: p.Name, Doc: p.Doc, Type: kernels.Scalar(p.Type), Pos: kernels.Pos{File: m.File, Line: p.Line}}
		if p.Array() {
			param.Kind = kernels.Buffer
			param.Mode, param.Band = access(p), band(m, p)
		} else {
			param.Kind, param.Implied = kernels.Value, p.Implied
			var err error
			if param.Default, err = number(p); err != nil {
				return nil, &verilog.Error{File: m.File, Line: p.Line, Msg: err.Error(), Err: devices.ErrInvalid}
			}
		}
		k.Params = append(k.Params, param)
	}
	return k, nil
}

func access(p *verilog.Param) kernels.Access {
	switch {
	case p.In >= 0 && p.Out >= 0:
		return kernels.ReadWrite
	case p.Out >= 0:
		return kernels.Write
	}
	return kernels.Read
}

// number is the default of a value, nil for none.
func number(p *verilog.Param) (any, error) {
	if p.Default == "" {
		return nil, nil
	}
	var v any
	f, err := strconv.ParseFloat(p.Default, 64)
	v = f
	if !p.Type.Float() {
		v, err = strconv.ParseInt(p.Default, 0, 64)
	}
	if err != nil {
		return nil, fmt.Errorf("value %s: the default %q is no %s", p.Name, p.Default, p.Type)
	}
	if _, err := kernels.Scalar(p.Type).Encode(v); err != nil {
		return nil, fmt.Errorf("value %s: the default: %w", p.Name, err)
	}
	return v, nil
}

// itemOf is the number of elements of an item of p in call c.
func itemOf(m *verilog.Module, p *verilog.Param, c *kernels.Call) (int64, error) {
	missing := ""
	n, err := p.Item.Eval(func(i int) int64 {
		v, ok := c.Int(m.Params[i].Name)
		if !ok {
			missing = m.Params[i].Name
		}
		return v
	})
	if missing != "" {
		return 0, fmt.Errorf("%q is not given, and the items of %q depend on it", missing, p.Name)
	}
	return n, err
}

// band says which elements of p a range of work-items touches. A whole array
// that is written has none: it cannot be split.
func band(m *verilog.Module, p *verilog.Param) kernels.BandFunc {
	if p.Whole && p.Out >= 0 {
		return nil
	}
	return func(c *kernels.Call) (kernels.Band, error) {
		if p.Whole {
			return kernels.Band{High: c.Array(p.Name).Elements()}, nil
		}
		n, err := itemOf(m, p, c)
		if err != nil {
			return kernels.Band{}, err
		}
		h := int64(p.Halo)
		return kernels.Band{Dim: p.Dim, Stride: n, Low: -h * n, High: (h + 1) * n}, nil
	}
}

// infer fills in values that are sides of an array, and the ND-range, and
// checks the arrays against it.
func infer(m *verilog.Module, c *kernels.Call) error {
	for i := range m.Params {
		if p := &m.Params[i]; p.Array() && !p.Whole {
			if err := sides(m, p, c); err != nil {
				return err
			}
		}
	}
	size := make([]int64, m.Dims())
	for d := range size {
		size[d] = -1
	}
	for i := range m.Params {
		p := &m.Params[i]
		if !p.Array() || p.Whole {
			continue
		}
		item, err := itemOf(m, p, c)
		if err != nil {
			return err
		}
		if item == 0 {
			size[p.Dim] = 0
			continue
		}
		if size[p.Dim] < 0 && p.In >= 0 || size[p.Dim] < 0 && len(m.Inputs) == 0 {
			size[p.Dim] = c.Array(p.Name).Elements() / item
		}
		// The dimension that rows run along has the elements of a row.
		if p.Dim > 0 && size[p.Dim-1] < 0 {
			size[p.Dim-1] = item
		}
	}
	for d := range size {
		if size[d] < 0 {
			size[d] = 1
		}
	}
	c.SetRange(size...)
	return fits(m, c)
}

// sides sets the values that an item of p is a product of, where they are not
// given, from its shape: (rows, a, b) for an item a·b.
func sides(m *verilog.Module, p *verilog.Param, c *kernels.Call) error {
	a := c.Array(p.Name)
	if a == nil || len(p.Item.Params) == 0 || len(a.Shape) < 2 || p.Item.Factor != 1 {
		return nil
	}
	for n, i := range p.Item.Params {
		if _, given := c.Int(m.Params[i].Name); given {
			continue
		}
		side := int64(1)
		switch {
		case n == len(p.Item.Params)-1: // the last one takes the rest
			for _, s := range a.Shape[min(n+1, len(a.Shape)):] {
				side *= s
			}
		case n+1 < len(a.Shape):
			side = a.Shape[n+1]
		}
		if err := c.SetValue(m.Params[i].Name, side); err != nil {
			return err
		}
	}
	return nil
}

// fits checks that the arrays have the items of the ND-range.
func fits(m *verilog.Module, c *kernels.Call) error {
	for i := range m.Params {
		p := &m.Params[i]
		a := c.Array(p.Name)
		if !p.Array() || p.Whole || a == nil || p.Dim >= c.Range.Dims {
			continue
		}
		item, err := itemOf(m, p, c)
		if err != nil {
			return err
		}
		if want := item * int64(c.Range.Size[p.Dim]); a.Elements() < want {
			return fmt.Errorf("%q has shape %s, %d elements; %d items of %d take %d", p.Name, kernels.ShapeString(a.Shape), a.Elements(), c.Range.Size[p.Dim], item, want)
		}
	}
	return nil
}
