package clc

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/tandemrun/tandem/kernels"
)

// Bounds on what is read. A source beyond them is refused.
const (
	maxFileBytes  = 4 << 20
	maxTextBytes  = 16 << 20 // of the self-contained text
	maxDepth      = 64       // of includes
	maxIncludes   = 2000
	maxWork       = 1 << 20 // tokens that macros may expand to
	maxNesting    = 256     // of conditionals
	maxArgNesting = 64      // of macro calls in macro arguments
	maxKernels    = 1000
)

// file is a source file, read once and cut into tokens once.
type file struct {
	path string // as it was found, for messages
	dir  string
	text []byte
	toks []token
	once bool // holds #pragma once
	seen bool
}

// readFile reads a regular file of bounded size.
func readFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	st, err := f.Stat()
	switch {
	case err != nil:
		return nil, err
	case !st.Mode().IsRegular():
		return nil, fmt.Errorf("%s is no regular file", path)
	case st.Size() > maxFileBytes:
		return nil, fmt.Errorf("%s has %d bytes, more than the %d that a source may have", path, st.Size(), maxFileBytes)
	}
	b, err := io.ReadAll(io.LimitReader(f, maxFileBytes+1))
	if err == nil && len(b) > maxFileBytes {
		err = fmt.Errorf("%s has more than the %d bytes that a source may have", path, maxFileBytes)
	}
	return b, err
}

// newFile cuts text into tokens.
func newFile(path string, text []byte) (*file, error) {
	f := &file{path: path, dir: filepath.Dir(path), text: text}
	if i := bytes.IndexByte(text, 0); i >= 0 {
		line := 1 + bytes.Count(text[:i], []byte("\n"))
		return nil, &Error{kernels.Pos{File: path, Line: line}, "this is no text: it holds a byte of value 0"}
	}
	var err *Error
	if f.toks, err = lex(path, text); err != nil {
		return nil, err
	}
	return f, nil
}

// regular reports whether path can be included: it is there and is a file.
func regular(path string) bool {
	st, err := os.Stat(path)
	return err == nil && st.Mode().IsRegular()
}

// find resolves an include. The folders that were searched come back when
// there is no such file.
func (p *prep) find(from *file, name string, angled bool) (*file, []string, error) {
	var dirs []string
	if !angled {
		dirs = append(dirs, from.dir)
	}
	dirs = append(dirs, p.set.include...)
	if filepath.IsAbs(name) {
		dirs = []string{""}
	}
	for _, dir := range dirs {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if f := p.files[path]; f != nil {
			return f, nil, nil
		}
		if !regular(path) {
			continue
		}
		text, err := readFile(path)
		if err != nil {
			return nil, nil, err
		}
		f, err := newFile(path, text)
		if err != nil {
			return nil, nil, err
		}
		p.files[path] = f
		return f, nil, nil
	}
	return nil, dirs, nil
}

// include handles an include directive, d[0] being its '#'. A skipped one is
// put in place too where its file is there and a device may decide otherwise.
func (p *prep) include(r *reader, d []token, skipped bool) {
	name, angled, end, ok := p.headerName(r, d, skipped)
	if !ok {
		return
	}
	f, dirs, err := p.find(r.file, name, angled)
	var fault *Error
	switch {
	case skipped && (f == nil || r.including(f)):
		return
	case errors.As(err, &fault):
		panic(bail{fault})
	case err != nil:
		bailf(r.at(d[0]), "cannot include %q: %v", name, err)
	case f == nil && angled && p.set.foreign: // the compiler has it
		return
	case f == nil && angled:
		bailf(r.at(d[0]), "cannot include <%s>: OpenCL C has no system headers, and it is not in the include folders (%s)", name, folders(dirs))
	case f == nil:
		bailf(r.at(d[0]), "cannot find the included file %q; searched %s", name, folders(dirs))
	case r.depth+1 > maxDepth:
		bailf(r.at(d[0]), "includes are nested more than %d deep: %s", maxDepth, r.ring(f))
	}
	if p.includes++; p.includes > maxIncludes {
		bailf(r.at(d[0]), "more than %d includes", maxIncludes)
	}
	r.copyTo(p, d[0].off)
	if f.once && f.seen {
		p.write("/* included before */")
	} else {
		p.write("\n" + lineDirective(1, f.path))
		f.seen = f.seen || !skipped
		p.read(&reader{file: f, depth: r.depth + 1, up: r, name: f.path}, skipped)
		p.write("\n" + lineDirective(p.endLine(r, end), r.name))
	}
	r.done = end.end
}

// endLine is the line that end stands on, for the directive that follows it.
func (p *prep) endLine(r *reader, end token) int { return r.at(end).Line }

// headerName reads what an include directive names; end is its last token.
func (p *prep) headerName(r *reader, d []token, skipped bool) (name string, angled bool, end token, ok bool) {
	args := d[2:]
	if len(args) == 0 {
		if !skipped {
			bailf(r.at(d[0]), "#include names no file")
		}
		return "", false, end, false
	}
	if args[0].is("<") {
		rest := r.file.text[args[0].end:]
		if i := bytes.IndexAny(rest, ">\n"); i >= 0 && rest[i] == '>' {
			end = args[0]
			end.end += i + 1
			return string(rest[:i]), true, end, true
		}
	}
	end = d[len(d)-1]
	if args[0].kind != tokString && !skipped {
		args = p.expandAll(r, args)
		var b strings.Builder
		for _, t := range args {
			if t.space && b.Len() > 0 {
				b.WriteByte(' ')
			}
			b.WriteString(t.text)
		}
		if s := b.String(); len(s) > 2 && s[0] == '<' && s[len(s)-1] == '>' {
			return s[1 : len(s)-1], true, end, true
		}
	}
	if len(args) == 0 || args[0].kind != tokString {
		if !skipped {
			bailf(r.at(d[0]), "#include wants \"file\" or <file>")
		}
		return "", false, end, false
	}
	return args[0].text[1 : len(args[0].text)-1], false, end, true
}

func folders(dirs []string) string {
	if len(dirs) == 0 {
		return "none given"
	}
	quoted := make([]string, len(dirs))
	for i, d := range dirs {
		quoted[i] = fmt.Sprintf("%q", d)
	}
	return strings.Join(quoted, ", ")
}

// lineDirective says that the next line is line n of the file.
func lineDirective(n int, name string) string {
	return fmt.Sprintf("#line %d \"%s\"\n", n, strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(name))
}

// reader is one reading of a file.
type reader struct {
	file  *file
	depth int
	up    *reader // that includes it
	name  string  // that #line gave it
	delta int     // that #line added to the lines
	done  int     // bytes handed on
}

// at is the position of a token as #line directives have it.
func (r *reader) at(t token) kernels.Pos {
	return kernels.Pos{File: r.name, Line: t.pos.Line + r.delta, Column: t.pos.Column}
}

// including reports whether f is being read by r or a reader above it.
func (r *reader) including(f *file) bool {
	for ; r != nil; r = r.up {
		if r.file == f {
			return true
		}
	}
	return false
}

// ring spells out the cycle that f closes, or the innermost files.
func (r *reader) ring(f *file) string {
	names := []string{f.path}
	for up := r; up != nil; up = up.up {
		names = append([]string{up.file.path}, names...)
		if up.file == f || len(names) > 8 {
			break
		}
	}
	return strings.Join(names, " includes ")
}

// copyTo hands the file's text on up to byte end.
func (r *reader) copyTo(p *prep, end int) {
	if end > r.done {
		p.write(string(r.file.text[r.done:end]))
		r.done = end
	}
}

func (p *prep) write(s string) {
	if p.text.Len()+len(s) > maxTextBytes {
		bailf(kernels.Pos{File: p.name}, "with its includes the source has more than %d bytes", maxTextBytes)
	}
	p.text.WriteString(s)
}
