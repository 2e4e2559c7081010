package tandem

import (
	"reflect"
	"slices"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/kernels"
)

// forms are calls that were bound before, so that a task that differs from an
// earlier one only in which buffers it takes shares its call.
type forms struct {
	last *form
	of   map[*kernels.Kernel][]*form
}

// form is a call with what has to be alike.
type form struct {
	kernel *kernels.Kernel
	given  devices.NDRange // as the caller gave it
	args   []formArg
	call   int32            // position in Graph.calls
	modes  []kernels.Access // of the call's arrays
}

// formArg is an argument as the caller gave it.
type formArg struct {
	arg       // of a buffer without the value
	array int // position among the call's arrays; -1: a number, or local memory
	dtype devices.DType
	shape []int64
}

// maxForms bounds the forms of one kernel that are searched for a match.
const maxForms = 16

// keep remembers the call that args were bound to, if it can be told from them
// whether another one is alike.
func (f *forms) keep(k *kernels.Kernel, given *devices.NDRange, args []any, calls []*kernels.Call, call int32) {
	if len(f.of[k]) >= maxForms {
		return
	}
	n := &form{kernel: k, given: *given, call: call}
	var arrays []*kernels.Array
	for _, a := range calls[call].Args {
		if a.Array != nil {
			arrays = append(arrays, a.Array)
			n.modes = append(n.modes, a.Mode)
		}
	}
	for _, v := range args {
		a := formArg{arg: arg{value: v}, array: -1}
		if said, ok := v.(Arg); ok {
			a.arg = said.said()
		}
		if x, ok := a.value.(bufferer); ok {
			array := &x.buffer().array
			a.array = slices.Index(arrays, array)
			if a.array < 0 || a.array != len(arrays)-1 && slices.Contains(arrays[a.array+1:], array) {
				return // it is two of them
			}
			a.dtype, a.shape, a.value = array.DType, array.Shape, nil
		} else if a.value != nil && !reflect.TypeOf(a.value).Comparable() {
			return
		}
		n.args = append(n.args, a)
	}
	if f.of == nil {
		f.of = map[*kernels.Kernel][]*form{}
	}
	f.of[k] = append(f.of[k], n)
}

// takes reports whether the form is one for args, and finds their buffers.
func (f *form) takes(given *devices.NDRange, args []any, buffers []*Buffer) bool {
	if len(args) != len(f.args) || *given != f.given {
		return false
	}
	for i, v := range args {
		a := &f.args[i]
		if said, ok := v.(Arg); ok {
			if said.arg == nil || said.mode != a.mode || said.local != a.local || said.name != a.name {
				return false
			}
			v = said.value
		} else if a.mode != 0 || a.local != 0 || a.name != "" {
			return false
		}
		if a.array < 0 {
			if v != a.value {
				return false
			}
			continue
		}
		x, ok := v.(bufferer)
		if !ok {
			return false
		}
		b := x.buffer()
		if b == nil || b.err != nil || b.array.DType != a.dtype || !slices.Equal(b.array.Shape, a.shape) {
			return false
		}
		buffers[a.array] = b
	}
	return true
}

// addAlike adds a task like one that was added before, if there is one.
func (g *Graph) addAlike(k *kernels.Kernel, given *devices.NDRange, args []any) (Task, bool) {
	var room [8]*Buffer
	buffers := room[:]
	if len(args) > len(room) {
		buffers = make([]*Buffer, len(args))
	}
	if f := g.forms.last; f != nil && f.kernel == k && f.takes(given, args, buffers) {
		return g.addForm(f, buffers), true
	}
	for _, f := range g.forms.of[k] {
		if f.takes(given, args, buffers) {
			g.forms.last = f
			return g.addForm(f, buffers), true
		}
	}
	return Task{}, false
}

// addForm adds a task with the buffers of the form's arrays.
func (g *Graph) addForm(f *form, buffers []*Buffer) Task {
	g.uses = g.uses[:0]
	for _, b := range buffers[:len(f.modes)] {
		g.uses = append(g.uses, g.useOf(b))
	}
	return g.add(f.call, f.modes)
}
