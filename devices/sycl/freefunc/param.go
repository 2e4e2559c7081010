package freefunc

import (
	"slices"
	"strconv"
	"strings"
)

// param reads "const float *x".
func (r *reader) param(list []token) Param {
	var p Param
	if i := slices.IndexFunc(list, func(t token) bool { return t.text == "=" }); i >= 0 {
		list = list[:i]
	}
	// The name is the last word outside of brackets, unless it is all there is.
	words := slices.Clone(list)
	if n := len(words); n >= 3 && words[n-1].text == "]" {
		// T x[] and T x[4] are pointers.
		if i := slices.IndexFunc(words, func(t token) bool { return t.text == "[" }); i > 0 {
			words = append(words[:i-1:i-1], token{text: "*"}, words[i-1])
		}
	}
	if n := len(words); n >= 2 && isWord(words[n-1].text) && words[n-2].text != "::" && !typeWord(words[n-1].text) {
		p.Name = words[n-1].text
		words = words[:n-1]
	}
	words = r.resolve(words, 0)
	for _, t := range words {
		switch t.text {
		case "const":
			if p.Kind != Pointer {
				p.Const = true
			}
		case "*":
			p.Kind = Pointer
		case "&":
			p.Kind = Other
		}
	}
	words = slices.DeleteFunc(words, func(t token) bool {
		return slices.Contains([]string{"const", "volatile", "*", "&", "__restrict", "__restrict__", "restrict", "typename"}, t.text)
	})
	p.Type = join(words)
	if p.Kind != Value {
		return p
	}
	switch base := baseName(p.Type); {
	case base == "local_accessor":
		p.Kind = Local
	case base == "accessor" || base == "stream" || base == "sampler" || base == "work_group_memory" || base == "dynamic_work_group_memory":
		p.Kind = Other
	case base == "multi_ptr" || base == "annotated_ptr":
		p.Kind = Pointer
	default:
		p.Size = sizeOf(p.Type)
	}
	return p
}

// resolve puts typedefs in their place.
func (r *reader) resolve(list []token, depth int) []token {
	var out []token
	for i, t := range list {
		body, ok := r.types[t.text]
		if !ok || depth > 8 || i > 0 && list[i-1].text == "::" {
			out = append(out, t)
			continue
		}
		out = append(out, r.resolve(body, depth+1)...)
	}
	return out
}

// join writes tokens as one would: "unsigned int", "sycl::vec<float, 4>".
func join(list []token) string {
	var b strings.Builder
	for i, t := range list {
		if i > 0 && (isWord(t.text) && isWord(list[i-1].text) || list[i-1].text == ",") {
			b.WriteByte(' ')
		}
		b.WriteString(t.text)
	}
	return b.String()
}

// baseName is the name of a type without its namespaces and arguments.
func baseName(typ string) string {
	typ, _, _ = strings.Cut(typ, "<")
	if i := strings.LastIndex(typ, "::"); i >= 0 {
		typ = typ[i+2:]
	}
	return strings.TrimSpace(typ)
}

// sizes are those of the types that the language and SYCL define, on every
// system that a SYCL runtime is there for (LP64); long differs on Windows and
// is left out.
var sizes = map[string]int{
	"bool": 1, "char": 1, "signed char": 1, "unsigned char": 1, "int8_t": 1, "uint8_t": 1, "byte": 1, "uchar": 1,
	"short": 2, "unsigned short": 2, "short int": 2, "int16_t": 2, "uint16_t": 2, "half": 2, "ushort": 2, "bfloat16": 2,
	"int": 4, "unsigned": 4, "unsigned int": 4, "signed": 4, "signed int": 4, "int32_t": 4, "uint32_t": 4, "float": 4, "uint": 4,
	"long long": 8, "unsigned long long": 8, "long long int": 8, "int64_t": 8, "uint64_t": 8, "double": 8,
	"size_t": 8, "ptrdiff_t": 8, "intptr_t": 8, "uintptr_t": 8,
}

// sizeOf is the size of a type in bytes, 0 when it is not known.
func sizeOf(typ string) int {
	base := baseName(typ)
	if base == "vec" || base == "marray" {
		_, args, _ := strings.Cut(typ, "<")
		element, count, ok := strings.Cut(strings.TrimSuffix(args, ">"), ",")
		n, err := strconv.Atoi(strings.TrimSpace(count))
		if !ok || err != nil {
			return 0
		}
		if base == "vec" && n == 3 {
			n = 4
		}
		return n * sizeOf(strings.TrimSpace(element))
	}
	if n, ok := sizes[base]; ok {
		return n
	}
	// sycl::float4: a 3-vector takes the room of four.
	name := strings.TrimRight(base, "0123456789")
	lanes, err := strconv.Atoi(base[len(name):])
	element, ok := sizes[name]
	if err != nil || !ok || !slices.Contains([]int{2, 3, 4, 8, 16}, lanes) {
		return 0
	}
	if lanes == 3 {
		lanes = 4
	}
	return lanes * element
}

// typeWord reports whether a word is part of a type and so no parameter's name.
func typeWord(w string) bool {
	_, scalar := sizes[w]
	return scalar || w == "long" || w == "const" || w == "volatile"
}
