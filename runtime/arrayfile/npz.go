package arrayfile

import (
	"archive/zip"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
)

// deflateRatio is the most that deflate can compress: a match of 258 bytes in
// two bits. What claims more is lying about its size.
const deflateRatio = 1032

// Member is one array of an .npz file.
type Member struct {
	Name string // without ".npy"
	Header
	Data []byte
}

// WriteNPZ writes an .npz file that holds members, in this order and without
// compression, as numpy.savez does. It replaces the file like Write. The data
// is only read.
func WriteNPZ(path string, members []Member) error {
	if ext := filepath.Ext(strings.ToLower(path)); ext != ".npz" {
		return &FormatError{Path: path, Err: fmt.Errorf("several arrays go into an .npz file, not into %q", ext)}
	}
	seen := map[string]bool{}
	for _, m := range members {
		if err := checkData(m.Header, m.Data); err != nil {
			return named(path, fmt.Errorf("member %q: %w", m.Name, err))
		}
		if err := checkMemberName(m.Name); err != nil {
			return named(path, err)
		}
		if seen[m.Name] {
			return named(path, fmt.Errorf("member %q is given twice", m.Name))
		}
		seen[m.Name] = true
	}
	return Replace(path, func(w io.Writer) error { return writeMembers(w, members) })
}

func writeNPZ(w io.Writer, h Header, data []byte, o Options) error {
	name := o.Member
	if name == "" {
		name = "arr_0"
	}
	if err := checkMemberName(name); err != nil {
		return err
	}
	return writeMembers(w, []Member{{name, h, data}})
}

// checkMemberName refuses what a program that unpacks the file could take for
// a path out of its folder.
func checkMemberName(name string) error {
	if name == "" || strings.ContainsAny(name, "/\\:\x00") || strings.HasPrefix(name, "..") {
		return fmt.Errorf("%q is no name for an array in an .npz file", name)
	}
	return nil
}

func writeMembers(w io.Writer, members []Member) error {
	z := zip.NewWriter(w)
	for _, m := range members {
		// No time of change: equal arrays make equal files.
		f, err := z.CreateHeader(&zip.FileHeader{Name: m.Name + ".npy", Method: zip.Store})
		if err != nil {
			return err
		}
		if err := writeNPY(f, m.Header, m.Data, Options{}); err != nil {
			return err
		}
	}
	return z.Close()
}

// findMember finds the array that the options name, or the only one.
func findMember(s source, o Options) (*zip.File, error) {
	z, err := zip.NewReader(s, s.size)
	if err != nil {
		return nil, fmt.Errorf("no .npz file: %w", err)
	}
	var names []string
	var found []*zip.File
	for _, f := range z.File {
		name, ok := strings.CutSuffix(f.Name, ".npy")
		if !ok {
			continue
		}
		names = append(names, name)
		if o.Member == "" || name == o.Member || f.Name == o.Member {
			found = append(found, f)
		}
	}
	list := "it holds " + strings.Join(names[:min(len(names), 20)], ", ")
	switch {
	case len(names) > 20:
		list += fmt.Sprintf(" and %d more", len(names)-20)
	case len(names) == 0:
		list = "it holds no array"
	}
	switch {
	case len(found) == 1:
		return checkMember(found[0], s.size)
	case o.Member != "" && len(found) == 0:
		return nil, fmt.Errorf("no member %q; %s", o.Member, list)
	case o.Member != "":
		return nil, fmt.Errorf("member %q is there %d times", o.Member, len(found))
	case len(found) == 0:
		return nil, errors.New(list)
	}
	return nil, fmt.Errorf(`which member? %s; write "file.npz:name"`, list)
}

// checkMember holds the sizes that the archive claims against its length.
func checkMember(f *zip.File, size int64) (*zip.File, error) {
	most := f.CompressedSize64
	switch f.Method {
	case zip.Store:
	case zip.Deflate:
		most = deflateRatio * (most + 1)
	default:
		return nil, fmt.Errorf("member %q: compression method %d; known are stored and deflated", f.Name, f.Method)
	}
	if f.Flags&1 != 0 {
		return nil, fmt.Errorf("member %q is encrypted", f.Name)
	}
	if f.CompressedSize64 > uint64(size) || f.UncompressedSize64 > most {
		return nil, fmt.Errorf("member %q: should be %d bytes, which %d bytes of archive cannot hold", f.Name, f.UncompressedSize64, size)
	}
	return f, nil
}

func statNPZ(s source, o Options) (Header, error) {
	f, err := findMember(s, o)
	if err != nil {
		return Header{}, err
	}
	r, err := f.Open()
	if err != nil {
		return Header{}, fmt.Errorf("member %q: %w", f.Name, err)
	}
	defer func() { _ = r.Close() }()
	h, err := readNPYHeader(r, int64(f.UncompressedSize64))
	if err != nil {
		return h.Header, fmt.Errorf("member %q: %w", f.Name, err)
	}
	return h.Header, nil
}

func readNPZ(s source, o Options, alloc Alloc) (Header, error) {
	f, err := findMember(s, o)
	if err != nil {
		return Header{}, err
	}
	r, err := f.Open()
	if err != nil {
		return Header{}, fmt.Errorf("member %q: %w", f.Name, err)
	}
	defer func() { _ = r.Close() }()
	h, err := readNPYStream(r, int64(f.UncompressedSize64), false, alloc)
	if err != nil {
		return h, fmt.Errorf("member %q: %w", f.Name, err)
	}
	// The checksum is compared when the end is reached.
	if n, err := r.Read(make([]byte, 1)); n != 0 || err != io.EOF {
		return h, fmt.Errorf("member %q: %w", f.Name, endError(err))
	}
	return h, nil
}

// endError is what the end of an archive member says, or that there is no end.
func endError(err error) error {
	if err == nil {
		return errors.New("longer than the archive says")
	}
	return err
}
