package clc

import (
	"fmt"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/kernels"
)

// params turns a kernel's parameters into those of a kernels.Kernel. All
// faults are reported.
func (u *unit) params(f *function) ([]kernels.Param, error) {
	var bad faults
	if f.ret == nil || f.ret.kind != kindVoid {
		bad.add(f.pos, "kernel %s has to return void", f.name)
	}
	seen := map[string]bool{}
	list := make([]kernels.Param, 0, len(f.params))
	for i, v := range f.params {
		p := parameter{kernels.Param{Name: v.name, Pos: v.pos}}
		what := fmt.Sprintf("kernel %s: parameter %q", f.name, v.name)
		if v.name == "" {
			bad.add(v.pos, "kernel %s: parameter %d has no name", f.name, i+1)
			continue
		}
		if seen[v.name] {
			bad.add(v.pos, "%s is there twice", what)
		}
		seen[v.name] = true
		if why := p.describe(v.typ); why != "" {
			bad.add(v.pos, "%s %s", what, why)
		}
		list = append(list, p.Param)
	}
	return list, bad.err()
}

// parameter is a kernels.Param being filled in.
type parameter struct{ kernels.Param }

// describe sets kind, type and mode from the parameter's type. It returns why
// that cannot be a parameter, or "".
func (p *parameter) describe(t *ctype) string {
	t = t.settled()
	switch t.kind {
	case kindPointer:
		return p.pointer(t.elem.settled())
	case kindOpaque:
		return fmt.Sprintf("is of type %s, which is not supported; pass the data as a __global array", t)
	case kindNumber, kindVector:
		if t.boolean || t.varies {
			return fmt.Sprintf("is of type %s, whose size is not the same on every device; OpenCL C forbids it in a kernel's parameters", t)
		}
	case kindStruct:
		if !t.complete {
			return fmt.Sprintf("is of type %s, which is not defined", t)
		}
		if t.trouble != "" {
			return fmt.Sprintf("is of type %s, which cannot be passed: %s", t, t.trouble)
		}
		if t.typ.Size == 0 {
			return fmt.Sprintf("is of type %s, which is empty", t)
		}
	default:
		return fmt.Sprintf("is of type %s, which cannot be passed", t)
	}
	p.Kind, p.Type = kernels.Value, t.typ
	return ""
}

func (p *parameter) pointer(elem *ctype) string {
	space, isConst := elem.space, elem.isConst
	p.Kind, p.Mode = kernels.Buffer, kernels.ReadWrite
	switch space {
	case spaceConstant:
		p.Mode = kernels.Read
	case spaceGlobal:
		if isConst {
			p.Mode = kernels.Read
		}
	case spaceLocal:
		p.Kind, p.Mode = kernels.Local, 0
	default:
		if elem.kind == kindPointer {
			return "is a pointer to a pointer, which OpenCL C forbids in a kernel's parameters"
		}
		if elem.kind == kindOpaque {
			return fmt.Sprintf("is a pointer to %s, which is not supported", elem)
		}
		return "is a pointer without __global, __constant or __local"
	}
	for elem.kind == kindArray {
		elem = elem.elem.settled()
	}
	switch elem.kind {
	case kindVoid:
		p.Type = kernels.Type{Name: "void", Elem: devices.NoType, Lanes: 1, Size: 1, Align: 1}
	case kindNumber, kindVector:
		if elem.boolean || elem.varies {
			return fmt.Sprintf("is a pointer to %s, whose size is not the same on every device", elem)
		}
		p.Type = elem.typ
	case kindStruct:
		if !elem.complete {
			return fmt.Sprintf("is a pointer to %s, which is not defined", elem)
		}
		if elem.trouble != "" {
			return fmt.Sprintf("is a pointer to %s, which cannot be laid out: %s", elem, elem.trouble)
		}
		p.Type = elem.typ
	case kindPointer:
		return "is a pointer to a pointer, which OpenCL C forbids in a kernel's parameters"
	default:
		return fmt.Sprintf("is a pointer to %s, which is not supported", elem)
	}
	return ""
}
