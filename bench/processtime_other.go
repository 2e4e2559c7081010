//go:build !unix

package bench

import "time"

// processTime is how long the process has kept processors busy; this system is
// not asked.
func processTime() (time.Duration, bool) { return 0, false }
