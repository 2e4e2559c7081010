package arrayfile

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// The values of a Python literal as parseLiteral returns them, beside string,
// int64, bool and nil.
type (
	pyTuple []any
	pyList  []any
	pyDict  []pyEntry
)

type pyEntry struct{ key, value any }

// maxNesting bounds the recursion: the header of a plain array nests twice.
const maxNesting = 16

// parseLiteral reads the Python literal that is the whole of text: strings,
// integers, True, False, None, tuples, lists and dictionaries, as the header
// of an .npy file is made of. Nothing is evaluated: a name or a call is an
// error that says what it found.
func parseLiteral(text string) (any, error) {
	p := pyParser{text: text}
	v, err := p.value(0)
	if err != nil {
		return nil, err
	}
	if p.space(); p.pos < len(p.text) {
		return nil, p.unexpected("nothing more")
	}
	return v, nil
}

type pyParser struct {
	text string
	pos  int
}

func (p *pyParser) space() {
	for p.pos < len(p.text) && strings.IndexByte(" \t\r\n", p.text[p.pos]) >= 0 {
		p.pos++
	}
}

// next is the next byte that is no blank, 0 at the end.
func (p *pyParser) next() byte {
	p.space()
	if p.pos == len(p.text) {
		return 0
	}
	return p.text[p.pos]
}

func (p *pyParser) unexpected(want string) error {
	if p.pos >= len(p.text) {
		return fmt.Errorf("header ends where %s should be", want)
	}
	found := p.text[p.pos:]
	if len(found) > 24 {
		found = found[:24] + "..."
	}
	return fmt.Errorf("header has %q at offset %d instead of %s", found, p.pos, want)
}

func (p *pyParser) value(depth int) (any, error) {
	if depth > maxNesting {
		return nil, errors.New("header is nested too deeply")
	}
	switch c := p.next(); {
	case c == '{':
		return p.dict(depth)
	case c == '(':
		return p.sequence(')', depth)
	case c == '[':
		return p.sequence(']', depth)
	case c == '\'' || c == '"':
		return p.str()
	case c == '-' || c == '+' || c >= '0' && c <= '9':
		return p.integer()
	}
	word := p.word()
	// Python 2 and 3 mark strings: u'x', b'x'.
	if after := p.pos + len(word); (word == "u" || word == "b") && after < len(p.text) && (p.text[after] == '\'' || p.text[after] == '"') {
		p.pos = after
		return p.str()
	}
	switch word {
	case "True", "False":
		p.pos += len(word)
		return word == "True", nil
	case "None":
		p.pos += len(word)
		return nil, nil
	}
	return nil, p.unexpected("a value")
}

// word is the identifier at the current position.
func (p *pyParser) word() string {
	end := p.pos
	for end < len(p.text) {
		c := p.text[end]
		if c != '_' && (c < '0' || c > '9') && (c|0x20 < 'a' || c|0x20 > 'z') {
			break
		}
		end++
	}
	return p.text[p.pos:end]
}

func (p *pyParser) integer() (any, error) {
	start := p.pos
	if c := p.text[p.pos]; c == '-' || c == '+' {
		p.pos++
	}
	word := p.word()
	digits := p.text[start:p.pos] + strings.TrimRight(word, "Ll") // Python 2's long
	n, err := strconv.ParseInt(digits, 10, 64)
	if errors.Is(err, strconv.ErrRange) {
		return nil, fmt.Errorf("header has the number %s, which does not fit into 64 bits", digits)
	}
	if err != nil || len(word)-1 > len(strings.TrimRight(word, "Ll")) {
		p.pos = start
		return nil, p.unexpected("a number")
	}
	p.pos += len(word)
	return n, nil
}

func (p *pyParser) str() (any, error) {
	quote := p.text[p.pos]
	var b strings.Builder
	for i := p.pos + 1; i < len(p.text); i++ {
		switch c := p.text[i]; c {
		case quote:
			p.pos = i + 1
			return b.String(), nil
		case '\n':
			return nil, p.unexpected("a string on one line")
		case '\\':
			// Only field names have escapes, and those are only shown.
			if i++; i < len(p.text) {
				b.WriteByte(p.text[i])
			}
		default:
			b.WriteByte(c)
		}
	}
	return nil, p.unexpected("a string that ends")
}

// sequence reads a tuple or a list. A single value in parentheses without a
// comma is that value, as in Python.
func (p *pyParser) sequence(end byte, depth int) (any, error) {
	p.pos++
	items, comma := []any{}, false
	for p.next() != end {
		if len(items) > 0 && !comma {
			return nil, p.unexpected("a comma")
		}
		v, err := p.value(depth + 1)
		if err != nil {
			return nil, err
		}
		items = append(items, v)
		if comma = p.next() == ','; comma {
			p.pos++
		}
	}
	p.pos++
	switch {
	case end == ']':
		return pyList(items), nil
	case len(items) == 1 && !comma:
		return items[0], nil
	}
	return pyTuple(items), nil
}

func (p *pyParser) dict(depth int) (any, error) {
	p.pos++
	entries, comma := pyDict{}, false
	for p.next() != '}' {
		if len(entries) > 0 && !comma {
			return nil, p.unexpected("a comma")
		}
		key, err := p.value(depth + 1)
		if err != nil {
			return nil, err
		}
		if p.next() != ':' {
			return nil, p.unexpected("a colon")
		}
		p.pos++
		value, err := p.value(depth + 1)
		if err != nil {
			return nil, err
		}
		entries = append(entries, pyEntry{key, value})
		if comma = p.next() == ','; comma {
			p.pos++
		}
	}
	p.pos++
	return entries, nil
}

// literalText writes a value back for a message.
func literalText(v any) string {
	switch v := v.(type) {
	case nil:
		return "None"
	case bool:
		if v {
			return "True"
		}
		return "False"
	case string:
		return "'" + v + "'"
	case pyTuple:
		if len(v) == 1 {
			return "(" + literalText(v[0]) + ",)"
		}
		return "(" + joinLiterals(v) + ")"
	case pyList:
		return "[" + joinLiterals(v) + "]"
	case pyDict:
		return "a dictionary"
	}
	return fmt.Sprint(v)
}

func joinLiterals(items []any) string {
	var parts []string
	for i, v := range items {
		if i == 8 {
			parts = append(parts, "...")
			break
		}
		parts = append(parts, literalText(v))
	}
	return strings.Join(parts, ", ")
}
