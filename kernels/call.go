package kernels

import (
	"fmt"

	"github.com/tandemrun/tandem/devices"
)

// A Call is a kernel with all its arguments and its ND-range, checked.
type Call struct {
	Kernel *Kernel
	Range  devices.NDRange
	Args   []Arg // by position, one for each parameter
}

// Arg is one bound argument; which field counts follows from the parameter's
// kind.
type Arg struct {
	Set        bool
	Array      *Array
	Mode       Access
	Value      []byte // as the device takes it
	LocalBytes int64
}

// Array is the array bound to the named parameter, nil if there is none.
func (c *Call) Array(param string) *Array {
	if i := c.Kernel.Param(param); i >= 0 {
		return c.Args[i].Array
	}
	return nil
}

// Int reads the integer bound to the named parameter; ok is false if it is not
// a bound integer.
func (c *Call) Int(param string) (v int64, ok bool) {
	i := c.Kernel.Param(param)
	if i < 0 || c.Kernel.Params[i].Kind != Value || c.Args[i].Value == nil {
		return 0, false
	}
	return c.Kernel.Params[i].Type.decodeInt(c.Args[i].Value)
}

// SetValue gives a value to the named parameter, as Infer does.
func (c *Call) SetValue(param string, v any) error {
	i := c.Kernel.Param(param)
	if i < 0 || c.Kernel.Params[i].Kind != Value {
		return fmt.Errorf("%s has no value parameter %q", c.Kernel.Name, param)
	}
	b, err := c.Kernel.Params[i].Type.Encode(v)
	if err != nil {
		return fmt.Errorf("%s: %s: %w", c.Kernel.Name, param, err)
	}
	c.Args[i].Value, c.Args[i].Set = b, true
	return nil
}

// SetRange sets the ND-range unless the caller of Bind gave one.
func (c *Call) SetRange(size ...int64) {
	if c.Range.Dims > 0 {
		return
	}
	c.Range.Dims = len(size)
	for d, n := range size {
		c.Range.Size[d] = int(n)
	}
}

// Work is what the call costs: what the kernel says, else one operation per
// work-item and the bytes of the arrays.
func (c *Call) Work() Work {
	if c.Kernel.Work != nil {
		return c.Kernel.Work(c)
	}
	w := Work{Flops: float64(c.Range.Items())}
	for _, a := range c.Args {
		if a.Array != nil {
			w.Bytes += float64(a.Array.Bytes())
			if a.Mode == ReadWrite {
				w.Bytes += float64(a.Array.Bytes())
			}
		}
	}
	return w
}

// Bands resolves the access mapping of every argument; nil where it is not
// known or the argument is no array.
func (c *Call) Bands() ([]*Band, error) {
	bands := make([]*Band, len(c.Args))
	for i, p := range c.Kernel.Params {
		if p.Kind != Buffer || p.Band == nil || c.Args[i].Array == nil {
			continue
		}
		b, err := p.Band(c)
		if err != nil {
			return nil, fmt.Errorf("%s: %s: %w", c.Kernel.Name, p.Name, err)
		}
		bands[i] = &b
	}
	return bands, nil
}

// alias names a parameter bound to the same array as the written parameter i,
// unless each work-item touches the same elements of it through both.
func (c *Call) alias(i int, bands []*Band) string {
	for j, a := range c.Args {
		if j != i && a.Array == c.Args[i].Array && (bands[j] == nil || *bands[j] != *bands[i]) {
			return c.Kernel.Params[j].Name
		}
	}
	return ""
}

// Splittable reports along which dimension the call may be divided over
// devices so that the result is bit for bit that of one device, or why not.
func (c *Call) Splittable() (dim int, bands []*Band, reason error) {
	k := c.Kernel
	if k.NoSplit != "" {
		return 0, nil, fmt.Errorf("%s cannot be split: %s", k.Name, k.NoSplit)
	}
	bands, err := c.Bands()
	if err != nil {
		return 0, nil, err
	}
	dim = -1
	for i, a := range c.Args {
		if a.Array == nil || !a.Mode.Writes() {
			continue
		}
		b, name := bands[i], k.Params[i].Name
		switch {
		case b == nil:
			return 0, nil, fmt.Errorf("%s cannot be split: which elements of %q a work-item writes is not known", k.Name, name)
		case !b.Disjoint():
			return 0, nil, fmt.Errorf("%s cannot be split: neighbouring work-items write the same elements of %q", k.Name, name)
		case dim >= 0 && b.Dim != dim:
			return 0, nil, fmt.Errorf("%s cannot be split: its outputs run along different dimensions", k.Name)
		}
		dim = b.Dim
	}
	if dim < 0 {
		return 0, nil, fmt.Errorf("%s cannot be split: it writes nothing", k.Name)
	}
	if dim >= c.Range.Dims {
		return 0, nil, fmt.Errorf("%s cannot be split: its ND-range has no dimension %d", k.Name, dim)
	}
	for i, a := range c.Args {
		b := bands[i]
		if a.Array == nil {
			continue
		}
		if a.Mode == ReadWrite && (b == nil || !b.Disjoint()) {
			return 0, nil, fmt.Errorf("%s cannot be split: it reads elements of %q that other work-items write", k.Name, k.Params[i].Name)
		}
		if a.Mode.Writes() {
			if other := c.alias(i, bands); other != "" {
				return 0, nil, fmt.Errorf("%s cannot be split: %q and %q are the same array, and work-items may touch what others write", k.Name, k.Params[i].Name, other)
			}
		}
		// A read array with a band along another dimension is needed whole.
		if b != nil && b.Dim != dim {
			bands[i] = nil
		}
	}
	return dim, bands, nil
}
