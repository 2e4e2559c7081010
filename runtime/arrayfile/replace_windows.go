package arrayfile

import (
	"errors"
	"io"
	"os"
	"path/filepath"
)

// replace does by hand what renameio does elsewhere: os.Rename replaces an
// existing file on Windows too.
func replace(path string, write func(io.Writer) error) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = f.Close()
			_ = os.Remove(f.Name())
		}
	}()
	if err = write(f); err != nil {
		return err
	}
	if err = f.Sync(); err != nil {
		return err
	}
	if err = f.Close(); err != nil {
		return err
	}
	// Windows renames over no file that is marked as read-only.
	if old, lerr := os.Lstat(path); lerr == nil && old.Mode().IsRegular() && old.Mode()&0o200 == 0 {
		if err = os.Chmod(path, 0o600); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, os.Chmod(path, 0o400)) }()
	}
	return os.Rename(f.Name(), path)
}

// dirTakesFiles has nothing to ask on Windows, where only trying tells.
func dirTakesFiles(string) error { return nil }
