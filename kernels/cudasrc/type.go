package cudasrc

import (
	"slices"
	"strconv"
	"strings"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/kernels"
	"github.com/tandemrun/tandem/kernels/clc"
)

// scalars are the names of scalar types in CUDA C, their words in order. long
// is 64 bits wide, as it is on Linux.
var scalars = map[string]devices.DType{
	"bool": devices.Bool,
	"char": devices.Int8, "char signed": devices.Int8, "int8_t": devices.Int8,
	"char unsigned": devices.Uint8, "uint8_t": devices.Uint8, "uchar": devices.Uint8,
	"short": devices.Int16, "int short": devices.Int16, "short signed": devices.Int16, "int16_t": devices.Int16,
	"short unsigned": devices.Uint16, "int short unsigned": devices.Uint16, "uint16_t": devices.Uint16, "ushort": devices.Uint16,
	"int": devices.Int32, "signed": devices.Int32, "int signed": devices.Int32, "int32_t": devices.Int32,
	"unsigned": devices.Uint32, "int unsigned": devices.Uint32, "uint32_t": devices.Uint32, "uint": devices.Uint32,
	"long": devices.Int64, "int long": devices.Int64, "long long": devices.Int64, "int long long": devices.Int64, "int64_t": devices.Int64,
	"ptrdiff_t": devices.Int64, "intptr_t": devices.Int64, "longlong": devices.Int64,
	"long unsigned": devices.Uint64, "int long unsigned": devices.Uint64, "long long unsigned": devices.Uint64, "int long long unsigned": devices.Uint64,
	"uint64_t": devices.Uint64, "size_t": devices.Uint64, "uintptr_t": devices.Uint64, "ulong": devices.Uint64, "ulonglong": devices.Uint64,
	"half": devices.Float16, "__half": devices.Float16, "float": devices.Float32, "double": devices.Float64,
}

// vectorOf is the layout of CUDA's vector types, of which those of three lanes
// are as large as three lanes, and none is aligned to more than 16 bytes.
func vectorOf(name string) (kernels.Type, bool) {
	base := strings.TrimRight(name, "0123456789")
	lanes, err := strconv.Atoi(name[len(base):])
	d, ok := scalars[base]
	if base == "__half" {
		ok = ok && lanes == 2
	} else {
		ok = ok && slices.Contains([]string{"char", "uchar", "short", "ushort", "int", "uint", "long", "ulong", "longlong", "ulonglong", "float", "double", "half"}, base)
	}
	if err != nil || !ok || lanes < 1 || lanes > 4 {
		return kernels.Type{}, false
	}
	align := d.Size()
	if lanes == 2 || lanes == 4 {
		align = min(lanes*d.Size(), 16)
	}
	return kernels.Type{Name: name, Elem: d, Lanes: lanes, Size: lanes * d.Size(), Align: align}, true
}

// noise are words of a declaration that do not change a type's layout.
var noise = []string{"const", "volatile", "__restrict__", "__restrict", "restrict", "__grid_constant__", "struct", "class", "enum", "typename", "register", "static", "constexpr"}

// resolve puts aliases in their place.
func (r *reader) resolve(list []clc.Token, depth int) []clc.Token {
	const deepest, longest = 8, 1000
	var out []clc.Token
	for i, t := range list {
		body, ok := r.aliases[t.Text]
		if !ok || !t.Ident || depth > deepest || len(out) > longest || i+1 < len(list) && is(list[i+1], ":") {
			out = append(out, t)
			continue
		}
		out = append(out, r.resolve(body, depth+1)...)
	}
	return out
}

// param reads "const float *__restrict__ x". why says what is wrong with it.
func (r *reader) param(list []clc.Token) (p kernels.Param, why string) {
	if len(list) == 0 {
		return p, "is empty"
	}
	p.Pos = list[0].Pos
	if i := slices.IndexFunc(list, func(t clc.Token) bool { return is(t, "=") }); i >= 0 {
		list = list[:i]
	}
	if slices.ContainsFunc(list, func(t clc.Token) bool { return is(t, "(") }) {
		return p, "is a function or has an attribute, which is not supported"
	}
	pointer := 0
	for { // T x[] and T x[4] are pointers
		i := slices.IndexFunc(list, func(t clc.Token) bool { return is(t, "[") })
		if i < 0 {
			break
		}
		pointer++
		end := closing(list, i)
		list = append(slices.Clone(list[:i]), list[min(end+1, len(list)):]...)
	}
	words := r.resolve(list, 0)
	if n := len(list); n >= 2 && list[n-1].Ident && !is(list[n-2], ":") && !r.partOfType(list[n-1]) {
		p.Name, p.Pos = list[n-1].Text, list[n-1].Pos
		words = r.resolve(list[:n-1], 0)
	}
	isConst := false
	var element []clc.Token
	for _, t := range words {
		switch {
		case is(t, "*"):
			pointer++
		case is(t, "&") || is(t, "&&"):
			return p, "is a reference, which no host program can pass; take a pointer or a value"
		case is(t, "const"):
			isConst = isConst || pointer == 0
		default:
			element = append(element, t)
		}
	}
	name := r.plain(element)
	if strings.HasPrefix(name, "cudaTextureObject") || strings.HasPrefix(name, "cudaSurfaceObject") {
		return p, "is a texture or surface, which is not supported; pass the data as an array"
	}
	if pointer > 1 {
		return p, "is a pointer to a pointer, which is not supported"
	}
	t, ok := r.typeOf(element)
	if pointer == 1 && name == "void" {
		t, ok = kernels.Type{Name: "void", Elem: devices.NoType, Lanes: 1, Size: 1, Align: 1}, true
	}
	if !ok {
		return p, "is of type " + name + ", whose layout is not known; take a scalar, a vector, a struct of those, or a pointer"
	}
	p.Type = t
	if pointer == 1 {
		p.Kind, p.Mode = kernels.Buffer, kernels.ReadWrite
		if isConst {
			p.Mode = kernels.Read
		}
		return p, ""
	}
	p.Kind = kernels.Value
	return p, ""
}

// partOfType reports whether a word is no parameter's name.
func (r *reader) partOfType(t clc.Token) bool {
	_, scalar := scalars[t.Text]
	_, alias := r.aliases[t.Text]
	_, vector := vectorOf(t.Text)
	_, known := r.structs[t.Text]
	return scalar || alias || vector || known || slices.Contains(noise, t.Text) || t.Text == "signed" || t.Text == "void"
}

// plain is a type without qualifiers and namespaces.
func (r *reader) plain(list []clc.Token) string {
	var words []clc.Token
	for i, t := range list {
		if slices.Contains(noise, t.Text) || is(t, ":") || i+1 < len(list) && is(list[i+1], ":") {
			continue
		}
		words = append(words, t)
	}
	return join(words)
}

// typeOf is the layout of a scalar, a vector or a struct.
func (r *reader) typeOf(list []clc.Token) (kernels.Type, bool) {
	name := r.plain(r.resolve(list, 0))
	words := strings.Fields(name)
	slices.Sort(words)
	if d, ok := scalars[strings.Join(words, " ")]; ok {
		t := kernels.Scalar(d)
		t.Name = name
		return t, true
	}
	if t, ok := vectorOf(name); ok {
		return t, true
	}
	if r.enums[name] {
		t := kernels.Scalar(devices.Int32)
		t.Name = name
		return t, true
	}
	s, ok := r.structs[name]
	return s.typ, ok && s.whole
}

// structure is a struct of the source.
type structure struct {
	typ   kernels.Type
	whole bool // its layout is known
}

// typed reads a struct or an enum with its body; all is what stands from the
// body to the semicolon.
func (r *reader) typed(head, body, all []clc.Token) {
	name, isEnum, isStruct, packed := "", false, false, false
	for i := 0; i < len(head); i++ {
		switch t := head[i]; {
		case attribute(t) && i+1 < len(head) && is(head[i+1], "("):
			packed = true // or aligned: not followed
			i = closing(head, i+1)
		case is(t, ":"):
			i = len(head)
		case is(t, "enum"):
			isEnum = true
		case is(t, "struct"):
			isStruct = true
		case t.Ident && t.Text != "typedef":
			name = t.Text
		}
	}
	rest := all[min(len(body)+2, len(all)):]
	if n := len(rest); n == 1 && rest[0].Ident && len(head) > 0 && is(head[0], "typedef") { // typedef struct { … } name;
		if name != "" && name != "enum" && name != "struct" && name != "union" {
			r.aliases[rest[0].Text] = head[len(head)-1:]
		} else {
			name = rest[0].Text
		}
	}
	if isEnum {
		r.enums[name] = true
		return
	}
	if !isStruct || name == "" {
		return
	}
	s := structure{whole: !packed}
	var fields []kernels.Field
	start := 0
	for i := 0; i <= len(body); i++ {
		if i < len(body) && is(body[i], "{") { // a member function, or a struct within
			s.whole = false
			break
		}
		if i == len(body) || is(body[i], ";") {
			got, ok := r.fields(body[start:i])
			fields, s.whole = append(fields, got...), s.whole && ok
			start = i + 1
		}
	}
	if s.whole = s.whole && len(fields) > 0; s.whole {
		s.typ = kernels.Struct(name, false, fields...)
	}
	r.structs[name] = s
}

// fields reads "float x, y[3]".
func (r *reader) fields(d []clc.Token) ([]kernels.Field, bool) {
	if len(d) == 0 {
		return nil, true
	}
	parts := split(d)
	var list []kernels.Field
	var typ []clc.Token
	for i, part := range parts {
		count := 0
		if open := slices.IndexFunc(part, func(t clc.Token) bool { return is(t, "[") }); open >= 0 {
			if open+2 >= len(part) || !is(part[open+2], "]") || open+3 != len(part) {
				return nil, false
			}
			n, err := strconv.Atoi(part[open+1].Text)
			if err != nil || n < 1 || n > 1<<20 {
				return nil, false
			}
			count, part = n, part[:open]
		}
		n := len(part)
		if n == 0 || !part[n-1].Ident || slices.ContainsFunc(part, func(t clc.Token) bool { return !t.Ident && !is(t, ":") }) {
			return nil, false // a pointer, a function, a bit-field, an initialiser
		}
		if i == 0 {
			typ = part[:n-1]
		} else if n != 1 {
			return nil, false
		}
		t, ok := r.typeOf(typ)
		const most = 1 << 24 // bytes of a field; all of them together are refused by the launch
		if !ok || len(list) > 1000 || t.Size*max(count, 1) > most {
			return nil, false
		}
		list = append(list, kernels.Field{Name: part[n-1].Text, Type: t, Count: count})
	}
	return list, true
}
