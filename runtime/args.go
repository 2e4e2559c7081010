package tandem

import (
	"fmt"
	"reflect"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/kernels"
)

// Range makes an ND-range of one to three dimensions; the first varies fastest
// (x in a picture).
func Range(size ...int) devices.NDRange {
	r := devices.NDRange{Dims: len(size)}
	copy(r.Size[:], size)
	return r
}

// RangeLocal is Range with a work-group size.
func RangeLocal(size, local []int) devices.NDRange {
	r := Range(size...)
	copy(r.Local[:], local)
	return r
}

// An Arg is a kernel argument with more to say than its value; see [In],
// [Out], [InOut], [Local] and [Named].
type Arg struct{ *arg } // a pointer: it goes into an interface without an allocation

type arg struct {
	name  string
	mode  kernels.Access
	local int64
	value any
}

// In passes a buffer that the kernel only reads.
func In(b any) Arg { return with(kernels.Read, b) }

// Out passes a buffer whose old contents do not matter.
func Out(b any) Arg { return with(kernels.Write, b) }

// InOut passes a buffer that the kernel reads and writes.
func InOut(b any) Arg { return with(kernels.ReadWrite, b) }

// with is v in a mode. Buffers have these at hand.
func with(mode kernels.Access, v any) Arg {
	if x, ok := v.(bufferer); ok {
		if b := x.buffer(); b != nil {
			return Arg{&b.as[mode]}
		}
	}
	return Arg{&arg{mode: mode, value: v}}
}

// Local passes an amount of local memory for a __local parameter.
func Local(bytes int64) Arg { return Arg{&arg{local: bytes}} }

// Named passes an argument by its parameter's name; v is anything that Add
// takes, also another Arg.
func Named(name string, v any) Arg {
	n := arg{value: v}
	if a, ok := v.(Arg); ok {
		n = a.said()
	}
	n.name = name
	return Arg{&n}
}

// said is what the argument has to say; the zero Arg says nothing.
func (a Arg) said() arg {
	if a.arg == nil {
		return arg{}
	}
	return *a.arg
}

// bufferer is a *Buffer or a *Slice of any type.
type bufferer interface{ buffer() *Buffer }

// given turns what a caller passed into what Bind takes, and the buffer in it.
func given(v any) (kernels.Given, *Buffer, error) {
	a := arg{value: v}
	if more, ok := v.(Arg); ok {
		a = more.said()
	}
	g := kernels.Given{Name: a.name, Mode: a.mode, LocalBytes: a.local}
	if a.local != 0 {
		return g, nil, nil
	}
	switch v := a.value.(type) {
	case bufferer:
		b := v.buffer()
		if b == nil {
			return g, nil, fmt.Errorf("nil buffer")
		}
		if b.err != nil {
			return g, nil, b.err
		}
		g.Array = &b.array
		return g, b, nil
	case []kernels.FieldValue:
		g.Value = v
		return g, nil, nil
	case nil:
		return g, nil, fmt.Errorf("nil argument")
	}
	if a.mode != 0 {
		return g, nil, fmt.Errorf("In, Out and InOut take a buffer, got %T", a.value)
	}
	switch rv := reflect.ValueOf(a.value); {
	case rv.CanInt(), rv.CanUint(), rv.CanFloat(), rv.Kind() == reflect.Bool, rv.Kind() == reflect.Slice, rv.Kind() == reflect.Array:
		g.Value = a.value
		return g, nil, nil
	}
	return g, nil, fmt.Errorf("%T is no kernel argument", a.value)
}
