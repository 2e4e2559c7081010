package fpga

import (
	"encoding/binary"
	"math"
	"math/bits"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/devices/fpga/verilog"
)

// kernelOf finds the kernel of a launch.
func (d *device) kernelOf(l *devices.Launch) (*kernel, error) {
	k, ok := l.Kernel.(*kernel)
	if !ok || k == nil || k.d != d {
		return nil, d.errorf(devices.ErrInvalid, "Launch: the kernel is not one of this device")
	}
	if k.closed.Load() {
		return nil, d.errorf(devices.ErrClosed, "Launch %s: the kernel", k.in.unit.module.Entry)
	}
	return k, nil
}

// checkRange refuses ranges that cannot be meant, or that m cannot stream.
func (d *device) checkRange(m *verilog.Module, r *devices.NDRange) error {
	if r.Dims < 1 || r.Dims > 3 {
		return d.errorf(devices.ErrInvalid, "Launch %s: a range of %d dimensions", m.Entry, r.Dims)
	}
	items, group := uint64(1), uint64(1)
	part := r.Whole != [3]int{}
	for dim := range r.Dims {
		size, offset, local := r.Size[dim], r.Offset[dim], r.Local[dim]
		switch {
		case size < 0 || offset < 0 || local < 0 || offset > math.MaxInt-size:
			return d.errorf(devices.ErrInvalid, "Launch %s: global size %d, offset %d and local size %d in dimension %d", m.Entry, size, offset, local, dim)
		case part && offset+size > r.Whole[dim]:
			return d.errorf(devices.ErrInvalid, "Launch %s: the part [%d,%d) is outside of the %d work-items of dimension %d", m.Entry, offset, offset+size, r.Whole[dim], dim)
		}
		over, n := bits.Mul64(items, uint64(size))
		if over > 0 || n > math.MaxInt64 {
			return d.errorf(devices.ErrInvalid, "Launch %s: global size %v is too large", m.Entry, r.Size[:r.Dims])
		}
		items = n
		group *= min(max(uint64(local), 1), maxWorkGroup+1)
	}
	if group > maxWorkGroup {
		return d.errorf(devices.ErrInvalid, "Launch %s: local size %v has more than %d work-items", m.Entry, r.Local[:r.Dims], maxWorkGroup)
	}
	if items == 0 {
		return nil
	}
	if r.Dims != m.Dims() {
		return d.errorf(devices.ErrInvalid, "Launch %s: a range of %d dimensions; the kernel streams arrays along %d", m.Entry, r.Dims, m.Dims())
	}
	if part && !m.Split && r.Size != r.Whole {
		return d.errorf(devices.ErrUnsupported, "Launch %s: a part %v of %v; the kernel does not say that it may be split", m.Entry, r.Size[:r.Dims], r.Whole[:r.Dims])
	}
	return nil
}

// input is what a stream takes from memory: items [lo, hi) of an array of n
// items, those outside of it standing for the nearest inside.
type input struct {
	mem    []byte // up to the last item that is read
	item   int64  // bytes
	lo, hi int64
	n      int64
}

// plan is a launch in terms of memory and registers.
type plan struct {
	empty   bool // no work-items: nothing runs
	inputs  [verilog.MaxInputs]input
	outputs [verilog.MaxOutputs][]byte
	config  []uint32 // pairs of register and value
	scratch bool     // an output lies over the input of another array
	words   int64    // in and out together
}

func (p *plan) clear() {
	*p = plan{config: p.config[:0]}
}

// launch fills in c with a launch, or says what is wrong with its arguments.
func (c *command) launch(k *kernel, l *devices.Launch) error {
	d, m := c.d, k.in.unit.module
	if len(l.Args) != len(m.Params) {
		return d.errorf(devices.ErrInvalid, "Launch %s: %d arguments for %s", m.Entry, len(l.Args), m.Signature())
	}
	c.in, c.image = k.in, k.image
	p := &c.plan
	p.empty = l.Range.Items() == 0
	for i := range m.Params {
		if err := d.checkArg(m, i, &l.Args[i]); err != nil {
			return err
		}
	}
	if p.empty {
		return nil
	}
	r := l.Range.Norm()
	for dim := range r.Dims {
		if !streams(m, dim) && (r.Offset[dim] != 0 || r.Size[dim] != r.Whole[dim]) {
			return d.errorf(devices.ErrUnsupported, "Launch %s: a part of dimension %d, which no array is streamed along", m.Entry, dim)
		}
	}
	value := func(i int) int64 { return integer(m.Params[i].Type, l.Args[i].Value) }
	for _, limit := range m.Limits {
		v, err := limit.Of.Eval(value)
		if err != nil || v > limit.Most {
			return d.errorf(devices.ErrInvalid, "Launch %s: %s is %d, the kernel is made for at most %d", m.Entry, limit.Words, v, limit.Most)
		}
	}
	for i := range m.Params {
		var err error
		if m.Params[i].Array() {
			err = c.array(m, i, &l.Args[i], &r, value)
		} else {
			c.registers(m.Params[i].Register, m.Params[i].Type, l.Args[i].Value)
		}
		if err != nil {
			return err
		}
	}
	for _, count := range m.Counts {
		n := c.count(m, count.Param)
		p.config = append(p.config, uint32(count.Register), uint32(n))
		if count.Wide {
			p.config = append(p.config, uint32(count.Register+1), uint32(n>>32))
		} else if n > math.MaxUint32 {
			return d.errorf(devices.ErrInvalid, "Launch %s: %d words of %s; the kernel counts to %d", m.Entry, n, m.Params[count.Param].Name, uint32(math.MaxUint32))
		}
	}
	c.layers(m)
	return nil
}

// streams reports whether an array of m is streamed along a dimension.
func streams(m *verilog.Module, dim int) bool {
	for i := range m.Params {
		if p := &m.Params[i]; p.Array() && !p.Whole && p.Dim == dim {
			return true
		}
	}
	return false
}

// checkArg checks one argument without looking at sizes.
func (d *device) checkArg(m *verilog.Module, i int, a *devices.Arg) error {
	p := &m.Params[i]
	if a.LocalBytes != 0 {
		return d.errorf(devices.ErrInvalid, "Launch %s: argument %d (%s): local memory of %d bytes; a streaming kernel has none", m.Entry, i, p.Name, a.LocalBytes)
	}
	if !p.Array() {
		if a.Buffer != nil || len(a.Value) != p.Type.Size() {
			return d.errorf(devices.ErrInvalid, "Launch %s: argument %d (%s) is a value of type %s, %d bytes; got %d bytes", m.Entry, i, p.Name, p.Type, p.Type.Size(), len(a.Value))
		}
		return nil
	}
	if a.Value != nil {
		return d.errorf(devices.ErrInvalid, "Launch %s: argument %d (%s) is an array, got a value", m.Entry, i, p.Name)
	}
	if a.Buffer == nil {
		return nil
	}
	b, ok := a.Buffer.(*buffer)
	if !ok || b == nil || b.d != d {
		return d.errorf(devices.ErrInvalid, "Launch %s: argument %d (%s) is no buffer of this device", m.Entry, i, p.Name)
	}
	if b.freed.Load() {
		return d.errorf(devices.ErrInvalid, "Launch %s: argument %d (%s), a buffer of %d bytes, was freed", m.Entry, i, p.Name, len(b.mem))
	}
	return nil
}

// array finds what argument i streams.
func (c *command) array(m *verilog.Module, i int, a *devices.Arg, r *devices.NDRange, value func(int) int64) error {
	p, d := &m.Params[i], c.d
	var mem []byte
	if a.Buffer != nil {
		mem = a.Buffer.(*buffer).mem
	}
	size := int64(p.Type.Size())
	if int64(len(mem))%size != 0 {
		return d.errorf(devices.ErrInvalid, "Launch %s: argument %d (%s) has %d bytes, no multiple of the %d of %s", m.Entry, i, p.Name, len(mem), size, p.Type)
	}
	in := input{mem: mem, item: 1, lo: 0, hi: int64(len(mem)), n: int64(len(mem))}
	out := mem
	if !p.Whole {
		item, err := p.Item.Eval(value)
		if err != nil {
			return d.errorf(devices.ErrInvalid, "Launch %s: argument %d (%s): %v", m.Entry, i, p.Name, err)
		}
		lo, hi := int64(r.Offset[p.Dim]), int64(r.Offset[p.Dim]+r.Size[p.Dim])
		n := max(int64(r.Whole[p.Dim]), hi)
		last := min(hi+int64(p.Halo), n) // items behind it are not touched
		if over, bytes := bits.Mul64(uint64(item*size), uint64(last)); item > math.MaxInt64/size || over > 0 || bytes > uint64(len(mem)) {
			return d.errorf(devices.ErrInvalid, "Launch %s: argument %d (%s): items [%d,%d) of %d elements of %s, the buffer has %d bytes", m.Entry, i, p.Name, max(lo-int64(p.Halo), 0), last, item, p.Type, len(mem))
		}
		in = input{mem: mem, item: item * size, lo: lo - int64(p.Halo), hi: hi + int64(p.Halo), n: n}
		out = mem[lo*item*size : hi*item*size]
	}
	words := func(bytes int64, s verilog.Stream) error {
		if bytes%int64(s.Bytes) != 0 {
			return d.errorf(devices.ErrInvalid, "Launch %s: argument %d (%s): %d bytes are no multiple of the %d of a word of port %s", m.Entry, i, p.Name, bytes, s.Bytes, s.Prefix)
		}
		return nil
	}
	if p.In >= 0 {
		piece := in.item * (in.hi - in.lo)
		if p.Halo > 0 {
			piece = in.item
		}
		if err := words(piece, m.Inputs[p.In]); err != nil {
			return err
		}
		c.plan.inputs[p.In] = in
		c.plan.words += in.item * (in.hi - in.lo) / int64(m.Inputs[p.In].Bytes)
	}
	if p.Out >= 0 {
		if err := words(int64(len(out)), m.Outputs[p.Out]); err != nil {
			return err
		}
		c.plan.outputs[p.Out] = out
		c.plan.words += int64(len(out)) / int64(m.Outputs[p.Out].Bytes)
	}
	return nil
}

// count is the number of words that array i streams.
func (c *command) count(m *verilog.Module, i int) int64 {
	p := &m.Params[i]
	if p.In >= 0 {
		in := &c.plan.inputs[p.In]
		return in.item * (in.hi - in.lo) / int64(m.Inputs[p.In].Bytes)
	}
	return int64(len(c.plan.outputs[p.Out])) / int64(m.Outputs[p.Out].Bytes)
}

// registers appends a value to the register bank, extended with its sign to
// whole registers.
func (c *command) registers(first int, t devices.DType, v []byte) {
	if first < 0 {
		return
	}
	var b [8]byte
	if t.Signed() && v[len(v)-1]&0x80 != 0 {
		b = [8]byte{255, 255, 255, 255, 255, 255, 255, 255}
	}
	copy(b[:], v)
	for i := range (t.Size() + 3) / 4 {
		c.plan.config = append(c.plan.config, uint32(first+i), binary.LittleEndian.Uint32(b[4*i:]))
	}
}

// integer is a value as an integer; of a float its bits.
func integer(t devices.DType, v []byte) int64 {
	switch len(v) {
	case 1:
		if t.Signed() {
			return int64(int8(v[0]))
		}
		return int64(v[0])
	case 2:
		if n := binary.NativeEndian.Uint16(v); t.Signed() {
			return int64(int16(n))
		} else {
			return int64(n)
		}
	case 4:
		if n := binary.NativeEndian.Uint32(v); t.Signed() {
			return int64(int32(n))
		} else {
			return int64(n)
		}
	}
	return int64(binary.NativeEndian.Uint64(v))
}

// layers notes whether an output lies over an input of another array, or over
// another output: then it is written behind the job.
func (c *command) layers(m *verilog.Module) {
	for i := range m.Params {
		if m.Params[i].Out < 0 {
			continue
		}
		out := c.plan.outputs[m.Params[i].Out]
		for j := range m.Params {
			if j != i && m.Params[j].In >= 0 && overlaps(out, c.plan.inputs[m.Params[j].In].mem) ||
				j > i && m.Params[j].Out >= 0 && overlaps(out, c.plan.outputs[m.Params[j].Out]) {
				c.plan.scratch = true
			}
		}
	}
}
