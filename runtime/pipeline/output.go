package pipeline

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	tandem "github.com/tandemrun/tandem/runtime"
	"github.com/tandemrun/tandem/runtime/arrayfile"
)

// Output is an output file that was written.
type Output struct {
	Buffer string // name
	File   string // path, relative to the working directory or absolute; of an .npz member with the member: "a.npz:x"
	SHA256 string // of the file, in hexadecimal
	Bytes  int64  // size of the file
}

// staged is an output file that is written and waits for its place.
type staged struct {
	file    string // final place
	temp    string
	existed bool   // there was a file before
	backup  string // that file under another name; empty: none
	buffers []int  // several are members of one .npz file
	hash    string
	bytes   int64
}

// WriteOutputs writes the output files. It waits for the tasks that write their
// buffers; a buffer that a failed task left undefined is an error. All files
// are written under temporary names first and take their places together at
// the end, so that an error, also of ctx, leaves the files that were there.
func (b *Built) WriteOutputs(ctx context.Context) (outputs []Output, err error) {
	files := b.plannedFiles()
	folders := map[string]string{} // temporary folder in each output folder
	defer func() {
		for _, dir := range folders {
			err = errors.Join(err, os.RemoveAll(dir))
		}
	}()
	for n, f := range files {
		dir := filepath.Dir(f.file)
		if folders[dir] == "" {
			// A folder of its own in the folder of the file: on the same file
			// system, and nothing that is left behind looks like a result.
			temp, err := os.MkdirTemp(dir, ".tandem-*")
			if err != nil {
				return nil, fmt.Errorf("%s: %w", f.file, err)
			}
			folders[dir] = temp
		}
		f.temp = filepath.Join(folders[dir], fmt.Sprintf("%d%s", n, filepath.Ext(f.file)))
		if err := b.stage(ctx, f); err != nil {
			return nil, fmt.Errorf("%s: %w", f.file, err)
		}
	}
	if err := ctx.Err(); err != nil {
		return nil, context.Cause(ctx)
	}
	if err := place(files, folders); err != nil {
		return nil, err
	}
	for i, def := range b.pipeline.buffers {
		for _, f := range files {
			for _, member := range f.buffers {
				if member == i {
					outputs = append(outputs, Output{Buffer: def.array.Name, File: def.out, SHA256: f.hash, Bytes: f.bytes})
				}
			}
		}
	}
	return outputs, nil
}

// plannedFiles are the output files in the order of the buffers; members of
// one .npz file go together.
func (b *Built) plannedFiles() []*staged {
	var files []*staged
	byFile := map[string]*staged{}
	for i, def := range b.pipeline.buffers {
		if def.out == "" {
			continue
		}
		file, member := splitMember(def.out)
		key := outputKey(file)
		if f := byFile[key]; f != nil && member != "" {
			f.buffers = append(f.buffers, i)
			continue
		}
		f := &staged{file: file, buffers: []int{i}}
		byFile[key] = f
		files = append(files, f)
	}
	return files
}

// splitMember takes the member off the path of an .npz file.
func splitMember(path string) (file, member string) {
	if i := strings.LastIndex(strings.ToLower(path), ".npz:"); i >= 0 {
		return path[:i+4], path[i+5:]
	}
	return path, ""
}

// stage writes one file under its temporary name.
func (b *Built) stage(ctx context.Context, f *staged) error {
	var members []arrayfile.Member
	err := b.read(ctx, f.buffers, &members, func() error {
		if len(members) > 1 {
			return arrayfile.WriteNPZ(f.temp, members)
		}
		m := members[0]
		return arrayfile.Write(f.temp, m.Header, m.Data, arrayfile.Options{Member: m.Name})
	})
	if err != nil {
		return err
	}
	if old, err := os.Lstat(f.file); err == nil && old.Mode().IsRegular() {
		if err := os.Chmod(f.temp, old.Mode().Perm()); err != nil {
			return err
		}
	}
	f.hash, f.bytes, err = hashFile(f.temp)
	return err
}

// read calls f with the bytes of all the given buffers in members.
func (b *Built) read(ctx context.Context, buffers []int, members *[]arrayfile.Member, f func() error) error {
	if len(buffers) == 0 {
		return f()
	}
	def := b.pipeline.buffers[buffers[0]]
	var buf *tandem.Buffer
	if buffers[0] < len(b.buffers) {
		buf = b.buffers[buffers[0]]
	}
	if buf == nil {
		return errors.New("the pipeline's buffers have been freed")
	}
	return buf.Read(ctx, func(mem []byte) error {
		_, name := splitMember(def.out)
		*members = append(*members, arrayfile.Member{Name: name, Header: arrayfile.Header{DType: def.array.DType, Shape: def.array.Shape}, Data: mem})
		return b.read(ctx, buffers[1:], members, f)
	})
}

func hashFile(path string) (hash string, bytes int64, err error) {
	f, err := os.Open(path)
	if err != nil {
		return "", 0, err
	}
	defer func() { _ = f.Close() }()
	h := sha256.New()
	bytes, err = io.Copy(h, f)
	return hex.EncodeToString(h.Sum(nil)), bytes, err
}

// place moves all files to their places. If one cannot be moved, the files that
// were replaced before it come back.
func place(files []*staged, folders map[string]string) error {
	for n, f := range files {
		if _, err := os.Lstat(f.file); err != nil {
			continue
		}
		f.existed = true
		backup := filepath.Join(folders[filepath.Dir(f.file)], fmt.Sprintf("old%d", n))
		if os.Link(f.file, backup) == nil { // not every file system has links
			f.backup = backup
		}
	}
	for n, f := range files {
		err := os.Rename(f.temp, f.file)
		if err == nil {
			continue
		}
		errs := []error{fmt.Errorf("%s: %w", f.file, err)}
		for _, done := range files[:n] {
			switch {
			case done.backup != "":
				errs = append(errs, os.Rename(done.backup, done.file))
			case !done.existed:
				errs = append(errs, os.Remove(done.file))
			default:
				errs = append(errs, fmt.Errorf("%s: is the new file already", done.file))
			}
		}
		return errors.Join(errs...)
	}
	return nil
}
