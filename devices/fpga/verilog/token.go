package verilog

import (
	"fmt"
	"strconv"
	"strings"
)

// kind is what a token is.
type kind uint8

const (
	identifier kind = iota
	system          // $name
	directive       // `name
	text            // "string"
	number
	comment // without its marks
	mark    // any other single character
)

// token is a piece of source text.
type token struct {
	kind      kind
	text      string // an identifier's name; a string's value
	file      string // "": the source's own
	line, col int    // from 1
	from, to  int    // bytes of the source
}

// An Error is a fault in a source, at a place. It wraps a sentinel of package
// devices.
type Error struct {
	File         string
	Line, Column int // from 1; 0: not known
	Msg          string
	Err          error
}

func (e *Error) Error() string {
	at := e.File
	if e.Line > 0 {
		at += fmt.Sprintf(":%d", e.Line)
		if e.Column > 0 {
			at += fmt.Sprintf(":%d", e.Column)
		}
	}
	return at + ": error: " + e.Msg
}

// Unwrap gives the sentinel.
func (e *Error) Unwrap() error { return e.Err }

// scanner cuts a source into tokens. It knows no grammar and never fails: what
// it does not know is a mark.
type scanner struct {
	src       string
	at        int
	file      string // from a `line directive
	line      int
	lineStart int
}

func isWord(c byte) bool {
	return c == '_' || c == '$' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

func isLetter(c byte) bool {
	return c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// scan cuts the whole of src.
func scan(src string) []token {
	s := &scanner{src: src, line: 1}
	var all []token
	for {
		t, ok := s.next()
		if !ok {
			return all
		}
		all = append(all, t)
		s.directLine(all)
	}
}

// directLine follows a directive `line NUMBER "FILE" LEVEL whose last token was
// just read: the next line is that one.
func (s *scanner) directLine(all []token) {
	if len(all) < 4 {
		return
	}
	d := all[len(all)-4:]
	if d[0].kind != directive || d[0].text != "line" || d[1].kind != number || d[2].kind != text || d[3].kind != number {
		return
	}
	if n, err := strconv.Atoi(d[1].text); err == nil {
		s.line, s.file = n-1, d[2].text // the rest of this line counts one more
	}
}

func (s *scanner) newline(at int) {
	s.line++
	s.lineStart = at + 1
}

func (s *scanner) next() (token, bool) {
	for s.at < len(s.src) && strings.IndexByte(" \t\r\n\f\v", s.src[s.at]) >= 0 {
		if s.src[s.at] == '\n' {
			s.newline(s.at)
		}
		s.at++
	}
	if s.at >= len(s.src) {
		return token{}, false
	}
	t := token{file: s.file, line: s.line, col: s.at - s.lineStart + 1, from: s.at, kind: mark}
	c := s.src[s.at]
	rest := s.src[s.at:]
	switch {
	case strings.HasPrefix(rest, "//"):
		n := strings.IndexByte(rest, '\n')
		if n < 0 {
			n = len(rest)
		}
		t.kind, t.text = comment, rest[2:n]
		s.at += n
	case strings.HasPrefix(rest, "/*"):
		n := strings.Index(rest[2:], "*/")
		end := len(rest)
		t.kind, t.text = comment, rest[2:]
		if n >= 0 {
			t.text, end = rest[2:2+n], n+4
		}
		s.skip(end)
	case c == '"':
		s.str(&t)
	case c == '\\' && len(rest) > 1 && rest[1] > ' ':
		n := strings.IndexAny(rest, " \t\r\n\f\v")
		if n < 0 {
			n = len(rest)
		}
		t.kind, t.text = identifier, rest[:n]
		s.at += n
	case isLetter(c):
		t.kind, t.text = identifier, s.word()
	case c >= '0' && c <= '9':
		t.kind, t.text = number, s.word()
	case c == '$' && len(rest) > 1 && isLetter(rest[1]):
		t.kind, t.text = system, s.word()
	case c == '`' && len(rest) > 1 && isLetter(rest[1]):
		s.at++
		t.kind, t.text = directive, s.word()
	default:
		t.text = string(c)
		s.at++
	}
	t.to = s.at
	return t, true
}

func (s *scanner) word() string {
	from := s.at
	for s.at++; s.at < len(s.src) && isWord(s.src[s.at]); s.at++ {
	}
	return s.src[from:s.at]
}

func (s *scanner) skip(n int) {
	for end := s.at + n; s.at < end; s.at++ {
		if s.src[s.at] == '\n' {
			s.newline(s.at)
		}
	}
}

// str reads a string with its escapes; one that does not end, ends with the
// line.
func (s *scanner) str(t *token) {
	t.kind = text
	var b strings.Builder
	for s.at++; s.at < len(s.src); s.at++ {
		switch c := s.src[s.at]; {
		case c == '"':
			s.at++
			t.text = b.String()
			return
		case c == '\n':
			t.text = b.String()
			return
		case c == '\\' && s.at+1 < len(s.src):
			s.at++
			switch e := s.src[s.at]; e {
			case 'n':
				b.WriteByte('\n')
			case 't':
				b.WriteByte('\t')
			case '\n':
				s.newline(s.at)
			default:
				b.WriteByte(e)
			}
		default:
			b.WriteByte(c)
		}
	}
	t.text = b.String()
}
