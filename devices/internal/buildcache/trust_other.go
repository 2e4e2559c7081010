//go:build !unix

package buildcache

import "os"

// trusted reports whether dir can be used. Access lists are the system's own
// business here: the user's cache directory is private by default.
func trusted(dir string) bool {
	info, err := os.Stat(dir)
	return err == nil && info.IsDir()
}
