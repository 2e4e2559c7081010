package ragged

import "strings"

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
