package rtl

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/devices/fpga/verilog"
)

const (
	maxSource  = 4 << 20 // bytes of a source with all its includes
	maxNesting = 16
)

var includeLine = regexp.MustCompile("^\\s*`include\\s+\"([^\"]*)\"\\s*(//.*)?$")

// includer puts included files in place.
type includer struct {
	folders []string // searched in order, after the including file's own
	out     strings.Builder
}

// expand returns the text of a file with its includes in place, marked by
// `line directives. Included files lie inside the folder of the source or an
// include folder.
func expand(path string, folders []string) (string, error) {
	data, err := readFile(filepath.Dir(path), filepath.Base(path))
	if err != nil {
		return "", err
	}
	in := &includer{folders: append([]string{filepath.Dir(path)}, folders...)}
	if err := in.file(path, string(data), 0); err != nil {
		return "", err
	}
	return in.out.String(), nil
}

func (in *includer) file(name, text string, depth int) error {
	n := 0
	for line := range strings.Lines(text) {
		n++
		m := includeLine.FindStringSubmatch(strings.TrimRight(line, "\r\n"))
		if m == nil {
			in.out.WriteString(line)
		} else if err := in.include(name, m[1], n, depth); err != nil {
			return err
		}
		if in.out.Len() > maxSource {
			return &verilog.Error{File: name, Line: n, Msg: fmt.Sprintf("the source has more than %d bytes with its includes", maxSource), Err: devices.ErrInvalid}
		}
	}
	if text != "" && !strings.HasSuffix(text, "\n") {
		in.out.WriteByte('\n')
	}
	return nil
}

// include puts one file in place of line n of another.
func (in *includer) include(from, name string, n, depth int) error {
	fail := func(format string, args ...any) error {
		return &verilog.Error{File: from, Line: n, Msg: fmt.Sprintf(format, args...), Err: devices.ErrInvalid}
	}
	if depth >= maxNesting {
		return fail("includes nest more than %d deep", maxNesting)
	}
	if !filepath.IsLocal(name) {
		return fail("`include %q: the file has to lie inside the source's folder or an include folder", name)
	}
	for _, folder := range in.folders {
		data, err := readFile(folder, name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return fail("`include %q: %v", name, err)
		}
		path := filepath.ToSlash(filepath.Join(folder, name))
		fmt.Fprintf(&in.out, "`line 1 %q 1\n", path)
		if err := in.file(path, string(data), depth+1); err != nil {
			return err
		}
		fmt.Fprintf(&in.out, "`line %d %q 2\n", n+1, filepath.ToSlash(from))
		return nil
	}
	return fail("`include %q: not found in %s", name, strings.Join(in.folders, ", "))
}

// readFile reads a regular file inside a folder; links that lead out of it are
// refused.
func readFile(folder, name string) ([]byte, error) {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	f, err := root.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is no regular file: %w", name, devices.ErrInvalid)
	}
	data, err := io.ReadAll(io.LimitReader(f, maxSource+1))
	if err == nil && len(data) > maxSource {
		err = fmt.Errorf("%s has more than %d bytes: %w", name, maxSource, devices.ErrInvalid)
	}
	return data, err
}
