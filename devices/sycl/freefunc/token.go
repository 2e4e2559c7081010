package freefunc

import (
	"regexp"
	"strconv"
	"strings"
)

// token is a word, a number, a string, or one punctuation mark ("::" counts as
// one).
type token struct {
	text string
	file string // as #line directives say; "" before the first
	line int
}

var lineDirective = regexp.MustCompile(`^\s*#\s*(?:line\s+)?(\d+)(?:\s+"((?:[^"\\]|\\.)*)")?`)

func wordByte(c byte) bool {
	return c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}

func isWord(s string) bool { return s != "" && wordByte(s[0]) && (s[0] < '0' || s[0] > '9') }

// scanner cuts a source into tokens and remembers its plain macros: those
// without parameters.
type scanner struct {
	macros map[string][]token
	file   string
	line   int
}

func (s *scanner) tokens(src string) (list []token) {
	lineStart := true
	for i := 0; i < len(src); {
		c := src[i]
		switch {
		case c == '\n':
			s.line++
			lineStart = true
			i++
			continue
		case c == ' ' || c == '\t' || c == '\r' || c == '\\':
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
			s.line += strings.Count(src[i:i+end+4], "\n")
			i += end + 4
			continue
		case c == '#' && lineStart:
			n := logicalLine(src[i:])
			s.directive(src[i : i+n])
			i += n
			continue
		case c == '"' || c == '\'':
			end := skipQuoted(src, i)
			list = append(list, token{src[i:end], s.file, s.line})
			i = end
		case wordByte(c):
			j := i
			for j < len(src) && wordByte(src[j]) {
				j++
			}
			list = append(list, token{src[i:j], s.file, s.line})
			i = j
		case strings.HasPrefix(src[i:], "::"):
			list = append(list, token{"::", s.file, s.line})
			i += 2
		default:
			list = append(list, token{src[i : i+1], s.file, s.line})
			i++
		}
		lineStart = false
	}
	return list
}

// directive reads #define and #line; it counts the lines that it goes over,
// except the last.
func (s *scanner) directive(text string) {
	if m := lineDirective.FindStringSubmatch(text); m != nil {
		n, _ := strconv.Atoi(m[1])
		s.line = n - 1 // the line end that follows makes it n
		if m[2] != "" {
			s.file = strings.NewReplacer(`\"`, `"`, `\\`, `\`).Replace(m[2])
		}
		return
	}
	body := strings.TrimLeft(text[1:], " \t")
	if rest, ok := strings.CutPrefix(body, "define"); ok && rest != "" && (rest[0] == ' ' || rest[0] == '\t') {
		rest = strings.TrimLeft(rest, " \t")
		n := 0
		for n < len(rest) && wordByte(rest[n]) {
			n++
		}
		if name := rest[:n]; isWord(name) && (n == len(rest) || rest[n] != '(') {
			inner := scanner{macros: map[string][]token{}, file: s.file, line: s.line}
			s.macros[name] = inner.tokens(rest[n:])
		}
	}
	s.line += strings.Count(text, "\n")
}

// expand puts the texts of plain macros in their place, macros in those
// included, to a depth that no sane source needs more of.
func (s *scanner) expand(list []token, depth int) []token {
	var out []token
	for _, t := range list {
		body, ok := s.macros[t.text]
		if !ok || depth > 8 || len(out) > 1<<20 {
			out = append(out, t)
			continue
		}
		for _, b := range s.expand(body, depth+1) {
			out = append(out, token{b.text, t.file, t.line})
		}
	}
	return out
}

func lineLength(s string) int {
	if n := strings.IndexByte(s, '\n'); n >= 0 {
		return n
	}
	return len(s)
}

// logicalLine is the length of a line with those that a backslash joins to it.
func logicalLine(s string) int {
	n := 0
	for {
		n += lineLength(s[n:])
		if n >= len(s) || !strings.HasSuffix(strings.TrimRight(s[:n], "\r"), `\`) {
			return n
		}
		n++
	}
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
