package kernels

import (
	"fmt"
	"strings"

	"github.com/tandemrun/tandem/devices"
)

// A Kernel is one computation over an ND-range. It is immutable once made and
// safe for concurrent use.
type Kernel struct {
	Name     string // "image.blur", or the entry point of a user's source
	Doc      string // one line
	Params   []Param
	Variants []Variant

	// Infer, where set, fills in what the caller of Bind left out and what
	// follows from the rest: the ND-range from shapes, sizes from shapes. It
	// also checks that the shapes fit each other. Every given argument is in
	// c when it is called.
	Infer func(c *Call) error

	// Work, where set, says what a call costs; the cost model's first guess.
	Work func(c *Call) Work

	// Compose, where set, makes the kernel a short sequence of other kernels
	// with temporaries between them (a reduction in two steps). Such a kernel
	// has no variants of its own.
	Compose func(c *Call) ([]Step, error)

	// NoSplit, where not empty, is the reason why a launch must not be divided
	// over several devices; empty does not yet mean that it may (Splittable).
	NoSplit string
}

// Variant is one implementation of a kernel. All variants of a kernel take the
// same arguments in the same order.
type Variant struct {
	Language devices.Language
	Source   *devices.Source
	Entry    string
	Needs    Needs
	// FixedLocal is the work-group size that the source demands; zero: free.
	FixedLocal [3]int
	// StaticLocal is the local memory declared inside the kernel, in bytes, as
	// far as the source tells.
	StaticLocal int64
}

// Needs are capabilities that a variant cannot do without, and why.
type Needs struct {
	FP64, FP16 *Reason
	// Extensions are OpenCL extensions demanded by name.
	Extensions []string
	// Kind is the only kind of device that takes it; empty: any.
	Kind devices.Kind
}

// Reason points at the line that causes a need.
type Reason struct {
	Pos  Pos
	Text string // "literal 0.1 is a double"
}

// Missing lists what info lacks of n, in words; empty: nothing.
func (n Needs) Missing(info devices.Info) []string {
	var missing []string
	add := func(has bool, what string, r *Reason) {
		if r == nil || has {
			return
		}
		s := what
		if r.Text != "" {
			s += fmt.Sprintf(" (%s: %s)", r.Pos, r.Text)
		}
		missing = append(missing, s)
	}
	add(info.FP64, "fp64 (cl_khr_fp64)", n.FP64)
	add(info.FP16, "fp16 (cl_khr_fp16)", n.FP16)
	have := " " + strings.Join(info.Extensions, " ") + " "
	for _, e := range n.Extensions {
		if !strings.Contains(have, " "+e+" ") {
			missing = append(missing, e)
		}
	}
	return missing
}

// Work is what one call costs, in total over its ND-range.
type Work struct {
	Flops float64 // floating-point or integer operations
	Bytes float64 // bytes read and written
}

// Variant finds the variant in the given language, or nil.
func (k *Kernel) Variant(lang devices.Language) *Variant {
	for i := range k.Variants {
		if k.Variants[i].Language == lang {
			return &k.Variants[i]
		}
	}
	return nil
}

// VariantFor picks the variant that the device runs: the first, in the order of
// k.Variants, whose language it compiles and whose needs it meets. The error
// says, for each variant, why not.
func (k *Kernel) VariantFor(info devices.Info) (*Variant, error) {
	var why []string
	for i := range k.Variants {
		v := &k.Variants[i]
		takes := false
		for _, l := range info.Languages {
			takes = takes || l == v.Language
		}
		if !takes {
			why = append(why, fmt.Sprintf("it does not compile %s", v.Language))
			continue
		}
		if kind := v.Needs.Kind; kind != "" && kind != info.Kind {
			why = append(why, fmt.Sprintf("it is no %s", kind))
			continue
		}
		if m := v.Needs.Missing(info); len(m) > 0 {
			why = append(why, "it lacks "+strings.Join(m, " and "))
			continue
		}
		return v, nil
	}
	return nil, unsupportedError(fmt.Sprintf("%s cannot run %s: %s", info.ID, k.Name, strings.Join(why, "; ")))
}

// unsupportedError is a devices.ErrUnsupported that says why.
type unsupportedError string

func (e unsupportedError) Error() string { return string(e) }
func (e unsupportedError) Unwrap() error { return devices.ErrUnsupported }

// Param finds a parameter's position by name, -1 if there is none.
func (k *Kernel) Param(name string) int {
	for i := range k.Params {
		if k.Params[i].Name == name {
			return i
		}
	}
	return -1
}

// Signature is the parameter list as a person would write it:
// "saxpy(a float, x r float32[], y rw float32[])".
func (k *Kernel) Signature() string {
	parts := make([]string, len(k.Params))
	for i, p := range k.Params {
		parts[i] = p.String()
	}
	return k.Name + "(" + strings.Join(parts, ", ") + ")"
}

// A Step is one launch of a composed kernel.
type Step struct {
	Kernel *Kernel
	Args   []StepArg
	Range  devices.NDRange // Dims 0: from Kernel.Infer
}

// A StepArg is an argument of the outer call (Outer ≥ 0), a temporary array
// (Temp, the same pointer in every step that uses it) or a Go number.
type StepArg struct {
	Outer int
	Temp  *Array
	Value any
}

// OuterArg passes argument i of the composed call on.
func OuterArg(i int) StepArg { return StepArg{Outer: i} }

// TempArg passes a temporary.
func TempArg(a *Array) StepArg { return StepArg{Outer: -1, Temp: a} }

// ValueArg passes a number.
func ValueArg(v any) StepArg { return StepArg{Outer: -1, Value: v} }

// WithGo is k with a variant in Go added in front, for devices that run Go
// functions. k itself stays as it is.
func (k *Kernel) WithGo(f devices.GoFunc) *Kernel {
	n := *k
	src := &devices.Source{Name: k.Name, Language: devices.LangGo, Go: map[string]devices.GoFunc{k.Name: f}}
	n.Variants = append([]Variant{{Language: devices.LangGo, Source: src, Entry: k.Name}}, k.Variants...)
	return &n
}
