package strategy

import (
	"errors"
	"fmt"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/kernels"
	tandem "github.com/tandemrun/tandem/runtime"
)

// A Stage is one step of a chain: a kernel that makes one array of another.
// Only Kernel has to be set.
type Stage struct {
	Kernel *kernels.Kernel
	// Args are the kernel's arguments, as Graph.Add takes them. nil: in, out.
	Args func(in, out *tandem.Buffer) []any
	// Range is the ND-range. nil: it follows from the arguments.
	Range func(in, out *kernels.Array) devices.NDRange
	// Out describes what the stage makes of an input: element type and shape.
	// nil: an array like the input.
	Out func(in *kernels.Array) kernels.Array
}

// add puts the stage into a graph, on one device.
func (st *Stage) add(g *tandem.Graph, in, out *tandem.Buffer) tandem.Task {
	args := []any{in, out}
	if st.Args != nil {
		args = st.Args(in, out)
	}
	var r devices.NDRange
	if st.Range != nil {
		r = st.Range(in.Array(), out.Array())
	}
	return g.AddRange(st.Kernel, r, args...).NoSplit()
}

// result describes the stage's output for an input.
func (st *Stage) result(in *kernels.Array) kernels.Array {
	if st.Out == nil {
		return kernels.Array{DType: in.DType, Shape: in.Shape}
	}
	return st.Out(in)
}

// checkChain finds what is wrong with a chain before anything is made for it.
func checkChain(chain []Stage) error {
	if len(chain) == 0 {
		return fmt.Errorf("a chain of no stages: %w", devices.ErrInvalid)
	}
	for i := range chain {
		if chain[i].Kernel == nil {
			return fmt.Errorf("stage %d of %d has no kernel: %w", i+1, len(chain), devices.ErrInvalid)
		}
	}
	return nil
}

// Temporaries are buffers that a strategy made for what lies between tasks.
// They belong to the session and are freed with it, or earlier by Free.
type Temporaries []*tandem.Buffer

// Free waits for the tasks that use the buffers and gives their memory back.
// Freeing twice is nil.
func (t Temporaries) Free() error {
	var errs []error
	for _, b := range t {
		errs = append(errs, b.Free())
	}
	return errors.Join(errs...)
}
