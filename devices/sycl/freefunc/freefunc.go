package freefunc

import (
	"slices"
	"strconv"
	"strings"
)

// Kind is the kind of a parameter.
type Kind uint8

// The kinds of parameters.
const (
	Value   Kind = iota // by value: a scalar, a sycl::vec, a struct
	Pointer             // unified shared memory: a buffer
	Local               // sycl::local_accessor: an amount of local memory
	Other               // what no host program can give: an accessor, a reference
)

// Param is one parameter.
type Param struct {
	Name  string
	Type  string // as written, without const and the asterisk: "float", "sycl::float4", "struct thing"
	Kind  Kind
	Const bool // what a pointer points to is only read
	Size  int  // of a value in bytes; 0: not known
}

// Function is a function of the source that has a body.
type Function struct {
	Name   string // with its namespaces: "mine::saxpy"
	Params []Param
	// Dims is the number of dimensions of a kernel with the nd_range_kernel
	// property, 0 for any other function.
	Dims int
	// SingleTask says that the function has the single_task_kernel property
	// instead.
	SingleTask bool
	// ExternC says that the name is the linker's too.
	ExternC bool
	File    string // as #line directives say
	Line    int
}

// Kernel reports whether f can be launched over a range.
func (f *Function) Kernel() bool { return f.Dims > 0 }

// Functions reads the functions of a source, in its order. Includes have been
// put in place before, or are not looked at.
func Functions(src string) []Function {
	s := scanner{macros: map[string][]token{}, line: 1}
	r := reader{list: s.expand(s.tokens(src), 0), types: map[string][]token{}}
	r.read()
	return r.found
}

// Kernels are the names of the functions that can be launched over a range.
func Kernels(list []Function) []string {
	var names []string
	for i := range list {
		if list[i].Kernel() && !slices.Contains(names, list[i].Name) {
			names = append(names, list[i].Name)
		}
	}
	return names
}

// reader walks over the tokens of a source at the level of namespaces.
type reader struct {
	list  []token
	types map[string][]token // of typedef and using
	found []Function
}

func (r *reader) read() {
	var spaces []string // namespaces and extern "C" blocks that are open; "" for the latter
	start := 0          // of the declaration at hand
	for i := 0; i < len(r.list); i++ {
		switch r.list[i].text {
		case ";":
			r.alias(r.list[start:i])
			start = i + 1
		case "{":
			head := r.list[start:i]
			if name, ok := namespace(head); ok {
				spaces = append(spaces, name)
				start = i + 1
				continue
			}
			r.function(head, spaces)
			end := closing(r.list, i)
			// A type may go on behind its body, up to the semicolon.
			if isType(head) {
				for end < len(r.list) && r.list[end].text != ";" {
					end++
				}
			}
			i, start = end, end+1
		case "}":
			if len(spaces) > 0 {
				spaces = spaces[:len(spaces)-1]
			}
			start = i + 1
		case "(":
			i = closing(r.list, i)
		}
	}
}

// closing is the index of the bracket that closes the one at i, or the last.
func closing(list []token, i int) int {
	open := list[i].text
	shut := map[string]string{"(": ")", "{": "}", "[": "]"}[open]
	depth := 0
	for ; i < len(list); i++ {
		switch list[i].text {
		case open:
			depth++
		case shut:
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return len(list) - 1
}

// namespace reads "namespace a::b" and `extern "C"`.
func namespace(head []token) (string, bool) {
	if len(head) == 2 && head[0].text == "extern" && strings.HasPrefix(head[1].text, `"`) {
		return "", true
	}
	if len(head) > 0 && head[0].text == "inline" {
		head = head[1:]
	}
	if len(head) == 0 || head[0].text != "namespace" {
		return "", false
	}
	return join(head[1:]), true
}

func isType(head []token) bool {
	return len(head) > 0 && slices.Contains([]string{"struct", "class", "union", "enum", "typedef"}, head[0].text)
}

// alias remembers `typedef T name` and `using name = T`.
func (r *reader) alias(d []token) {
	switch {
	case len(d) >= 3 && d[0].text == "typedef" && isWord(d[len(d)-1].text):
		r.types[d[len(d)-1].text] = d[1 : len(d)-1]
	case len(d) >= 4 && d[0].text == "using" && d[2].text == "=":
		r.types[d[1].text] = d[3:]
	}
}

// function reads what stands before a body.
func (r *reader) function(head []token, spaces []string) {
	var f Function
	for i := 0; i < len(head); i++ {
		if head[i].text != "(" {
			continue
		}
		end := closing(head, i)
		inner := head[i+1 : end]
		if i > 0 && strings.HasPrefix(head[i-1].text, "SYCL_EXT_ONEAPI_FUNCTION_PROPERTY") {
			f.property(inner)
		} else if i > 0 && isWord(head[i-1].text) && head[i-1].text != "__attribute__" && f.Name == "" {
			f.Name, f.Line, f.File = head[i-1].text, head[i-1].line, head[i-1].file
			f.Params = r.params(inner)
		}
		i = end
	}
	if f.Name == "" || slices.ContainsFunc(head, func(t token) bool { return t.text == "template" }) && f.Dims == 0 {
		return
	}
	f.ExternC = len(head) > 1 && head[0].text == "extern" && strings.HasPrefix(head[1].text, `"`) || slices.Contains(spaces, "")
	if !f.ExternC {
		for i := len(spaces) - 1; i >= 0; i-- {
			f.Name = spaces[i] + "::" + f.Name
		}
	}
	r.found = append(r.found, f)
}

// property reads "(syclexp::nd_range_kernel<2>)".
func (f *Function) property(list []token) {
	for i, t := range list {
		switch t.text {
		case "single_task_kernel":
			f.SingleTask = true
		case "nd_range_kernel":
			if i+2 < len(list) && list[i+1].text == "<" {
				if n, err := strconv.Atoi(list[i+2].text); err == nil && n >= 1 && n <= 3 {
					f.Dims = n
				}
			}
		}
	}
}

// params reads the parameters between two parentheses.
func (r *reader) params(list []token) []Param {
	var out []Param
	depth, start := 0, 0
	add := func(end int) {
		if part := list[start:end]; len(part) > 0 && (len(part) != 1 || part[0].text != "void") {
			out = append(out, r.param(part))
		}
		start = end + 1
	}
	for i, t := range list {
		switch t.text {
		case "(", "<", "[", "{":
			depth++
		case ")", ">", "]", "}":
			depth--
		case ",":
			if depth == 0 {
				add(i)
			}
		}
	}
	add(len(list))
	return out
}
