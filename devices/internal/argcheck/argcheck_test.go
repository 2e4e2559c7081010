package argcheck

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/tandemrun/tandem/devices"
)

// memory is a buffer; only its own device holds it.
type memory struct{ freed bool }

func (m *memory) Size() int64 { return 16 }
func (m *memory) Free() error { m.freed = true; return nil }

type device struct{ own *memory }

func (d device) Holds(b devices.Buffer) (ours, freed bool) {
	m := b.(*memory)
	return m == d.own, m.freed
}

// TestCheck passes each kind of argument to each kind of parameter.
func TestCheck(t *testing.T) {
	k := Kernel{Device: "gpu:0", Entry: "k", Local: "__local ", Params: []Parameter{
		{"x", "float*", Global, 0}, {"s", "float*", Local, 0}, {"n", "int", Value, 4}, {"v", "T", Value, 0}}}
	own, freed, other := &memory{}, &memory{freed: true}, &memory{}
	buffer, local, four, none := devices.Arg{Buffer: own}, devices.Arg{LocalBytes: 8}, devices.Arg{Value: make([]byte, 4)}, devices.Arg{}
	for _, c := range []struct {
		at    int
		arg   devices.Arg
		wrong string // "": it fits
	}{
		{0, buffer, ""}, {0, none, ""}, {0, local, "argument 0 (float* x): it is no local memory, 8 bytes"}, {0, four, "it takes a buffer, a value of 4 bytes"},
		{1, local, ""}, {1, none, "argument 1 (__local float* s): it needs an amount of local memory in bytes, none"}, {1, buffer, "a buffer of 16 bytes was given"}, {1, four, "a value of 4 bytes was given"},
		{2, four, ""}, {2, none, "it takes a value, none was given"}, {2, buffer, "it takes a value, a buffer"}, {2, local, "it is no local memory"},
		{2, devices.Arg{Value: make([]byte, 5)}, "argument 2 (int n): it takes 4 bytes, 5 were given"}, {3, devices.Arg{Value: make([]byte, 5)}, ""},
		{3, devices.Arg{Value: []byte{}}, "the value has no bytes"}, {4, local, ""}, {4, four, ""}, {4, none, ""}, {4, buffer, ""},
		{1, devices.Arg{LocalBytes: -1}, "-1 bytes of local memory"}, {0, devices.Arg{Buffer: other}, "not one of this device"},
		{0, devices.Arg{Buffer: own, LocalBytes: 1}, "both a buffer and"}, {2, devices.Arg{Value: []byte{1}, LocalBytes: 1}, "both a value and"},
	} {
		err := k.Check(c.at, c.at, &c.arg, device{own})
		if c.wrong == "" && err != nil || c.wrong != "" && (!errors.Is(err, devices.ErrInvalid) || !strings.Contains(err.Error(), c.wrong) || !strings.HasPrefix(err.Error(), `gpu:0: kernel "k": argument`)) {
			t.Errorf("%+v to parameter %d: %v, want %q", c.arg, c.at, err, c.wrong)
		}
	}
	if err := k.Check(0, 0, &devices.Arg{Buffer: freed}, device{freed}); !errors.Is(err, devices.ErrClosed) {
		t.Errorf("a freed buffer: %v", err)
	}
	if err := k.Count(4, 3); !errors.Is(err, devices.ErrInvalid) || !strings.Contains(err.Error(), "takes 4 arguments, 3 were given") {
		t.Errorf("%v", err)
	}
	arg := devices.Arg{Buffer: own}
	if n := testing.AllocsPerRun(100, func() { _ = k.Check(0, 0, &arg, device{own}) }); n > 0 {
		t.Errorf("a check allocates %v times", n)
	}
}

// TestAddLocal: a sum beyond 64 bits is no way around the limit.
func TestAddLocal(t *testing.T) {
	k := Kernel{Device: "gpu:0", Entry: "k"}
	used := int64(100)
	if err := k.AddLocal(0, &devices.Arg{LocalBytes: 400}, &used, 500); err != nil || used != 500 {
		t.Errorf("used %d, %v", used, err)
	}
	for _, n := range []int64{1, math.MaxInt64} {
		if err := k.AddLocal(1, &devices.Arg{LocalBytes: n}, &used, 500); !errors.Is(err, devices.ErrInvalid) || used != 500 {
			t.Errorf("%d more: used %d, %v", n, used, err)
		}
	}
}
