package nodes

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// groupOf is the group that owns a file, -1 if the file system does not say.
func groupOf(info os.FileInfo) int {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return int(st.Gid)
	}
	return -1
}

// mayUse reports why this process may not read and write the node. Opening is
// the only question that a container's device rules answer too.
func mayUse(path string, open bool) error {
	if !open {
		if err := unix.Faccessat(unix.AT_FDCWD, path, unix.R_OK|unix.W_OK, unix.AT_EACCESS); err != nil {
			return &os.PathError{Op: "access", Path: path, Err: err}
		}
		return nil
	}
	f, err := os.OpenFile(path, os.O_RDWR|unix.O_NONBLOCK|unix.O_NOCTTY, 0)
	if err != nil {
		return err
	}
	return f.Close()
}
