//go:build unix

package bench

import (
	"syscall"
	"time"
)

// processTime is how long the process has kept processors busy.
func processTime() (time.Duration, bool) {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0, false
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()), true
}
