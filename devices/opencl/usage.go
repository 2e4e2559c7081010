package opencl

import (
	"encoding/binary"
	"strings"
)

// usage is what a kernel can see of how its work-items are grouped and cut.
type usage uint8

const (
	usesGroups   usage = 1 << iota // work-items of a group know each other: local ids, barriers, local memory
	usesGroupID                    // get_group_id, get_num_groups
	usesSize                       // get_global_size
	usesOffset                     // get_global_offset
	usesLinear                     // get_global_linear_id
	usesEnqueued                   // get_enqueued_local_size

	usesAll = usesGroups | usesGroupID | usesSize | usesOffset | usesLinear | usesEnqueued
	// seesCut are those that give another answer in a launch of a part.
	seesCut = usesAll &^ usesGroups
	// seesLocal are those that depend on the local size.
	seesLocal = usesGroups | usesGroupID | usesEnqueued
)

// usageOf is what an identifier in a source says.
func usageOf(identifier string) usage {
	switch identifier {
	case "get_group_id", "get_num_groups":
		return usesGroupID
	case "get_global_size":
		return usesSize
	case "get_global_offset":
		return usesOffset
	case "get_global_linear_id":
		return usesLinear
	case "get_enqueued_local_size":
		return usesEnqueued
	case "get_local_id", "get_local_size", "get_local_linear_id", "barrier", "__local", "local", "wait_group_events":
		return usesGroups
	}
	for _, prefix := range []string{"work_group_", "async_work_group_", "sub_group_", "get_sub_group_", "get_num_sub_groups", "get_max_sub_group", "intel_sub_group_"} {
		if strings.HasPrefix(identifier, prefix) {
			return usesGroups
		}
	}
	return 0
}

// sourceUsage answers for the kernels of one OpenCL C source.
type sourceUsage struct {
	all     usage               // of the whole text
	defs    map[string][]string // identifiers in the bodies of functions and macros, by name
	sound   bool                // the text could be cut into functions
	answers map[string]usage
}

// scanSource reads the functions and macros of a source. It need not
// understand everything: where it does not, a kernel is taken to use all that
// the text mentions.
func scanSource(src string) *sourceUsage {
	u := &sourceUsage{defs: map[string][]string{}, sound: true, answers: map[string]usage{}}
	tokens := tokenize(src)
	var (
		braces, parens int
		name           string   // of the function that may begin
		head           []string // identifiers since the last declaration ended
		body           []string
	)
	skip := 0 // depth of the parentheses of an __attribute__, when in one
	for i, t := range tokens {
		if t.paste {
			// The name of a function may be put together by the preprocessor.
			u.all, u.sound = usesAll, false
		}
		if t.macro != "" {
			u.defs[t.macro] = append(u.defs[t.macro], t.words...)
			for _, w := range t.words {
				u.all |= usageOf(w)
			}
			continue
		}
		if isWord(t.text) {
			u.all |= usageOf(t.text)
		}
		switch {
		case t.text == "{":
			if braces == 0 && parens == 0 {
				body = append([]string(nil), head...)
			}
			braces++
		case t.text == "}":
			braces--
			if braces == 0 && name != "" {
				u.defs[name] = append(u.defs[name], body...)
			}
			if braces == 0 {
				name, head = "", nil
			}
		case braces > 0:
			if isWord(t.text) {
				body = append(body, t.text)
			}
		case t.text == "(":
			if parens == 0 && skip == 0 && i > 0 && isWord(tokens[i-1].text) {
				if prev := tokens[i-1].text; prev == "__attribute__" {
					skip = 1
				} else {
					name = prev
				}
			}
			parens++
		case t.text == ")":
			parens--
			if parens == 0 {
				skip = 0
			}
		case t.text == ";" && parens == 0:
			name, head = "", nil
		case isWord(t.text):
			head = append(head, t.text)
		}
	}
	if braces != 0 || parens != 0 {
		u.sound = false
	}
	return u
}

// of is what the kernel with the given entry uses, itself and through what it
// calls.
func (u *sourceUsage) of(entry string) usage {
	if _, known := u.defs[entry]; !known || !u.sound {
		return u.all
	}
	if a, ok := u.answers[entry]; ok {
		return a
	}
	var a usage
	seen := map[string]bool{entry: true}
	for todo := []string{entry}; len(todo) > 0; {
		name := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		for _, word := range u.defs[name] {
			a |= usageOf(word)
			if _, def := u.defs[word]; def && !seen[word] {
				seen[word] = true
				todo = append(todo, word)
			}
		}
	}
	u.answers[entry] = a
	return a
}

// token is a word, a punctuation mark, or a whole #define.
type token struct {
	text  string
	macro string   // the name that a #define defines
	words []string // the words of its text
	paste bool     // it holds the preprocessor's ##
}

func wordByte(c byte) bool {
	return c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}

func isWord(s string) bool { return s != "" && wordByte(s[0]) && (s[0] < '0' || s[0] > '9') }

// tokenize leaves out comments, strings and preprocessor lines other than
// #define.
func tokenize(src string) (list []token) {
	src = strings.ReplaceAll(strings.ReplaceAll(src, "\\\r\n", " "), "\\\n", " ")
	lineStart := true
	for i := 0; i < len(src); {
		c := src[i]
		switch {
		case c == '\n':
			lineStart = true
			i++
			continue
		case c == ' ' || c == '\t' || c == '\r':
			i++
			continue
		case strings.HasPrefix(src[i:], "//"):
			i += lineLength(src[i:])
			continue
		case strings.HasPrefix(src[i:], "/*"):
			end := strings.Index(src[i+2:], "*/")
			if end < 0 {
				return list
			}
			i += end + 4
			continue
		case c == '#' && lineStart:
			n := lineLength(src[i:])
			if d, ok := directive(src[i : i+n]); ok {
				list = append(list, d)
			}
			i += n
			continue
		case c == '"' || c == '\'':
			i = skipQuoted(src, i)
		case wordByte(c):
			j := i
			for j < len(src) && wordByte(src[j]) {
				j++
			}
			list = append(list, token{text: src[i:j]})
			i = j
		default:
			list = append(list, token{text: src[i : i+1]})
			i++
		}
		lineStart = false
	}
	return list
}

func lineLength(s string) int {
	if n := strings.IndexByte(s, '\n'); n >= 0 {
		return n
	}
	return len(s)
}

func skipQuoted(src string, i int) int {
	quote := src[i]
	for i++; i < len(src) && src[i] != quote && src[i] != '\n'; i++ {
		if src[i] == '\\' {
			i++
		}
	}
	return min(i+1, len(src))
}

// directive reads a #define.
func directive(line string) (token, bool) {
	inner := tokenize(strings.TrimLeft(line[1:], " \t"))
	if len(inner) < 2 || inner[0].text != "define" {
		return token{}, false
	}
	t := token{macro: inner[1].text}
	for _, w := range inner[2:] {
		if isWord(w.text) {
			t.words = append(t.words, w.text)
		}
	}
	t.paste = strings.Contains(line, "##")
	return t, true
}

// spirvUsage reads what a SPIR-V module uses from its decorations: its
// built-in variables, barriers and pointers to local memory.
func spirvUsage(module []byte) usage {
	const magic, headerWords = 0x07230203, 5
	order := binary.ByteOrder(binary.LittleEndian)
	if len(module) >= 4 && order.Uint32(module) != magic {
		order = binary.BigEndian
	}
	if len(module) < 4*headerWords || order.Uint32(module) != magic {
		return usesAll
	}
	word := func(i int) uint32 { return order.Uint32(module[4*i:]) }
	words := len(module) / 4
	var u usage
	for i := headerWords; i < words; {
		op, n := word(i)&0xFFFF, int(word(i)>>16)
		if n == 0 || i+n > words {
			return usesAll
		}
		const decorate, typePointer, controlBarrier, builtIn, workgroup = 71, 32, 224, 11, 4
		switch {
		case op == decorate && n >= 4 && word(i+2) == builtIn:
			switch word(i + 3) {
			case 24, 26: // NumWorkgroups, WorkgroupId
				u |= usesGroupID
			case 25, 27, 29: // WorkgroupSize, LocalInvocationId, LocalInvocationIndex
				u |= usesGroups
			case 31: // GlobalSize
				u |= usesSize
			case 32: // EnqueuedWorkgroupSize
				u |= usesEnqueued
			case 33: // GlobalOffset
				u |= usesOffset
			case 34: // GlobalLinearId
				u |= usesLinear
			case 36, 37, 38, 39, 40, 41: // the sub-group's
				u |= usesGroups
			}
		case op == typePointer && n >= 3 && word(i+2) == workgroup, op == controlBarrier:
			u |= usesGroups
		}
		i += n
	}
	return u
}
