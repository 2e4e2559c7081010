//go:build !windows

package dl

import "github.com/ebitengine/purego"

// open binds all symbols at once, so that a library with missing ones fails
// here with a text and not in the middle of a call; its symbols stay its own.
func open(name string) (uintptr, error) {
	return purego.Dlopen(name, purego.RTLD_NOW|purego.RTLD_LOCAL)
}

func lookup(handle uintptr, symbol string) uintptr {
	p, err := purego.Dlsym(handle, symbol)
	if err != nil {
		return 0
	}
	return p
}

func callbackPlain(fn func()) uintptr { return purego.NewCallback(fn) }
