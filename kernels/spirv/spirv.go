// Package spirv reads the kernels of SPIR-V modules: entry points, parameters
// and what they need of a device, from the module itself (SPIR-V specification
// 1.6, sections 2.3 and 3). Nothing is compiled.
//
// A module keeps less than a source does. Signs of integers are lost, so values
// are signed here; what a pointer points to says nothing about the array that is
// meant, so arrays may be of any type; names may have been stripped, and then
// parameters are arg0, arg1, ...
package spirv

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/kernels"
)

// maxBytes bounds a module; compilers make some kilobytes of a kernel.
const maxBytes = 64 << 20

// Entries reads all kernels of a file, in the order of the module. A file
// without kernels is an error. The kernels belong to the caller.
func Entries(path string) ([]*kernels.Kernel, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("cannot read the module: %w", err)
	}
	if info.Size() > maxBytes {
		return nil, fmt.Errorf("%s: a module of %d bytes; at most %d are read: %w", path, info.Size(), maxBytes, devices.ErrInvalid)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("cannot read the module: %w", err)
	}
	return Parse(path, text)
}

// Parse is Entries for a module in memory. name stands in messages.
func Parse(name string, text []byte) ([]*kernels.Kernel, error) {
	fault := func(format string, args ...any) error {
		return fmt.Errorf("%s: %s: %w", name, fmt.Sprintf(format, args...), devices.ErrInvalid)
	}
	m, err := read(text)
	if err != nil {
		return nil, fault("%v", err)
	}
	src := &devices.Source{Name: filepath.Base(name), Language: devices.LangSPIRV, Text: text}
	var list []*kernels.Kernel
	for _, e := range m.entries {
		k := &kernels.Kernel{
			Name:     e.name,
			Doc:      fmt.Sprintf("%s of %s", e.name, src.Name),
			NoSplit:  "which elements a kernel in SPIR-V touches is not followed",
			Variants: []kernels.Variant{{Language: devices.LangSPIRV, Source: src, Entry: e.name, Needs: m.needs(name), FixedLocal: m.groups[e.function]}},
		}
		for i, p := range m.params[e.function] {
			param, err := m.param(p, i)
			if err != nil {
				return nil, fault("kernel %s: %v", e.name, err)
			}
			param.Pos = kernels.Pos{File: name}
			k.Params = append(k.Params, param)
		}
		list = append(list, k)
	}
	if len(list) == 0 {
		return nil, fault("the module has no kernel (an OpEntryPoint of the model Kernel)")
	}
	return list, nil
}

// Operations and their operands, of which the module is read.
const (
	opName           = 5
	opEntryPoint     = 15
	opExecutionMode  = 16
	opCapability     = 17
	opTypeInt        = 21
	opTypeFloat      = 22
	opTypeVector     = 23
	opTypeArray      = 28
	opTypeStruct     = 30
	opTypePointer    = 32
	opConstant       = 43
	opFunction       = 54
	opFunctionParam  = 55
	opFunctionEnd    = 56
	opDecorate       = 71
	modelKernel      = 6
	modeLocalSize    = 17
	capabilityHalf   = 9
	capabilityDouble = 10
	decorationParam  = 38
	attributeByValue = 2
	attributeNoWrite = 6
	classUniform     = 0 // constant memory
	classWorkgroup   = 4
	classGlobal      = 5
	classFunction    = 7
)

type entry struct {
	name     string
	function uint32
}

type parameter struct{ id, typ uint32 }

// module is what is read of a module; ids are as in it.
type module struct {
	entries   []entry
	names     map[uint32]string
	types     map[uint32][]uint32 // operation, then operands after the id
	constants map[uint32]uint32
	params    map[uint32][]parameter // of functions
	groups    map[uint32][3]int      // local sizes that functions demand
	byValue   map[uint32]bool        // pointers that stand for a value
	noWrite   map[uint32]bool
	half      bool
	double    bool
}

func read(text []byte) (*module, error) {
	const magic, headerWords = 0x07230203, 5
	order := binary.ByteOrder(binary.LittleEndian)
	if len(text) >= 4 && order.Uint32(text) != magic {
		order = binary.BigEndian
	}
	if len(text) < 4*headerWords || len(text)%4 != 0 || order.Uint32(text) != magic {
		return nil, fmt.Errorf("this is no SPIR-V module")
	}
	m := &module{names: map[uint32]string{}, types: map[uint32][]uint32{}, constants: map[uint32]uint32{}, params: map[uint32][]parameter{},
		groups: map[uint32][3]int{}, byValue: map[uint32]bool{}, noWrite: map[uint32]bool{}}
	var function uint32
	for at := 4 * headerWords; at < len(text); {
		first := order.Uint32(text[at:])
		n := int(first >> 16)
		if n == 0 || at+4*n > len(text) {
			return nil, fmt.Errorf("the module is damaged at byte %d", at)
		}
		words := make([]uint32, n-1)
		for i := range words {
			words[i] = order.Uint32(text[at+4*(i+1):])
		}
		if err := m.instruction(first&0xFFFF, words, &function); err != nil {
			return nil, fmt.Errorf("the module is damaged at byte %d: %w", at, err)
		}
		at += 4 * n
	}
	return m, nil
}

// least is how many operands the operations have that are read.
var least = map[uint32]int{opName: 2, opEntryPoint: 3, opExecutionMode: 2, opCapability: 1, opTypeInt: 3, opTypeFloat: 2, opTypeVector: 3,
	opTypeArray: 3, opTypeStruct: 1, opTypePointer: 3, opConstant: 3, opFunction: 4, opFunctionParam: 2, opDecorate: 2}

// instruction takes one instruction in. function is the function it stands in.
func (m *module) instruction(op uint32, w []uint32, function *uint32) error {
	if len(w) < least[op] {
		return fmt.Errorf("operation %d has %d operands, at least %d are needed", op, len(w), least[op])
	}
	switch op {
	case opName:
		m.names[w[0]] = literal(w[1:])
	case opEntryPoint:
		if w[0] == modelKernel {
			m.entries = append(m.entries, entry{literal(w[2:]), w[1]})
		}
	case opExecutionMode:
		if w[1] == modeLocalSize && len(w) >= 5 {
			m.groups[w[0]] = [3]int{int(w[2]), int(w[3]), int(w[4])}
		}
	case opCapability:
		m.half = m.half || w[0] == capabilityHalf
		m.double = m.double || w[0] == capabilityDouble
	case opTypeInt, opTypeFloat, opTypeVector, opTypeArray, opTypeStruct, opTypePointer:
		m.types[w[0]] = append([]uint32{op}, w[1:]...)
	case opConstant:
		m.constants[w[1]] = w[2]
	case opFunction:
		*function = w[1]
	case opFunctionParam:
		m.params[*function] = append(m.params[*function], parameter{w[1], w[0]})
	case opFunctionEnd:
		*function = 0
	case opDecorate:
		if w[1] == decorationParam && len(w) >= 3 {
			m.byValue[w[0]] = m.byValue[w[0]] || w[2] == attributeByValue
			m.noWrite[w[0]] = m.noWrite[w[0]] || w[2] == attributeNoWrite
		}
	}
	return nil
}

// literal is a string of a module, up to its end.
func literal(words []uint32) string {
	var b strings.Builder
	for _, w := range words {
		for range 4 {
			if byte(w) == 0 {
				return b.String()
			}
			b.WriteByte(byte(w))
			w >>= 8
		}
	}
	return b.String()
}

// needs are what the module declares that not every device has.
func (m *module) needs(name string) (n kernels.Needs) {
	pos := kernels.Pos{File: name}
	if m.half {
		n.FP16 = &kernels.Reason{Pos: pos, Text: "the module declares the capability Float16"}
	}
	if m.double {
		n.FP64 = &kernels.Reason{Pos: pos, Text: "the module declares the capability Float64"}
	}
	return n
}

// param reads a parameter of an entry point.
func (m *module) param(p parameter, index int) (kernels.Param, error) {
	param := kernels.Param{Name: m.names[p.id]}
	if param.Name == "" {
		param.Name = fmt.Sprintf("arg%d", index)
	}
	t := m.types[p.typ]
	if len(t) == 0 {
		return param, fmt.Errorf("parameter %q: its type is neither a number nor a pointer", param.Name)
	}
	if t[0] != opTypePointer {
		typ, err := m.value(p.typ, 0)
		if err != nil {
			return param, fmt.Errorf("parameter %q: %w", param.Name, err)
		}
		param.Kind, param.Type = kernels.Value, typ
		return param, nil
	}
	switch class := t[1]; class {
	case classGlobal:
		param.Mode = kernels.ReadWrite
		if m.noWrite[p.id] {
			param.Mode = kernels.Read
		}
	case classUniform:
		param.Mode = kernels.Read
	case classWorkgroup:
		param.Kind = kernels.Local
	case classFunction:
		if !m.byValue[p.id] {
			return param, fmt.Errorf("parameter %q points to private memory", param.Name)
		}
		typ, err := m.value(t[2], 0)
		if err != nil {
			return param, fmt.Errorf("parameter %q: %w", param.Name, err)
		}
		param.Kind, param.Type = kernels.Value, typ
	default:
		return param, fmt.Errorf("parameter %q points to memory of class %d, which no host program can give", param.Name, class)
	}
	return param, nil
}

// maxDepth bounds structs in structs.
const maxDepth = 16

// value is the type of a value.
func (m *module) value(id uint32, depth int) (kernels.Type, error) {
	t := m.types[id]
	if len(t) == 0 || depth > maxDepth {
		return kernels.Type{}, fmt.Errorf("its type is not one of numbers, vectors and structs of them")
	}
	switch t[0] {
	case opTypeInt:
		for _, d := range []devices.DType{devices.Int8, devices.Int16, devices.Int32, devices.Int64} {
			if uint32(d.Size())*8 == t[1] {
				return kernels.Scalar(d), nil
			}
		}
	case opTypeFloat:
		for _, d := range []devices.DType{devices.Float16, devices.Float32, devices.Float64} {
			if uint32(d.Size())*8 == t[1] {
				return kernels.Scalar(d), nil
			}
		}
	case opTypeVector:
		elem, err := m.value(t[1], depth+1)
		if err != nil {
			return elem, err
		}
		if n := t[2]; elem.Lanes == 1 && (n == 2 || n == 3 || n == 4 || n == 8 || n == 16) {
			return kernels.Vector(elem.Elem, int(n)), nil
		}
	case opTypeStruct:
		return m.structure(t[1:], depth)
	}
	return kernels.Type{}, fmt.Errorf("its type (operation %d, %v) is not one of numbers, vectors and structs of them", t[0], t[1:])
}

// structure is a struct by the types of its members, laid out as OpenCL C does.
func (m *module) structure(members []uint32, depth int) (kernels.Type, error) {
	const most = 256
	if len(members) > most {
		return kernels.Type{}, fmt.Errorf("a struct of %d members; at most %d are read", len(members), most)
	}
	var fields []kernels.Field
	for i, id := range members {
		field := kernels.Field{Name: fmt.Sprintf("m%d", i)}
		if t := m.types[id]; len(t) > 0 && t[0] == opTypeArray {
			field.Count = int(m.constants[t[2]])
			if id = t[1]; field.Count < 1 || field.Count > 1<<12 {
				return kernels.Type{}, fmt.Errorf("an array of %d elements in a struct", field.Count)
			}
		}
		var err error
		if field.Type, err = m.value(id, depth+1); err != nil {
			return kernels.Type{}, err
		}
		fields = append(fields, field)
		if kernels.Struct("struct", false, fields...).Size > 1<<16 {
			return kernels.Type{}, fmt.Errorf("a struct of more than 64 KiB")
		}
	}
	return kernels.Struct("struct", false, fields...), nil
}
