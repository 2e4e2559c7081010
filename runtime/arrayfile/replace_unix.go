//go:build !windows

package arrayfile

import (
	"io"
	"path/filepath"

	"github.com/google/renameio/v2"
	"golang.org/x/sys/unix"
)

func replace(path string, write func(io.Writer) error) error {
	// The folder is given: renameio would try the system's folder for
	// temporary files first, and leave the array there if the process dies.
	f, err := renameio.NewPendingFile(path,
		renameio.WithTempDir(filepath.Dir(path)),
		renameio.WithPermissions(0o644),
		renameio.WithExistingPermissions())
	if err != nil {
		return err
	}
	defer func() { _ = f.Cleanup() }()
	if err := write(f); err != nil {
		return err
	}
	return f.CloseAtomicallyReplace()
}

// dirTakesFiles asks the system, which also knows of read-only file systems
// and access lists.
func dirTakesFiles(dir string) error {
	return unix.Access(dir, unix.W_OK|unix.X_OK)
}
