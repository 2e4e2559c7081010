package verilog

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tandemrun/tandem/devices"
)

// A region is the text of one module, from before its first annotation to
// endmodule.
type region struct {
	name        string
	line, col   int
	notes       []note
	images      []imageCall
	identifiers map[string]bool
}

// note is one annotation: the words behind "tandem:".
type note struct {
	words     []string
	line, col int
}

// imageCall is one $readmemh or $readmemb.
type imageCall struct {
	hex       bool
	file      string // a literal
	param     string // the parameter that holds the name, where file is ""
	memory    string
	ranged    bool // with a start address: fewer words than the memory has are meant
	line, col int
	from, to  int // bytes, up to and with the closing parenthesis
}

// source is a scanned text.
type source struct {
	file    string
	src     string
	tokens  []token
	regions []region
	blanks  [][2]int // what yosys must not see
}

// allowed are the system tasks and functions that a kernel may call. All
// others could reach the host: files, the command line, other programs, C.
var allowed = map[string]bool{
	"$readmemh": true, "$readmemb": true,
	"$display": true, "$write": true, "$strobe": true, "$info": true, "$warning": true, "$error": true,
	"$fatal": true, "$finish": true, "$stop": true,
	"$time": true, "$stime": true, "$realtime": true, "$random": true, "$urandom": true, "$urandom_range": true,
	"$signed": true, "$unsigned": true, "$clog2": true, "$bits": true, "$size": true, "$high": true, "$low": true,
	"$left": true, "$right": true, "$increment": true, "$dimensions": true, "$unpacked_dimensions": true,
	"$countones": true, "$countbits": true, "$onehot": true, "$onehot0": true, "$isunknown": true,
	"$past": true, "$rose": true, "$fell": true, "$stable": true, "$changed": true, "$sampled": true,
	"$itor": true, "$rtoi": true, "$ceil": true, "$floor": true, "$pow": true, "$sqrt": true, "$ln": true, "$log10": true, "$exp": true,
	"$bitstoreal": true, "$realtobits": true, "$shortrealtobits": true, "$bitstoshortreal": true,
}

// forSimulation are tasks that yosys does not take; their calls are hidden
// from it.
var forSimulation = []string{"$display", "$write", "$strobe", "$info", "$warning", "$error", "$fatal", "$finish", "$stop",
	"$readmemh", "$readmemb"}

// pragmas are the comments to Verilator that a kernel may hold.
var pragmas = []string{"lint_off", "lint_on", "lint_save", "lint_restore", "full_case", "parallel_case", "coverage_off",
	"coverage_on", "coverage_block_off", "no_inline_task", "inline_module", "no_inline_module", "tracing_on", "tracing_off", "unroll_full", "unroll_disable"}

// directives are the compiler directives that a kernel may not hold, and why.
var forbiddenDirectives = map[string]string{
	"include":          "includes have to be put in place before; reading the kernel from its file does that",
	"systemc_ctor":     "it puts C++ into the emulation",
	"systemc_dtor":     "it puts C++ into the emulation",
	"systemc_clock":    "it puts C++ into the emulation",
	"verilator_config": "it changes how the emulation is built",
}

// scanSource scans a text and refuses what a kernel must not contain; every
// fault is an *Error.
func scanSource(file, src string) (*source, []error) {
	s := &source{file: file, src: src, tokens: scan(src)}
	var faults []error
	if strings.ContainsRune(src, 0) {
		faults = append(faults, s.errorf(token{}, devices.ErrInvalid, "the source is not text"))
	}
	for i, t := range s.tokens {
		if why := s.forbidden(i); why != "" {
			faults = append(faults, s.errorf(t, devices.ErrUnsupported, "%s", why))
		}
	}
	faults = append(faults, s.cut()...)
	return s, faults
}

func (s *source) errorf(at token, class error, format string, args ...any) *Error {
	file := s.file
	if at.file != "" {
		file = at.file
	}
	return &Error{File: file, Line: at.line, Column: at.col, Msg: fmt.Sprintf(format, args...), Err: class}
}

// forbidden says why token i must not be in a kernel; "": it may.
func (s *source) forbidden(i int) string {
	t := s.tokens[i]
	switch t.kind {
	case system:
		if !allowed[t.text] {
			return fmt.Sprintf("%s is not allowed in a kernel: it may reach the host", t.text)
		}
	case mark:
		// A lone $ is the last index of a queue; anywhere else a macro could
		// make a system task of it.
		if t.text == "$" && (i+1 >= len(s.tokens) || !strings.Contains("]:-+", s.tokens[i+1].text) || s.tokens[i+1].kind != mark) {
			return "a $ without a name is not allowed in a kernel"
		}
		// Pasting can make a forbidden name of allowed ones.
		if t.text == "`" {
			return "pasting names together (``) is not allowed in a kernel"
		}
	case directive:
		if why, is := forbiddenDirectives[t.text]; is {
			return fmt.Sprintf("`%s is not allowed in a kernel: %s", t.text, why)
		}
		if strings.HasPrefix(t.text, "systemc_") {
			return fmt.Sprintf("`%s is not allowed in a kernel: it puts C++ into the emulation", t.text)
		}
	case identifier:
		if (t.text == "import" || t.text == "export") && i+1 < len(s.tokens) && s.tokens[i+1].kind != identifier {
			return fmt.Sprintf("%s of DPI functions is not allowed in a kernel: they run on the host", t.text)
		}
		if t.text == "bind" {
			return "bind is not allowed in a kernel"
		}
	case comment:
		words := strings.Fields(strings.TrimSpace(t.text))
		if len(words) > 1 && (words[0] == "verilator" || words[0] == "verilog_verilator") && !slices.Contains(pragmas, words[1]) {
			return fmt.Sprintf("the pragma \"verilator %s\" is not allowed in a kernel", words[1])
		}
	}
	return ""
}

// cut finds the modules, their annotations and their memory images.
func (s *source) cut() []error {
	var faults []error
	var r *region
	var waiting []note // annotations before the module they are about
	for i := 0; i < len(s.tokens); i++ {
		t := s.tokens[i]
		switch {
		case t.kind == comment:
			if n, ok := readNote(t); ok {
				if r != nil {
					r.notes = append(r.notes, n)
				} else {
					waiting = append(waiting, n)
				}
			}
		case t.kind == identifier && (t.text == "module" || t.text == "macromodule") && r == nil:
			j := i + 1
			for j < len(s.tokens) && (s.tokens[j].kind == comment || s.tokens[j].text == "automatic" || s.tokens[j].text == "static") {
				j++
			}
			if j >= len(s.tokens) || s.tokens[j].kind != identifier {
				continue
			}
			name := s.tokens[j]
			s.regions = append(s.regions, region{name: name.text, line: name.line, col: name.col, notes: waiting, identifiers: map[string]bool{}})
			r, waiting = &s.regions[len(s.regions)-1], nil
			i = j
		case t.kind == identifier && t.text == "endmodule":
			r = nil
		case t.kind == identifier && r != nil:
			r.identifiers[t.text] = true
		case t.kind == system && slices.Contains(forSimulation, t.text):
			end := s.call(i)
			s.blanks = append(s.blanks, [2]int{t.from, s.tokens[end].to})
			if strings.HasPrefix(t.text, "$readmem") {
				c, err := s.imageCall(i, end)
				if err != nil {
					faults = append(faults, err)
				} else if r != nil {
					r.images = append(r.images, c)
				}
			}
		}
	}
	for _, n := range waiting {
		faults = append(faults, s.errorf(token{line: n.line, col: n.col}, devices.ErrInvalid, "an annotation behind the last module is about none"))
	}
	return faults
}

// readNote reads a comment of the form "tandem: words".
func readNote(t token) (note, bool) {
	rest, ok := strings.CutPrefix(strings.TrimSpace(t.text), "tandem:")
	if !ok {
		return note{}, false
	}
	return note{words: strings.Fields(rest), line: t.line, col: t.col}, true
}

// call is the index of the token that ends the call of the system task at i:
// its closing parenthesis, or the name itself.
func (s *source) call(i int) int {
	if i+1 >= len(s.tokens) || s.tokens[i+1].text != "(" {
		return i
	}
	depth := 0
	for j := i + 1; j < len(s.tokens); j++ {
		if s.tokens[j].kind != mark {
			continue
		}
		switch s.tokens[j].text {
		case "(":
			depth++
		case ")":
			if depth--; depth == 0 {
				return j
			}
		}
	}
	return i
}

// imageCall reads $readmemh(file, memory...), tokens i to end.
func (s *source) imageCall(i, end int) (imageCall, error) {
	t := s.tokens[i]
	c := imageCall{hex: t.text == "$readmemh", line: t.line, col: t.col, from: t.from, to: s.tokens[end].to}
	args := s.tokens[min(i+2, end):end]
	args = slices.DeleteFunc(slices.Clone(args), func(t token) bool { return t.kind == comment })
	ok := len(args) >= 3 && args[1].text == "," && args[1].kind == mark && args[2].kind == identifier
	if ok {
		switch args[0].kind {
		case text:
			c.file = args[0].text
		case identifier:
			c.param = args[0].text
		default:
			ok = false
		}
		c.memory = args[2].text
		c.ranged = len(args) > 3
	}
	if !ok {
		return c, s.errorf(t, devices.ErrUnsupported,
			"%s: the file has to be a string or a parameter, and the memory a name: %s(\"image.hex\", memory)", t.text, t.text)
	}
	return c, nil
}

// forYosys is the source without the calls that yosys does not take; lines and
// columns stay.
func (s *source) forYosys() string {
	b := []byte(s.src)
	for _, span := range s.blanks {
		for i := span[0]; i < span[1]; i++ {
			if b[i] != '\n' {
				b[i] = ' '
			}
		}
	}
	return string(b)
}

// ForSynthesis is the text without the tasks that only an emulation knows,
// among them those that yosys does not take. Memory images stay; lines stay.
func ForSynthesis(file, text string) (string, error) {
	s, faults := scanSource(file, text)
	if len(faults) > 0 {
		return "", errors.Join(faults...)
	}
	s.blanks = slices.DeleteFunc(s.blanks, func(span [2]int) bool { return strings.HasPrefix(text[span[0]:span[1]], "$readmem") })
	return s.forYosys(), nil
}

// region finds a module's text by its name, nil if there is none.
func (s *source) region(name string) *region {
	for i := range s.regions {
		if s.regions[i].name == name {
			return &s.regions[i]
		}
	}
	return nil
}
