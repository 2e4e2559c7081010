//go:build linux || darwin || freebsd

package arrayfile

import (
	"errors"

	"golang.org/x/sys/unix"
)

// extent is the first stretch of data within [at, end) of the file; lo is end
// if there is only a hole. What the file system does not tell counts as data.
func (s source) extent(at, end int64) (lo, hi int64) {
	lo, err := unix.Seek(int(s.Fd()), at, unix.SEEK_DATA)
	switch {
	case errors.Is(err, unix.ENXIO): // none up to the end of the file
		return end, end
	case err != nil || lo < at:
		return at, end
	case lo >= end:
		return end, end
	}
	hi, err = unix.Seek(int(s.Fd()), lo, unix.SEEK_HOLE)
	if err != nil || hi <= lo || hi > end {
		hi = end
	}
	return lo, hi
}
