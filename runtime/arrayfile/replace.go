package arrayfile

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Replace writes a file of any kind the way Write does: what write writes goes
// into a new file in the same folder, which takes the place of path when write
// has returned without an error and the bytes are on disk. Otherwise path stays
// as it was and nothing is left behind. The new file has the permissions of the
// old one, also where those let nobody write.
func Replace(path string, write func(io.Writer) error) error {
	if err := checkPlace(path); err != nil {
		return err
	}
	return named(path, replace(path, func(f io.Writer) error {
		buffered := bufio.NewWriterSize(f, 64<<10)
		if err := write(buffered); err != nil {
			return err
		}
		return buffered.Flush()
	}))
}

// CheckWritable says, before anything has been computed, whether an array can
// be written to path later: the extension is one that is written, the folder
// exists and takes new files, and what is there already may be replaced. It
// changes nothing.
func CheckWritable(path string) error {
	file, f, _, err := formatOf(path, Options{})
	if err != nil {
		return err
	}
	if f.write == nil {
		return named(file, f.readOnly())
	}
	return checkPlace(file)
}

// checkPlace is the part of CheckWritable that is about the file system.
func checkPlace(path string) error {
	dir := filepath.Dir(path)
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s: there is no folder %s; create it first: %w", path, dir, fs.ErrNotExist)
	case err != nil:
		return named(path, err)
	case !info.IsDir():
		return fmt.Errorf("%s: %s is not a folder: %w", path, dir, fs.ErrInvalid)
	}
	if err := dirTakesFiles(dir); err != nil {
		return fmt.Errorf("%s: folder %s takes no new file: %w", path, dir, err)
	}
	switch info, err = os.Lstat(path); {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return named(path, err)
	case info.IsDir():
		return fmt.Errorf("%s: is a folder: %w", path, fs.ErrInvalid)
	case info.Mode()&fs.ModeSymlink != 0:
		return nil
	case !info.Mode().IsRegular():
		return fmt.Errorf("%s: is no regular file and would be replaced by one: %w", path, fs.ErrInvalid)
	}
	// A file without write permission is replaced too: its mode protects the
	// old content, which nobody writes into, and inputs that were copied from a
	// read-only place are outputs of the same name soon enough.
	return nil
}
