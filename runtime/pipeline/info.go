package pipeline

import (
	"path/filepath"
	"slices"
	"time"

	tandem "github.com/tandemrun/tandem/runtime"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/kernels"
)

// StepInfo describes a step of a pipeline.
type StepInfo struct {
	ID     string // its id, or the name that it has without one
	Line   int    // in the file
	Path   string // "steps[2].steps[0]"
	Kernel *kernels.Kernel
	Tasks  int             // how many the loops make of it; repeats do not count
	Range  devices.NDRange // of its first task
	// NotSplit says why a task of the step cannot be divided over several
	// devices; empty: it can.
	NotSplit string
	// Asked is what the file says about the devices: "", a selector, or "#2"
	// for a position in the device list.
	Asked string
}

// BufferInfo describes a buffer of a pipeline.
type BufferInfo struct {
	Name  string
	DType devices.DType
	Shape []int64 // the caller's
	Bytes int64
	In    string // path of the input file; empty: none
	Out   string // path of the output file; empty: none
}

// File is the path of the pipeline file.
func (p *Pipeline) File() string { return p.file }

// Name is a name for reports: of the folder for a pipeline.yaml, else of the
// file.
func (p *Pipeline) Name() string {
	base := filepath.Base(p.file)
	if base != FileName {
		return base
	}
	abs, err := filepath.Abs(p.dir)
	if err != nil {
		return base
	}
	return filepath.Base(abs)
}

// Vars are the variables in the order of the file, replacements applied. The
// slice is the caller's.
func (p *Pipeline) Vars() []Var { return slices.Clone(p.vars) }

// Warnings are what is odd about the pipeline and no fault. The slice is the
// caller's.
func (p *Pipeline) Warnings() []*Fault { return slices.Clone(p.warnings) }

// Tasks is how many tasks the pipeline has; repeats do not count.
func (p *Pipeline) Tasks() int { return len(p.tasks) }

// StepTimeout bounds one launch of a step; 0: no bound.
func (p *Pipeline) StepTimeout() time.Duration { return p.timeout }

// Buffers are the buffers in the order of the file.
func (p *Pipeline) Buffers() []BufferInfo {
	infos := make([]BufferInfo, len(p.buffers))
	for i, b := range p.buffers {
		infos[i] = BufferInfo{Name: b.array.Name, DType: b.array.DType, Shape: slices.Clone(b.array.Shape), Bytes: b.array.Bytes(), In: b.in, Out: b.out}
	}
	return infos
}

// Steps are the steps in the order of the file, loops not unrolled.
func (p *Pipeline) Steps() []StepInfo {
	infos := make([]StepInfo, len(p.steps))
	at := map[*step]*StepInfo{}
	for i, st := range p.steps {
		infos[i] = StepInfo{ID: st.name, Line: st.at.line, Path: st.path, Kernel: st.kernel, Asked: st.asked()}
		at[st] = &infos[i]
	}
	for i := range p.tasks {
		t := &p.tasks[i]
		info := at[t.step]
		if info.Tasks++; info.Tasks > 1 {
			continue
		}
		info.Range, info.NotSplit = t.call.Range, notSplit(t.call)
	}
	return infos
}

// Asks reports whether the pipeline needs a device that a session would leave
// out by default (tandem.Config.Emulate): a step names it, or a kernel runs on
// next to no other device.
func (p *Pipeline) Asks(d *devices.Info) bool {
	for _, st := range p.steps {
		if sel, err := tandem.ParseSelector(st.on); err == nil && sel.Names(d) {
			return true
		}
	}
	return slices.ContainsFunc(p.Kernels(), func(k *kernels.Kernel) bool {
		return len(k.Variants) > 0 && !slices.ContainsFunc(k.Variants, func(v kernels.Variant) bool { return !rare(&v, d) })
	})
}

// rare reports whether a device runs a variant that hardly any other does: one
// in Verilog, in a vendor's binary form, or one that needs FPGA channels.
func rare(v *kernels.Variant, d *devices.Info) bool {
	if v.Needs.Kind != "" && v.Needs.Kind != d.Kind || !slices.Contains(d.Languages, v.Language) || len(v.Needs.Missing(*d)) > 0 {
		return false
	}
	return v.Language == devices.LangRTL || v.Language == devices.LangBinary || slices.Contains(v.Needs.Extensions, channels)
}

// channels is the extension by which kernels on FPGAs send data to each other.
const channels = "cl_intel_channels"

// At puts an error about the task of that name at its step in the file; err
// itself where the pipeline has no such task.
func (p *Pipeline) At(task string, err error) error {
	for i := range p.tasks {
		if t := &p.tasks[i]; t.name == task {
			return &Fault{File: p.file, Line: t.step.at.line, Column: t.step.at.col, Path: t.step.path, Msg: err.Error(), Err: err}
		}
	}
	return err
}

// notSplit is why a call cannot be divided, of its first part that cannot.
func notSplit(c *kernels.Call) string {
	ps, err := takeApart(c)
	if err != nil {
		return err.Error()
	}
	for _, part := range ps.calls {
		if _, _, err := part.Splittable(); err != nil {
			return err.Error()
		}
	}
	return ""
}

// Kernels are the kernels that devices will be asked to compile, each once, in
// the order of their first use.
func (p *Pipeline) Kernels() []*kernels.Kernel {
	var all []*kernels.Kernel
	seen := map[*kernels.Kernel]bool{}
	done := map[*step]bool{}
	for i := range p.tasks {
		if t := &p.tasks[i]; !done[t.step] {
			done[t.step] = true
			ps, err := takeApart(t.call)
			if err != nil {
				continue // Load has taken it apart once, and well
			}
			for _, c := range ps.calls {
				if !seen[c.Kernel] {
					seen[c.Kernel] = true
					all = append(all, c.Kernel)
				}
			}
		}
	}
	return all
}
