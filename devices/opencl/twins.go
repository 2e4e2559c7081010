package opencl

import (
	"fmt"
	"sync"
)

// twins number the devices of a PoCL that widen guards, of those that are open
// at the same time. PoCL knows a build by a hash of source and options, in the
// whole process: two devices that are alike, two parts of one, or the same one
// in two contexts share builds, and no event of one context can be waited for in
// another. So all but one of them build with a definition of their own, which
// nothing reads.
type twins struct {
	mu   sync.Mutex
	used []bool
}

// processTwins are those of the process, as PoCL's builds are.
var processTwins = sync.OnceValue(func() *twins { return &twins{} })

// take is the lowest number that is free.
func (t *twins) take() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	for n, used := range t.used {
		if !used {
			t.used[n] = true
			return n
		}
	}
	t.used = append(t.used, true)
	return len(t.used) - 1
}

func (t *twins) give(n int) {
	t.mu.Lock()
	t.used[n] = false
	t.mu.Unlock()
}

// twinOption is what a device adds to the options of its builds.
func (d *device) twinOption() string {
	if d.twin <= 0 {
		return ""
	}
	return fmt.Sprintf(" -Dtandem_twin=%d", d.twin)
}
