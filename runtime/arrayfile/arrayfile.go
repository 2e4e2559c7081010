package arrayfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/tandemrun/tandem/devices"
)

// Options say what a file's name and content do not. The zero value is right
// for everything but .raw files.
type Options struct {
	// DType is the element type of a .raw file, where it is required, and the
	// type that the numbers of a .csv file are read as, by default float64.
	// The other formats carry their type.
	DType devices.DType
	// Shape is the shape of a .raw file, where it is required. An empty shape
	// that is not nil is a single element. The other formats carry theirs.
	Shape []int64
	// Member is the name of an array in an .npz file, without ".npy". It may
	// also be part of the path: "a.npz:x". If it is missing, the file has to
	// hold a single array; the name that is written is then "arr_0".
	Member string
	// Table says whether the first line of a .csv file names the columns.
	Table TableHeader
	// Zeroed promises that the memory to read into holds zeros. The holes of a
	// sparse .npy or .raw file are then skipped: pages for which the file has
	// no data are not touched, and take no memory.
	Zeroed bool
	// Columns are the names to write into the first line of a .csv file.
	Columns []string
}

// TableHeader says whether a .csv file begins with the names of its columns.
type TableHeader uint8

// What the first line of a .csv file is.
const (
	// HeaderAuto takes the first line for names if none of its fields is a
	// number, and for numbers if all are; a mixture is an error.
	HeaderAuto TableHeader = iota
	HeaderNames
	HeaderNone
)

// FormatError is a file whose content is not what its name promises, or an
// array that a file format has no way to hold.
type FormatError struct {
	Path string
	Line int // of a text file; 0: not a matter of one line
	Err  error
}

func (e *FormatError) Error() string {
	if e.Line > 0 {
		return fmt.Sprintf("%s:%d: %v", e.Path, e.Line, e.Err)
	}
	return fmt.Sprintf("%s: %v", e.Path, e.Err)
}

func (e *FormatError) Unwrap() error { return e.Err }

// lineError carries a line number up to where the path is known.
type lineError struct {
	line int
	err  error
}

func (e *lineError) Error() string { return fmt.Sprintf("line %d: %v", e.line, e.err) }
func (e *lineError) Unwrap() error { return e.err }

// named puts the file's name in front of err: errors of the operating system
// stay what they are (errors.Is finds fs.ErrNotExist), all others become a
// FormatError.
func named(path string, err error) error {
	if err == nil {
		return nil
	}
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return fmt.Errorf("%s: %w", path, pe.Err)
	}
	var le *os.LinkError
	if errors.As(err, &le) {
		return fmt.Errorf("%s: %w", path, le.Err)
	}
	var fe *FormatError
	if errors.As(err, &fe) {
		return err
	}
	var line *lineError
	if errors.As(err, &line) {
		return &FormatError{Path: path, Line: line.line, Err: line.err}
	}
	return &FormatError{Path: path, Err: err}
}

// source is an open file of known length.
type source struct {
	*os.File
	size int64
}

// format is what the package can do with one extension.
type format struct {
	ext  string
	stat func(s source, o Options) (Header, error)
	read func(s source, o Options, alloc Alloc) (Header, error)
	// holds says whether a file of this format can hold such an array; nil if
	// the format is only read.
	holds func(h Header) error
	write func(w io.Writer, h Header, data []byte, o Options) error
	hint  string // what to do instead of writing
}

func formats() []format {
	return []format{
		{ext: ".csv", stat: statCSV, read: readCSV, holds: holdsCSV, write: writeCSV},
		{ext: ".jpeg", stat: statJPEG, read: readJPEG, hint: "a .jpg would change the values; write .png"},
		{ext: ".jpg", stat: statJPEG, read: readJPEG, hint: "a .jpg would change the values; write .png"},
		{ext: ".npy", stat: statNPY, read: readNPY, holds: holdsAny, write: writeNPY},
		{ext: ".npz", stat: statNPZ, read: readNPZ, holds: holdsAny, write: writeNPZ},
		{ext: ".pgm", stat: statPNM, read: readPNM, holds: holdsPGM, write: writePNM},
		{ext: ".png", stat: statPNG, read: readPNG, holds: holdsPNG, write: writePNG},
		{ext: ".ppm", stat: statPNM, read: readPNM, holds: holdsPPM, write: writePNM},
		{ext: ".raw", stat: statRaw, read: readRaw, holds: holdsAny, write: writeRaw},
	}
}

// Formats lists the extensions that are read and those that are written.
func Formats() (read, write []string) {
	for _, f := range formats() {
		read = append(read, f.ext)
		if f.write != nil {
			write = append(write, f.ext)
		}
	}
	return read, write
}

// formatOf finds the format of path and takes the member off an .npz path.
func formatOf(path string, o Options) (string, format, Options, error) {
	lower := strings.ToLower(path)
	if i := strings.LastIndex(lower, ".npz:"); i >= 0 {
		file, member := path[:i+4], path[i+5:]
		if o.Member != "" && o.Member != member {
			return path, format{}, o, &FormatError{Path: path, Err: fmt.Errorf("member is given twice: %q and %q", member, o.Member)}
		}
		if member == "" {
			return path, format{}, o, &FormatError{Path: path, Err: errors.New(`no name after the colon; write "file.npz:name"`)}
		}
		path, o.Member, lower = file, member, lower[:i+4]
	}
	ext := filepath.Ext(lower)
	for _, f := range formats() {
		if f.ext == ext {
			return path, f, o, nil
		}
	}
	read, _ := Formats()
	what := fmt.Sprintf("unknown extension %q", ext)
	if ext == "" {
		what = "no extension"
	}
	return path, format{}, o, &FormatError{Path: path, Err: fmt.Errorf("%s; array files are %s", what, strings.Join(read, " "))}
}

func open(path string) (source, error) {
	info, err := os.Stat(path)
	if err != nil {
		return source{}, named(path, err)
	}
	// Asked before opening: a named pipe would block there.
	if !info.Mode().IsRegular() {
		return source{}, &FormatError{Path: path, Err: errors.New("not a regular file")}
	}
	f, err := os.Open(path)
	if err != nil {
		return source{}, named(path, err)
	}
	if info, err = f.Stat(); err != nil {
		_ = f.Close()
		return source{}, named(path, err)
	}
	return source{f, info.Size()}, nil
}

// Stat reads what the array in a file is, without its elements. Only a .csv
// file is read to its end for that, since its length in rows is nowhere else;
// no more than one line of it is in memory.
func Stat(path string, o Options) (Header, error) {
	path, f, o, err := formatOf(path, o)
	if err != nil {
		return Header{}, err
	}
	s, err := open(path)
	if err != nil {
		return Header{}, err
	}
	defer func() { _ = s.Close() }()
	h, err := f.stat(s, o)
	return h, named(path, err)
}

// Read reads the array in a file into memory that alloc provides. It calls
// alloc once, after the file has been found long enough for what it claims.
// The elements of .npy and .raw files in this machine's byte order go from the
// file into that memory without a copy in between. After an error the memory
// holds anything.
func Read(path string, o Options, alloc Alloc) (Header, error) {
	path, f, o, err := formatOf(path, o)
	if err != nil {
		return Header{}, err
	}
	s, err := open(path)
	if err != nil {
		return Header{}, err
	}
	defer func() { _ = s.Close() }()
	h, err := f.read(s, o, alloc)
	if err != nil {
		return Header{}, named(path, err)
	}
	return h, nil
}

// Write writes an array. The file appears whole or not at all: it is written
// under another name in the same folder, flushed to disk and renamed. A file
// that was there keeps its permissions, a new one gets 0644 less the umask; a
// symbolic link is replaced, not followed. data is only read, and has to be
// what the header says. Writing a member of an .npz file replaces that file by
// one with this member alone; WriteNPZ writes several.
func Write(path string, h Header, data []byte, o Options) error {
	path, f, o, err := formatOf(path, o)
	if err != nil {
		return err
	}
	if err := f.takes(h); err != nil {
		return named(path, err)
	}
	if err := checkData(h, data); err != nil {
		return named(path, err)
	}
	return Replace(path, func(w io.Writer) error { return f.write(w, h, data, o) })
}

// CheckHeader says whether the file's format is able to hold such an array. It
// looks at no file.
func CheckHeader(path string, h Header) error {
	path, f, _, err := formatOf(path, Options{})
	if err != nil {
		return err
	}
	return named(path, f.takes(h))
}

func (f format) takes(h Header) error {
	if f.write == nil {
		return f.readOnly()
	}
	if _, err := h.Bytes(); err != nil {
		return err
	}
	return f.holds(h)
}

func (f format) readOnly() error {
	return fmt.Errorf("%s files are read, not written: %s", f.ext, f.hint)
}

func holdsAny(Header) error { return nil }

func checkData(h Header, data []byte) error {
	size, err := h.Bytes()
	if err != nil {
		return err
	}
	if int64(len(data)) != size {
		return fmt.Errorf("%s takes %d bytes, got %d: %w", h, size, len(data), devices.ErrInvalid)
	}
	return nil
}
