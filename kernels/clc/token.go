package clc

import (
	"bytes"
	"strings"

	"github.com/tandemrun/tandem/kernels"
)

type tokenKind uint8

const (
	tokEOF tokenKind = iota
	tokIdent
	tokNumber // a preprocessing number
	tokString
	tokChar
	tokPunct
	tokOther // a character that starts no token, or an unterminated literal
	tokEmpty // what an empty macro argument leaves beside ##
)

// token is a preprocessing token.
type token struct {
	kind     tokenKind
	bol      bool // first of its line
	space    bool // preceded by white space
	noexpand bool // never a macro again
	text     string
	pos      kernels.Pos
	off, end int    // bytes of the file it was read from
	at       int    // byte of the self-contained text, behind it; 0: it comes out of a macro
	from     *macro // whose body it comes from
}

func (t token) is(text string) bool { return t.kind == tokPunct && t.text == text }

func identByte(c byte, inner bool) bool {
	return c == '_' || c|0x20 >= 'a' && c|0x20 <= 'z' || c >= 0x80 || c == '$' || inner && c >= '0' && c <= '9'
}

func digit(c byte) bool { return c >= '0' && c <= '9' }

// lexer cuts a file into tokens. Lines that end in a backslash are joined as
// it goes; positions are those of the file.
type lexer struct {
	src       []byte
	name      string
	i         int
	last      int // end of the last byte consumed
	line, col int
}

// lex reads a whole file. The only fault is a comment that does not end.
func lex(name string, src []byte) (toks []token, err *Error) {
	l := &lexer{src: src, name: name, line: 1, col: 1}
	if bytes.HasPrefix(src, []byte("\xef\xbb\xbf")) {
		l.i = 3
	}
	l.splice()
	bol, space := true, false
	for l.i < len(l.src) {
		c := l.src[l.i]
		switch {
		case c == '\n':
			bol, space = true, false
			l.advance()
			continue
		case c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f':
			space = true
			l.advance()
			continue
		}
		start, pos := l.i, l.pos()
		l.advance()
		if c == '/' && l.peek() == '/' {
			for l.i < len(l.src) && l.src[l.i] != '\n' {
				l.advance()
			}
			continue
		}
		if c == '/' && l.peek() == '*' {
			l.advance()
			for prev := byte(0); ; {
				if l.i >= len(l.src) {
					return toks, &Error{pos, "this comment does not end"}
				}
				now := l.src[l.i]
				l.advance()
				if prev == '*' && now == '/' {
					break
				}
				prev = now
			}
			space = true
			continue
		}
		kind := l.rest(c)
		text := string(l.src[start:l.last])
		if strings.Contains(text, "\\\n") || strings.Contains(text, "\\\r\n") {
			text = strings.NewReplacer("\\\r\n", "", "\\\n", "").Replace(text)
		}
		toks = append(toks, token{kind: kind, bol: bol, space: space, text: text, pos: pos, off: start, end: l.last})
		bol, space = false, false
	}
	return toks, nil
}

func (l *lexer) pos() kernels.Pos { return kernels.Pos{File: l.name, Line: l.line, Column: l.col} }

func (l *lexer) peek() byte {
	if l.i < len(l.src) {
		return l.src[l.i]
	}
	return 0
}

func (l *lexer) advance() {
	if l.src[l.i] == '\n' {
		l.line, l.col = l.line+1, 1
	} else {
		l.col++
	}
	l.i++
	l.last = l.i
	l.splice()
}

// splice skips line joins.
func (l *lexer) splice() {
	for {
		n := 0
		switch s := l.src[l.i:]; {
		case len(s) >= 2 && s[0] == '\\' && s[1] == '\n':
			n = 2
		case len(s) >= 3 && s[0] == '\\' && s[1] == '\r' && s[2] == '\n':
			n = 3
		default:
			return
		}
		l.i += n
		l.line, l.col = l.line+1, 1
	}
}

// rest consumes the rest of a token whose first byte is c.
func (l *lexer) rest(c byte) tokenKind {
	switch {
	case identByte(c, false):
		for identByte(l.peek(), true) {
			l.advance()
		}
		return tokIdent
	case digit(c) || c == '.' && digit(l.peek()):
		for prev := c; ; {
			p := l.peek()
			sign := (p == '+' || p == '-') && strings.IndexByte("eEpP", prev) >= 0
			if !identByte(p, true) && p != '.' && !sign {
				return tokNumber
			}
			prev = p
			l.advance()
		}
	case c == '"' || c == '\'':
		for l.i < len(l.src) && l.src[l.i] != '\n' {
			p := l.src[l.i]
			l.advance()
			if p == c {
				if c == '"' {
					return tokString
				}
				return tokChar
			}
			if p == '\\' && l.i < len(l.src) && l.src[l.i] != '\n' {
				l.advance()
			}
		}
		return tokOther
	}
	for _, p := range puncts {
		if p[0] == c && l.follows(p[1:]) {
			return tokPunct
		}
	}
	if strings.IndexByte("[](){}.&*+-~!/%<>^|?:;=,#", c) >= 0 {
		return tokPunct
	}
	return tokOther
}

var puncts = []string{"...", "<<=", ">>=", "->", "++", "--", "<<", ">>", "<=", ">=", "==", "!=", "&&", "||",
	"+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "##"}

// follows consumes s if it comes next, line joins inside it allowed.
func (l *lexer) follows(s string) bool {
	saved := *l
	for i := range len(s) {
		if l.peek() != s[i] {
			*l = saved
			return false
		}
		l.advance()
	}
	return true
}
