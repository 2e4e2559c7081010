package verilog

import (
	"fmt"
	"strings"

	"github.com/tandemrun/tandem/devices"
)

// A Module is a kernel: a module whose ports follow the convention. It is
// immutable once read.
type Module struct {
	Entry string // the module's name
	Name  string // of the kernel; default: Entry
	Doc   string
	File  string
	Line  int

	Inputs  []Stream // in the order s_axis, s1_axis, ...
	Outputs []Stream // m_axis, m1_axis, ...
	Config  bool     // has a register bank
	// AddressBits is the width of the register bank's address.
	AddressBits int

	Params []Param
	Counts []Count
	Limits []Limit
	// Split: nothing goes from one item to the next but what the halo says, so
	// that a launch may be cut into parts.
	Split bool
	// ClockMHz is the clock that the source declares; 0: none.
	ClockMHz float64

	// Images are the memory images that it reads, and Defaults the values of
	// its Verilog parameters, by name.
	Images   []Image
	Defaults map[string]string
}

// Dims is the number of dimensions of the ND-range.
func (m *Module) Dims() int {
	n := 1
	for _, p := range m.Params {
		if p.Array() && !p.Whole {
			n = max(n, p.Dim+1)
		}
	}
	return n
}

// Param finds a parameter's position by name, -1 if there is none.
func (m *Module) Param(name string) int {
	for i := range m.Params {
		if m.Params[i].Name == name {
			return i
		}
	}
	return -1
}

// A Stream is one AXI4-Stream port.
type Stream struct {
	Prefix string // "s_axis", "m_axis", "s1_axis"
	Bytes  int    // of a word
	Last   bool   // has tlast
}

// The most that a kernel may have.
const (
	MaxInputs  = 8
	MaxOutputs = 4
	MaxHalo    = 64
)

// A Param is one parameter of a kernel: an array that goes through streams, or
// a value that goes into registers.
type Param struct {
	Name string
	Doc  string
	Type devices.DType
	Line int

	// In and Out are the streams of an array, -1: none. An array with both is
	// read and written in place; a value has neither.
	In, Out int
	// Whole: every launch streams the whole array. Otherwise item i of
	// dimension Dim of the ND-range is the elements [i·Item, (i+1)·Item), and
	// Halo items on either side of a launch's items are streamed as well;
	// beyond the ends the outermost item is repeated.
	Whole bool
	Item  Product
	Dim   int
	Halo  int

	// Register is the first register of a value, -1: the kernel does not look
	// at it. A value takes as many registers of 32 bits as it needs, low bits
	// first, and is extended with its sign.
	Register int
	Default  string // of a value; "": the caller has to give it
	Implied  bool   // a value that follows from shapes
}

// Array reports whether p is an array.
func (p *Param) Array() bool { return p.In >= 0 || p.Out >= 0 }

// Registers is the number of registers that a value takes.
func (p *Param) Registers() int { return (p.Type.Size() + 3) / 4 }

// A Product is a product of a constant and of value parameters.
type Product struct {
	Factor int64
	Params []int // positions in Module.Params
}

// Eval multiplies; value gives a parameter's integer. It fails on a negative
// factor and on more than 2^62.
func (p Product) Eval(value func(param int) int64) (int64, error) {
	n := p.Factor
	for _, i := range p.Params {
		v := value(i)
		if v < 0 || n > 0 && v > (1<<62)/n {
			return 0, fmt.Errorf("a size of %d times %d: %w", n, v, devices.ErrInvalid)
		}
		n *= v
	}
	return n, nil
}

// A Count is a register that receives the number of words of a stream in this
// launch. Counts are written last, so that a kernel without input may take
// one as its start.
type Count struct {
	Param    int // the array; its output stream if it has one and no input
	Register int // two registers where Wide
	Wide     bool
}

// A Limit is the largest value of a product that the kernel is made for.
type Limit struct {
	Of    Product
	Words string // as written
	Most  int64
	Line  int
}

// Signature is the parameter list as a person would write it.
func (m *Module) Signature() string {
	var parts []string
	for _, p := range m.Params {
		switch {
		case p.In >= 0 && p.Out >= 0:
			parts = append(parts, fmt.Sprintf("%s rw %s[]", p.Name, p.Type))
		case p.In >= 0:
			parts = append(parts, fmt.Sprintf("%s r %s[]", p.Name, p.Type))
		case p.Out >= 0:
			parts = append(parts, fmt.Sprintf("%s w %s[]", p.Name, p.Type))
		default:
			parts = append(parts, fmt.Sprintf("%s %s", p.Name, p.Type))
		}
	}
	return m.Name + "(" + strings.Join(parts, ", ") + ")"
}
