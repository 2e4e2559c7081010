//go:build unix

package buildcache

import (
	"os"
	"syscall"
)

// trusted reports whether dir is this user's and nobody else may write to it:
// what lies in it will be run.
func trusted(dir string) bool {
	info, err := os.Stat(dir)
	if err != nil || !info.IsDir() || info.Mode().Perm()&0o022 != 0 {
		return false
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == os.Geteuid()
}
