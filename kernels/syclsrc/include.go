package syclsrc

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/tandemrun/tandem/kernels"
	"github.com/tandemrun/tandem/kernels/clc"
)

// Bounds on what is read. A source beyond them is refused.
const (
	maxTextBytes = 16 << 20
	maxIncludes  = 2000
)

var includeLine = regexp.MustCompile(`^\s*#\s*include\s*([<"])([^>"]+)[>"]`)

// assembler puts included files in their place.
type assembler struct {
	out   strings.Builder
	dirs  []string
	once  map[string]bool // read, with #pragma once in them
	open  []string        // being read
	count int
}

// assemble makes the text that a device compiles, and the options for its
// compiler: macros first, then the file with the user's headers in place.
func assemble(name string, text []byte, o clc.Options) (string, []string, error) {
	a := &assembler{once: map[string]bool{}}
	var options []string
	for _, opt := range o.Options {
		if dir, ok := strings.CutPrefix(opt, "-I"); ok && dir != "" {
			a.dirs = append(a.dirs, dir)
			continue
		}
		options = append(options, opt)
	}
	a.dirs = append(slices.Clone(o.Include), a.dirs...)
	for _, d := range o.Defines {
		if strings.ContainsAny(d.Name+d.Value, "\n\r\x00") {
			return "", nil, &clc.Error{Msg: fmt.Sprintf("define %q: a macro cannot hold a line break", d.Name)}
		}
		value := d.Value
		if value == "" {
			value = "1"
		}
		fmt.Fprintf(&a.out, "#define %s %s\n", d.Name, strings.TrimSpace(value))
	}
	if err := a.file(name, string(text)); err != nil {
		return "", nil, err
	}
	return a.out.String(), options, nil
}

// file writes a file with what it includes.
func (a *assembler) file(name, text string) error {
	if a.out.Len()+len(text) > maxTextBytes {
		return &clc.Error{Pos: kernels.Pos{File: name}, Msg: fmt.Sprintf("with its includes the source has more than %d bytes", maxTextBytes)}
	}
	if strings.ContainsRune(text, 0) {
		return &clc.Error{Pos: kernels.Pos{File: name}, Msg: "this is no text: it holds a byte of value 0"}
	}
	a.open = append(a.open, name)
	defer func() { a.open = a.open[:len(a.open)-1] }()
	a.mark(1, name)
	line, comment := 0, false
	for l := range strings.Lines(text) {
		line++
		inside := comment
		comment = inComment(l, comment)
		m := includeLine.FindStringSubmatch(l)
		if inside || m == nil {
			if !inside && strings.Contains(l, "#pragma once") {
				a.once[name] = true
				l = "\n" // the text is no longer a header
			}
			a.out.WriteString(l)
			continue
		}
		path, read, err := a.find(filepath.Dir(name), m[2], m[1] == "<")
		switch {
		case err != nil:
			return &clc.Error{Pos: kernels.Pos{File: name, Line: line}, Msg: err.Error()}
		case path == "": // SYCL's or the C++ library's: the compiler has it
			a.out.WriteString(l)
			continue
		case a.once[path] || slices.Contains(a.open, path):
			a.out.WriteString("\n")
			continue
		}
		if a.count++; a.count > maxIncludes {
			return &clc.Error{Pos: kernels.Pos{File: name, Line: line}, Msg: fmt.Sprintf("more than %d includes", maxIncludes)}
		}
		if err := a.file(path, read); err != nil {
			return err
		}
		a.mark(line+1, name)
	}
	if !strings.HasSuffix(text, "\n") {
		a.out.WriteString("\n")
	}
	return nil
}

// mark says that the next line is line n of the file.
func (a *assembler) mark(n int, name string) {
	fmt.Fprintf(&a.out, "#line %d \"%s\"\n", n, strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(name))
}

// find reads an included file; no path where it is left to the compiler.
func (a *assembler) find(own, name string, angled bool) (path, text string, err error) {
	dirs := a.dirs
	if !angled {
		dirs = append([]string{own}, a.dirs...)
	}
	for _, dir := range dirs {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
			continue
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return "", "", fmt.Errorf("cannot include %q: %w", name, err)
		}
		return path, string(b), nil
	}
	if angled {
		return "", "", nil
	}
	return "", "", fmt.Errorf("cannot find the included file %q; searched %q", name, dirs)
}

// inComment reports whether a line ends within a comment that goes on.
func inComment(line string, inside bool) bool {
	for i := 0; i < len(line); i++ {
		switch {
		case inside && strings.HasPrefix(line[i:], "*/"):
			inside = false
			i++
		case !inside && strings.HasPrefix(line[i:], "//"):
			return false
		case !inside && strings.HasPrefix(line[i:], "/*"):
			inside = true
			i++
		case !inside && line[i] == '"':
			for i++; i < len(line) && line[i] != '"'; i++ {
				if line[i] == '\\' {
					i++
				}
			}
		}
	}
	return inside
}
