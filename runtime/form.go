package tandem

import (
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

// form is a bound call of nothing but buffers, with what has to be alike.
type form struct {
	kernel *kernels.Kernel
	given  devices.NDRange // as the caller gave it
	args   []formArg
	call   int32            // position in Graph.calls
	modes  []kernels.Access // of the call's arrays
}

type formArg struct {
	mode  kernels.Access // as the caller gave it
	dtype devices.DType
	shape []int64
}

// maxForms bounds the forms of one kernel that are searched for a match.
const maxForms = 16

// plain is the buffer that v passes by position, nil if v is anything else, or
// a buffer that has to be refused.
func plain(v any) (*Buffer, kernels.Access) {
	var mode kernels.Access
	if a, ok := v.(Arg); ok {
		if a.arg == nil || a.name != "" || a.local != 0 {
			return nil, 0
		}
		mode, v = a.mode, a.value
	}
	x, ok := v.(bufferer)
	if !ok {
		return nil, 0
	}
	b := x.buffer()
	if b == nil || b.err != nil {
		return nil, 0
	}
	return b, mode
}

// keep remembers the call that args were bound to, if they are plain buffers.
func (f *forms) keep(k *kernels.Kernel, given *devices.NDRange, args []any, calls []*kernels.Call, call int32) {
	if len(f.of[k]) >= maxForms {
		return
	}
	n := &form{kernel: k, given: *given, call: call}
	for _, v := range args {
		b, mode := plain(v)
		if b == nil {
			return
		}
		n.args = append(n.args, formArg{mode, b.array.DType, b.array.Shape})
	}
	for _, a := range calls[call].Args {
		if a.Array != nil {
			n.modes = append(n.modes, a.Mode)
		}
	}
	if len(n.modes) != len(n.args) {
		return
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
		b, mode := plain(v)
		if b == nil {
			return false
		}
		a := &f.args[i]
		if mode != a.mode || b.array.DType != a.dtype || !slices.Equal(b.array.Shape, a.shape) {
			return false
		}
		buffers[i] = b
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
		return g.addForm(f, buffers[:len(args)]), true
	}
	for _, f := range g.forms.of[k] {
		if f.takes(given, args, buffers) {
			g.forms.last = f
			return g.addForm(f, buffers[:len(args)]), true
		}
	}
	return Task{}, false
}

func (g *Graph) addForm(f *form, buffers []*Buffer) Task {
	g.uses = g.uses[:0]
	for _, b := range buffers {
		g.uses = append(g.uses, g.useOf(b))
	}
	return g.add(f.call, f.modes)
}
