package clc

import (
	"fmt"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/kernels"
)

type typeKind uint8

const (
	kindVoid typeKind = iota
	kindNumber
	kindVector
	kindStruct // and union
	kindPointer
	kindArray
	kindFunction
	kindOpaque // image2d_t, event_t, a pipe, …
)

// space is an address space.
type space uint8

const (
	spaceNone space = iota
	spaceGlobal
	spaceConstant
	spaceLocal
	spacePrivate
)

var spaces = map[string]space{
	"__global": spaceGlobal, "global": spaceGlobal, "__constant": spaceConstant, "constant": spaceConstant,
	"__local": spaceLocal, "local": spaceLocal, "__private": spacePrivate, "private": spacePrivate,
	"__generic": spaceNone, "generic": spaceNone,
}

// ctype is a type of the source. It is not changed once made, save for a
// struct, which is completed when its body is read.
type ctype struct {
	kind     typeKind
	name     string
	typ      kernels.Type // number, vector, struct
	elem     *ctype       // pointer, array: of what; function: returned
	count    int64        // array; -1: not known
	space    space        // of an object of this type
	isConst  bool
	volatile bool
	varies   bool // its size is the device's: size_t
	boolean  bool
	complete bool   // struct
	trouble  string // why a value of it cannot be passed or laid out
	fields   []cfield
	union    bool
	origin   *ctype // struct: what this is a qualified copy of, made before it was complete
	align    int    // asked for with an attribute on a typedef or a variable
}

type cfield struct {
	name string
	typ  *ctype
}

func (t *ctype) with(sp space, isConst, volatile bool) *ctype {
	if sp == spaceNone && !isConst && !volatile {
		return t
	}
	c := *t
	if t.kind == kindStruct && !t.complete && t.origin == nil {
		c.origin = t
	}
	if sp != spaceNone {
		c.space = sp
	}
	c.isConst, c.volatile = t.isConst || isConst, t.volatile || volatile
	if t.kind == kindArray { // qualifiers of an array are its elements'
		c.elem = t.elem.with(sp, isConst, volatile)
	}
	return &c
}

// settled is t with the body of its struct, which may have come later.
func (t *ctype) settled() *ctype {
	if t.origin == nil || t.complete {
		return t
	}
	c, o := *t, t.origin
	c.typ, c.complete, c.trouble, c.fields, c.name = o.typ, o.complete, o.trouble, o.fields, o.name
	return &c
}

func pointerTo(t *ctype) *ctype { return &ctype{kind: kindPointer, elem: t, name: t.String() + " *"} }

func (t *ctype) String() string {
	switch {
	case t.name != "":
		return t.name
	case t.kind == kindArray:
		return fmt.Sprintf("%s[%d]", t.elem, t.count)
	}
	return "a type without a name"
}

// size in bytes; false where it is not known.
func (t *ctype) size() (int64, bool) {
	t = t.settled()
	switch t.kind {
	case kindNumber, kindVector:
		return int64(t.typ.Size), true
	case kindStruct:
		return int64(t.typ.Size), t.complete && t.trouble == ""
	case kindPointer:
		return 8, true
	case kindArray:
		n, ok := t.elem.size()
		if !ok || t.count < 0 || n > 0 && t.count > 1<<40/n {
			return 0, false
		}
		return n * t.count, true
	case kindVoid:
		return 1, true
	}
	return 0, false
}

func (t *ctype) alignment() int64 {
	t = t.settled()
	switch t.kind {
	case kindNumber, kindVector, kindStruct:
		return int64(max(t.typ.Align, t.align, 1))
	case kindArray:
		return t.elem.alignment()
	case kindPointer:
		return 8
	}
	return 1
}

// integer is t's integer type, if it is one.
func (t *ctype) integer() (intType, bool) {
	if t.kind != kindNumber || t.typ.Elem.Float() || t.boolean {
		return intType{}, false
	}
	return intType{t.typ.Elem.Size() * 8, t.typ.Elem.Signed()}, true
}

// intType is an integer type as arithmetic sees it.
type intType struct {
	bits   int
	signed bool
}

// common is the type of a sum (C99 6.3.1.8).
func common(a, b intType) intType {
	a, b = a.promoted(), b.promoted()
	switch {
	case a.bits > b.bits:
		return a
	case b.bits > a.bits:
		return b
	}
	return intType{a.bits, a.signed && b.signed}
}

func (t intType) promoted() intType {
	if t.bits < 32 {
		return intType{32, true}
	}
	return t
}

// limits are the smallest and largest value, of 64 bits cut to int64.
func (t intType) limits() (lo, hi int64) {
	switch {
	case t.bits == 64 && t.signed:
		return -1 << 63, 1<<63 - 1
	case t.bits == 64:
		return 0, 1<<63 - 1
	case t.signed:
		return -1 << (t.bits - 1), 1<<(t.bits-1) - 1
	}
	return 0, 1<<t.bits - 1
}

// builtins are the types that every source knows.
func builtins() map[string]*ctype {
	m := map[string]*ctype{"void": {kind: kindVoid, name: "void"}}
	number := func(name string, d devices.DType) *ctype {
		typ := kernels.Scalar(d)
		typ.Name = name
		t := &ctype{kind: kindNumber, name: name, typ: typ}
		m[name] = t
		return t
	}
	for name, d := range map[string]devices.DType{
		"char": devices.Int8, "uchar": devices.Uint8, "short": devices.Int16, "ushort": devices.Uint16,
		"int": devices.Int32, "uint": devices.Uint32, "long": devices.Int64, "ulong": devices.Uint64,
		"float": devices.Float32, "double": devices.Float64, "half": devices.Float16,
	} {
		number(name, d)
		for _, lanes := range []int{2, 3, 4, 8, 16} {
			typ := kernels.Vector(d, lanes)
			m[typ.Name] = &ctype{kind: kindVector, name: typ.Name, typ: typ}
		}
	}
	number("bool", devices.Bool).boolean = true
	m["_Bool"] = m["bool"]
	for name, d := range map[string]devices.DType{
		"atomic_int": devices.Int32, "atomic_uint": devices.Uint32, "atomic_long": devices.Int64,
		"atomic_ulong": devices.Uint64, "atomic_float": devices.Float32, "atomic_double": devices.Float64, "atomic_flag": devices.Int32,
	} {
		number(name, d)
	}
	for name, d := range map[string]devices.DType{
		"size_t": devices.Uint64, "ptrdiff_t": devices.Int64, "intptr_t": devices.Int64, "uintptr_t": devices.Uint64,
	} {
		number(name, d).varies = true
	}
	for _, name := range []string{
		"image1d_t", "image1d_array_t", "image1d_buffer_t", "image2d_t", "image2d_array_t", "image3d_t",
		"image2d_depth_t", "image2d_array_depth_t", "image2d_msaa_t", "image2d_array_msaa_t", "image2d_msaa_depth_t",
		"image2d_array_msaa_depth_t", "sampler_t", "event_t", "queue_t", "ndrange_t", "clk_event_t", "reserve_id_t",
		"cl_mem_fence_flags", "memory_order", "memory_scope",
	} {
		m[name] = &ctype{kind: kindOpaque, name: name}
	}
	for _, name := range []string{"cl_mem_fence_flags", "memory_order", "memory_scope"} {
		number(name, devices.Uint32)
	}
	return m
}

// reserved are the words of the language that say nothing about what a source
// declares.
var reserved = func() map[string]bool {
	m := map[string]bool{}
	for _, w := range []string{
		"__kernel", "kernel", "const", "__const", "volatile", "__volatile__", "restrict", "__restrict", "__restrict__",
		"static", "extern", "inline", "__inline", "__inline__", "register", "auto", "typedef", "struct", "union", "enum",
		"signed", "unsigned", "__attribute__", "__attribute", "__read_only", "read_only", "__write_only", "write_only",
		"__read_write", "read_write", "if", "else", "for", "while", "do", "return", "break", "continue", "switch", "case",
		"default", "goto", "sizeof", "pipe", "__extension__",
	} {
		m[w] = true
	}
	for w := range spaces {
		m[w] = true
	}
	for w := range builtins() {
		m[w] = true
	}
	return m
}()

// structType lays out a struct or union. What cannot be laid out gets a
// trouble, which counts when the type is used for a parameter.
func (t *ctype) layOut(packed bool, aligned int) {
	t.complete = true
	var fields []kernels.Field
	size, align := 0, 1
	for _, f := range t.fields {
		field, trouble := f.layOut()
		if trouble != "" && t.trouble == "" {
			t.trouble = trouble
		}
		fields = append(fields, field)
		if t.union {
			size = max(size, field.Type.Size*max(field.Count, 1))
			align = max(align, field.Type.Align)
		}
	}
	if t.trouble != "" {
		return
	}
	if t.union { // bytes: which member counts is the kernel's business
		if packed {
			align = 1
		}
		size = (size + align - 1) / align * align
		t.typ = kernels.Type{Name: t.name, Size: size, Align: align, Lanes: 1}
	} else {
		t.typ = kernels.Struct(t.name, packed, fields...)
	}
	if aligned > t.typ.Align {
		t.typ.Align = aligned
		t.typ.Size = (t.typ.Size + aligned - 1) / aligned * aligned
	}
}

func (f cfield) layOut() (kernels.Field, string) {
	t, count := f.typ, int64(0)
	for t.kind == kindArray {
		if t.count < 0 {
			return kernels.Field{}, fmt.Sprintf("the length of its field %q is not known", f.name)
		}
		count = max(count, 1) * t.count
		if count > 1<<24 || count == 0 {
			return kernels.Field{}, fmt.Sprintf("its field %q has %d elements", f.name, count)
		}
		t = t.elem
	}
	t = t.settled()
	field := kernels.Field{Name: f.name, Type: t.typ, Count: int(count)}
	switch {
	case t.kind == kindPointer:
		return field, fmt.Sprintf("its field %q is a pointer", f.name)
	case t.varies || t.boolean:
		return field, fmt.Sprintf("the size of its field %q (%s) is not the same on every device", f.name, t)
	case t.kind == kindStruct && t.trouble != "":
		return field, fmt.Sprintf("of its field %q (%s) %s", f.name, t, t.trouble)
	case t.kind == kindNumber || t.kind == kindVector || t.kind == kindStruct && t.complete:
		field.Type.Align = max(field.Type.Align, t.align, f.typ.align)
		if int64(field.Type.Size)*max(count, 1) > 1<<28 {
			return field, fmt.Sprintf("its field %q is too large", f.name)
		}
		return field, ""
	}
	return field, fmt.Sprintf("its field %q is of type %s", f.name, t)
}
