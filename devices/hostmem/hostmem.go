// Package hostmem allocates page-aligned host memory outside the Go heap: it
// never moves, C code may keep pointers to it, it can be pinned, and a device
// that shares the host's memory can work on it in place.
package hostmem

import (
	"fmt"
	"math"
	"os"
	"sync/atomic"
)

// inUse is what Alloc gave out and Free has not taken back, in bytes.
var inUse atomic.Int64

// InUse is the number of bytes allocated now.
func InUse() int64 { return inUse.Load() }

// PageSize is the alignment of what Alloc returns.
func PageSize() int { return os.Getpagesize() }

// Alloc returns size bytes of zeroed memory that starts at a page boundary.
// The pages become resident when they are first touched. Free gives it back;
// nothing else does. Size 0 is an empty slice that Free takes too.
func Alloc(size int64) ([]byte, error) {
	if size < 0 || size > math.MaxInt64-int64(PageSize()) || int64(int(size)) != size {
		return nil, fmt.Errorf("host memory: impossible size %d bytes", size)
	}
	if size == 0 {
		return nil, nil
	}
	mem, err := mapPages(roundUp(int(size)))
	if err != nil {
		return nil, fmt.Errorf("host memory: %d bytes: %w", size, err)
	}
	inUse.Add(int64(cap(mem)))
	return mem[:size:cap(mem)], nil
}

// Free returns memory that Alloc made. The slice has to start where Alloc's
// did; it must not be used again.
func Free(mem []byte) error {
	if cap(mem) == 0 {
		return nil
	}
	inUse.Add(-int64(cap(mem)))
	return unmapPages(mem[:cap(mem)])
}

func roundUp(n int) int {
	page := PageSize()
	return (n + page - 1) / page * page
}
