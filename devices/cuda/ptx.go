package cuda

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"github.com/tandemrun/tandem/devices/internal/argcheck"
)

// This file reads as much of PTX as launches need: the entry points with their
// parameters, and what a kernel can see of its grid. NVIDIA's "Parallel Thread
// Execution ISA" describes the language.

// maxPTX bounds the bytes of PTX that are read.
const maxPTX = 64 << 20

// entry is one kernel of a PTX text.
type entry struct {
	symbol string
	name   string // for people: without the compiler's decorations where those can be read
	params []argcheck.Parameter
	fixed  [3]int // .reqntid
	groups bool   // its threads know each other: barriers, shared memory, warps
	// Where the text has what a variant changes.
	paramEnd  int // the parenthesis that ends the parameters
	bodyStart int // behind the brace that begins the body
	bodyEnd   int // the brace that ends it
}

// parsePTX finds the entry points of a PTX text.
func parsePTX(text []byte) ([]entry, error) {
	if len(text) > maxPTX {
		return nil, fmt.Errorf("the PTX has %d bytes, more than the %d that are read", len(text), maxPTX)
	}
	p := &ptxReader{text: text}
	var list []entry
	// Functions that a kernel calls are part of what it does; which ones it
	// calls is not worked out, so all count.
	funcGroups := false
	type span struct{ from, to int }
	var funcs []span
	for {
		word, ok := p.word()
		if !ok {
			break
		}
		switch word {
		case ".entry":
			e, err := p.entry()
			if err != nil {
				return nil, err
			}
			if e.bodyEnd > 0 { // otherwise a declaration
				list = append(list, e)
			}
		case ".func":
			from, to, err := p.body()
			if err != nil {
				return nil, err
			}
			if to > 0 {
				funcs = append(funcs, span{from, to})
			}
		}
	}
	for _, f := range funcs {
		funcGroups = funcGroups || seesGroup(text[f.from:f.to])
	}
	shared := moduleShared(text)
	for i := range list {
		e := &list[i]
		body := text[e.bodyStart:e.bodyEnd]
		e.groups = seesGroup(body) || bytes.Contains(body, []byte("call")) && funcGroups
		for _, name := range shared {
			e.groups = e.groups || bytes.Contains(body, name)
		}
	}
	return list, nil
}

// groupWords are what only code has whose threads know each other.
var groupWords = [...]string{"bar.", "barrier.", ".shared", "shfl.", "vote.", "match.", "redux.", "activemask", "%laneid", "%lanemask", "%warpid", "%cluster", "mma.", "wmma."}

func seesGroup(body []byte) bool {
	for _, w := range groupWords {
		if bytes.Contains(body, []byte(w)) {
			return true
		}
	}
	return false
}

// moduleShared lists the shared variables that are declared outside of
// functions.
func moduleShared(text []byte) [][]byte {
	var names [][]byte
	depth := 0
	for line := range bytes.Lines(text) {
		if depth == 0 && bytes.Contains(line, []byte(".shared")) {
			decl, _, _ := bytes.Cut(line, []byte("["))
			if fields := bytes.Fields(bytes.TrimRight(decl, "; \t\r\n")); len(fields) > 0 {
				names = append(names, fields[len(fields)-1])
			}
		}
		depth += bytes.Count(line, []byte("{")) - bytes.Count(line, []byte("}"))
	}
	return names
}

// ptxReader goes through a PTX text word by word.
type ptxReader struct {
	text []byte
	at   int
}

// word is the next word: a run of letters, digits, and . _ $ % @, or a single
// other character. Comments and blanks are passed over.
func (p *ptxReader) word() (string, bool) {
	for p.at < len(p.text) {
		rest := p.text[p.at:]
		switch c := rest[0]; {
		case c == ' ' || c == '\t' || c == '\n' || c == '\r':
			p.at++
		case bytes.HasPrefix(rest, []byte("//")):
			p.at = p.find("\n", p.at)
		case bytes.HasPrefix(rest, []byte("/*")):
			p.at = min(p.find("*/", p.at)+2, len(p.text))
		case c == '"':
			end := p.find(`"`, p.at+1)
			p.at = min(end+1, len(p.text))
			return string(p.text[p.at-1 : p.at]), true
		case wordByte(c):
			n := 1
			for n < len(rest) && wordByte(rest[n]) {
				n++
			}
			p.at += n
			return string(rest[:n]), true
		default:
			p.at++
			return string(rest[:1]), true
		}
	}
	return "", false
}

func wordByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '.' || c == '_' || c == '$' || c == '%' || c == '@'
}

// find is the place of what, from a place on; the end if it is nowhere.
func (p *ptxReader) find(what string, from int) int {
	if i := bytes.Index(p.text[min(from, len(p.text)):], []byte(what)); i >= 0 {
		return from + i
	}
	return len(p.text)
}

func (p *ptxReader) wrong(what string) error {
	return fmt.Errorf("line %d of the PTX: %s", 1+bytes.Count(p.text[:min(p.at, len(p.text))], []byte("\n")), what)
}

// body passes over the rest of a function and says where its body is; nowhere
// for a declaration.
func (p *ptxReader) body() (from, to int, err error) {
	parens := 0
	for {
		w, ok := p.word()
		switch {
		case !ok:
			return 0, 0, p.wrong("a function without an end")
		case w == "(":
			parens++
		case w == ")":
			parens--
		case w == ";" && parens == 0:
			return 0, 0, nil
		case w == "{":
			from = p.at
			for depth := 1; depth > 0; {
				switch w, ok = p.word(); {
				case !ok:
					return 0, 0, p.wrong("a body without an end")
				case w == "{":
					depth++
				case w == "}":
					depth--
				}
			}
			return from, p.at - 1, nil
		}
	}
}

// entry reads what follows ".entry".
func (p *ptxReader) entry() (entry, error) {
	symbol, ok := p.word()
	if !ok {
		return entry{}, p.wrong(".entry without a name")
	}
	e := entry{symbol: symbol, name: plainName(symbol)}
	before := p.at
	w, _ := p.word()
	if w == "(" {
		var words []string
		for {
			w, ok := p.word()
			switch {
			case !ok:
				return e, p.wrong("the parameters of " + symbol + " have no end")
			case w == "," || w == ")":
				if len(words) > 0 {
					param, err := readParam(words)
					if err != nil {
						return e, p.wrong("kernel " + symbol + ": " + err.Error())
					}
					if e.params = append(e.params, param); len(e.params) > maxArgs {
						return e, p.wrong(fmt.Sprintf("kernel %s has more than %d parameters", symbol, maxArgs))
					}
				}
				words = words[:0]
			default:
				words = append(words, w)
			}
			if w == ")" {
				e.paramEnd = p.at - 1
				break
			}
		}
	} else {
		p.at = before
	}
	head := p.at
	from, to, err := p.body()
	if err != nil {
		return e, err
	}
	if to > 0 {
		e.bodyStart, e.bodyEnd = from, to
		e.fixed = required(string(p.text[head : from-1]))
	}
	return e, nil
}

// scalarBits are PTX's types.
var scalarBits = map[string]int{
	".b8": 8, ".u8": 8, ".s8": 8, ".b16": 16, ".u16": 16, ".s16": 16, ".f16": 16, ".b32": 32, ".u32": 32, ".s32": 32, ".f32": 32, ".f16x2": 32,
	".b64": 64, ".u64": 64, ".s64": 64, ".f64": 64, ".b128": 128,
}

// readParam reads ".param .u64 .ptr .global .align 4 name", ".param .align 16
// .b8 name[48]" and their like.
func readParam(words []string) (argcheck.Parameter, error) {
	var param argcheck.Parameter
	bits, count := 0, 1
	for i := 0; i < len(words); i++ {
		w := words[i]
		switch {
		case w == ".ptr":
			param.Space = argcheck.Global
		case w == ".align":
			i++ // and its number
		case w == "[":
			if i+1 >= len(words) {
				return param, fmt.Errorf("a parameter's size has no end")
			}
			n, err := strconv.Atoi(words[i+1])
			if err != nil || n < 1 || n > maxValues {
				return param, fmt.Errorf("a parameter of %s elements", words[i+1])
			}
			count = n
			param.Space = argcheck.Value
			i++
		case scalarBits[w] > 0:
			bits = scalarBits[w]
			param.Type = w[1:]
		case strings.HasPrefix(w, ".") || w == "]":
		default:
			param.Name = w
		}
	}
	if bits == 0 {
		return param, fmt.Errorf("the parameter %q has no type", strings.Join(words, " "))
	}
	param.Size = bits / 8 * count
	if param.Space == argcheck.Unknown && param.Size != 8 {
		param.Space = argcheck.Value
	}
	if count > 1 {
		param.Type = fmt.Sprintf("%d bytes", param.Size)
	}
	return param, nil
}

// required reads the directive .reqntid: the group size that a kernel asks for.
func required(head string) (size [3]int) {
	_, rest, ok := strings.Cut(head, ".reqntid")
	if !ok {
		return size
	}
	size = [3]int{1, 1, 1}
	for d, f := range strings.FieldsFunc(rest, func(r rune) bool { return r == ',' || r == ' ' || r == '\t' || r == '\n' || r == '\r' }) {
		n, err := strconv.Atoi(f)
		if err != nil || d > 2 {
			break
		}
		size[d] = n
	}
	return size
}
