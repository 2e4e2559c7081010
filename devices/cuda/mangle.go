package cuda

import (
	"strconv"
	"strings"
)

// builtinTypes are the one-letter types of the C++ ABI that template arguments
// commonly have.
var builtinTypes = map[byte]string{
	'b': "bool", 'c': "char", 'a': "signed char", 'h': "unsigned char", 's': "short", 't': "unsigned short",
	'i': "int", 'j': "unsigned int", 'l': "long", 'm': "unsigned long", 'x': "long long", 'y': "unsigned long long",
	'f': "float", 'd': "double",
}

// plainName is the name of a kernel as its source has it, "mine::scale" or
// "scale<float>", made from the symbol that the compiler gave it by the rules
// of the Itanium C++ ABI. A symbol that is not decorated, or whose decoration
// is more than that, is its own name.
func plainName(symbol string) string {
	rest, ok := strings.CutPrefix(symbol, "_Z")
	if !ok {
		return symbol
	}
	if nested, ok := strings.CutPrefix(rest, "N"); ok {
		var parts []string
		for nested != "" && nested[0] != 'E' {
			if nested[0] == 'I' && len(parts) > 0 {
				args, after, ok := templateArgs(nested)
				if !ok {
					return symbol
				}
				parts[len(parts)-1] += args
				nested = after
				continue
			}
			part, after, ok := sourceName(nested)
			if !ok {
				return symbol
			}
			if strings.HasPrefix(part, "_GLOBAL__N_") {
				part = "(anonymous namespace)"
			}
			parts, nested = append(parts, part), after
		}
		if nested == "" || len(parts) == 0 {
			return symbol
		}
		return strings.Join(parts, "::")
	}
	name, after, ok := sourceName(strings.TrimPrefix(rest, "L")) // L: known in its own file only
	if !ok {
		return symbol
	}
	if strings.HasPrefix(after, "I") {
		args, _, ok := templateArgs(after)
		if !ok {
			return symbol
		}
		name += args
	}
	return name
}

// sourceName reads a name with its length before it.
func sourceName(s string) (name, rest string, ok bool) {
	digits := 0
	for digits < len(s) && s[digits] >= '0' && s[digits] <= '9' {
		digits++
	}
	n, err := strconv.Atoi(s[:digits])
	if err != nil || n < 1 || n > len(s)-digits {
		return "", s, false
	}
	return s[digits : digits+n], s[digits+n:], true
}

// templateArgs reads "I...E" of builtin types, named types and whole numbers.
func templateArgs(s string) (args, rest string, ok bool) {
	var list []string
	for s = s[1:]; s != "" && s[0] != 'E'; {
		switch c := s[0]; {
		case builtinTypes[c] != "":
			list, s = append(list, builtinTypes[c]), s[1:]
		case c >= '0' && c <= '9':
			name, after, ok := sourceName(s)
			if !ok {
				return "", s, false
			}
			list, s = append(list, name), after
		case c == 'L' && len(s) > 2 && builtinTypes[s[1]] != "":
			number, after, found := strings.Cut(s[2:], "E")
			if !found {
				return "", s, false
			}
			value := strings.Replace(number, "n", "-", 1)
			if s[1] == 'b' {
				value = strconv.FormatBool(number == "1")
			}
			list, s = append(list, value), after
		default:
			return "", s, false
		}
	}
	if s == "" || len(list) == 0 {
		return "", s, false
	}
	return "<" + strings.Join(list, ", ") + ">", s[1:], true
}
