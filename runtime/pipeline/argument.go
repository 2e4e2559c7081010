package pipeline

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tandemrun/tandem/kernels"
)

// maxValueBytes bounds the file of a value; kernels take 1 kB to 4 kB of
// arguments.
const maxValueBytes = 64 << 10

// argument is an argument of a step.
type argument struct {
	name  string // of the parameter; empty: by position
	at    *node
	path  string
	buf   *buffer
	mode  kernels.Access
	value *value
	typ   string
	bytes []byte
	local *formula
}

func (a *argument) fixed() bool {
	return (a.value == nil || a.value.fixed()) && (a.local == nil || a.local.fixed)
}

// value is a value of an argument or of a field: one of its fields is set.
type value struct {
	number *formula
	large  uint64 // a whole number above the range of int64
	list   []*value
	fields []field
}

type field struct {
	name, typ string
	value     *value
}

func (v *value) fixed() bool {
	ok := v.number == nil || v.number.fixed
	for _, e := range v.list {
		ok = ok && e.fixed()
	}
	for _, f := range v.fields {
		ok = ok && f.value.fixed()
	}
	return ok
}

// readArgs reads the arguments of a step.
func (r *reader) readArgs(st *step, n *node, path string, s *scope) {
	switch n.kind {
	case kindList:
		for i, item := range n.items {
			r.readArg(st, item, fmt.Sprintf("%s[%d]", path, i), "", s)
		}
	case kindMap:
		for _, e := range n.entries {
			r.readArg(st, e.value, join(path, e.name), e.name, s)
		}
	default:
		r.add(n, path, "want a list of arguments, or a mapping of parameters to arguments; got %s", n.what())
	}
}

func (r *reader) readArg(st *step, n *node, path, name string, s *scope) {
	a := &argument{name: name, at: n, path: path}
	before := len(r.list) + r.more
	switch n.kind {
	case kindMap:
		r.readFullArg(a, n, s)
	case kindText:
		r.readShortArg(a, n, s)
	default:
		a.value = r.readValue(n, path, s)
	}
	if len(r.list)+r.more == before {
		st.args = append(st.args, a)
	}
}

// readShortArg reads an argument that is the name of a buffer or an
// expression.
func (r *reader) readShortArg(a *argument, n *node, s *scope) {
	b := r.buffers[n.text]
	_, isVar := s.vars[n.text]
	_, isConstant := constants()[n.text]
	isVar = isVar || slices.Contains(s.slots, n.text)
	switch {
	case b != nil && isVar:
		r.add(n, a.path, "%q is a buffer (line %d) and a variable", n.text, b.key.line).Hint = fmt.Sprintf("write {buf: %s} or {val: %s}", n.text, n.text)
	case b != nil:
		a.buf = b
	case identifier(n.text) && !isVar && !isConstant:
		f := r.add(n, a.path, "there is no buffer and no variable %q", clip(n.text))
		f.Hint = near(n.text, append(r.bufferNames(), s.names()...))
	default:
		a.value = r.readValue(n, a.path, s)
	}
}

func (r *reader) bufferNames() []string {
	var names []string
	for _, b := range r.p.buffers {
		names = append(names, b.array.Name)
	}
	return names
}

// readFullArg reads an argument in full.
func (r *reader) readFullArg(a *argument, n *node, s *scope) {
	f := r.fields(n, a.path, "an argument", keysOf[argFormat]())
	var kinds []string
	for _, k := range []string{"buf", "val", "local_bytes", "bytes", "struct"} {
		if f[k] != nil {
			kinds = append(kinds, k)
		}
	}
	switch len(kinds) {
	case 1:
	case 0:
		r.add(n, a.path, "the argument has none of buf, val, local_bytes, bytes and struct")
		return
	default:
		r.add(n, a.path, "the argument has %s; it takes one of them", strings.Join(kinds, " and "))
		return
	}
	kind := kinds[0]
	if m := f["mode"]; m != nil {
		r.readMode(a, m, kind)
	}
	if t := f["type"]; t != nil {
		if kind == "buf" || kind == "local_bytes" {
			r.add(t, a.path+".type", "type belongs to a value; %s takes none", kind)
		} else {
			a.typ, _ = r.textOf(t, a.path+".type")
		}
	}
	v, path := f[kind], a.path+"."+kind
	switch kind {
	case "buf":
		name, ok := r.textOf(v, path)
		if !ok {
			break
		}
		if a.buf = r.buffers[name]; a.buf == nil {
			r.add(v, path, "there is no buffer %q", clip(name)).Hint = near(name, r.bufferNames())
		}
	case "val":
		a.value = r.readValue(v, path, s)
	case "local_bytes":
		a.local = r.formula(v, path, s)
	case "bytes":
		name, ok := r.textOf(v, path)
		if !ok {
			break
		}
		file := r.p.resolve(name)
		b, err := readBounded(file, maxValueBytes)
		if err != nil {
			r.fileFault(v, path, file, fmt.Sprintf("%s: %s", file, reason(err)), err)
		}
		a.bytes = append([]byte{}, b...)
	case "struct":
		a.value = r.readStruct(v, path, s)
	}
}

func (r *reader) readMode(a *argument, m *node, kind string) {
	s, ok := r.textOf(m, a.path+".mode")
	if !ok {
		return
	}
	if kind != "buf" {
		r.add(m, a.path+".mode", "mode belongs to a buffer; %s takes none", kind)
		return
	}
	if a.mode, ok = kernels.ParseAccess(s); !ok {
		f := r.add(m, a.path+".mode", "want r, w or rw, got %q", clip(s))
		if s == "wr" {
			f.Hint = `did you mean "rw"?`
		}
	}
}

// readValue reads a number, an expression, a list for a vector or an array, or
// a list of fields for a struct inside a struct.
func (r *reader) readValue(n *node, path string, s *scope) *value {
	switch n.kind {
	case kindBool:
		return &value{number: &formula{at: n, path: path, eval: constant(n.number), fixed: true}}
	case kindList:
		if len(n.items) > 0 && n.items[0].kind == kindMap {
			return r.readStruct(n, path, s)
		}
		v := &value{list: []*value{}}
		for i, item := range n.items {
			if e := r.readValue(item, fmt.Sprintf("%s[%d]", path, i), s); e != nil {
				v.list = append(v.list, e)
			}
		}
		return v
	}
	if n.kind == kindInt && n.large != 0 {
		return &value{large: n.large}
	}
	f := r.formula(n, path, s)
	if f == nil {
		return nil
	}
	return &value{number: f}
}

// readStruct reads a list of {name: value, type: t}.
func (r *reader) readStruct(n *node, path string, s *scope) *value {
	if n.kind != kindList {
		r.add(n, path, "want a list of fields, [{id: 7, type: int}, ...]; got %s", n.what())
		return nil
	}
	v := &value{fields: []field{}}
	for i, item := range n.items {
		at := fmt.Sprintf("%s[%d]", path, i)
		if item.kind != kindMap || len(item.entries) == 0 {
			r.add(item, at, "want a field, {id: 7, type: int}; got %s", item.what())
			continue
		}
		var f field
		named := 0
		for _, e := range item.entries {
			if e.name == "type" && len(item.entries) > 1 {
				f.typ, _ = r.textOf(e.value, at+".type")
				continue
			}
			f.name = e.name
			named++
			f.value = r.readValue(e.value, join(at, e.name), s)
		}
		switch {
		case named != 1:
			r.add(item, at, "a field has one name and at most a type, {id: 7, type: int}")
		case f.value != nil:
			v.fields = append(v.fields, f)
		}
	}
	return v
}

// given evaluates an argument for kernels.Bind; ok is false after a fault.
func (r *reader) given(a *argument, slots []int64) (kernels.Given, bool) {
	g := kernels.Given{Name: a.name, Mode: a.mode, Type: a.typ, Bytes: a.bytes,
		Pos: kernels.Pos{File: r.file, Line: a.at.line, Column: a.at.col}}
	ok := true
	switch {
	case a.buf != nil:
		g.Array = &a.buf.array
	case a.local != nil:
		g.LocalBytes, ok = r.whole(a.local, slots, 1)
	case a.value != nil:
		g.Value, ok = r.evaluate(a.value, slots)
	}
	return g, ok
}

func (r *reader) evaluate(v *value, slots []int64) (any, bool) {
	switch {
	case v.number != nil:
		n, ok := r.value(v.number, slots)
		return n.goValue(), ok
	case v.list != nil:
		list := make([]any, len(v.list))
		for i, e := range v.list {
			var ok bool
			if list[i], ok = r.evaluate(e, slots); !ok {
				return nil, false
			}
		}
		return list, true
	case v.fields != nil:
		fields := make([]kernels.FieldValue, len(v.fields))
		for i, f := range v.fields {
			x, ok := r.evaluate(f.value, slots)
			if !ok {
				return nil, false
			}
			fields[i] = kernels.FieldValue{Name: f.name, Type: f.typ, Value: x}
		}
		return fields, true
	}
	return v.large, true
}
