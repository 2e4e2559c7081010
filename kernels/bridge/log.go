package bridge

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// place is a line of a file, as #line directives have it.
type place struct {
	file string
	line int
}

// columns says where the tokens of a line stand in CUDA C and in OpenCL C, in
// the order of the former.
type columns []struct{ cuda, opencl int }

// of is the column in OpenCL C of one in CUDA C: that of the token there.
func (c columns) of(cuda int) int {
	i, exact := slices.BinarySearchFunc(c, cuda, func(e struct{ cuda, opencl int }, at int) int { return e.cuda - at })
	if !exact {
		i--
	}
	if i < 0 {
		return 1
	}
	return c[i].opencl
}

var (
	message = regexp.MustCompile(`^(.*):(\d+):(\d+): (error|warning|remark|note): (.*)$`)
	pointer = regexp.MustCompile(`^\s*\^\s*$`)
	cause   = regexp.MustCompile(`at line (\d+)(?: of "?(.*?)"?)?$`)
	vector  = regexp.MustCompile(`\bvec<(?:tandem_cl::)?(signed char|uchar|unsigned char|short|ushort|unsigned short|int|uint|unsigned int|long long|ulong|unsigned long long|half|float|double), ?(\d+)>`)
)

// headerFolder begins the names under which the header's parts are compiled.
const headerFolder = "bridge/header/"

// Log brings a log of NVRTC about the program, in the form that package nvrtc
// gives it, back to OpenCL C: columns and the lines that are shown are those of
// the source, types have its names, and what the compiler found within the
// header is reported at the line that made it look there.
func (p *Program) Log(log string) string {
	if log == "" {
		return ""
	}
	shown := sourceLines(p.source)
	lines := strings.Split(strings.TrimRight(log, "\n"), "\n")
	var out []string
	for i := 0; i < len(lines); i++ {
		m := message.FindStringSubmatch(lines[i])
		if m == nil {
			out = append(out, plainNames(lines[i]))
			continue
		}
		var rest []string
		for ; i+1 < len(lines); i++ {
			note := message.FindStringSubmatch(lines[i+1])
			if note == nil {
				rest = append(rest, lines[i+1])
				continue
			}
			if note[4] != "note" || !strings.HasPrefix(note[1], headerFolder) && !strings.HasPrefix(note[5], "built-in operator") {
				break
			}
			// What the header is like, and which overloads do not fit: of no use to
			// the user, and nor is the line that it shows.
			if i+3 < len(lines) && pointer.MatchString(lines[i+3]) {
				i += 2
			}
		}
		out = append(out, p.entry(m, rest, shown)...)
	}
	text := strings.Trim(strings.Join(out, "\n"), "\n")
	if text == "" {
		return ""
	}
	return text + "\n"
}

// entry rewrites one message, m, with the lines that follow it.
func (p *Program) entry(m, rest []string, shown map[place]string) []string {
	line, _ := strconv.Atoi(m[2])
	column, _ := strconv.Atoi(m[3])
	at := place{m[1], line}
	within := ""
	if strings.HasPrefix(m[1], headerFolder) {
		for _, r := range rest {
			c := cause.FindStringSubmatch(r)
			if c == nil {
				continue
			}
			n, _ := strconv.Atoi(c[1])
			file := c[2]
			if file == "" || strings.HasPrefix(file, headerFolder) {
				continue
			}
			within = fmt.Sprintf(" (in %s:%s)", m[1], m[2])
			at, column = place{file, n}, 1
			break
		}
	}
	if within == "" {
		column = p.columns[at].of(column)
	}
	out := []string{fmt.Sprintf("%s:%d:%d: %s: %s%s", at.file, at.line, column, m[4], plainNames(m[5]), within)}
	source, known := shown[at]
	displayed := false
	for j := 0; j < len(rest); j++ {
		switch {
		case known && displayed && within != "":
		case known && j+1 < len(rest) && pointer.MatchString(rest[j+1]):
			out = append(out, "  "+source)
			if within == "" {
				out = append(out, "  "+margin(source, column)+"^")
			}
			displayed = true
			j++
		case within != "" && strings.TrimSpace(rest[j]) != "":
			// how the compiler came there, in terms of the header
		default:
			out = append(out, plainNames(rest[j]))
		}
	}
	return out
}

// margin is what stands above the caret: blanks, and tabs where the line has
// them.
func margin(source string, column int) string {
	var b strings.Builder
	for i := range column - 1 {
		if i < len(source) && source[i] == '\t' {
			b.WriteByte('\t')
		} else {
			b.WriteByte(' ')
		}
	}
	return b.String()
}

// plainNames gives types their names in OpenCL C.
func plainNames(s string) string {
	s = vector.ReplaceAllStringFunc(s, func(v string) string {
		m := vector.FindStringSubmatch(v)
		name := map[string]string{
			"signed char": "char", "unsigned char": "uchar", "unsigned short": "ushort", "unsigned int": "uint",
			"long long": "long", "unsigned long long": "ulong",
		}[m[1]]
		if name == "" {
			name = m[1]
		}
		return name + m[2]
	})
	return strings.NewReplacer("tandem_cl::user::", "", "tandem_cl::", "").Replace(s)
}

// sourceLines are the lines of a self-contained text by the place that its
// #line directives give them.
func sourceLines(text string) map[place]string {
	lines := map[place]string{}
	at := place{line: 1}
	directive := regexp.MustCompile(`^\s*#\s*(?:line\s+)?(\d+)(?:\s+"((?:[^"\\]|\\.)*)")?\s*$`)
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		if m := directive.FindStringSubmatch(line); m != nil {
			n, err := strconv.Atoi(m[1])
			if err == nil {
				at.line = n
				if m[2] != "" {
					at.file = strings.NewReplacer(`\\`, `\`, `\"`, `"`).Replace(m[2])
				}
				continue
			}
		}
		lines[at] = line
		at.line++
	}
	return lines
}
